"""The inner layers of the sandbox: limits, no capabilities, Landlock, a list of allowed system calls; and the proof that they hold.

Everything is done to the own process and cannot be undone by it. When the layers are on, nothing can be opened,
connected, started or signalled: what is left is memory and the three pipes that were open before.

Sources: prctl(2), capabilities(7), landlock(7), seccomp(2), and the kernel's tables of system calls.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import socket
import struct
from collections.abc import Callable
from contextlib import suppress

with suppress(ImportError):  # Windows has none, and reads the tables alone
    import resource

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 22, 24, 38
LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446
PTRACE_TRACEME = 0

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""How a filter names the architectures whose numbers are known here (AUDIT_ARCH_* of linux/audit.h)."""

ALLOWED = {
    "x86_64": {
        "read": 0,
        "write": 1,
        "close": 3,
        "fstat": 5,
        "lseek": 8,
        "mmap": 9,
        "mprotect": 10,
        "munmap": 11,
        "brk": 12,
        "rt_sigreturn": 15,
        "sched_yield": 24,
        "mremap": 25,
        "madvise": 28,
        "getpid": 39,
        "exit": 60,
        "gettimeofday": 96,
        "getuid": 102,
        "gettid": 186,
        "futex": 202,
        "clock_gettime": 228,
        "clock_getres": 229,
        "exit_group": 231,
        "getrandom": 318,
    },
    "aarch64": {
        "close": 57,
        "lseek": 62,
        "read": 63,
        "write": 64,
        "fstat": 80,
        "exit": 93,
        "exit_group": 94,
        "futex": 98,
        "clock_gettime": 113,
        "clock_getres": 114,
        "sched_yield": 124,
        "rt_sigreturn": 139,
        "gettimeofday": 169,
        "getpid": 172,
        "getuid": 174,
        "gettid": 178,
        "brk": 214,
        "munmap": 215,
        "mremap": 216,
        "mmap": 222,
        "mprotect": 226,
        "madvise": 233,
        "getrandom": 278,
    },
}
"""What a program needs that computes and talks over pipes which are open already."""


class CannotLock(Exception):
    """A layer cannot be put on; the sentence says which."""


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


def _must(result: int, what: str) -> None:
    if result:
        reason = os.strerror(ctypes.get_errno())
        raise CannotLock(f"{what} failed: {reason}.")


def die_with_parent() -> None:
    """The kernel kills this process when the one that started it ends."""
    _must(_libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")


def set_limits(memory: int, cpu: int) -> None:
    """memory: bytes of address space. cpu: seconds, after which the kernel kills the process."""
    limits = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: cpu,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_NOFILE: 16,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_STACK: 8 << 20,
    }
    for limit, most in limits.items():
        resource.setrlimit(limit, (most, most))


def drop_capabilities() -> None:
    """Without them, root may do here what anybody may. The user stays: Python may be readable to nobody else."""
    libc = _libc()
    if os.geteuid() == 0:
        for capability in range(64):
            if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
                break  # beyond the last one that this kernel knows, or not ours to drop
    version_3 = struct.pack("Ii", 0x20080522, 0)
    _must(libc.capset(version_3, bytes(24)), "capset")


def landlock_version() -> int:
    """The version of Landlock that the kernel offers; 0 where it offers none."""
    return max(0, int(_libc().syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)))


def forbid_files() -> None:
    """A Landlock ruleset that handles every access the kernel knows, and allows none."""
    libc = _libc()
    version = landlock_version()
    if not version:
        raise CannotLock("This kernel has no Landlock.")
    files = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    rights = [files]
    if version >= 4:
        rights.append(0b11)  # to bind and to connect
    if version >= 6:
        rights.append(0b11)  # abstract sockets and signals beyond this process
    attributes = struct.pack(f"{len(rights)}Q", *rights)
    ruleset = libc.syscall(LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        raise CannotLock("landlock_create_ruleset failed.")
    no_new_privileges()
    _must(libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)


def no_new_privileges() -> None:
    _must(_libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")


def allow_only_computing() -> None:
    """A seccomp filter: system calls of `ALLOWED` pass, others fail, those of another architecture kill."""
    machine = platform.machine()
    if machine not in ALLOWED:
        raise CannotLock(f"The system calls of {machine} are not known here.")
    load, jump_equal, jump_at_least, answer = 0x20, 0x15, 0x35, 0x06
    allow, kill, refuse = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
    program = [
        (load, 0, 0, 4),
        (jump_equal, 1, 0, AUDIT_ARCH[machine]),
        (answer, 0, 0, kill),
        (load, 0, 0, 0),
        (jump_at_least, 0, 1, 0x40000000),  # the x32 numbers of x86_64
        (answer, 0, 0, kill),
    ]
    for number in sorted(ALLOWED[machine].values()):
        program += [(jump_equal, 0, 1, number), (answer, 0, 0, allow)]
    program.append((answer, 0, 0, refuse))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    filter_ = struct.pack("H6xP", len(program), ctypes.addressof(code))
    no_new_privileges()
    _must(_libc().prctl(PR_SET_SECCOMP, 2, filter_, 0, 0), "prctl(PR_SET_SECCOMP)")


def lock(memory: int, cpu: int) -> None:
    """Put every layer on, from the one that needs most rights to the one that leaves fewest."""
    set_limits(memory, cpu)
    drop_capabilities()
    forbid_files()
    allow_only_computing()


def _refused(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (OSError, ValueError):
        return True
    return False


def _child() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def failing_canaries() -> list[str]:
    """What is possible that must not be. Tried before the student's code, in every process."""
    trace = _libc().ptrace
    attempts: dict[str, Callable[[], object]] = {
        "opening a socket": socket.socket,
        "opening a socket of this machine": lambda: socket.socket(socket.AF_UNIX),
        "starting a process": _child,
        "running a program": lambda: os.execv("/bin/true", ["true"]),
        "reading /etc/passwd": lambda: os.open("/etc/passwd", os.O_RDONLY),
        "reading /proc/self/maps": lambda: os.open("/proc/self/maps", os.O_RDONLY),
        "listing a folder": lambda: os.listdir("/"),
        "writing a file": lambda: os.open("/tmp/canary", os.O_WRONLY | os.O_CREAT),
        "sending a signal": lambda: os.kill(os.getpid(), 0),
        "raising a limit": lambda: resource.setrlimit(resource.RLIMIT_CPU, (1 << 20, 1 << 20)),
    }
    failing = [name for name, attempt in attempts.items() if not _refused(attempt)]
    if trace(PTRACE_TRACEME, 0, 0, 0) != -1:
        failing.append("tracing")
    return failing
