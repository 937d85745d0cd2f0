"""Everybody who looks at one run: the outboxes of their sockets, and whether each is the owner's."""

from collections.abc import Iterator

from streamlab.runs.outbox import Batch, Outbox
from streamlab.runs.protocol import Frame


class Audience:
    def __init__(self) -> None:
        self.outboxes: dict[Outbox, bool] = {}  # is it the owner's?

    def __bool__(self) -> bool:
        return bool(self.outboxes)

    def __iter__(self) -> Iterator[Outbox]:
        return iter(self.outboxes)

    @property
    def has_owner(self) -> bool:
        return any(self.outboxes.values())

    def join(self, outbox: Outbox, *, mine: bool) -> None:
        self.outboxes[outbox] = mine

    def leave(self, outbox: Outbox) -> None:
        self.outboxes.pop(outbox, None)

    def publish(self, batch: Batch) -> None:
        for outbox in self.outboxes:
            outbox.put_batch(batch)

    def tell(self, frame: Frame) -> None:
        for outbox in self.outboxes:
            outbox.put_frame(frame)

    def show_view(self, why: str, *, asked: Outbox | None = None) -> None:
        """A fresh view for all. `asked`: who wanted it; to the others it came from another tab."""
        for outbox in self.outboxes:
            outbox.want_view(why if asked in (None, outbox) else "other tab")
