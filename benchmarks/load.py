"""Fifty students at once: `python -m benchmarks.load`.

Starts the real server on a database of its own, opens a socket for each run over the loopback, and
drives every run at 20 steps/s with commands in between. Prints what was lost (nothing may be) and how
long a command took from leaving the client to the arrival of the frame that shows its effect.

The target is a 99th percentile under 150 ms on two cores, the client on one of them.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.streamlab.client import Client, Visit, visit

ROOT = Path(__file__).resolve().parent.parent
LAB = "flights"
TARGET_MS = 150
COMMAND_SECONDS = 2.0  # between the commands of a student who plays


@dataclass
class Result:
    """Latencies in milliseconds."""

    runs: int
    seconds: float
    steps: int = 0
    lost: int = 0
    frames: int = 0
    command: list[float] = field(default_factory=list)
    """From a step or command message to the frame that shows its effect."""
    lateness: list[float] = field(default_factory=list)
    """Playing: how much later than evenly spaced a frame came."""

    def percentile(self, values: list[float], percent: int) -> float:
        return statistics.quantiles(values, n=100)[percent - 1] if len(values) > 1 else 0.0

    def report(self) -> str:
        lines = [
            f"{self.runs} runs, {self.seconds:.0f} s, {self.steps} steps in {self.frames} frames "
            f"({self.steps / self.seconds:.0f} steps/s in all): {self.lost} lost"
        ]
        for name, values in (("command to frame", self.command), ("frame late by", self.lateness)):
            if values:
                shown = ", ".join(f"p{p} {self.percentile(values, p):.0f} ms" for p in (50, 90, 99))
                lines.append(f"  {name}: {shown}, longest {max(values):.0f} ms ({len(values)})")
        return "\n".join(lines)


@contextmanager
def server(port: int) -> Iterator[str]:
    """The real server as a process, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="streamlab-load-") as folder:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "streamlab.settings",
            "VAR_DIR": folder,
            "DATABASE_URL": f"sqlite:///{folder}/db.sqlite3",
            "PORT": str(port),
            "DEBUG": "0",
        }
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.strip().startswith("http://"):
                    yield line.strip().rstrip("/")
                    break
            else:
                raise RuntimeError("the server did not start")
        finally:
            process.terminate()
            process.wait(20)


async def step_by_step(client: Client, rate: float, seconds: float, result: Result) -> None:
    """A student who presses the key `rate` times a second; each step is a command of its own."""
    began = time.perf_counter()
    number = 0
    while time.perf_counter() - began < seconds:
        due = began + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        number += 1
        before, sent = client.position, time.perf_counter()
        await client.send("step", head=client.head, position=before)
        await client.until("steps", position=before + 1)
        result.command.append((time.perf_counter() - sent) * 1000)
        result.frames += 1
        await client.until("done")


async def play(client: Client, rate: float, seconds: float, result: Result) -> None:
    """A student who plays; a checkpoint now and then, timed to the frame that shows it."""
    await client.drive("play", rate=rate)
    start, began = client.position, time.perf_counter()
    first: float | None = None
    commanded: float | None = None
    next_command = began + COMMAND_SECONDS
    while time.perf_counter() - began < seconds:
        message = await client.receive()
        now = time.perf_counter()
        if message["type"] == "error":  # a checkpoint cannot be triggered at every step
            commanded = None
        if message["type"] == "steps" and message["steps"]:
            result.frames += 1
            if commanded and any(step["action"] == "command" for step in message["steps"]):
                result.command.append((now - commanded) * 1000)
                commanded = None
            elapsed = now - (client.position - start) / rate
            first = elapsed if first is None else min(first, elapsed)
            result.lateness.append((elapsed - first) * 1000)
        if now > next_command and commanded is None:
            next_command = now + COMMAND_SECONDS
            commanded = now
            await client.send(
                "command",
                head=client.head,
                position=client.position,
                command={"kind": "checkpoint"},
            )
    await client.drive("pause")


async def measure(url: str, runs: int, rate: float, seconds: float, mode: str) -> Result:
    visits: list[Visit] = []
    for number in range(runs):
        visits.append(await asyncio.to_thread(visit, url, LAB, seed=number))
    clients = await asyncio.gather(*(Client(one).connect() for one in visits))
    result = Result(runs, seconds)
    act = play if mode == "play" else step_by_step

    async def one(number: int, client: Client) -> None:
        await asyncio.sleep(number / runs / rate * 7 % 1)  # students are not in step
        await act(client, rate, seconds, result)

    await asyncio.gather(*(one(number, client) for number, client in enumerate(clients)))
    for client in clients:
        result.steps += len(client.steps)
        result.lost += len(set(range(1, client.position + 1)) - set(client.steps))
        await client.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--rate", type=float, default=20)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--mode", choices=["play", "step", "both"], default="both")
    parser.add_argument("--url", help="a server that runs already")
    asked = parser.parse_args()
    if asked.url:
        tell(asked.url, asked)
    else:
        with server(asked.port) as url:
            tell(url, asked)


def tell(url: str, asked: argparse.Namespace) -> None:
    for mode in ("play", "step") if asked.mode == "both" else (asked.mode,):
        result = asyncio.run(measure(url, asked.runs, asked.rate, asked.seconds, mode))
        name = "playing" if mode == "play" else "stepping by hand"
        reached = result.percentile(result.command, 99) < TARGET_MS and not result.lost
        print(f"{name} at {asked.rate:g} steps/s: {result.report()}")
        print(
            f"  target (p99 under {TARGET_MS} ms, nothing lost): {'met' if reached else 'missed'}"
        )


if __name__ == "__main__":
    main()
