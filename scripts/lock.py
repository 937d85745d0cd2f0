"""Compile the two lock files from pyproject.toml: names, versions, hashes, no addresses.

Universal: one file serves every platform and every Python from 3.11 on.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = {
    "requirements.lock": ["--group", "dev"],
    "requirements-bench.lock": ["--group", "bench", "--constraint", "requirements.lock"],
}
OPTIONS = ["--universal", "--python-version", "3.11", "--generate-hashes", "--quiet"]
OPTIONS += ["--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]


def main() -> None:
    uv = shutil.which("uv")
    if uv is None:
        sys.exit("Locking needs uv, which `pip install uv` brings; nothing else here needs it.")
    for name, arguments in FILES.items():
        project = ["pyproject.toml"] if name == "requirements.lock" else []
        subprocess.run(
            [uv, "pip", "compile", *project, *arguments, *OPTIONS, "--output-file", name],
            cwd=ROOT,
            env={**os.environ, "UV_CUSTOM_COMPILE_COMMAND": "make lock"},
            check=True,
        )


if __name__ == "__main__":
    main()
