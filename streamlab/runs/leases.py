"""The names under which processes hold leases on live runs."""

import os
import secrets
import socket

PROCESS = secrets.token_hex(8)  # another one after each start


def new_holder() -> str:
    """host/process id/this start of it/random."""
    return f"{socket.gethostname()[:40]}/{os.getpid()}/{PROCESS}/{secrets.token_hex(4)}"


def holder_is_gone(holder: str) -> bool:
    """True when that process is known to have ended, so that nobody waits for its leases to expire.

    Only processes of this machine can be known. The own process id under another start has ended,
    too: in a container a process has the same number after each start. Where the number is in use by
    some other process, the answer stays open, and the lease expires by itself.
    """
    parts = holder.split("/")
    if len(parts) != 4 or parts[0] != socket.gethostname()[:40] or not parts[1].isdigit():
        return False
    if int(parts[1]) == os.getpid():
        return parts[2] != PROCESS
    try:
        os.kill(int(parts[1]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
