"""Mistakes that people met with in the field, each as the right value. The docstring is what they saw.

Unless a case says otherwise: windows are [start, end), fire when the watermark reaches end - 1, and a record is late when
end - 1 plus the allowed lateness is not above the watermark; watermarks follow each record.
"""

from __future__ import annotations

import pytest

from engine import Policy, Recording
from engine.datastream import (
    AggregateFunction,
    BroadcastProcessFunction,
    CoMapFunction,
    ContinuousEventTimeTrigger,
    CountTrigger,
    Duration,
    EventTimeSessionWindows,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OutputTag,
    ProcessWindowFunction,
    StateTtlConfig,
    Time,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from engine.datastream.extensions import join, non_touching_sessions, with_retractions
from engine.elements import MAX_TIMESTAMP
from engine.events import ClockAdvanced, RecordRead, SplitStatus
from engine.operators.split import At, SplitData, Wait
from engine.testing import run_job, run_to_idle, written

from ..small import MANUAL, act, job, state_of
from .scripts import (
    IDLE,
    LATE,
    NEVER,
    Run,
    channels,
    first_field,
    sources,
    splits,
    windowed,
    wm,
)

BOTH = pytest.mark.parametrize("inputs", [splits, channels])


def tumbling(size: int, offset: int = 0) -> TumblingEventTimeWindows:
    return TumblingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(offset))


def sessions(gap: int) -> EventTimeSessionWindows:
    return EventTimeSessionWindows.with_gap(Time.milliseconds(gap))


# Watermarks: idle, finished, merged


@BOTH
def test_f01_without_idleness(inputs):
    """One silent partition freezes every window downstream."""
    run = Run(lambda env: windowed(inputs(env, [1, 5, 11, 21], []), tumbling(10)))
    assert run.read(0, 0, 0, 0) == [NEVER] * 4
    assert run.out() == []


@BOTH
def test_f01_with_idleness(inputs):
    """A silent partition that is marked idle holds nobody back."""
    run = Run(lambda env: windowed(inputs(env, [1, 5, 11, 21], [IDLE]), tumbling(10)))
    assert run.read(1) == [NEVER]
    assert run.read(0, 0) == [0, 4]
    assert run.out() == []
    assert run.read(0) == [10]
    assert run.counts() == [(0, 10, 2)]
    assert run.read(0) == [20]
    assert run.counts() == [(0, 10, 2), (10, 20, 1)]


def test_f01_more_subtasks_than_partitions():
    """The same disease: a source subtask that was given no partition. Here it ends at once."""

    def build(env):
        windowed(splits(env, [1, 5, 11, 21]).set_parallelism(3).rebalance(), tumbling(10))

    assert run_job(job(build)).runtime.logs["out[0]"].written() == [
        (0, 10, [1, 5]), (10, 20, [11]), (20, 30, [21]),
    ]  # fmt: skip


F02_ORDER = (1, 0, 0, 0, 1, 0, 1, 0)


@pytest.mark.parametrize(
    ("inputs", "watermarks"),
    [(splits, [0, 4, 10, 10, 10, 11, 20]), (channels, [0, 4, 10, 10, 11, 11, 20])],
)
def test_f02(inputs, watermarks):
    """An idle partition wakes up with old events and they vanish.

    They are late, and the watermark never steps back. Between splits the one that woke up holds the watermark where it is;
    between channels it is left out until it has caught up.
    """
    run = Run(lambda env: windowed(inputs(env, [1, 5, 11, 12, 22], [IDLE, 4, 21]), tumbling(10)))
    assert run.read(*F02_ORDER) == [NEVER, *watermarks]
    assert run.counts() == [(0, 10, 2), (10, 20, 2)]
    assert run.late() == [4]


@BOTH
@pytest.mark.parametrize(("lateness", "late"), [(1, [4]), (2, [])])
def test_f02_lateness(inputs, lateness, late):
    """How much allowed lateness saves them: the window's last timestamp plus it must be above the watermark, 9 + 2 > 10."""

    def build(env):
        stream = inputs(env, [1, 5, 11, 12, 22], [IDLE, 4, 21])
        windowed(stream, tumbling(10), allowed_lateness=lateness)

    run = Run(build)
    run.read(*F02_ORDER)
    assert run.late() == late
    assert ((0, 10, [1, 5, 4]) in run.out()) is (not late)


@BOTH
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_f03(inputs, order):
    """The result depends on which split goes idle first. When all are idle, the highest watermark counts."""
    run = Run(lambda env: windowed(inputs(env, [wm(5), IDLE], [wm(4), IDLE]), tumbling(10)))
    assert run.read(0, 1) == [NEVER, 4]
    run.read(*order)
    assert run.watermark("window") == 5


F04_ORDER = (0, 1, 0, 1, 1, 1, 1)


def f04(inputs, rule):
    def build(env):
        env.set_finished_inputs(rule)
        windowed(inputs(env, [5], [6, IDLE, 8, 25, 31]), tumbling(10))

    return Run(build)


@BOTH
def test_f04_as_flink_does(inputs):
    """A job with one finished and one idle input emits nothing afterwards: the finished one counts as the end of time."""
    run = f04(inputs, "max")
    assert run.read(*F04_ORDER) == [NEVER, 4, 5, *[MAX_TIMESTAMP] * 4]
    assert run.counts() == [(0, 10, 2)]
    assert run.late() == [8, 25, 31]


@BOTH
def test_f04_excluded(inputs):
    """A finished input is left out until all have finished."""
    run = f04(inputs, "excluded")
    assert run.read(*F04_ORDER) == [NEVER, 4, 5, 5, 7, 24, 30]
    assert run.counts() == [(0, 10, 3), (20, 30, 1)]
    assert run.late() == []
    assert run.read(1) == [MAX_TIMESTAMP]


class Same(CoMapFunction):
    def map1(self, value):
        return value

    def map2(self, value):
        return value


def two_inputs(env, *scripts):
    first, second = sources(env, *scripts)
    return first.connect(second).map(Same()).name("two inputs")


@pytest.mark.parametrize(
    ("rule", "watermarks"),
    [("max", [NEVER, 4, 5, *[MAX_TIMESTAMP] * 4]), ("excluded", [NEVER, 4, 5, 5, 7, 24, 30])],
)
def test_f04_two_input_operator(rule, watermarks):
    """The same between the two inputs of one operator."""
    assert f04(two_inputs, rule).read(*F04_ORDER) == watermarks


@pytest.mark.parametrize("inputs", [channels, two_inputs])
def test_f04_excluded_whoever_comes_first(inputs):
    """The end of time and the end of input are two elements: what comes between them changes nothing."""
    run = f04(inputs, "excluded")
    run.read(0, 1)
    target = "window" if inputs is channels else "two inputs"
    assert run.watermark(target) == 4
    act(run.recording, "read:source0[0]/p", f"take:source0[0]>{target}[0]")
    act(run.recording, "read:source1[0]/p", f"take:source1[0]>{target}[0]")
    assert run.watermark(target) == 5
    run.flow()
    assert run.watermark(target) == 5


@pytest.mark.parametrize("phase", [*range(0, 400, 40), 199, 201])
def test_f06(phase):
    """An idle timeout of T does not mean "idle after T": with probes every I it is from T + I to T + 3 I."""
    timeout, interval = 1000, 200
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(
        Duration.of_millis(timeout)
    )
    entries = [Wait(phase), At("last", 5), Wait(10_000)] if phase else [At("last", 5), Wait(10_000)]
    recording = Recording(
        job(lambda env: env.from_splits([SplitData("p", entries)], strategy, "source").print("out"))
    )
    now, last, idle = 0, None, None
    for _ in range(200):
        for step in recording.step(1, events=True):
            for event in step.events:
                if isinstance(event, ClockAdvanced):
                    now = event.time // 1000
                elif isinstance(event, RecordRead):
                    last = now
                elif (
                    isinstance(event, SplitStatus)
                    and event.idle
                    and idle is None
                    and last is not None
                ):
                    idle = now
    assert timeout + interval <= idle - last <= timeout + 3 * interval


@pytest.mark.parametrize("inputs", [splits, channels, two_inputs])
@pytest.mark.parametrize(
    ("scripts", "order", "times"),
    [
        (([2, 15], [3, 16]), (0, 0, 1, 1), [2, 3]),
        (([2, 15], [3, 4, 16]), (0, 1, 0, 1, 1), [2, 3, 4]),
    ],
)
def test_f07(inputs, scripts, order, times):
    """A two-input operator advances when only one input has sent a watermark. It must be the lower one of both."""
    run = Run(lambda env: windowed(inputs(env, *scripts), tumbling(10)))
    watermarks = run.read(*order)
    assert watermarks[0] == NEVER
    assert watermarks[-1] == 14
    assert run.out() == [(0, 10, times)]
    assert run.late() == []


def test_f08():
    """The union of a stream with itself stalls time."""

    def build(env):
        stream = splits(env, [1, 11, 21])
        windowed(stream.union(stream), tumbling(10))

    run = Run(build)
    assert run.read(0, 0, 0) == [0, 10, 20]
    assert run.counts() == [(0, 10, 2), (10, 20, 2)]


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator


class Sum(Count):
    def add(self, value, accumulator):
        return accumulator + value[2]


class WithStart(ProcessWindowFunction):
    def process(self, key, context, elements):
        for element in elements:
            yield key, context.window().start, element


def cascade(env):
    counted = splits(env, [1, 3, 7, wm(10)], bound=None).key_by(first_field).window(tumbling(5))
    counted = counted.aggregate(Count(), WithStart()).name("counts")
    summed = counted.key_by(first_field).window(tumbling(10)).side_output_late_data(LATE)
    result = summed.aggregate(Sum(), WithStart()).name("window")
    result.print("out")
    result.get_side_output(LATE).print("late")


def test_f09():
    """A downstream window misses the results of the upstream window. Results go before the watermark that caused them."""
    run = Run(cascade)
    assert run.read(0, 0, 0, 0) == [NEVER, NEVER, NEVER, 10]
    assert run.out() == [("k", 0, 3)]
    assert run.late() == []


@pytest.mark.parametrize("quantum", [1, 2, 64])
def test_f10(quantum):
    """A second aggregation in one query outputs nothing.

    Seen in micro-batches, whose one watermark both filters late rows and evicts state. Here each operator has its own, so
    that the cascade gives its result however many records a burst takes at once.
    """
    recording = run_job(job(cascade), Policy("round_robin", quantum))
    assert written(recording) == {"out[0]": [("k", 0, 3)], "late[0]": []}


# Alignment groups


def aligned(env, *scripts, drift=20, idleness=None):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment(
        "group", Duration.of_millis(drift)
    )
    if idleness:
        strategy = strategy.with_idleness(Duration.of_millis(idleness))
    streams = [
        env.from_splits([SplitData("p", script)], strategy, f"source{number}")
        for number, script in enumerate(scripts)
    ]
    windowed(streams[0].union(*streams[1:]), tumbling(10))


def times(*timestamps):
    return [At(("k", timestamp), timestamp) for timestamp in timestamps]


def can_read(run, number):
    return f"read:source{number}[0]/p" in [action["id"] for action in run.recording.possible()]


def test_f11_paused_and_resumed():
    """Join state explodes while one source replays history. A waits until B is within the drift."""
    run = Run(lambda env: aligned(env, times(101, 102), times(11, 80, 81, 82)))
    run.read(1, 0)
    assert not can_read(run, 0)
    why = {action["id"]: action["reason"]["sentence"] for action in run.recording.impossible()}
    assert "alignment group" in why["read:source0[0]/p"]
    run.read(1)
    assert not can_read(run, 0)  # B's watermark is 79: 79 + 20 < 100
    run.read(1)
    assert can_read(run, 0)


def test_f11_aligned_from_the_start():
    """What A can have sent ahead of B is what is within the drift, and the record that went beyond it."""
    run = Run(lambda env: aligned(env, times(*range(1, 200)), times(11, *range(12, 200))))
    run.read(1)
    while can_read(run, 0):
        run.read(0)
    sent = run.recording.runtime.deployment.splits["source0[0]/p"].highest
    assert sent == 32  # watermark 31 is the first above 10 + 20


@pytest.mark.parametrize("end", ["idle", "finished"])
def test_f11_members_that_are_idle_or_finished(end):
    """Later the aligned source never wakes: an idle or a finished member must not pin the group."""
    script = times(11) if end == "finished" else [*times(11), IDLE]
    run = Run(lambda env: aligned(env, times(101, 102), script))
    run.read(1, 0)
    assert not can_read(run, 0)
    run.read(1)
    assert can_read(run, 0)


def test_f11_paused_for_longer_than_the_idle_timeout():
    """A source that is paused is silent, but not idle; it goes on when the group allows it."""

    def build(env):
        slow = [*times(11), Wait(5000), *times(50), Wait(5000), *times(101)]
        aligned(env, times(101, 102), slow, idleness=1000)

    recording = Recording(job(build))
    fast = "source0[0]/p"
    seen = []
    while recording.step(1, events=True):
        split = recording.runtime.deployment.splits[fast]
        seen.append((split.paused, split.idle))
    assert (True, False) in seen
    assert (True, True) not in seen
    assert state_of(recording) == "finished"
    assert recording.runtime.deployment.splits[fast].offset == 2


def test_f11_all_others_idle_while_one_is_paused():
    """If B falls silent for good, it becomes idle by the clock and A is resumed."""

    def build(env):
        aligned(env, times(101, 102, 103), [*times(11), Wait(100_000)], idleness=1000)

    recording = Recording(job(build))
    while recording.runtime.clock.now < 10_000_000:
        recording.step(1)
    assert recording.runtime.deployment.splits["source0[0]/p"].ended


def test_f11_after_a_failure():
    """A pause belongs to a deployment: the group is looked at anew after recovery."""
    run = Run(lambda env: aligned(env, times(101, 102), times(11, 80, 110)))
    run.read(1, 0)
    assert not can_read(run, 0)
    run.recording.apply({"kind": "fail", "subtask": "window[0]"})
    act(run.recording, "restart")
    assert can_read(run, 0)
    run.read(1, 0)
    assert not can_read(run, 0)


# Lateness


def test_f12():
    """A late trade still shows up in the aggregate."""

    def build(env):
        stream = splits(env, [100_000, wm(200_000), 50_000, wm(250_000)], bound=None)
        windowed(stream, tumbling(1000))

    run = Run(build)
    run.read(0, 0)
    assert run.counts() == [(100_000, 101_000, 1)]
    run.read(0, 0)
    assert run.counts() == [(100_000, 101_000, 1)]
    assert run.late() == [50_000]


@pytest.mark.parametrize(
    ("bound", "lateness", "fired", "late"),
    [
        (0, 0, [(0, 10, 1), (10, 20, 2)], [8, 7, 4]),
        (5, 0, [(0, 10, 2)], [7, 4]),
        (5, 5, [(0, 10, 2), (0, 10, 3)], [4]),
        (0, 5, [(0, 10, 1), (0, 10, 2), (10, 20, 2)], [7, 4]),
    ],
)
def test_f14(bound, lateness, fired, late):
    """Three knobs mixed up: the bound delays the first result, the lateness keeps state and fires again, retention alone
    accepts nothing."""

    def build(env):
        stream = splits(env, [3, 12, 8, 16, 7, 21, 4], bound=bound)
        windowed(stream, tumbling(10), allowed_lateness=lateness)

    run = Run(build)
    run.read(*[0] * 7)
    assert run.counts() == fired
    assert run.late() == late


# Windows


def test_f15():
    """The last window never comes out: silence does not move event time, the next record does."""
    entries = [At(("a", t * 1000), t * 1000) for t in range(4)]
    entries += [Wait(600_000), At(("b", 61_000), 61_000), Wait(600_000)]
    recording = Recording(job(lambda env: windowed(splits(env, entries), tumbling(60_000))))

    def seen_by(clock):
        while recording.runtime.clock.now < clock * 1_000_000 and recording.step(1, events=True):
            pass
        return written(recording)["out[0]"]

    assert seen_by(600) == []
    assert seen_by(1200) == [(0, 60_000, [0, 1000, 2000, 3000])]  # b is still open


def test_f16():
    """A final result only after 24 hours.

    Seen in Kafka Streams, whose old default grace period closed windows a day later. Here nothing is hidden: the bound
    delays the result by as much as it says, and allowed lateness does not delay it at all.
    """
    day = 86_400_000
    script = [0, 61_000, 60_000 + day, 60_001 + day]

    def fired_after(bound, lateness):
        def build(env):
            windowed(splits(env, script, bound=bound), tumbling(60_000), allowed_lateness=lateness)

        run = Run(build)
        for number in range(len(script)):
            run.read(0)
            if run.out():
                return script[number]
        return None

    assert fired_after(bound=0, lateness=0) == 61_000
    assert fired_after(bound=0, lateness=day) == 61_000
    assert fired_after(bound=day, lateness=0) == 60_000 + day


F17 = [1, 2, wm(4), wm(8), 9, wm(9)]


def f17(trigger):
    run = Run(lambda env: windowed(splits(env, F17, bound=None), tumbling(10), trigger=trigger))
    fired = []
    for entry in F17:
        before = len(run.out())
        run.read(0)
        fired += [
            (getattr(entry, "timestamp", entry), count) for _, _, count in run.counts()[before:]
        ]
    return fired


def test_f17():
    """A custom trigger silences the end-of-window result. The continuous trigger fires there too."""
    assert f17(ContinuousEventTimeTrigger.of(Time.milliseconds(4))) == [(4, 2), (8, 2), (9, 3)]


def test_f17_a_trigger_replaces_the_default_one():
    """A count trigger knows no end of window: the record that fills no count is lost."""
    assert f17(CountTrigger.of(2)) == [(2, 2)]


@pytest.mark.parametrize(("hours", "start"), [(0, 1_704_067_200_000), (-8, 1_704_124_800_000)])
def test_f19(hours, start):
    """A daily window starts at 08:00 local time. An offset, which may be negative, moves it to local midnight.

    2024-01-01T16:30Z is half past midnight in UTC+8. A fixed offset cannot express days of 23 or 25 hours.
    """
    half_past = 1_704_126_600_000
    day, hour = 86_400_000, 3_600_000
    run = Run(lambda env: windowed(splits(env, [half_past]), tumbling(day, hours * hour)))
    run.read(0, 0)
    assert run.out() == [(start, start + day, [half_past])]


def test_f20():
    """Negative timestamps land in the next window."""
    run = Run(lambda env: windowed(splits(env, [-7, -6, -5, -1]), tumbling(5)))
    assert run.read(0, 0, 0, 0) == [-8, -7, -6, -2]
    assert run.out() == [(-10, -5, [-7, -6])]
    run.read(0)
    assert run.out() == [(-10, -5, [-7, -6]), (-5, 0, [-5, -1])]


# Sessions


def session_run(script, assigner, lateness=0, bound=None):
    run = Run(
        lambda env: windowed(splits(env, script, bound=bound), assigner, allowed_lateness=lateness)
    )
    run.read(*[0] * (len(script) + 1))
    return run


@pytest.mark.parametrize(
    ("script", "touching", "apart"),
    [([1, wm(3), 3], [[1], [3]], [[1], [3]]), ([1, 3, wm(3)], [[1, 3]], [[1], [3]])],
)
def test_f21(script, touching, apart):
    """The same events, different sessions.

    Windows that touch are merged, so that it matters where the watermark falls. Under the stricter rule of Jet and Beam,
    which is a setting here, it does not.
    """
    assert [held for _, _, held in session_run(script, sessions(2)).out()] == touching
    strict = non_touching_sessions(Time.milliseconds(2))
    assert [held for _, _, held in session_run(script, strict).out()] == apart


@pytest.mark.parametrize(
    ("lateness", "fired"),
    [(0, [(0, 5, [0]), (3, 8, [3])]), (5, [(0, 5, [0]), (0, 8, [0, 3])])],
)
def test_f22(lateness, fired):
    """Two emitted sessions overlap although no element was late: the first was gone. Lateness keeps it, and they merge."""
    run = session_run([0, wm(6), 3, wm(8)], sessions(5), lateness)
    assert run.out() == fired
    assert run.late() == []


def test_f23():
    """A late event joins the following session."""
    run = session_run([1, wm(10), 2, 11, wm(20)], sessions(2))
    assert run.out() == [(1, 3, [1]), (11, 13, [11])]
    assert run.late() == [2]


@pytest.mark.parametrize(
    ("bound", "lateness", "fired"),
    [
        (10, 0, [(0, 13, {0, 4, 8})]),
        (0, 10, [(0, 5, {0}), (0, 13, {0, 4, 8})]),
        (0, 0, [(0, 5, {0}), (4, 13, {4, 8})]),
    ],
)
def test_f24(bound, lateness, fired):
    """A bridging event should glue two sessions: their state and the timers of their triggers are merged."""
    run = session_run([0, 8, 4, 40], sessions(5), lateness, bound)
    assert [(start, end, set(held)) for start, end, held in run.out()[:-1]] == fired
    assert run.out()[-1] == (40, 45, [40])


def test_f24_with_retractions():
    """The session that was glued into a larger one is taken back first."""

    def build(env):
        keyed = splits(env, [0, 8, 4, 40]).key_by(first_field)
        window = with_retractions(keyed.window(sessions(5)).allowed_lateness(10))
        window.reduce(lambda a, b: (a[0], a[1] + b[1])).name("window").print("out")

    run = Run(build)
    run.read(0, 0, 0, 0)
    assert run.out() == [(True, ("k", 0)), (False, ("k", 0)), (True, ("k", 12))]


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 0, 1, 1), (1, 1, 0, 0)])
def test_f25(swapped, order):
    """A join inside a session window works only for one order of the inputs."""

    def build(env):
        first, second = sources(env, [At(("k", "A"), 10_000)], [At(("k", "B"), 11_000)])
        pair = (second, first) if swapped else (first, second)
        joined = join(*pair).where(first_field).equal_to(first_field).window(sessions(60_000))
        joined.apply(lambda a, b: {a[1], b[1]}).name("window").print("out")

    run = Run(build)
    run.read(*order, *([0, 1] if len(order) == 2 else []))
    assert run.out() == [{"A", "B"}]


# State and timers


class RidesAndFares(KeyedCoProcessFunction):
    """Pairs a ride with its fare; with a timeout, a ride that waits for longer goes to the side."""

    def __init__(self, timeout=None):
        self.timeout = timeout

    def open(self, runtime_context):
        self.ride = runtime_context.get_state(ValueStateDescriptor("ride"))
        self.fare = runtime_context.get_state(ValueStateDescriptor("fare"))

    def process_element1(self, ride, ctx):
        fare = self.fare.value()
        if fare is not None:
            self.fare.clear()
            yield ride[1], fare
            return
        self.ride.update(ride[1])
        if self.timeout is not None:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + self.timeout)

    def process_element2(self, fare, ctx):
        ride = self.ride.value()
        if ride is None:
            self.fare.update(fare[1])
        else:
            self.ride.clear()
            yield ride, fare[1]

    def on_timer(self, timestamp, ctx):
        if self.ride.value() is not None:
            yield OutputTag("unpaired"), self.ride.value()
            self.ride.clear()


def rides(timeout):
    def build(env):
        starts = [At(("1", "r1"), 10), At(("2", "r2"), 20), wm(10_000)]
        first, second = sources(env, starts, [At(("1", "f1"), 30), wm(10_000)], bound=None)
        keyed = first.connect(second).key_by(first_field, first_field)
        paired = keyed.process(RidesAndFares(timeout)).name("window")
        paired.print("out")
        paired.get_side_output(OutputTag("unpaired")).print("unpaired")

    run = Run(build)
    assert run.read(0, 0, 1, 0, 1)[-1] == 10_000
    assert run.out() == [("r1", "f1")]
    return run


def test_f31_for_ever():
    """State grows for ever: a ride whose fare never comes."""
    run = rides(timeout=None)
    assert run.operator("window").state.tables["ride"][1] == {"2": "r2"}
    assert run.out("unpaired") == []


def test_f31_with_a_timer():
    """A timer at the ride's time plus a timeout clears it, and says so."""
    run = rides(timeout=1000)
    assert run.out("unpaired") == ["r2"]
    assert run.operator("window").entries() == 0


class Bookkeeping(KeyedProcessFunction):
    """Four kinds of state for each key, all cleared by its timer."""

    def open(self, runtime_context):
        self.value = runtime_context.get_state(ValueStateDescriptor("value"))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map"))
        ttl = StateTtlConfig.new_builder(Time.hours(1)).build()
        remembered = ValueStateDescriptor("remembered")
        remembered.enable_time_to_live(ttl)
        self.remembered = runtime_context.get_state(remembered)

    def process_element(self, value, ctx):
        self.value.update(value[1])
        self.list.add(value[1])
        self.map.put(value[1], True)
        self.remembered.update(value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def on_timer(self, timestamp, ctx):
        for state in (self.value, self.list, self.map, self.remembered):
            state.clear()


def test_f32():
    """Cleanup clears two of four state cells. After it, no state and no timer may hold anything."""
    entries = [At((f"session {number}", number), number) for number in range(1000)]

    def build(env):
        stream = splits(env, [*entries, wm(5000)], bound=None)
        stream.key_by(first_field).process(Bookkeeping()).name("window")

    run = Run(build)
    run.read(*[0] * 1000)
    operator = run.operator("window")
    assert operator.entries() == 5 * 1000
    run.read(0)
    assert operator.entries() == 0
    assert {
        name: len(table) for name, (_, table) in operator.state.tables.items()
    } == dict.fromkeys(operator.state.tables, 0)


class Remembers(KeyedProcessFunction):
    """("put", key) writes a value that lives for 10 ms; ("get", key) reads it."""

    def __init__(self, cleanup):
        self.cleanup = cleanup

    def open(self, runtime_context):
        builder = StateTtlConfig.new_builder(Time.milliseconds(10))
        if self.cleanup:
            builder = builder.cleanup_incrementally(self.cleanup, False)
        descriptor = ValueStateDescriptor("held")
        descriptor.enable_time_to_live(builder.build())
        self.held = runtime_context.get_state(descriptor)

    def process_element(self, value, ctx):
        if value[1] == "put":
            self.held.update(1)
        else:
            yield value[0], self.held.value()


def f33(script, cleanup):
    entries = [entry if type(entry) is Wait else At(entry, 0) for entry in script]

    def build(env):
        stream = env.from_splits(
            [SplitData("p", entries)], WatermarkStrategy.no_watermarks(), "source"
        )
        stream.key_by(first_field).process(Remembers(cleanup)).name("window").print("out")

    recording = run_job(job(build))
    held = recording.runtime.deployment.subtasks["window[0]"].operator.state.tables["held"][1]
    return written(recording)["out[0]"], held


def test_f33_expired_but_held():
    """A time to live is set, and state still grows: what has expired is removed when it is read."""
    assert f33([("k1", "put"), Wait(100), ("k2", "get")], cleanup=0) == ([("k2", None)], {"k1": 1})


def test_f33_gone_when_read():
    """Expired state cannot be seen, and reading it removes it."""
    assert f33([("k1", "put"), Wait(100), ("k1", "get")], cleanup=0) == ([("k1", None)], {})


def test_f33_background_cleanup():
    """Incremental cleanup removes it though nobody reads it, at any other access."""
    assert f33([("k1", "put"), Wait(100), ("k2", "get")], cleanup=5) == ([("k2", None)], {})


def test_f33_background_cleanup_gets_past_what_is_alive():
    """A key that is written again and again does not keep the cleanup from those behind it."""
    busy = [entry for _ in range(10) for entry in (("k1", "put"), Wait(5))]
    script = [("k1", "put"), ("k2", "put"), *busy]
    assert f33(script, cleanup=1) == ([], {"k1": 1})


class Alarms(KeyedProcessFunction):
    """The second field of a record lists the timers that it sets."""

    def __init__(self, domain):
        self.domain = domain

    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        for time in value[1]:
            getattr(timers, f"register_{self.domain}_time_timer")(time)

    def on_timer(self, timestamp, ctx):
        yield timestamp, ctx.timer_service().current_processing_time()


def test_f34_processing_time():
    """After recovery a burst of timers fires at once: those that were due, each exactly once; the others in their time."""

    def build(env):
        entries = [At(("k", (10, 20, 30)), 0), Wait(5), Wait(20), Wait(1000)]
        stream = splits(env, entries, bound=None)
        stream.key_by(first_field).process(Alarms("processing")).name("window").print("out")

    recording = Recording(job(build))

    def until(clock):
        while recording.runtime.clock.now < clock * 1000:
            recording.step(1)

    until(5)
    recording.apply({"kind": "checkpoint"})
    until(25)
    recording.apply({"kind": "fail", "subtask": "window[0]"})
    before = written(recording)["out[0]"]
    assert before == [(10, 10), (20, 20)]
    run_to_idle(recording)
    assert written(recording)["out[0]"][len(before) :] == [(10, 25), (20, 25), (30, 30)]


def test_f34_event_time():
    """Timers of event time fire again when the watermark has come back to them, each exactly once."""

    def build(env):
        script = [At(("k", (10, 20, 30)), 0), wm(25), wm(29), wm(35)]
        stream = splits(env, script, bound=None)
        stream.key_by(first_field).process(Alarms("event")).name("window").print("out")

    run = Run(build)
    run.read(0)
    run.recording.apply({"kind": "checkpoint"})
    for _ in range(50):
        waiting = [
            action["id"]
            for action in run.recording.possible()
            if action["id"].startswith(("trigger:", "ack:", "take:"))
        ]
        if not waiting:
            break
        act(run.recording, waiting[0])
    assert run.recording.view()["last_completed"] == 1
    assert run.read(0) == [25]
    assert [time for time, _ in run.out()] == [10, 20]
    run.recording.apply({"kind": "fail", "subtask": "window[0]"})
    act(run.recording, "restart")
    assert run.watermark("window") == NEVER
    assert run.operator("window").entries() == 3
    assert run.read(0, 0, 0) == [25, 29, 35]
    assert [time for time, _ in run.out()[2:]] == [10, 20, 30]


# Broadcast


class Rules(BroadcastProcessFunction):
    """Keeps one rule: the last that came, or that of the highest version."""

    rule = MapStateDescriptor("rule")

    def __init__(self, versioned):
        self.versioned = versioned

    def process_element(self, value, ctx):
        return None

    def process_broadcast_element(self, value, ctx):
        held = ctx.get_broadcast_state(self.rule)
        if not self.versioned or value > (held.get("r") or ""):
            held.put("r", value)


@pytest.mark.parametrize(("versioned", "held"), [(True, ["v2", "v2"]), (False, ["v2", "v1"])])
def test_f59(versioned, held):
    """Two subtasks apply rules in different order. Broadcast delivers to all, in no common order: rules need versions."""

    def build(env):
        records = env.from_collection([]).name("records")
        first, second = (env.from_collection([rule]).name(rule) for rule in ("v1", "v2"))
        rules = first.union(second).broadcast(Rules.rule)
        processed = records.rebalance().connect(rules).process(Rules(versioned))
        processed.name("window").set_parallelism(2)

    recording = Recording(job(build), MANUAL)
    act(recording, "read:v1[0]/collection", "read:v2[0]/collection")
    act(recording, "take:v1[0]>window[0]", "take:v2[0]>window[0]")
    act(recording, "take:v2[0]>window[1]", "take:v1[0]>window[1]")
    subtasks = recording.runtime.deployment.subtasks
    tables = [subtasks[f"window[{index}]"].operator.tables["rule"] for index in range(2)]
    assert [table["r"] for table in tables] == held
