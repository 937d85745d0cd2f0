"""Durations, types, watermark strategies and state descriptors, with PyFlink's names (pyflink.common)."""

from __future__ import annotations

from typing import Any

from engine.datastream.functions import TimestampAssigner
from engine.elements import MIN_TIMESTAMP
from engine.errors import InvalidJob
from engine.event_time.watermarks import WatermarkSpec


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


class ValueStateDescriptor:
    """Name and type of value state."""

    def __init__(self, name: str, value_type_info: TypeInformation | None = None) -> None:
        self.name = name
        self.type_info = value_type_info


class MapStateDescriptor:
    """Name and types of map state."""

    def __init__(
        self,
        name: str,
        key_type_info: TypeInformation | None = None,
        value_type_info: TypeInformation | None = None,
    ) -> None:
        self.name = name
        self.key_type_info = key_type_info
        self.value_type_info = value_type_info


class WatermarkStrategy:
    """How timestamps are assigned and watermarks made (pyflink.common.WatermarkStrategy)."""

    def __init__(self, bound: int | None) -> None:
        self._bound = bound
        self._assigner: TimestampAssigner | None = None

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration) -> WatermarkStrategy:
        if not isinstance(max_out_of_orderness, Duration):
            raise InvalidJob(
                "bound",
                "The bound must be a Duration.",
                place="for_bounded_out_of_orderness",
                mend="Duration.of_minutes(5)",
            )
        bound = max_out_of_orderness.milliseconds
        if type(bound) is not int or bound < 0:
            raise InvalidJob(
                "bound",
                f"The out-of-orderness bound must be an integer >= 0 ms, not {bound!r}.",
                place="for_bounded_out_of_orderness",
                mend="Use 0 or more.",
            )
        return WatermarkStrategy(bound)

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        return WatermarkStrategy(0)

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        return WatermarkStrategy(None)

    @staticmethod
    def for_generator(generator: Any) -> WatermarkStrategy:
        raise NotImplementedError(
            "WatermarkStrategy.for_generator is not implemented in StreamLab yet."
        )

    def with_timestamp_assigner(self, timestamp_assigner: TimestampAssigner) -> WatermarkStrategy:
        copy = WatermarkStrategy(self._bound)
        copy._assigner = timestamp_assigner
        return copy

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy:
        raise NotImplementedError(
            "WatermarkStrategy.with_idleness is not implemented in StreamLab yet."
        )

    def with_watermark_alignment(self, *arguments: Any) -> WatermarkStrategy:
        raise NotImplementedError(
            "WatermarkStrategy.with_watermark_alignment is not implemented in StreamLab yet."
        )

    def spec(self) -> WatermarkSpec:
        """What operators need of it. PyFlink gives an assigner Long.MIN where a record has no timestamp."""
        assigner = self._assigner
        if assigner is None:
            return WatermarkSpec(self._bound, None)
        extract = assigner.extract_timestamp
        return WatermarkSpec(
            self._bound,
            lambda value, timestamp: extract(
                value, MIN_TIMESTAMP if timestamp is None else timestamp
            ),
        )
