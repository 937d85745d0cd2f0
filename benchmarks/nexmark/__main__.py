"""`python -m benchmarks.nexmark DIR [QUERY...]`: prints passed or failed per query; exit status 1 on any failure."""

import sys
from pathlib import Path

from benchmarks.nexmark.check import DATASETS, QUERIES, check


def main(arguments: list[str]) -> int:
    if not arguments or not set(arguments[1:]) <= set(QUERIES):
        print(f"{__doc__}\nQueries: {', '.join(QUERIES)}")
        return 2
    directory, chosen = Path(arguments[0]), arguments[1:] or list(QUERIES)
    if not (directory / "expected").is_dir():
        print(f"{directory} has no directory named expected.")
        return 2
    failures = compared = 0
    for query in chosen:
        for dataset in DATASETS:
            wrong = check(directory, dataset, query)
            if wrong is None:
                continue
            compared += 1
            failures += bool(wrong)
            print(f"{query:20} {dataset:8} {'failed: ' + wrong if wrong else 'passed'}")
    if not compared:
        print(f"{directory} holds no expected rows of these queries.")
        return 2
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
