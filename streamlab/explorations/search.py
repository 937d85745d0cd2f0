"""The server's end of one process that searches (child.py): starts it, hears how far it is, stops it."""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import orjson
from django.conf import settings

from streamlab.explorations.models import BOUND_REACHED, FAILED, RUNNING, WAITING
from streamlab.runs.errors import CATALOGUE

LINE_BYTES_MAX = 16 * 2**20
STOP_SECONDS = 5.0
"""A search that was told to stop and has not ended by then is killed."""
SLOWEST = 4
"""A search may take so many times its CPU seconds by the clock: on a busy machine it waits for its turns."""
CHILD = (sys.executable, "-m", "streamlab.explorations.child")
KEPT_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TMPDIR")
"""What the process is given of the environment: no key and no database address."""

Listener = Callable[[], None]


class Search:
    """One exploration that waits or runs. `listeners` are called, without arguments, when something is new."""

    def __init__(self, exploration_id: str, stored: dict[str, Any], job: dict[str, Any]) -> None:
        self.id = exploration_id
        self.stored = stored  # as selectors.shown told it at the beginning
        self.job = job
        self.state = WAITING
        self.place: int | None = None  # in the queue, from 1 on
        self.counts: dict[str, Any] | None = None
        self.outcome: dict[str, Any] | None = None
        self.error: dict[str, str] | None = None
        self.listeners: set[Listener] = set()
        self.alone_since = time.monotonic()
        self.process: asyncio.subprocess.Process | None = None
        self.began = self.ended = 0.0
        self.stopping = ""

    # ---- who looks -----------------------------------------------------------------------------------

    def listen(self, listener: Listener) -> None:
        self.listeners.add(listener)

    def leave(self, listener: Listener) -> None:
        self.listeners.discard(listener)
        self.alone_since = time.monotonic()

    def tell(self) -> None:
        for listener in list(self.listeners):
            listener()

    @property
    def alone(self) -> float:
        """Seconds without anybody who looks."""
        return 0.0 if self.listeners else time.monotonic() - self.alone_since

    @property
    def seconds(self) -> float:
        if not self.began:
            return 0.0
        return (self.ended or time.monotonic()) - self.began

    @property
    def active(self) -> bool:
        return self.state in (WAITING, RUNNING)

    def shown(self) -> dict[str, Any]:
        """As selectors.shown, of this moment."""
        seconds = self.seconds
        rate = round(self.counts["states"] / seconds) if self.counts and seconds else None
        return {
            **self.stored,
            "state": self.state,
            "place": self.place,
            "counts": self.counts,
            "seconds": round(seconds, 1),
            "states_per_second": rate,
            "outcome": self.outcome,
            "error": self.error,
            "active": self.active,
        }

    # ---- the process ---------------------------------------------------------------------------------

    async def run(self) -> None:
        """Returns when it has ended, with `state` one of the results, or failed."""
        self.state, self.place, self.began = RUNNING, None, time.monotonic()
        self.tell()
        try:
            await asyncio.wait_for(self.hear(), settings.EXPLORATION_CPU_SECONDS * SLOWEST)
        except TimeoutError:
            self.bounded("time")
        finally:
            self.ended = time.monotonic()
            self.kill()
            if self.process is not None and self.process.stdin is not None:
                self.process.stdin.close()
                await self.process.wait()

    async def hear(self) -> None:
        environment = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
        self.process = await asyncio.create_subprocess_exec(
            *CHILD,
            cwd=settings.BASE_DIR,
            env={**environment, "PYTHONHASHSEED": "0"},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LINE_BYTES_MAX,
            start_new_session=True,  # Ctrl-C at the server's terminal is for the server
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(orjson.dumps(self.job) + b"\n")
        if self.stopping:
            self.process.stdin.write(b"stop\n")
        async for line in self.process.stdout:
            self.take(orjson.loads(line))
            if not self.active:
                return  # told once it is kept, by the pool
            self.tell()
        if self.stopping:  # it had to be killed
            self.bounded(self.stopping)
        else:
            code = await self.process.wait()
            self.failed("exploration_crashed", how=ended(code))

    def take(self, message: dict[str, Any]) -> None:
        if "counts" in message:
            self.counts = message["counts"]
        elif "bound" in message:
            self.bounded(message["bound"])
        elif "refused" in message:
            refused = message["refused"]
            self.state = FAILED
            self.error = {"sentence": refused["sentence"], "mend": refused["mend"]}
        else:
            self.outcome = message["outcome"]
            self.state = self.outcome["result"]
            self.counts = self.outcome["counts"]
            if self.outcome["bound"] == "stopped" and self.stopping:
                self.outcome["bound"] = self.stopping

    def stop(self, bound: str = "stopped") -> None:
        """It ends soon, with what it has; `bound` says why: "stopped" or "abandoned"."""
        if self.stopping or not self.active:
            return
        self.stopping = bound
        if self.state == WAITING:
            self.bounded(bound)
        elif self.process is not None and self.process.stdin is not None:
            self.process.stdin.write(b"stop\n")
            asyncio.get_running_loop().call_later(STOP_SECONDS, self.kill)

    def kill(self) -> None:
        if self.process is not None and self.process.returncode is None:
            self.process.kill()

    def bounded(self, bound: str) -> None:
        self.state = BOUND_REACHED
        self.outcome = {
            "result": BOUND_REACHED,
            "bound": bound,
            "counts": self.counts,
            "trace": [],
            "steps": [],
        }

    def failed(self, code: str, **values: object) -> None:
        refusal = CATALOGUE[code]
        self.state = FAILED
        self.error = {"sentence": refusal.sentence.format(**values), "mend": refusal.mend}


def ended(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
