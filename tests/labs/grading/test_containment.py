"""What code in the sandbox tries, and cannot do. Each attempt is part of a right solution, which keeps its points."""

from __future__ import annotations

import pytest

from .conftest import ROOT, Grade
from .questions import COUNT

SYSCALL = "import ctypes; c = ctypes.CDLL(None, use_errno=True)\n    assert c.syscall({}) != -1"

ATTEMPTS = {
    "open a socket": "import socket; socket.socket()",
    "open a socket of the machine": "import socket; socket.socket(socket.AF_UNIX)",
    "make a pair of sockets": "import socket; socket.socketpair()",
    "fork": "import os; os.fork()",
    "fork without end": "import os\n    while True: os.fork()",
    "spawn": "import os; os.posix_spawn('/bin/true', ['true'], {})",
    "exec": "import os; os.execv('/bin/true', ['true'])",
    "run a shell": "import os; assert os.system('true') == 0",
    "start a thread": "import _thread; _thread.start_new_thread(print, ())",
    "read /etc/passwd": "open('/etc/passwd')",
    "read its own environment": "open('/proc/self/environ')",
    "read its own memory map": "open('/proc/self/maps')",
    "read the memory of its parent": "open('/proc/1/mem', 'rb')",
    "reopen a descriptor": "open('/proc/self/fd/0')",
    "read the tests": f"open({str(ROOT / 'tests/labs/grading/questions.py')!r})",
    "read its own program": f"open({str(ROOT / 'labs/grading/jail/child.py')!r})",
    "see whether a file is there": f"import os; os.stat({str(ROOT)!r})",
    "list the root": "import os; os.listdir('/')",
    "leave its folder": "import os; os.chdir('/')",
    "write to /tmp": "open('/tmp/attack', 'w')",
    "make a folder": "import os; os.mkdir('/tmp/attack')",
    "make a symbolic link": "import os; os.symlink('/etc/passwd', '/tmp/attack')",
    "make a file in memory": "import os; os.memfd_create('attack')",
    "remove a file": f"import os; os.unlink({str(ROOT / 'README.md')!r})",
    "make a pipe": "import os; os.pipe()",
    "signal its parent": "import os; os.kill(os.getppid(), 9)",
    "signal everybody": "import os; os.kill(-1, 9)",
    "signal its group": "import os; os.killpg(0, 9)",
    "ignore the limit of time": "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)",
    "ask for an alarm": "import signal; assert signal.setitimer(signal.ITIMER_REAL, 1) is None",
    "raise its limits": "import resource; resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "become root": "import os; os.setuid(0)",
    "become another": "import os; os.setuid(1000)",
    "sleep": "import time; time.sleep(60)",
    "wait for input": "import select; select.select([0], [], [], 60)",
    "read other descriptors": (
        "import os\n    for n in range(3, 64):\n        try: os.read(n, 1)\n        except OSError: continue\n"
        "        break\n    else: raise OSError"
    ),
    "trace": "import ctypes; assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) != -1",
    "read another process (process_vm_readv)": SYSCALL.format("310, 1, 0, 0, 0, 0, 0"),
    "unshare": SYSCALL.format("272, 0x10000000"),
    "mount": SYSCALL.format("165, 0, 0, 0, 0, 0"),
    "bpf": SYSCALL.format("321, 0, 0, 0"),
    "userfaultfd": SYSCALL.format("323, 0"),
    "io_uring": SYSCALL.format("425, 1, 0"),
    "open_by_handle_at": SYSCALL.format("304, 0, 0, 0"),
    "pidfd_open": SYSCALL.format("434, 1, 0"),
    "keyctl": SYSCALL.format("250, 0, 0, 0"),
    "perf_event_open": SYSCALL.format("298, 0, 0, -1, -1, 0"),
    "chroot": "import os; os.chroot('/')",
    "import the engine": "import engine.runtime",
    "import the grader": "import labs.grading.grader",
    "import from a folder": f"import sys; sys.path.insert(0, {str(ROOT)!r}); import manage",
    "load a file as a module": (
        "import importlib.machinery as m; m.SourceFileLoader('x', '/etc/passwd').get_data('/etc/passwd')"
    ),
    "import subprocess": "import subprocess; subprocess.run(['true'])",
    "find the grader in memory": (
        "import gc; found = [o for o in gc.get_objects() if type(o).__name__ in ('Grader', 'Calls', 'Play', 'Runtime')]\n"
        "    assert found"
    ),
    "find the grader on the stack": (
        "import sys; f = sys._getframe(); names = set()\n"
        "    while f: names |= set(f.f_globals); f = f.f_back\n"
        "    assert names & {'Grader', 'SAME_RESULTS', 'Sandbox', 'reference'}"
    ),
    "find the environment": "import os; assert set(os.environ) - {'PYTHONHASHSEED', 'PYTHONUTF8', 'LC_ALL', 'TZ', 'PWD', 'LC_CTYPE'}",
}


def attempt(body: str) -> str:
    return f"""
def attempt():
    {body}

try:
    attempt()
    print("BROKEN")
except (OSError, ValueError, RuntimeError, AssertionError, ImportError, AttributeError) as error:
    print("held:", type(error).__name__)
{COUNT}"""


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_fails_and_the_solution_counts(grade: Grade, name: str) -> None:
    report = grade(attempt(ATTEMPTS[name]), tests=1, cpu=5, wall=10.0)
    printed = report["results"][0]["printed"]
    assert printed.startswith("held:"), (printed, report["results"][0]["sentence"])
    assert "BROKEN" not in printed
    assert report["points"] == report["of"]


ENDINGS = {
    "computes without end": ("while True: pass", "stopped"),
    "computes without end when it is loaded by C": ("sum(iter(int, 1))", "stopped"),
    "prints without end": ("while True: print('x' * 1000)", "stopped"),
    "writes without end": ("import os\n    while True: os.write(2, b'x' * 60000)", "stopped"),
    "takes all memory": ("held = []\n    while True: held.append(bytearray(1 << 20))", "failed"),
    "takes all memory at once": ("bytearray(1 << 40)", "failed"),
    "calls itself without end": ("attempt()", "failed"),
    "calls itself in C": (
        "import sys; sys.setrecursionlimit(10 ** 9)\n    held = []\n    for _ in range(10 ** 6): held = [held]\n    repr(held)",
        "any",
    ),
    "exits": ("raise SystemExit", "failed"),
    "ends itself": ("import os; os._exit(0)", "stopped"),
    "aborts": ("import os; os.abort()", "stopped"),
    "crashes": ("import ctypes; ctypes.string_at(0)", "stopped"),
    "kills itself": ("import ctypes; ctypes.CDLL(None).syscall(0x40000000 + 39)", "stopped"),
    "answers with 2 MB": ("return 'x' * 2_000_000", "any"),
    "computes a huge number": ("return 7 ** (7 ** 12)", "stopped"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_what_does_not_come_to_a_good_end_is_told(grade_here: Grade, name: str) -> None:
    body, outcome = ENDINGS[name]
    source = f"def attempt():\n    {body}\n\nprint('before')\nattempt()\n{COUNT}"
    if name == "answers with 2 MB":
        source = COUNT.replace("yield", "yield 'x' * 2_000_000\n        yield")
    report = grade_here(source, tests=1, cpu=1, wall=15.0)
    assert report["points"] == 0
    first = report["results"][0]
    assert outcome in (first["outcome"], "any")
    assert first["sentence"].endswith((".", ")"))
    assert first["printed"].startswith("before") or first["outcome"] != "failed" or outcome == "any"


def test_a_lock_that_is_never_released_is_undetermined_and_costs_nothing(grade_here: Grade) -> None:
    source = "import _thread\nlock = _thread.allocate_lock()\nlock.acquire()\nlock.acquire()\n"
    report = grade_here(source + COUNT, tests=1, wall=1.0)
    assert [result["outcome"] for result in report["results"]] == ["undetermined"]
    assert not report["costs_attempt"]


def test_waiting_a_little_at_every_call_ends_too(grade_here: Grade) -> None:
    waits = "\n        import _thread; lock = _thread.allocate_lock(); lock.acquire(); lock.acquire(timeout=0.8)\n"
    report = grade_here(
        COUNT.replace("yield", waits + "        yield"), tests=1, wall=5.0, life=2.0
    )
    assert report["results"][0]["outcome"] == "undetermined"
    assert "did not end within 2 seconds" in report["results"][0]["sentence"]


SENTENCES = {
    "os.close(1)": "ended its own process",  # there is nothing to answer through
    "os.close(1); import _thread as t; l = t.allocate_lock(); l.acquire(); l.acquire()": "closed the pipe",
    "os._exit(3)": "ended its own process",
    "os.abort()": "crash",
    "exec('while True: pass')": "computed for more than 1 seconds",
    "[print('x' * 100_000) for _ in range(100)]": "printed more than",
    "os.write(1, b'[]\\n')": "is no answer",
    "os.write(1, b'[[[[\\n')": "is no answer",
    'os.write(1, b\'["do", 0, 0, "value", ["l"]]\\n\')': "is no answer",
    "os.write(1, b'x' * (1 << 19))": "returned more than",
}


@pytest.mark.parametrize("statement", SENTENCES)
def test_each_way_to_go_wrong_has_its_sentence(grade_here: Grade, statement: str) -> None:
    source = f"import os\n{statement}\n{COUNT}"
    (result,) = grade_here(source, tests=1, cpu=1)["results"]
    assert SENTENCES[statement] in result["sentence"]


SOURCES = {
    "empty": b"",
    "blank": b"  \n\t\n",
    "binary": bytes(range(256)),
    "not UTF-8": b"x = '\xff'",
    "a null byte": b"x = 1\ny = '\0'",
    "half a character": "x = '\ud800'".encode("utf-8", "surrogatepass"),
    "huge": b"x = 1\n" * 100_000,
    "a syntax error": b"x = 1\ndef f(:\n    pass\n",
    "tabs and spaces": b"if 1:\n\tx = 1\n        y = 2\n",
    "brackets without end": b"(" * 50_000,
    "operators without end": b"x = " + b"-" * 90_000 + b"1",
    "a declared encoding that is none": b"# -*- coding: nonsense -*-\nx = (\n",
}


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_no_python_costs_no_attempt(grade_here: Grade, name: str) -> None:
    report = grade_here(SOURCES[name])
    assert report["verdict"] == "not python"
    assert not report["costs_attempt"]
    assert report["sentence"]
    lines = {"a null byte": 2, "a syntax error": 2, "tabs and spaces": 3}
    assert report["line"] == lines.get(name, report["line"])


def test_a_test_that_hangs_is_named_and_the_others_are_kept(grade_here: Grade) -> None:
    hangs = COUNT.replace("yield", "\n        while value.startswith('the-'): pass\n        yield")
    report = grade_here(hangs, cpu=1)
    assert [result["outcome"] for result in report["results"]] == ["passed", "passed", "stopped"]
    assert report["points"] == 5
    assert report["results"][2]["name"] == "other words"
