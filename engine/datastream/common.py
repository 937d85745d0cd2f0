"""Durations, types, watermark strategies and state descriptors, with PyFlink's names (pyflink.common)."""

from __future__ import annotations

from typing import Any

from engine.datastream.checks import check_integer
from engine.datastream.functions import TimestampAssigner
from engine.elements import MIN_TIMESTAMP
from engine.errors import InvalidJob
from engine.event_time.watermarks import AlignmentGroup, WatermarkSpec
from engine.state.ttl import Ttl


class Duration:
    """A length of time in whole milliseconds (pyflink.common.Duration)."""

    def __init__(self, milliseconds: int) -> None:
        self.milliseconds = milliseconds

    @staticmethod
    def of_millis(millis: int) -> Duration:
        return Duration(millis)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        return Duration(seconds * 1000)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        return Duration(minutes * 60_000)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        return Duration(hours * 3_600_000)

    @staticmethod
    def of_days(days: int) -> Duration:
        return Duration(days * 86_400_000)


class Time:
    """A length of time in whole milliseconds (pyflink.common.Time)."""

    def __init__(self, milliseconds: int) -> None:
        self.milliseconds_value = milliseconds

    def to_milliseconds(self) -> int:
        return self.milliseconds_value

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        return Time(seconds * 1000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        return Time(minutes * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        return Time(hours * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        return Time(days * 86_400_000)


class TypeInformation:
    """A declared type. Only its name matters to the engine: it decides how an integer key is hashed."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Types.{self.name}()"


class Types:
    """pyflink.common.Types, for the types that keys can have and the containers around them."""

    @staticmethod
    def STRING() -> TypeInformation:
        return TypeInformation("STRING")

    @staticmethod
    def INT() -> TypeInformation:
        return TypeInformation("INT")

    @staticmethod
    def LONG() -> TypeInformation:
        return TypeInformation("LONG")

    @staticmethod
    def FLOAT() -> TypeInformation:
        return TypeInformation("FLOAT")

    @staticmethod
    def DOUBLE() -> TypeInformation:
        return TypeInformation("DOUBLE")

    @staticmethod
    def BOOLEAN() -> TypeInformation:
        return TypeInformation("BOOLEAN")

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        return TypeInformation("PICKLED_BYTE_ARRAY")

    @staticmethod
    def TUPLE(field_types: list[TypeInformation]) -> TypeInformation:
        return TypeInformation("TUPLE")

    @staticmethod
    def ROW(field_types: list[TypeInformation]) -> TypeInformation:
        return TypeInformation("ROW")

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> TypeInformation:
        return TypeInformation("LIST")

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> TypeInformation:
        return TypeInformation("MAP")


class StateTtlConfig:
    """How long state lives (pyflink.datastream.state.StateTtlConfig), on the engine's clock."""

    class UpdateType:
        Disabled = "Disabled"
        OnCreateAndWrite = "OnCreateAndWrite"
        OnReadAndWrite = "OnReadAndWrite"

    class StateVisibility:
        NeverReturnExpired = "NeverReturnExpired"
        ReturnExpiredIfNotCleanedUp = "ReturnExpiredIfNotCleanedUp"

    class Builder:
        def __init__(self, ttl: Time) -> None:
            self._ttl = Ttl(ttl.to_milliseconds())
            self._enabled = True

        def set_update_type(self, update_type: str) -> StateTtlConfig.Builder:
            self._enabled = update_type != StateTtlConfig.UpdateType.Disabled
            self._ttl = self._ttl._replace(
                on_read=update_type == StateTtlConfig.UpdateType.OnReadAndWrite
            )
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(self, state_visibility: str) -> StateTtlConfig.Builder:
            expired = state_visibility == StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
            self._ttl = self._ttl._replace(return_expired=expired)
            return self

        def never_return_expired(self) -> StateTtlConfig.Builder:
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            return self.set_state_visibility(
                StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
            )

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            self._ttl = self._ttl._replace(clean_snapshots=True)
            return self

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            self._ttl = self._ttl._replace(incremental=cleanup_size)
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            self._ttl = self._ttl._replace(incremental=0, clean_snapshots=False)
            return self

        def build(self) -> StateTtlConfig:
            return StateTtlConfig(self._ttl if self._enabled else None)

    def __init__(self, ttl: Ttl | None) -> None:
        self.ttl = ttl

    @staticmethod
    def new_builder(ttl: Time) -> StateTtlConfig.Builder:
        if ttl.to_milliseconds() <= 0:
            raise InvalidJob(
                "ttl",
                "The time to live must be greater than 0 ms.",
                place="StateTtlConfig",
                mend="Use Time.hours(1) or the like.",
            )
        return StateTtlConfig.Builder(ttl)


class StateDescriptor:
    """The name of some state, and how long it lives."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ttl: Ttl | None = None

    def get_name(self) -> str:
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        self.ttl = ttl_config.ttl


class ValueStateDescriptor(StateDescriptor):
    """Value state."""

    def __init__(self, name: str, value_type_info: TypeInformation | None = None) -> None:
        super().__init__(name)
        self.type_info = value_type_info


class ListStateDescriptor(StateDescriptor):
    """List state."""

    def __init__(self, name: str, elem_type_info: TypeInformation | None = None) -> None:
        super().__init__(name)
        self.type_info = elem_type_info


class MapStateDescriptor(StateDescriptor):
    """Map state, keyed or broadcast."""

    def __init__(
        self,
        name: str,
        key_type_info: TypeInformation | None = None,
        value_type_info: TypeInformation | None = None,
    ) -> None:
        super().__init__(name)
        self.key_type_info = key_type_info
        self.value_type_info = value_type_info


class ReducingStateDescriptor(StateDescriptor):
    """Reducing state: `reduce_function` combines what is held with what is added."""

    def __init__(
        self, name: str, reduce_function: Any, type_info: TypeInformation | None = None
    ) -> None:
        super().__init__(name)
        self.reduce_function = reduce_function
        self.type_info = type_info


class AggregatingStateDescriptor(StateDescriptor):
    """Aggregating state: an accumulator of an AggregateFunction."""

    def __init__(
        self, name: str, agg_function: Any, state_type_info: TypeInformation | None = None
    ) -> None:
        super().__init__(name)
        self.aggregate_function = agg_function
        self.type_info = state_type_info


class WatermarkStrategy:
    """How timestamps are assigned and watermarks made (pyflink.common.WatermarkStrategy)."""

    def __init__(self, spec: WatermarkSpec) -> None:
        self._spec = spec
        self._assigner: TimestampAssigner | None = None

    def _changed(self, **changes: Any) -> WatermarkStrategy:
        copy = WatermarkStrategy(self._spec._replace(**changes))
        copy._assigner = self._assigner
        return copy

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration) -> WatermarkStrategy:
        if not isinstance(max_out_of_orderness, Duration):
            raise InvalidJob(
                "bound",
                "The bound must be a Duration.",
                place="for_bounded_out_of_orderness",
                mend="Duration.of_minutes(5)",
            )
        bound = check_integer(
            "bound",
            "The out-of-orderness bound",
            max_out_of_orderness.milliseconds,
            0,
            unit=" ms",
        )
        return WatermarkStrategy(WatermarkSpec(bound, None))

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        return WatermarkStrategy(WatermarkSpec(0, None))

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        return WatermarkStrategy(WatermarkSpec(None, None))

    def with_timestamp_assigner(self, timestamp_assigner: TimestampAssigner) -> WatermarkStrategy:
        if not hasattr(timestamp_assigner, "extract_timestamp"):
            raise InvalidJob(
                "timestamp_assigner",
                f"{timestamp_assigner!r} has no extract_timestamp.",
                place="with_timestamp_assigner",
                mend="Derive it from TimestampAssigner.",
            )
        copy = self._changed()
        copy._assigner = timestamp_assigner
        return copy

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy:
        """A split that is silent for longer than this, on the engine's clock, holds no watermark back."""
        if idle_timeout.milliseconds <= 0:
            raise InvalidJob(
                "idleness",
                "The idle timeout must be greater than 0 ms.",
                place="with_idleness",
                mend="Use Duration.of_seconds(1) or the like.",
            )
        return self._changed(idleness=idle_timeout.milliseconds)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration,
        update_interval: Duration | None = None,
    ) -> WatermarkStrategy:
        """Splits of one group pause while they are further ahead of its slowest than the drift.

        The engine looks at every watermark at once, so `update_interval` has no effect.
        """
        if max_allowed_watermark_drift.milliseconds < 0:
            raise InvalidJob(
                "drift",
                "The allowed drift must be at least 0 ms.",
                place="with_watermark_alignment",
                mend="Use 0 or more.",
            )
        return self._changed(
            alignment=AlignmentGroup(watermark_group, max_allowed_watermark_drift.milliseconds)
        )

    def spec(self) -> WatermarkSpec:
        """What operators need of it. PyFlink gives an assigner Long.MIN where a record has no timestamp."""
        assigner = self._assigner
        if assigner is None:
            return self._spec
        extract = assigner.extract_timestamp
        return self._spec._replace(
            assign=lambda value, timestamp: extract(
                value, MIN_TIMESTAMP if timestamp is None else timestamp
            )
        )
