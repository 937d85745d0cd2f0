"""What a submission is tried on: a job with a schedule and checks, or a function with cases; and one run of such a job."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.commands import Command
from engine.errors import ImpossibleAction, StreamLabError
from engine.explore.invariants import Invariant, Rule, Watch
from engine.explore.job_invariants import keyed_state
from engine.graph.job_graph import JobGraph
from engine.job_state import FINISHED
from engine.runtime import Runtime
from engine.scheduler import Policy
from engine.values import text
from labs.grading.pieces import Plugged

MANUAL, RANDOM = Policy("manual"), Policy("random")


@dataclass(frozen=True)
class Check:
    """A comparison with the run of the reference. unlike: (student's, reference's) -> a sentence, or empty."""

    name: str
    unlike: Callable[[Play, Play], str]


@dataclass(frozen=True)
class JobTest:
    """Runs of a job in which the piece is plugged.

    job: (piece) -> the job, made anew for each run. seeds: one run each, under `policy`.
    commands: (step, command), in order. steps: the budget of one run.
    rules: hold in every run. checks: hold where the run has ended.
    message: all that is said where a hidden test fails.
    """

    name: str
    job: Callable[[Any], JobGraph]
    points: int = 1
    visible: bool = True
    message: str = ""
    seeds: tuple[int, ...] = (0,)
    policy: Policy = RANDOM
    commands: tuple[tuple[int, Command], ...] = ()
    steps: int = 20_000
    rules: tuple[Rule, ...] = ()
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True)
class CaseTest:
    """Calls of a function. cases: the arguments of each. expected: (arguments) -> the right value; the reference's where None."""

    name: str
    cases: tuple[tuple[Any, ...], ...]
    expected: Callable[..., Any]
    points: int = 1
    visible: bool = True
    message: str = ""


class Play:
    """One run of a job test, which notes its choices and can be put back to its start, and to nowhere else."""

    def __init__(self, test: JobTest, plug: Callable[[], Plugged], seed: int) -> None:
        """plug: the piece for a new run."""
        self.test = test
        self._plug = plug
        self.seed = seed
        self.tries = 0
        self.policy = test.policy
        self.skips_impossible = False
        """Whether a choice that is not possible is left out."""
        self.start()

    def start(self) -> None:
        plugged = self._plug()
        self.tries += 1
        self.choices: list[str] = []
        self.runtime = plugged.runtime(self.test.job(plugged.function), self.policy, self.seed)
        self.runtime.schedule = []

    def follow_policy(self, rules: Sequence[Rule]) -> tuple[str, str] | None:
        """Run to the end or to the end of the budget: (rule, sentence) where one is broken first."""
        watch = Watch(rules)
        memories = watch.start(self)
        commands = list(enumerate(self.test.commands))
        while True:
            ended = not self.runtime.readiness.enabled()
            broken = watch.judge(self, ended and not commands)
            if broken is None and commands and (ended or self.runtime.step >= commands[0][1][0]):
                action = f"command:{commands.pop(0)[0]}"
                try:
                    self.apply(action)
                except ImpossibleAction:
                    continue
            elif broken is None:
                if ended:
                    return None
                if self.runtime.step >= self.test.steps:
                    return FINISHES.name, FINISHES.broken(self)
                action = self._one_step()
            if broken is None:
                memories, broken = watch.observe(memories, self, action)
            if broken is not None:
                return broken.name, broken.sentence

    def _one_step(self) -> str:
        assert self.runtime.schedule is not None
        self.runtime.run(1)
        action = self.runtime.schedule.pop()[0]
        self.choices.append(action)
        return action

    # What the explorer's minimize() needs

    def enabled(self) -> Sequence[str]:
        mask = self.runtime.readiness.enabled()
        return [
            slot.action for n, slot in enumerate(self.runtime.deployment.slots) if mask >> n & 1
        ]

    def apply(self, action: str) -> None:
        kind, _, rest = action.partition(":")
        try:
            if kind == "command":
                self.runtime.apply(self.test.commands[int(rest)][1])
            else:
                self.runtime.act(action)
        except ImpossibleAction:
            if not self.skips_impossible:
                raise
        else:
            self.choices.append(action)

    def capture(self) -> Any:
        return None

    def restore(self, state: Any) -> None:
        self.start()

    def state_key(self) -> Hashable:
        raise NotImplementedError("Play.state_key: a run with code in the sandbox is not searched.")

    def independent(self, first: str, second: str) -> bool:
        return False

    def results(self) -> list[str]:
        """What the sinks have written, as text, sorted."""
        return sorted(
            f"{name.rpartition('[')[0]}: {text(value)}"
            for name, log in self.runtime.logs.items()
            for value in log.written()
        )


def _finished(play: Play) -> str:
    runtime: Runtime = play.runtime
    if runtime.state == FINISHED:
        return ""
    if runtime.reason:
        return f"The job is {runtime.state}: {runtime.reason}"
    if not play.enabled():
        return "Nothing is possible any more, and the job has not finished."
    return f"The job has not come to its end within {play.test.steps:,} steps."


FINISHES = Invariant("the job finishes", _finished, at_end=True)


def _difference(kind: str, found: list[str], wanted: list[str]) -> str:
    left = list(wanted)
    for one in found:
        if one in left:
            left.remove(one)
        else:
            return f"{kind} {one} is there, and should not be."
    return f"{kind} {left[0]} is missing." if left else ""


SAME_RESULTS = Check(
    "the results are those of the reference",
    lambda mine, reference: _difference("Result", mine.results(), reference.results()),
)


def _rows(play: Play) -> list[str]:
    return [
        f"{operator} {row} = {held}" for (operator, row), held in keyed_state(play.runtime).items()
    ]


SAME_STATE = Check(
    "the state is that of the reference",
    lambda mine, reference: _difference("Row", sorted(_rows(mine)), sorted(_rows(reference))),
)


def told(error: BaseException) -> str:
    """An error of the engine as one sentence, without what the machine puts into others."""
    if isinstance(error, StreamLabError):
        return str(error)
    return f"The engine cannot carry this out ({type(error).__name__})."
