"""Where a job begins (pyflink.datastream.StreamExecutionEnvironment)."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any

from engine.checkpointing.completed import MemoryStorage
from engine.checkpointing.storage import DirectoryStorage
from engine.datastream.checkpoint_config import CheckpointConfig, CheckpointingMode
from engine.datastream.checks import check_integer, check_max_parallelism, check_parallelism
from engine.datastream.common import TypeInformation, WatermarkStrategy
from engine.datastream.configuration import DIRECTORY, Configuration
from engine.datastream.data_stream import DataStream
from engine.datastream.state_backend import StateBackendMethods
from engine.datastream.transformation import Input, Transformation, build_graph, caller
from engine.errors import InvalidJob
from engine.graph.job_graph import DEFAULT_BUFFERS, JobGraph
from engine.keyframes import Recording
from engine.network.partitioners import Automatic
from engine.operators.source import SourceOperator, redistribute_offsets
from engine.operators.split import SplitData
from engine.scheduler import Policy
from engine.values import text


class ExecutionConfig:
    """The part of pyflink.common.ExecutionConfig that matters to the engine."""

    def __init__(self) -> None:
        self.auto_watermark_interval = 0

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """0 emits a watermark with the record that raised it; more emits every so many ms of the engine's clock."""
        self.auto_watermark_interval = check_integer(
            "watermark_interval", "The watermark interval", interval, 0, unit=" ms"
        )
        return self

    def get_auto_watermark_interval(self) -> int:
        return self.auto_watermark_interval


class JobExecutionResult:
    """What `execute` returns: the results of each sink, by subtask, in the order in which they were written."""

    def __init__(self, results: dict[str, list[Any]]) -> None:
        self.results = results


class StreamExecutionEnvironment(StateBackendMethods):
    """Collects the operators of one job. Parallelism is 1 unless it is set."""

    def __init__(self) -> None:
        super().__init__()
        self._transformations: list[Transformation] = []
        self._parallelism = 1
        self._max_parallelism: int | None = None
        self._buffers = DEFAULT_BUFFERS
        self._checkpoints = CheckpointConfig()
        self._exclude_ended = False
        self._config = ExecutionConfig()

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None,
    ) -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment()
        if configuration is not None:
            env.configure(configuration)
        return env

    def configure(self, configuration: Configuration) -> None:
        """Take over the settings that are set in a configuration."""
        super().configure(configuration)
        directory = configuration.get_string(DIRECTORY)
        if directory is not None:
            self._checkpoints.set_checkpoint_storage_dir(directory)

    def __getattr__(self, name: str) -> Any:
        if name in {
            "add_source",
            "from_data_stream",
            "add_jars",
            "add_classpaths",
            "set_python_requirements",
            "execute_async",
            "generate_sequence",
        }:
            raise NotImplementedError(
                f"StreamExecutionEnvironment.{name} is not implemented in StreamLab."
            )
        raise AttributeError(f"StreamExecutionEnvironment has no method {name!r}.")

    def get_config(self) -> ExecutionConfig:
        return self._config

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        self._parallelism = check_parallelism(parallelism)
        return self

    def get_parallelism(self) -> int:
        return self._parallelism

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        self._max_parallelism = check_max_parallelism(max_parallelism)
        return self

    def set_buffers_per_channel(self, buffers: int) -> StreamExecutionEnvironment:
        """Credit of each channel in elements; PyFlink sets it in the configuration of the cluster."""
        self._buffers = buffers
        return self

    def enable_checkpointing(
        self, interval: int, mode: str = CheckpointingMode.EXACTLY_ONCE
    ) -> StreamExecutionEnvironment:
        """Trigger a checkpoint every `interval` ms of the engine's clock."""
        self._checkpoints.set_checkpoint_interval(interval).set_checkpointing_mode(mode)
        return self

    def get_checkpoint_config(self) -> CheckpointConfig:
        return self._checkpoints

    def set_finished_inputs(self, rule: str) -> StreamExecutionEnvironment:
        """ "max": an ended input counts as the end of event time, as in Flink 2.2. "excluded": it is left out."""
        if rule not in ("max", "excluded"):
            raise InvalidJob(
                "finished_inputs",
                f"The rule must be 'max' or 'excluded', not {rule!r}.",
                place=caller(),
                mend="Choose one.",
            )
        self._exclude_ended = rule == "excluded"
        return self

    def add(self, transformation: Transformation) -> None:
        """Used by the streams of this environment."""
        self._transformations.append(transformation)

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataStream:
        """A source of one split with these values, without timestamps."""
        stream = self.from_splits(
            [SplitData("collection", list(collection))], WatermarkStrategy.no_watermarks(), "source"
        )
        stream.set_parallelism(1)
        return stream

    def from_source(
        self,
        source: Any,
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """A source object that has `splits() -> list[SplitData]`."""
        if not hasattr(source, "splits"):
            raise InvalidJob(
                "source",
                f"{text(source)} is not a source of this engine.",
                place=caller(),
                mend="Use FileSource, or a source of engine.datastream.extensions.",
            )
        return self.from_splits(source.splits(), watermark_strategy, source_name)

    def from_splits(
        self, splits: list[SplitData], strategy: WatermarkStrategy, name: str
    ) -> DataStream:
        """A source that reads these splits."""
        spec = strategy.spec()
        config = self._config
        names = [split.name for split in splits]
        for split in splits:
            if names.count(split.name) > 1:
                raise InvalidJob(
                    "split_name",
                    f"Two splits of one source have the name {split.name!r}.",
                    place=caller(),
                    mend="Offsets are kept by name: give each file or split a name of its own.",
                )
            if any(character in split.name for character in "[]>#/:"):
                raise InvalidJob(
                    "split_name",
                    f"The split name {split.name!r} has one of the characters [ ] > # / : in it.",
                    place=caller(),
                    mend="Leave them out.",
                )
        transformation = Transformation(
            "source",
            lambda context, assigned, log: SourceOperator(
                context, assigned, spec, config.auto_watermark_interval
            ),
            redistribute=redistribute_offsets,
            splits=splits,
            name=name,
            place=caller(),
        )
        self.add(transformation)
        return DataStream(self, [Input(transformation, Automatic())])

    def get_job_graph(self, name: str = "job") -> JobGraph:
        """The validated graph of what has been declared so far; InvalidJob says what is wrong with it."""
        return build_graph(
            self._transformations,
            name,
            self._parallelism,
            self._max_parallelism,
            buffers=self._buffers,
            exclude_ended=self._exclude_ended,
            checkpointing=self._checkpoints.settings(),
            durability=self.durability._replace(directory=self._checkpoints.storage.directory),
        )

    def execute(self, job_name: str = "job") -> JobExecutionResult:
        """Run the job to its end and print what its sinks wrote, as PyFlink's print does."""
        graph = self.get_job_graph(job_name)
        recording = Recording(
            lambda: graph, Policy("round_robin", 64), restore=self.start(graph), storage=opened
        )
        while recording.position == recording.head:
            before = recording.position
            recording.step(100_000)
            if recording.position == before:
                break
        runtime = recording.runtime
        results = {
            name: log.written()
            for name, log in runtime.logs.items()
            if name.rpartition("[")[0] in _sinks(graph)
        }
        for written in results.values():
            for result in written:
                builtins.print(text(result))
        if runtime.state == "failed":
            raise InvalidJob("job_failed", runtime.reason)
        stuck = next(iter(recording.impossible()), None)
        if runtime.state == "running" and stuck is not None:
            raise InvalidJob(
                "job_stuck",
                f"Nothing can happen any more: {stuck['reason']['sentence']}.",
                place=str(stuck["subtask"]),
                mend="Give the channels of the loop more buffers, or send fewer records back.",
            )
        return JobExecutionResult(results)


def opened(graph: JobGraph) -> MemoryStorage:
    """Where a job's checkpoints go when it is executed: into the directory that it sets, if any."""
    directory = graph.durability.directory
    if directory is None:
        return MemoryStorage(graph.durability.retained)
    return DirectoryStorage(directory, graph)


def _sinks(graph: JobGraph) -> set[str]:
    return {vertex.id for vertex in graph.vertices if vertex.kind == "sink"}
