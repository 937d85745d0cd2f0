"""A keyed stream in windows: what can be set before it is aggregated (pyflink.datastream.WindowedStream)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from engine.datastream.checks import check_integer
from engine.datastream.common import TypeInformation
from engine.datastream.functions import AggregateFunction
from engine.datastream.transformation import caller, function_with
from engine.datastream.window import WindowAssigner
from engine.errors import InvalidJob
from engine.event_time.composite_triggers import CompositeTrigger, DefaultTrigger
from engine.event_time.evictors import Evictor
from engine.event_time.triggers import EventTimeTrigger, Trigger
from engine.event_time.windows import GlobalWindows as GlobalSpec
from engine.event_time.windows import TumblingWindows
from engine.operators.panes import PaneRules, PaneWindowOperator
from engine.operators.process import OutputTag
from engine.operators.tumbling import TumblingWindowOperator, redistribute_windows
from engine.operators.window import WindowOperator
from engine.operators.window_contents import Aggregated, Listed, Reduced

if TYPE_CHECKING:
    from engine.datastream.data_stream import DataStream, KeyedStream


class WindowedStream:
    """A keyed stream in windows."""

    def __init__(self, stream: KeyedStream, assigner: WindowAssigner) -> None:
        self._stream = stream
        self._assigner = assigner
        self._trigger = assigner.default_trigger
        self._evictor: Evictor | None = None
        self._lateness = 0
        self._late_tag: str | None = None
        self._retract = False
        self._rules: PaneRules | None = None

    def trigger(self, trigger: Trigger) -> WindowedStream:
        if self._assigner.spec.merges and not trigger.can_merge():
            raise InvalidJob(
                "trigger_cannot_merge",
                f"Session windows merge, and the trigger {type(trigger).__name__} cannot.",
                place=caller(),
                mend="Implement can_merge and on_merge.",
            )
        self._trigger = trigger
        return self

    def evictor(self, evictor: Evictor) -> WindowedStream:
        self._evictor = evictor
        return self

    def allowed_lateness(self, time_ms: int) -> WindowedStream:
        self._lateness = check_integer("lateness", "The allowed lateness", time_ms, 0, unit=" ms")
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> WindowedStream:
        self._late_tag = output_tag.tag_id
        return self

    def retracting(self) -> WindowedStream:
        """Used by engine.datastream.extensions.with_retractions."""
        self._retract = True
        return self

    def paned(self, rules: PaneRules) -> WindowedStream:
        """Used by engine.datastream.extensions.with_panes."""
        self._rules = rules
        return self

    def reduce(
        self,
        reduce_function: Any,
        window_function: Any = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        function = function_with(reduce_function, "reduce", caller())
        return self._window(
            function,
            lambda instance: Reduced(getattr(instance, "reduce", instance)),
            window_function,
        )

    def aggregate(
        self,
        aggregate_function: Any,
        window_function: Any = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        needed = [
            "create_accumulator",
            "add",
            "get_result",
            *(["merge"] if self._assigner.spec.merges else []),
        ]
        for method in needed:
            if not hasattr(aggregate_function, method):
                raise InvalidJob(
                    "aggregate",
                    f"The aggregate function has no {method}.",
                    place=caller(),
                    mend="Derive it from AggregateFunction.",
                )
        if (
            self._assigner.spec.merges
            and getattr(type(aggregate_function), "merge", None) is AggregateFunction.merge
        ):
            raise InvalidJob(
                "no_merge",
                f"Session windows need {type(aggregate_function).__name__}.merge, since two windows may become one.",
                place=caller(),
                mend="Implement merge(acc_a, acc_b).",
            )
        return self._window(aggregate_function, Aggregated, window_function)

    def apply(self, window_function: Any, output_type: TypeInformation | None = None) -> DataStream:
        return self._window(
            None, lambda instance: Listed(), function_with(window_function, "apply", caller())
        )

    def process(
        self, process_window_function: Any, output_type: TypeInformation | None = None
    ) -> DataStream:
        return self._window(
            None,
            lambda instance: Listed(),
            function_with(process_window_function, "process", caller()),
        )

    def _window(
        self, aggregate: Any, make_contents: Callable[[Any], Any], function: Any
    ) -> DataStream:
        spec, trigger, evictor, lateness = (
            self._assigner.spec,
            self._trigger,
            self._evictor,
            self._lateness,
        )
        late_tag, retract = self._late_tag, self._retract
        if self._is_plain(aggregate):
            assert isinstance(spec, TumblingWindows)
            return self._stream.keyed(
                "window",
                lambda context, splits, log: TumblingWindowOperator(
                    context, spec, aggregate, function, late_tag
                ),
                redistribute=redistribute_windows,
                detail=self._assigner.detail,
            )
        if evictor is not None:
            # An evictor needs every element; what was an accumulator is computed when the window fires.
            make_contents, aggregate, function = _evicting(make_contents, aggregate, function)
        if self._rules is not None:
            return self._with_panes(self._rules, make_contents, aggregate, function)
        return self._stream.keyed(
            "window",
            lambda context, splits, log: WindowOperator(
                context, spec, trigger, make_contents, aggregate, function,
                evictor=evictor, lateness=lateness, late_tag=late_tag, retract=retract,
            ),
            detail=self._assigner.detail,
        )  # fmt: skip

    def _with_panes(
        self, rules: PaneRules, make_contents: Callable[[Any], Any], aggregate: Any, function: Any
    ) -> DataStream:
        spec, evictor, lateness = self._assigner.spec, self._evictor, self._lateness
        late_tag, retract = self._late_tag, self._retract
        if not (spec.event_time or isinstance(spec, GlobalSpec)):
            raise InvalidJob(
                "panes_by_clock",
                "Panes are early, on time or late by event time; these windows are of the engine's clock.",
                place=caller(),
                mend="Use event-time windows or global ones.",
            )
        is_default = self._trigger is self._assigner.default_trigger
        trigger = DefaultTrigger() if is_default else self._trigger
        if not isinstance(trigger, CompositeTrigger):
            raise InvalidJob(
                "trigger_not_composite",
                f"A window with panes is closed by a trigger that has finished; {type(trigger).__name__} cannot say so.",
                place=caller(),
                mend="Use the triggers of engine.datastream.extensions, AfterCount for CountTrigger.",
            )
        return self._stream.keyed(
            "window",
            lambda context, splits, log: PaneWindowOperator(
                context, rules, spec, trigger, make_contents, aggregate, function,
                evictor=evictor, lateness=lateness, late_tag=late_tag, retract=retract,
            ),
            detail=self._assigner.detail,
        )  # fmt: skip

    def _is_plain(self, aggregate: Any) -> bool:
        """Whether the faster operator will do."""
        spec = self._assigner.spec
        return (
            isinstance(spec, TumblingWindows)
            and spec.event_time
            and type(self._trigger) is EventTimeTrigger
            and self._evictor is None
            and not self._lateness
            and not self._retract
            and self._rules is None
            and hasattr(aggregate, "create_accumulator")
        )


class _Evicting:
    """A window function that folds the elements that an evictor left, then asks the function after it."""

    def __init__(self, make_contents: Callable[[Any], Any], aggregate: Any, function: Any) -> None:
        self.make_contents = make_contents
        self.aggregate = aggregate
        self.function = function

    def process(self, key: Any, context: Any, elements: list[Any]) -> Iterable[Any]:
        if self.aggregate is not None:
            contents = self.make_contents(self.aggregate)
            held = None
            for element in elements:
                held = contents.add(held, element, None)
            elements = contents.elements(held) if held is not None else []
        if self.function is None:
            return elements
        if hasattr(self.function, "process"):
            return self.function.process(key, context, elements) or ()
        return self.function.apply(key, context.window(), elements) or ()


def _evicting(
    make_contents: Callable[[Any], Any], aggregate: Any, function: Any
) -> tuple[Callable[[Any], Any], Any, Any]:
    return (lambda instance: Listed()), None, _Evicting(make_contents, aggregate, function)
