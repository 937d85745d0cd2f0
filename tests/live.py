"""The real server as a process of its own, on the database of the running test."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 30


class LiveServer:
    """daphne with the site, which may be killed and started again on the same port.

    url         http://127.0.0.1:<port>
    websocket   ws://127.0.0.1:<port>
    """

    def __init__(self, database: str, application: str = "streamlab.asgi:application") -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.websocket = f"ws://127.0.0.1:{self.port}"
        self.database = database
        self.application = application
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "DATABASE_URL": f"sqlite:///{self.database}",
        }
        command = [sys.executable, "-m", "daphne", "-b", "127.0.0.1", "-p", str(self.port)]
        self.process = subprocess.Popen(
            [*command, "-v", "0", self.application], cwd=ROOT, env=environment
        )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with code {self.process.returncode}")
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                time.sleep(0.02)
        raise RuntimeError(f"the server did not listen within {START_SECONDS} s")

    def kill(self) -> None:
        """SIGKILL: nothing is flushed, no goodbye is said."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(timeout=15)
