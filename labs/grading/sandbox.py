"""A fresh process for code that nobody trusts, and which layers it stands behind on this machine.

Outside: bubblewrap where it works, an empty environment, a bounded answer, a bounded output, a clock, and the end of the
whole process group. Inside, always: `jail/locks.py`. Where the inner layers cannot be put on, or a canary gets through,
nothing runs.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import platform
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from labs.grading.jail import codec
from labs.grading.jail.locks import ALLOWED, landlock_version

HERE = Path(__file__).resolve().parent
SETUP_SECONDS = 20.0
"""How long a busy machine may need to start a process."""

NEEDS_LINUX = (
    "Code of students runs on Linux only, because the sandbox is made of parts of the Linux kernel. "
    "On this machine, run StreamLab in a container: docs/howto/sandbox.md has the recipe."
)


class SandboxUnavailable(Exception):
    """The sandbox cannot be made here, so nothing ran; the sentence says why."""


class Stopped(BaseException):
    """The process is gone, or was stopped. Not an Exception: the engine must not take it for an error of the job.

    kind: "time", "cpu", "output", "ended" or "misfit".
    """

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence


@dataclass(frozen=True)
class Limits:
    """memory: bytes of address space. cpu: seconds of computing of one process.

    wall: seconds for one answer. life: seconds for all of them. answer: bytes of one answer. kept: bytes kept of what is printed between two looks at it. printed: bytes in all, beyond
    which the process is ended.
    """

    memory: int = 256 << 20
    cpu: int = 10
    wall: float = 20.0
    life: float = 60.0
    answer: int = 1 << 18
    kept: int = 20_000
    printed: int = 2 << 20


class Layer(NamedTuple):
    """One layer: whether it is active on this machine, and what it stops, as a sentence."""

    name: str
    active: bool
    sentence: str


@functools.cache
def bubblewrap() -> str:
    """Why bubblewrap cannot be used; empty where its probe passes."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    try:
        probe = subprocess.run(
            [*_bwrap(), "/bin/true"], capture_output=True, timeout=SETUP_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not start ({type(error).__name__})"
    said = probe.stderr.decode(errors="replace").strip().splitlines()
    return (
        "" if probe.returncode == 0 else f"bubblewrap may not be used here ({(said or ['?'])[-1]})"
    )


def _python() -> str:
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


def _bwrap() -> list[str]:
    """The outer wall: namespaces of its own, no user namespaces inside, Python and nothing else, read-only."""
    binds = {"/usr": "/usr", sys.base_prefix: sys.base_prefix, str(HERE / "jail"): "/grading/jail"}
    arguments = [
        "bwrap",
        "--unshare-all",
        "--unshare-user",
        "--disable-userns",
        "--cap-drop",
        "ALL",
    ]
    arguments += ["--die-with-parent", "--new-session", "--hostname", "sandbox"]
    for source, target in binds.items():
        arguments += ["--ro-bind", source, target]
    for folder in ("/lib", "/lib64", "/bin"):
        if os.path.islink(folder):
            arguments += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            arguments += ["--ro-bind", folder, folder]
    return [*arguments, "--chdir", "/", "--remount-ro", "/", "--"]


ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def _why_not() -> str:
    """Why no sandbox can be made on this machine; empty where it can."""
    if sys.platform != "linux":
        return NEEDS_LINUX
    if platform.machine() not in ALLOWED:
        return f"The sandbox does not know the system calls of {platform.machine()}; it knows {', '.join(ALLOWED)}."
    if not landlock_version():
        return (
            "This kernel has no Landlock (Linux 5.13, or a container that allows its system calls), "
            "so code of students does not run here. docs/howto/sandbox.md says what to do."
        )
    return ""


def layers() -> list[Layer]:
    """The layers on this machine, outermost first."""
    missing = _why_not()
    inner = not missing
    outer = bubblewrap() if sys.platform == "linux" else "there is none outside Linux"
    found = [
        Layer(
            "bubblewrap",
            not outer and inner,
            "Namespaces of its own: the code sees no process, no network and no file of this machine but Python's."
            if not outer
            else f"Not active: {outer}. The layers below do without it.",
        ),
        Layer("limits", inner, "Memory and computing time are bounded; no file, no process, no core dump can be made."),
        Layer("capabilities", inner, "All rights of root are dropped, also where the server runs as root."),
        Layer("Landlock", inner, "No file can be opened, read, written or run, whoever owns it."),
        Layer("seccomp", inner, f"Of all system calls {len(ALLOWED['x86_64'])} are left: to compute, and to use pipes that are open."),
        Layer("canaries", inner, "Before any code of a student, each process tries what must not work, and ends where one thing works."),
        Layer("watch", inner, "From outside: a clock, a bound on answers and on output, and the end of the whole process group."),
    ]  # fmt: skip
    if missing:
        found = [
            layer._replace(sentence=missing) if layer.name == "Landlock" else layer
            for layer in found
        ]
    return found


class Sandbox:
    """One locked process that answers lines with lines. Use it as a context manager: leaving it ends the process."""

    def __init__(self, limits: Limits = Limits(), outer: bool | None = None) -> None:
        """outer: whether to use bubblewrap; None uses it where it works. SandboxUnavailable where nothing can run."""
        reason = _why_not()
        if not reason and outer and bubblewrap():
            reason = f"Bubblewrap was asked for, and {bubblewrap()}."
        if reason:
            raise SandboxUnavailable(reason)
        self.limits = limits
        self.outer = not bubblewrap() if outer is None else outer
        self.printed = b""
        """What the code has printed since somebody looked, up to the limit; the rest is thrown away."""
        self._all_printed = 0
        self._last = time.monotonic() + self.limits.life
        self._pending = b""
        self._nursery = nursery(self.outer)
        self._open_pipes()
        try:
            (state,) = codec.message(self._receive(time.monotonic() + SETUP_SECONDS))
        except (Stopped, codec.NotAValue, ValueError) as error:
            printed = self.printed.decode(errors="replace").strip().splitlines()
            self.close()
            raise SandboxUnavailable(
                f"The sandbox did not start, so nothing ran: {(printed or [str(error)])[-1]}"
            ) from None
        if state != "locked":
            self.close()
            raise SandboxUnavailable(f"The sandbox does not hold, so nothing ran: {state}.")

    def _open_pipes(self) -> None:
        asked, self._requests = os.pipe()
        self._answers, answered = os.pipe()
        self._output, printed = os.pipe()
        theirs = [asked, answered, printed]
        try:
            self.child = self._nursery.start(self.limits, theirs)
        except BaseException:
            for descriptor in (self._requests, self._answers, self._output):
                os.close(descriptor)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        self._open = True
        for descriptor in (self._requests, self._answers, self._output):
            os.set_blocking(descriptor, False)
        self._poll = select.poll()
        self._poll.register(self._answers, select.POLLIN)
        self._poll.register(self._output, select.POLLIN)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def exchange(self, question: bytes) -> bytes:
        """Send one line, and wait for one. Stopped where there is none."""
        self._drain()
        if self._pending:
            self.close()
            raise Stopped("misfit", "The sandbox answered before it was asked.")
        until = min(time.monotonic() + self.limits.wall, self._last)
        self._send(question, until)
        return self._receive(until)

    def _send(self, data: bytes, until: float) -> None:
        while data:
            try:
                data = data[os.write(self._requests, data) :]
            except BlockingIOError:
                self._drain()
                if time.monotonic() > until:
                    self._stop("time", self._too_slow())
                room = select.poll()
                room.register(self._requests, select.POLLOUT)
                room.poll(50)
            except BrokenPipeError:
                self._ended()

    def _receive(self, until: float) -> bytes:
        while b"\n" not in self._pending:
            left = until - time.monotonic()
            if left <= 0:
                self._stop("time", self._too_slow())
            ready = dict(self._poll.poll(left * 1000))
            if self._output in ready:
                self._read_output()
                if self._all_printed > self.limits.printed:
                    most = self.limits.printed
                    self._stop("output", f"The code printed more than {most:,} bytes.")
            if self._answers in ready:
                data = os.read(self._answers, 1 << 16)
                if not data:
                    self._ended()
                self._pending += data
                if len(self._pending) > self.limits.answer:
                    self._stop(
                        "output", f"One call returned more than {self.limits.answer:,} bytes."
                    )
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _drain(self) -> None:
        """Take what has been printed, and what was answered without a question."""
        for descriptor, _ in self._poll.poll(0):
            if descriptor == self._output:
                self._read_output()
            elif not self._pending:
                with contextlib.suppress(BlockingIOError):
                    self._pending += os.read(self._answers, 1 << 16)

    def _read_output(self) -> None:
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._output, 1 << 16)
            if not data:
                self._poll.unregister(self._output)
            self.printed = (self.printed + data)[: self.limits.kept]
            self._all_printed += len(data)

    def take_printed(self) -> str:
        """What was printed since the last look, shortened to the limit."""
        for _ in range(100 if self._open else 0):
            before = self._all_printed
            self._drain()
            if self._all_printed == before:
                break
        printed, self.printed = self.printed, b""
        return printed.decode("utf-8", "replace")

    def _too_slow(self) -> str:
        if time.monotonic() > self._last:
            return f"The code did not end within {self.limits.life:g} seconds."
        return f"The code did not answer within {self.limits.wall:g} seconds."

    def _stop(self, kind: str, sentence: str) -> None:
        self.close()
        raise Stopped(kind, sentence)

    def _ended(self) -> None:
        """The process is gone, because of its limit of computing time or by itself; or it has closed its pipe."""
        status = self.close(patience=1000)
        if status == KILLED_HERE:
            raise Stopped("ended", "The code closed the pipe that it answers through.")
        if os.WIFSIGNALED(status):
            if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
                raise Stopped("cpu", f"The code computed for more than {self.limits.cpu} seconds.")
            raise Stopped("ended", "The code made its own process crash.")
        raise Stopped("ended", "The code ended its own process.")

    def close(self, patience: int = 0) -> int:
        """End the process, after so many ms in which it may end by itself; how it ended, as waitpid tells it."""
        if not self._open:
            return 0
        self._open = False
        for descriptor in (self._requests, self._answers, self._output):
            os.close(descriptor)
        return self._nursery.end(self.child, patience)


KILLED_HERE = -1
"""What the nursery says of a process that has not ended by itself."""

START = "import sys; sys.path.insert(0, {folder!r}); from jail.child import main; main()"


class Nursery:
    """The process that forks the others, so that none of them has to load Python anew."""

    def __init__(self, outer: bool) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        folder = "/grading" if outer else str(HERE)
        code = START.format(folder=folder)
        command = [_python(), "-s", "-P", "-S", "-B", "-c", code, str(theirs.fileno())]
        self.process = subprocess.Popen(
            [*_bwrap(), *command] if outer else command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self._control = ours
        self._control.settimeout(SETUP_SECONDS)
        self._lock = threading.Lock()
        self.owner = os.getpid()
        try:
            ready = self._control.recv(1 << 10)
        except TimeoutError:
            ready = b""
        if ready != b"ready":
            self.close()
            raise SandboxUnavailable("The sandbox did not start, so nothing ran.")

    def usable(self) -> bool:
        """Whether it lives, and belongs to this process."""
        return self.owner == os.getpid() and self.process.poll() is None

    def start(self, limits: Limits, pipes: list[int]) -> int:
        return self._ask(f"start {limits.memory} {limits.cpu}", pipes)

    def end(self, child: int, patience: int) -> int:
        return self._ask(f"end {child} {patience}", [])

    def _ask(self, order: str, pipes: list[int]) -> int:
        with self._lock:
            try:
                socket.send_fds(self._control, [order.encode()], pipes)
                return int(self._control.recv(1 << 10))
            except (OSError, ValueError) as error:
                self.close()
                raise SandboxUnavailable("The sandbox is gone, so nothing ran.") from error

    def close(self) -> None:
        """End it, and with it every process that it has started."""
        self._control.close()
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


_nurseries: dict[bool, Nursery] = {}


def nursery(outer: bool) -> Nursery:
    """This process's own, started where there is none yet."""
    found = _nurseries.get(outer)
    if found is None or not found.usable():
        found = _nurseries[outer] = Nursery(outer)
    return found


@atexit.register
def close_nurseries() -> None:
    """End the nurseries of this process; those of the process that forked it are not its own."""
    for found in _nurseries.values():
        if found.owner == os.getpid():
            found.close()
    _nurseries.clear()
