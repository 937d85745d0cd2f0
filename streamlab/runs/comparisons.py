"""Two runs of the same job, seed and commands under two snapshot schemes, side by side.

Nothing of a comparison is stored: it is made from what its address says, by replay in slices, and kept for
a while. A moment of it is told by a cursor, which counts either entries of input that both runs have read
("input") or steps of each run ("steps").
"""

import asyncio
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from engine.commands import command_data, parse_command
from engine.errors import ImpossibleAction, LearnerMistake
from engine.measures import Measures, Meter, Results
from engine.narration import narrate_step
from labs.spec import LabSpec
from streamlab.runs import logs, protocol, recordings
from streamlab.runs.errors import RunError
from streamlab.runs.plans import Planned
from streamlab.runs.schemes import SCHEME
from streamlab.runs.slices import Pace, Turns

STEPS_MAX = 20_000
KEPT_MAX = 8
MADE_AT_ONCE_MAX = 8
SAMPLES = 240
CHARTED = (
    "step", "read", "waiting", "held", "blocked", "paused", "saved", "in_flight", "completed", "aborted", "written", "repeated", "foreign",
)  # fmt: skip
SHOWN_MARKS = {"checkpoint_triggered", "checkpoint_completed", "checkpoint_aborted", "failed"}


@dataclass(frozen=True)
class Wanted:
    """What is compared. `parameters`: (name, value), without a scheme."""

    lab: LabSpec
    parameters: tuple[tuple[str, int], ...]
    policy: str
    quantum: int
    seed: int
    schemes: tuple[str, str]
    plan: tuple[Planned, ...]


class Side:
    """One of the two runs, driven by its policy and the plan until nothing can happen or a limit is met."""

    def __init__(
        self,
        wanted: Wanted,
        scheme: str,
        plan: tuple[Planned, ...],
        expected: Results | None = None,
    ) -> None:
        self.scheme = scheme
        self.times = recordings.times_of(wanted.lab)
        self.recording = recordings.open_recording(
            lab=wanted.lab,
            parameters={**dict(wanted.parameters), SCHEME: scheme},
            policy=wanted.policy,
            quantum=wanted.quantum,
            seed=wanted.seed,
        )
        self.meter = Meter(self.recording.view(), expected)
        self.rows: list[Measures] = [self.meter.now]
        self.reached = [0]
        """The step at which so many entries of the input had been read for the first time."""
        self.pending = list(plan)
        self.given: dict[Planned, int] = {}
        self.refusals: dict[Planned, str] = {}
        self.over = False
        self.limit = ""

    @property
    def last(self) -> int:
        return len(self.rows) - 1

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            if self.over:
                return
            self._step()

    def _step(self) -> None:
        if self.last >= min(STEPS_MAX, settings.RUN_STEPS_MAX):
            self._stop(f"It is shown up to step {self.last:,}, where comparisons end.")
        elif self.last % 256 == 0 and self.recording.memory_bytes() > settings.RUN_MEMORY_MAX:
            self._stop(f"It is shown up to step {self.last:,}, where its memory was full.")
        else:
            traces = self._command() or self.recording.step(1, events=True)
            if not traces:
                self.over = True
            for trace in traces:
                self.rows.append(self.meter.read(trace))
                missing = self.meter.now.position + 1 - len(self.reached)
                self.reached += [self.last] * missing

    def _stop(self, sentence: str) -> None:
        self.over, self.limit = True, sentence

    def _command(self) -> list[recordings.StepTrace]:
        """The first command that is due and possible; one that is not possible yet is tried again."""
        for planned in self.pending:
            if not self._is_due(planned):
                continue
            try:
                trace = self.recording.apply(command_data(planned.command))
            except (ImpossibleAction, LearnerMistake) as error:
                self.refusals.setdefault(planned, error.sentence)
                continue
            self.pending.remove(planned)
            self.given[planned] = self.last + 1
            return [trace]
        return []

    def _is_due(self, planned: Planned) -> bool:
        position = planned.position
        return position < len(self.reached) and self.last >= self.reached[position] + planned.steps

    def moment(self, step: int) -> tuple[int, int]:
        """(entries read by that step, steps since the last of them)."""
        return moment(self.reached, step)

    def step_at(self, by: str, cursor: int) -> int:
        if by == "steps" or cursor >= len(self.reached):
            return min(cursor, self.last) if by == "steps" else self.last
        return self.reached[cursor]

    def shown(self, step: int) -> dict[str, Any]:
        """The picture before the step, what the step did, and the measures after it."""
        recording = self.recording
        last: dict[str, Any] = {"step": 0, "say": "", "action": None, "events": []}
        recording.seek(max(0, step - 1))
        view = recording.view()
        if step:
            (trace,) = recording.step(1, events=True)
            say = narrate_step(trace, self.times)
            last = {
                "step": step,
                "say": say,
                "action": trace.action,
                "events": [protocol.event_form(event) for event in trace.events],
            }
        position, since = self.moment(step)
        shown = {"view": view, "last": last, "measures": self.measures(step)}
        return dict(protocol.clean({**shown, "position": position, "since": since}))

    def measures(self, step: int) -> dict[str, Any]:
        row = self.rows[step]
        told = row._asdict()
        told["blocked"] = dict(row.blocked)
        told["checkpoints"] = {
            str(number): entry._asdict() for number, entry in row.checkpoints.items()
        }
        told["missing"] = self.meter.missing() if step == self.last else None
        return told

    def value(self, name: str, step: int) -> int | None:
        row = self.rows[step]
        return sum(row.blocked.values()) if name == "blocked" else getattr(row, name)

    def marks(self) -> list[list[Any]]:
        """[step, position, kind, text], in order."""
        return [
            [step, self.moment(step)[0], kind, text]
            for step, kind, text in self.recording.marks
            if kind in SHOWN_MARKS
        ]


def moment(reached: list[int], step: int) -> tuple[int, int]:
    position = bisect_right(reached, step) - 1
    return position, step - reached[position]


class Comparison:
    """Two sides that have been run to their ends. `at` moves them, and must not be interrupted."""

    def __init__(self, wanted: Wanted, sides: tuple[Side, Side]) -> None:
        self.wanted = wanted
        self.sides = sides

    def length(self, by: str) -> int:
        """The highest cursor. After the last entry of input one more stands for the end of both runs."""
        if by == "steps":
            return max(side.last for side in self.sides)
        return max(len(side.reached) for side in self.sides)

    def summary(self) -> dict[str, Any]:
        """Everything but the pictures: ends, charts, marks, and what became of each command."""
        return dict(
            protocol.clean(
                {
                    "sides": [
                        {
                            "scheme": side.scheme,
                            "steps": side.last,
                            "limit": side.limit,
                            "end": side.measures(side.last),
                            "marks": side.marks(),
                        }
                        for side in self.sides
                    ],
                    "by": {by: self._charts(by) for by in ("input", "steps")},
                    "plan": [
                        {
                            "text": str(planned),
                            "words": planned.words,
                            "position": planned.position,
                            "given": [side.given.get(planned) for side in self.sides],
                            "why": [
                                ""
                                if planned in side.given
                                else side.refusals.get(planned, NOT_REACHED)
                                for side in self.sides
                            ],
                        }
                        for planned in self.wanted.plan
                    ],
                }
            )
        )

    def _charts(self, by: str) -> dict[str, Any]:
        length = self.length(by)
        cursors = sorted({length * number // SAMPLES for number in range(SAMPLES + 1)})
        steps = [[side.step_at(by, cursor) for cursor in cursors] for side in self.sides]
        values = {
            name: [
                [side.value(name, step) for step in at]
                for side, at in zip(self.sides, steps, strict=True)
            ]
            for name in CHARTED
        }
        return {"length": length, "cursors": cursors, "values": values}

    def at(self, by: str, cursor: int) -> dict[str, Any]:
        """Both runs where the cursor stands. Raises RunError outside."""
        length = self.length(by)
        if not 0 <= cursor <= length:
            raise RunError("outside_comparison", place="at", cursor=cursor, length=length)
        return {"cursor": cursor, "sides": [s.shown(s.step_at(by, cursor)) for s in self.sides]}


NOT_REACHED = "The run ended before."


async def compare(wanted: Wanted, turns: Turns) -> Comparison:
    """Run both to their ends, and where something fails also each without failures. Raises an engine error."""
    first, second = [await run_side(wanted, scheme, turns) for scheme in wanted.schemes]
    return Comparison(wanted, (first, second))


async def run_side(wanted: Wanted, scheme: str, turns: Turns) -> Side:
    expected: Results | None = None
    quiet = tuple(planned for planned in wanted.plan if not planned.disturbs)
    if quiet != wanted.plan:
        undisturbed = await to_the_end(Side(wanted, scheme, quiet), turns)
        expected = undisturbed.meter.results
    return await to_the_end(Side(wanted, scheme, wanted.plan, expected), turns)


async def plan_of(
    recording: recordings.Recording, turns: Turns, step: int
) -> tuple[tuple[Planned, ...], int]:
    """(the commands of a recorded run, each at its moment; entries that it had read by `step`)."""
    meter, reached, pace = Meter(recording.view()), [0], Pace()
    while recording.position < recording.head:
        async with pace.slice(turns, recording.head - recording.position) as steps:
            for trace in recording.step(steps, events=True):
                position = meter.read(trace).position
                reached += [trace.step] * (position + 1 - len(reached))
    plan, start = [], 0
    for entry in recording.log:
        if entry[0] == "command":
            plan.append(Planned(parse_command(entry[1]), *moment(reached, start)))
        start += logs.steps_of(entry)
    return tuple(plan), moment(reached, step)[0]


async def to_the_end(side: Side, turns: Turns) -> Side:
    pace = Pace()
    while not side.over:
        async with pace.slice(turns, STEPS_MAX) as steps:
            side.advance(steps)
    return side


class Comparisons:
    """Those that were looked at last. Used from one event loop only."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.kept: OrderedDict[Wanted, Comparison] = OrderedDict()
        self.making: dict[Wanted, asyncio.Task[Comparison]] = {}

    def __contains__(self, wanted: Wanted) -> bool:
        return wanted in self.kept or wanted in self.making

    @property
    def runs_in_memory(self) -> int:
        return 2 * (len(self.kept) + len(self.making))

    def drop_oldest(self) -> bool:
        """Make room; False where nothing is kept."""
        if self.kept:
            self.kept.popitem(last=False)
            return True
        return False

    async def get(self, wanted: Wanted) -> Comparison:
        """Raises RunError comparisons_full, or an engine error."""
        if wanted in self.kept:
            self.kept.move_to_end(wanted)
            return self.kept[wanted]
        if wanted not in self.making:
            if len(self.making) >= MADE_AT_ONCE_MAX:
                raise RunError("comparisons_full", limit=MADE_AT_ONCE_MAX)
            task = asyncio.create_task(compare(wanted, self.turns))
            self.making[wanted] = task
            task.add_done_callback(lambda _: self._made(wanted, task))
        # Whoever else waits for it still gets it when one page is closed.
        return await asyncio.shield(self.making[wanted])

    def _made(self, wanted: Wanted, task: asyncio.Task[Comparison]) -> None:
        self.making.pop(wanted, None)
        if task.cancelled() or task.exception() is not None:
            return
        self.kept[wanted] = task.result()
        while len(self.kept) > KEPT_MAX:
            self.drop_oldest()

    async def close(self) -> None:
        for task in list(self.making.values()):
            task.cancel()
        await asyncio.gather(*self.making.values(), return_exceptions=True)
        self.kept.clear()
