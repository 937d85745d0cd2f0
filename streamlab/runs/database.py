"""A database thread of its own for the live runs, whose connection stays open.

Channels' database_sync_to_async shares one thread with everything else in the process and opens a new
connection for each call, which under load costs more than the queries.
"""

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import DatabaseError, InterfaceError, connections

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class DatabaseThread:
    """Calls functions one after another, in the order in which they were handed over."""

    def __init__(self) -> None:
        self.executor: ThreadPoolExecutor | None = None

    async def __call__(
        self,
        function: Callable[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        if self.executor is None:
            self.executor = ThreadPoolExecutor(1, thread_name_prefix="runs-database")
        call = functools.partial(function, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self.executor, checked, call)

    async def close(self) -> None:
        if self.executor is not None:
            await self(connections.close_all)
            self.executor.shutdown()
            self.executor = None


def checked(call: Callable[[], Result]) -> Result:
    """A connection that the database has dropped is opened anew by the next call."""
    try:
        return call()
    except (DatabaseError, InterfaceError):
        for connection in connections.all(initialized_only=True):
            connection.close_if_unusable_or_obsolete()
        raise
