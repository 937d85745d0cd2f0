"""Grade what comes in, one line each, in a process of its own: `python -m tests.labs.grading.grade OUTER`."""

import json
import sys

from labs.grading.sandbox import Limits

from .questions import count_grader

if __name__ == "__main__":
    outer = json.loads(sys.argv[1])
    for line in sys.stdin.buffer:
        source, most, limits = json.loads(line)
        grader = count_grader(outer, limits=Limits(**limits))
        grader.tests = grader.tests[:most]
        report = grader.grade(bytes.fromhex(source))
        sys.stdout.buffer.write(report.data() + b"\n")
        sys.stdout.buffer.flush()
