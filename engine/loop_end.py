"""How a loop comes to its end: nobody sees all of it, and a record on its way back is no end of input.

Once all that leads into the loop has ended, every subtask of its head sends a probe through the loop. Like a barrier, a
probe is sent on when it has come on every input, yet it blocks nothing; so when it is back, everything that was before it
is back as well. A probe carries how many laps in a row were quiet, as far as its sender knows: 0 where a record came back
during the last one, else one more than the least of what its own probes brought. News of a record reach every other
head within as many laps as there are heads, so with so many quiet laps nothing is left anywhere, and the end goes out.

Source: Szymanski, Shi and Prywes, "Synchronized Distributed Termination", IEEE TSE 11(10), 1985.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from engine.elements import END_OF_INPUT, PROBE
from engine.errors import EngineBug
from engine.events import LoopEmptied
from engine.network.channel import Channel
from engine.operators.iteration import IterationHead

if TYPE_CHECKING:
    from engine.subtask import Subtask


class LoopPlace(NamedTuple):
    """Where a subtask stands in a loop.

    head: whether records come back to it. heads: the parallelism of the head. outputs: its channels inside the loop.
    """

    head: bool
    heads: int
    outputs: list[Channel]


class LoopEnd:
    """What one subtask of a loop does about the loop's end.

    received: what the probes brought that have come on each input and are not answered yet, oldest first.
    started: whether this head has sent its first probe. quiet: what its last one carried. closed: whether it has sent the
    end of input; it is finished when that is back.
    """

    def __init__(self, subtask: Subtask, place: LoopPlace) -> None:
        self.subtask = subtask
        self.place = place
        self.received: list[list[int]] = [[] for _ in subtask.inputs]
        self.started = False
        self.quiet = 0
        self.closed = False

    def probe_arrived(self, index: int, quiet: int) -> None:
        """A probe came on an input."""
        self.received[index].append(quiet)
        self.settle()

    def settle(self) -> None:
        """A probe or an end has come, or the clock has moved: send on what can be."""
        if self.place.head:
            self._settle_head()
            return
        while (awaited := self._awaited()) and all(self.received[index] for index in awaited):
            if self.subtask.operator.awaits_clock():
                return  # a timer may still send a record round the loop
            self._send(self._lowest(awaited))

    def _settle_head(self) -> None:
        ended, feedback = self.subtask.ended, self.subtask.feedback
        if self.closed or not all(
            ended[index] for index in range(len(ended)) if index not in feedback
        ):
            return
        if not self.started:
            self.started = True
            self._head().moved = False
            self._send(0)
        awaited = [index for index in self._awaited() if index in feedback]
        if not awaited:
            self._close()
        elif all(self.received[index] for index in awaited):
            self._lap(self._lowest(awaited))

    def _lap(self, lowest: int) -> None:
        """The probe is back on every input."""
        head = self._head()
        self.quiet = 0 if head.moved else min(self.quiet, lowest) + 1
        head.moved = False
        if self.quiet >= self.place.heads:
            self._close()
        else:
            self._send(self.quiet)

    def _close(self) -> None:
        self.closed = True
        events = self.subtask.host.trace.events
        if events is not None:
            events.append(LoopEmptied(self.subtask.id, self.quiet))
        self.subtask.broadcast(END_OF_INPUT)

    def _head(self) -> IterationHead:
        operator = self.subtask.operator
        if not isinstance(operator, IterationHead):
            raise EngineBug(
                "not_a_head",
                "A feedback edge leads to an operator that is no head of a loop.",
                place=self.subtask.id,
                mend="Report it with the job.",
            )
        return operator

    def _awaited(self) -> list[int]:
        """The inputs on which a probe has still to come each time: those that have not ended."""
        return [index for index, ended in enumerate(self.subtask.ended) if not ended]

    def _lowest(self, awaited: list[int]) -> int:
        """The least that the oldest probes bring, which are answered with that."""
        return min([self.received[index].pop(0) for index in awaited])

    def _send(self, quiet: int) -> None:
        self.subtask.flush()
        self.subtask.output.send_to(self.place.outputs, (PROBE, quiet))

    def keyframe(self) -> Any:
        return tuple(map(tuple, self.received)), self.started, self.quiet, self.closed

    def rewind(self, frame: Any) -> None:
        received, self.started, self.quiet, self.closed = frame
        self.received = list(map(list, received))
