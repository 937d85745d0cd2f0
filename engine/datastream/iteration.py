"""Loops: a stream that comes back. PyFlink lacks them; the names are those of Flink's former `IterativeStream`."""

from __future__ import annotations

from engine.datastream.data_stream import DataStream
from engine.datastream.transformation import Input, caller
from engine.errors import InvalidJob
from engine.graph.job_graph import ITERATION_HEAD
from engine.network.partitioners import Automatic
from engine.operators.iteration import IterationHead


class IterativeStream(DataStream):
    """What a loop works on: the records that came in, and those that came back."""

    def close_with(self, feedback_stream: DataStream) -> DataStream:
        """Send a stream that comes from this one back to its head, and return it; it may go elsewhere as well.

        How it is partitioned decides to which subtask of the head a record goes. Timestamps stay; watermarks do not go back.
        """
        if not isinstance(feedback_stream, DataStream):
            raise InvalidJob(
                "feedback",
                f"{feedback_stream!r} is not a stream.",
                place=caller(),
                mend="Close the loop with a stream that comes from its head.",
            )
        if feedback_stream._environment is not self._environment:
            raise InvalidJob(
                "feedback",
                "The stream that is to go back belongs to another environment.",
                place=caller(),
                mend="Close the loop with a stream that comes from its head.",
            )
        self._transformation.inputs = [
            *self._transformation.inputs,
            *(entry._replace(gate=1, feedback=True) for entry in feedback_stream._inputs),
        ]
        return feedback_stream


def iterate(stream: DataStream) -> IterativeStream:
    """stream.iterate() in Flink's former Java interface: begin a loop, to be closed with `close_with`."""
    head = stream.then(
        ITERATION_HEAD, lambda context, splits, log: IterationHead(context), list(stream._inputs)
    )
    return IterativeStream(stream._environment, [Input(head, Automatic())])
