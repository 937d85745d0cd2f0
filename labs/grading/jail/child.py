"""The processes in which students' code runs: each locks itself up, proves it, and then answers calls.

They are forked by a nursery, which has loaded what they need and runs nothing else: it starts and ends processes for the one
that it belongs to. A forked process keeps no descriptor of the nursery, and may neither signal it nor look at it.

A process knows no test, no expected value and no engine. Whatever the student's code changes here, all it can reach is what this
process answers, and that is a claim about the return value of one call.

Pipes: 0 requests, 1 answers, 2 what the code prints.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import signal
import socket
import sys
import time
from typing import Any

from . import api, codec, locks

MODULES = [
    "abc",
    "bisect",
    "collections",
    "collections.abc",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "heapq",
    "itertools",
    "json",
    "math",
    "numbers",
    "operator",
    "random",
    "re",
    "statistics",
    "string",
    "typing",
]
"""What a submission may import of Python's own library. All of it is loaded before the files are gone."""

MOST_RESULTS = 100_000
"""As many results as the engine takes of one call."""

SOURCE = "submission.py"
LONGEST_MESSAGE = 500


class OnlyThese:
    """The end of every search for a module."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        raise ImportError(
            f"A submission cannot import {name}. It may import engine.datastream and of Python's library: "
            f"{', '.join(MODULES)}."
        )


def told(error: BaseException) -> list[Any]:
    """[type, message, line in the submission or 0], whatever the error does when it is looked at."""
    line = 0
    try:
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == SOURCE:
                line = trace.tb_lineno
            trace = trace.tb_next
        if isinstance(error, SyntaxError) and error.filename == SOURCE:
            line, message = error.lineno or 0, str(error.msg)
        else:
            message = str(error)
        printable = message[:LONGEST_MESSAGE].encode("utf-8", "replace").decode("utf-8")
        return [type(error).__name__[:100], printable, line]
    except BaseException:
        return ["Exception", "", line]


class Jail:
    """Reads requests and answers them, one at a time; a call may ask back while it runs."""

    def __init__(self) -> None:
        self.buffer = b""
        self.code: Any = None
        self.names: dict[str, Any] = {}
        self.instances: dict[int, Any] = {}
        self.asked = 0
        self.codec = codec.Codec(api.KNOWN, invents=True, objects=self._object)

    def _object(self, name: str, fields: Any) -> Any:
        return api.OBJECTS[name](self.do, fields)

    def _read(self) -> list[Any]:
        while b"\n" not in self.buffer:
            data = os.read(0, 1 << 16)
            if not data:
                os._exit(0)
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return codec.message(line)

    def _write(self, message: list[Any]) -> None:
        data = codec.line(message)
        while data:
            data = data[os.write(1, data) :]

    def do(self, target: Any, operation: str, *arguments: Any) -> Any:
        """Ask the engine for something while a call runs."""
        self._write(["do", self.asked, target, operation, self.codec.plain(list(arguments))])
        kind, answer = self._read()
        if kind == "refused":
            raise api.Refused(answer)
        return self.codec.value(answer)

    def serve(self) -> None:
        while True:
            request = self._read()
            self.asked = request[1]
            try:
                answer = ["value", self.asked, self.codec.plain(self._answer(*request))]
                self._flush()
                data = codec.line(answer)
            except BaseException as error:
                data = codec.line(["raised", self.asked, *told(error)])
                self._flush()
            while data:
                data = data[os.write(1, data) :]

    @staticmethod
    def _flush() -> None:
        with contextlib.suppress(BaseException):  # the student may have replaced it
            sys.stdout.flush()

    def _answer(self, kind: str, number: int, *rest: Any) -> Any:
        if kind == "load":
            (source,) = rest
            self.code = compile(source, SOURCE, "exec", dont_inherit=True)
            return None
        if kind == "begin":
            self.instances.clear()
            self.names = {"__name__": "submission", "__builtins__": __builtins__}
            exec(self.code, self.names)
            return None
        target, method, many, arguments = rest
        values = self.codec.value(arguments)
        if kind == "make":
            self.instances[target] = self._named(method)(*values)
            return None
        call = self._named(method) if target is None else getattr(self.instances[target], method)
        result = call(*values)
        if many and result is not None:
            return list(itertools.islice(result, MOST_RESULTS + 1))
        return result

    def _named(self, name: str) -> Any:
        if name not in self.names:
            raise NameError(f"The submission does not define {name}.")
        return self.names[name]


def load_modules() -> None:
    for name in MODULES:
        __import__(name)
    "".encode("latin-1")
    sys.modules.update(api.modules())


def locked_up(memory: int, cpu: int, parent: int) -> str:
    """Put every layer on: "locked", or what went wrong."""
    try:
        locks.die_with_parent()
        if os.getppid() != parent:
            return "the process that started this one has ended"
        locks.lock(memory, cpu)
    except (locks.CannotLock, OSError, ValueError) as error:
        return f"cannot lock: {error}"
    failing = locks.failing_canaries()
    return f"canaries got through: {', '.join(failing)}" if failing else "locked"


def serve(memory: int, cpu: int, parent: int) -> None:
    """Be the process of one submission, with the pipes in place."""
    sys.stdin = None  # type: ignore[assignment]
    sys.stdout = sys.stderr = open(  # noqa: SIM115 - as long as the process
        2, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False
    )
    said = locked_up(memory, cpu, parent)
    os.write(1, codec.line([said]))
    if said != "locked":
        os._exit(1)
    sys.path[:] = []
    sys.path_hooks[:] = []
    sys.meta_path[:] = [*sys.meta_path[:2], OnlyThese()]  # built into Python, frozen into Python
    sys.argv[:] = [SOURCE]
    Jail().serve()


def start(memory: int, cpu: int, pipes: list[int]) -> int:
    """Fork a process with these pipes; its number."""
    parent = os.getpid()
    child = os.fork()
    if child:
        for descriptor in pipes:
            os.close(descriptor)
        return child
    try:
        for number, descriptor in enumerate(pipes):
            os.dup2(descriptor, number)
        os.closerange(3, 1 << 20)
        serve(memory, cpu, parent)
    finally:
        os._exit(1)


def end(child: int, patience: int) -> int:
    """Wait so many ms for a process to end, then kill it; how it ended, as waitpid tells it, or -1 where it was killed."""
    for _ in range(patience):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


def main() -> None:
    """The nursery: "start memory cpu" with three descriptors -> number; "end number patience" -> status."""
    control = socket.socket(fileno=int(sys.argv[1]))
    for low in range(3):  # descriptors that arrive must not be 0, 1 or 2
        with contextlib.suppress(OSError):
            os.fstat(low)
            continue
        os.open("/", os.O_PATH)
    load_modules()
    gc.freeze()
    control.send(b"ready")
    while True:
        data, pipes, _, _ = socket.recv_fds(control, 1 << 10, 3)
        if not data:
            os._exit(0)
        order, *numbers = data.decode().split()
        if order == "start":
            memory, cpu = map(int, numbers)
            control.send(str(start(memory, cpu, pipes)).encode())
        else:
            control.send(str(end(*map(int, numbers))).encode())
