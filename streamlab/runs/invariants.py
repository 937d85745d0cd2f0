"""Which rules hold in a run: those that are switched on are judged after every step, and over what was recorded before.

A rule that is behind the run is brought up to its head on a copy, in slices that take turns with all other work. The first
violation is the answer: what comes after it is not judged. Rules, their titles and what they mean are the engine's
(`engine.explore.registry`); the same ones serve the explorer.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engine import StepTrace
from engine.errors import StreamLabError
from engine.explore.invariants import Invariant, Memories, Rule, Watch
from engine.explore.registry import INVARIANTS
from engine.job_state import FINISHED
from engine.processes.recording import NetworkRecording
from labs.spec import LabSpec
from streamlab.runs import protocol, recordings, services
from streamlab.runs.bundles import bundle_lab
from streamlab.runs.errors import CATALOGUE, RunError
from streamlab.runs.recordings import AnyRecording
from streamlab.runs.slices import Pace

if TYPE_CHECKING:
    from streamlab.runs.live import LiveRun

logger = logging.getLogger(__name__)

CHECKED_STEPS = 256
"""In one slice at most: these steps are taken one by one."""
AT_ONCE = 64
"""A rule that is no further behind catches up while the run waits."""
PROGRESS_SECONDS = 0.25
RULES_MAX = 64

_made: OrderedDict[str, Rule] = OrderedDict()


def offered(kind: str = "job") -> list[dict[str, Any]]:
    """[{name, title, explanation, belief}] of the rules that apply to runs of this kind."""
    return [
        {
            "name": name,
            "title": rule.title,
            "explanation": rule.explanation,
            "belief": rule.belief,
        }
        for name, rule in INVARIANTS.items()
        if rule.kind == kind
    ]


async def made(
    name: str, lab: LabSpec, parameters: dict[str, Any], one_by_one: asyncio.Lock
) -> Rule:
    """The rule for this job. Raises an engine error where the job cannot be judged by it.

    Some rules run the job once without any failure, to know what is right; that happens beside the event loop.
    """
    if INVARIANTS[name].kind == "network":
        return INVARIANTS[name].make(None)  # the same for every network
    key = f"{name} {lab.digest} {sorted(parameters.items())}"
    async with one_by_one:
        if key not in _made:
            factory = recordings.graph_factory(lab, parameters)
            factory()  # the shared graph is made here, so that no other thread makes one
            _made[key] = await asyncio.to_thread(INVARIANTS[name].make, factory)
            if len(_made) > RULES_MAX:
                _made.popitem(last=False)
        _made.move_to_end(key)
        return _made[key]


class Judgement:
    """One rule in one run. `checked` is the step up to which it is judged, -1 before the first."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rule: Rule | None = None
        self.watch = Watch(())
        self.refused = ""
        self.reset()

    def follow(self, rule: Rule) -> None:
        self.rule, self.watch = rule, Watch([rule])

    def reset(self) -> None:
        self.checked = -1
        self.memories: Memories = ()
        self.violated: int | None = None
        self.sentence = ""
        self.decided = False

    def wants(self, head: int) -> bool:
        """Whether there are steps up to `head` that it has to look at."""
        return not self.refused and self.violated is None and self.checked < head

    def observe(self, recording: AnyRecording, action: str) -> None:
        """Judge the step that the recording has just reached by `action`; step 0 without one."""
        step = recording.position
        if self.rule is None or self.violated is not None or step != self.checked + 1:
            return
        watch, broken = self.watch, None
        if isinstance(recording, NetworkRecording):
            system: Any = recording.system
            ended = finished = not system.enabled()
        else:
            system, runtime = recording, recording.runtime
            ended = not runtime.readiness.enabled()
            finished = runtime.state == FINISHED
        if step == 0:
            self.memories = watch.start(system)
        else:
            self.memories, broken = watch.observe(self.memories, system, action)
        broken = broken or watch.judge(system, ended)
        self.checked = step
        if broken is not None:
            self.violated, self.sentence = step, broken.sentence
        elif ended:
            self.decided = finished

    def state(self, head: int) -> str:
        if self.refused:
            return "refused"
        if self.violated is not None:
            return "violated"
        if self.checked < head:
            return "checking"
        at_end = isinstance(self.rule, Invariant) and self.rule.at_end
        return "undecided" if at_end and not self.decided else "holds"

    def shown(self, head: int) -> dict[str, Any]:
        return {
            "name": self.name,
            "state": self.state(head),
            "step": self.violated,
            "checked": max(0, self.checked),
            "sentence": self.sentence or self.refused,
        }


class Invariants:
    """The rules that are switched on in one live run."""

    def __init__(self, live: "LiveRun", names: Sequence[str]) -> None:
        self.live = live
        self.judgements = {name: Judgement(name) for name in names if name in INVARIANTS}
        self.task: asyncio.Task[None] | None = None
        self.told: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self.judgements)

    # ---- switching on and off ------------------------------------------------------------------------

    async def watch(self, name: str, on: bool) -> None:
        """Raises RunError unknown_invariant."""
        if name not in [rule["name"] for rule in offered(await self.kind())]:
            raise RunError("unknown_invariant", place="watch.name", name=name[:40])
        if on:
            self.judgements.setdefault(name, Judgement(name))
        else:
            self.judgements.pop(name, None)
        await self.live.registry.database(
            services.run_watch, run_id=self.live.id, names=list(self.judgements)
        )
        self.moved()

    async def kind(self) -> str:
        """Of the run: "job" or "network"."""
        lab = await self.live.registry.database(bundle_lab, digest=self.live.run.bundle_id)
        return str(lab.kind)

    # ---- as the run moves ----------------------------------------------------------------------------

    def observe(self, recording: AnyRecording, trace: StepTrace) -> None:
        """The recording has just taken this step."""
        for judgement in self.judgements.values():
            judgement.observe(recording, trace.action)

    def reset(self) -> None:
        """The log may be another one: everything is judged again."""
        for judgement in self.judgements.values():
            judgement.reset()

    def moved(self) -> None:
        """The run is published up to another step: tell what is new, and catch up where something is behind."""
        self.tell()
        if self.behind() and (self.task is None or self.task.done()):
            self.task = asyncio.create_task(self.catch_up())

    def behind(self) -> list[Judgement]:
        return [one for one in self.judgements.values() if one.wants(self.live.head)]

    async def catch_up(self) -> None:
        try:
            while self.behind() and self.live.audience:
                await self.make_rules()
                await self.check()
        except Exception:
            logger.exception("the invariants of run %s could not be judged", self.live.id)
            for judgement in self.behind():
                judgement.refused = CATALOGUE["our_mistake"].sentence
        self.tell()

    async def make_rules(self) -> None:
        live = self.live
        for judgement in self.behind():
            if judgement.rule is None:
                lab = await live.registry.database(bundle_lab, digest=live.run.bundle_id)
                try:
                    rule = await made(
                        judgement.name, lab, live.run.parameters, live.registry.making
                    )
                    judgement.follow(rule)
                except StreamLabError as error:
                    judgement.refused = f"{error.sentence} {error.mend or ''}".strip()

    async def check(self) -> None:
        """Judge what was recorded, on a copy; the run may move on meanwhile."""
        async with self.live.lock:
            recording = await self.live.ensure()
            behind = [one for one in self.behind() if one.rule is not None]
            if not behind:
                return
            async with self.live.registry.turns.turn():
                copy = recording.ahead()
                copy.seek(max(0, min(one.checked for one in behind)))
                self.begin(copy, behind)
                if copy.head - copy.position <= AT_ONCE:
                    self.steps(copy, behind, AT_ONCE)
                    return
        pace, told_at = Pace(), 0.0
        while copy.position < copy.head and any(one.wants(copy.head) for one in behind):
            async with pace.slice(self.live.registry.turns, CHECKED_STEPS) as steps:
                self.steps(copy, behind, steps)
            if time.monotonic() - told_at > PROGRESS_SECONDS:
                told_at = time.monotonic()
                self.tell()

    def begin(self, copy: AnyRecording, behind: list[Judgement]) -> None:
        for judgement in behind:
            if copy.position == 0 and judgement.checked < 0:
                judgement.observe(copy, "")

    def steps(self, copy: AnyRecording, behind: list[Judgement], count: int) -> None:
        for _ in range(min(count, copy.head - copy.position)):
            trace = copy.step(1, events=True)[0]
            for judgement in behind:
                judgement.observe(copy, trace.action)

    # ---- telling -------------------------------------------------------------------------------------

    def frame(self) -> str:
        head = self.live.head
        return protocol.encode(
            "invariants", on=[judgement.shown(head) for judgement in self.judgements.values()]
        )

    def tell(self) -> None:
        """News to everybody; how far a rule that holds is judged is no news, it follows the run."""
        head = self.live.head
        news = [
            (one.name, state, one.checked if state == "checking" else one.violated)
            for one in self.judgements.values()
            for state in [one.state(head)]
        ]
        if news != self.told:
            self.told = news
            self.live.audience.tell(self.frame())
