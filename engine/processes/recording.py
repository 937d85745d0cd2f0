"""A run of a process network and its recording: seek, rewind, fork, as `engine.keyframes.Recording` has them for a job.

The truth is the log of choices: `["policy", n]` and `["action", id]`; a network takes no commands. Its states are so small
that every one is kept, so no step is ever replayed in the process that took it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from zlib import crc32

from engine import digest
from engine.checkpointing.chandy_lamport import ChandyLamport, NetworkState
from engine.checkpointing.space_time import History, SpaceTime
from engine.checkpointing.wrong_snapshots import AS_PUBLISHED
from engine.errors import EngineBug, ImpossibleAction, LearnerMistake
from engine.events import Event
from engine.log import Log, LogEntry, check_step
from engine.narration import NUMBERS, TimeFormat
from engine.processes.actions import impossible_actions, possible_actions
from engine.processes.events import NetworkFinished, ProcessRecorded, SnapshotCompleted
from engine.processes.happenings import (
    Travelling,
    completed_in,
    happened,
    nothing_sent,
    travelled,
)
from engine.processes.narration import narrate_network
from engine.processes.picture import Outcomes, network_picture, outcome
from engine.processes.policy import SCRIPT, Choice, NetworkPolicy
from engine.scheduler import Policy
from engine.trace import StepTrace

BY_SCRIPT = Policy(SCRIPT)
BYTES_A_FRAME = 600
BREAKPOINTS = ("snapshot_completes", "step", "end")


class Frame(NamedTuple):
    """Everything that a step changes."""

    state: NetworkState
    travelling: Travelling
    choice: Choice


class NetworkRecording:
    """One run: a network at `position`, and the log up to `head`.

    make: a new network in its first state. protocol: the name of what its processes follow.
    """

    def __init__(
        self,
        make: Callable[[], ChandyLamport],
        policy: Policy = BY_SCRIPT,
        seed: int = 0,
        log: Iterable[LogEntry] = (),
        protocol: str = AS_PUBLISHED,
    ) -> None:
        self._make = make
        self.policy = policy
        self.seed = seed
        self.protocol = protocol
        self._log = Log(log)
        self._system = make()
        self._policy = NetworkPolicy(self._system, policy, seed)
        first = Frame(self._system.capture(), nothing_sent(self._system), self._policy.start())
        self._frames = [first]
        self._actions: list[str] = []
        self.position = 0
        self.digests: list[int] = []
        self._marks: list[list[Any]] = []
        self._outcomes: Outcomes = {}

    @property
    def system(self) -> ChandyLamport:
        """The network at `position`; for reading."""
        return self._system

    @property
    def head(self) -> int:
        return self._log.steps

    @property
    def log(self) -> tuple[LogEntry, ...]:
        return tuple(self._log.entries)

    @property
    def frontier(self) -> int:
        """The furthest step executed in this process."""
        return len(self._actions)

    # Going forward

    def step(self, n: int = 1, events: bool = False) -> list[StepTrace]:
        """Go up to `n` steps forward, along the recorded future and then by the policy; fewer where nothing can happen."""
        traces: list[StepTrace] = []
        for _ in range(n):
            if not self._forward():
                break
            if events:
                traces.append(self._trace())
        return traces

    def act(self, action: str, events: bool = True) -> StepTrace:
        """Take the action of this id. WouldBranch where the recorded future says otherwise."""
        if not self._log.holds(self.position, ["action", action], self.next_action):
            enabled = self._system.enabled()
            self._system.apply(action)
            self._took(action, self._policy.after(self._frames[-1].choice, enabled, action))
            self._log.append(["action", action])
        else:
            self._forward()
        return self._trace() if events else StepTrace(self.position, action, ())

    def apply(self, command: Any, events: bool = True) -> StepTrace:
        """A network takes no commands: ImpossibleAction."""
        raise ImpossibleAction(
            "impossible",
            "This run is a network of processes, which takes no commands.",
            mend="Choose one of the possible actions.",
        )

    def next_action(self) -> str | None:
        """The action that the recorded future or the policy takes next, or None."""
        if self.position < self._log.steps:
            kind, payload, _ = self._log.at(self.position)
            if kind == "action":
                return str(payload)
        return self._policy.would_take(self._frames[self.position].choice, self._system.enabled())

    def _forward(self) -> bool:
        """One step along the recorded future or by the policy; False where nothing can happen."""
        position = self.position
        if position < self.frontier:
            self._stand(position + 1)
            return True
        entry = self._log.at(position) if position < self._log.steps else None
        enabled = self._system.enabled()
        choice = self._frames[position].choice
        if entry is None or entry[0] == "policy":
            found = self._policy.next(choice, enabled)
            if found is None and entry is not None:
                raise EngineBug(
                    "replay",
                    f"The recording goes on after step {position}, the network does not.",
                    mend="Start the run again.",
                )
            if found is None:
                return False
            action, after = found
        elif entry[0] == "action":
            action, after = entry[1], self._policy.after(choice, enabled, entry[1])
        else:
            self.apply(entry[1])
        self._system.apply(action)
        self._took(action, after)
        if entry is None:
            self._log.append(["policy", 1])
        return True

    def _took(self, action: str, choice: Choice) -> None:
        """Bookkeeping after the network took an action at the frontier."""
        before = self._frames[-1]
        state = self._system.capture()
        travelling = travelled(self._system, before.travelling, action, state)
        self._frames.append(Frame(state, travelling, choice))
        self._actions.append(action)
        self.position = step = self.frontier
        for number in self._completed(step):
            self._outcomes[number] = step, outcome(self._history(step), number)
        self._mark(step)
        if step % digest.EVERY == 0:
            last = self.digests[-1] if self.digests else 0
            self.digests.append(digest.combine(last, [("", self.fingerprint())]))

    def run_until(self, breakpoint: Any, limit: int, events: bool = False) -> str | None:
        """Step until the breakpoint matched, at most `limit` steps. Returns what matched, or None.

        Breakpoints: {"kind": "snapshot_completes"}, {"kind": "step", "step": n}, {"kind": "end"}.
        """
        kind = breakpoint.get("kind") if isinstance(breakpoint, dict) else None
        if kind not in BREAKPOINTS or (kind == "step" and type(breakpoint.get("step")) is not int):
            raise LearnerMistake(
                "unknown_breakpoint",
                "A network cannot run until that.",
                mend=f"The kinds are {', '.join(BREAKPOINTS)}; step needs a number.",
            )
        for taken in range(limit + 1):
            if kind == "step" and self.position >= breakpoint["step"]:
                return f"step {self.position} is reached"
            if taken == limit or not self._forward():
                break
            done = self._completed(self.position)
            if kind == "snapshot_completes" and done:
                return f"snapshot {done[0]} completed"
        return None

    def replay_slice(self, max_steps: int) -> bool:
        """Execute up to `max_steps` of the recorded future; True where `head` is reached."""
        self.step(min(max_steps, self._log.steps - self.position))
        return self.position >= self._log.steps

    # Going anywhere

    def seek(self, step: int) -> None:
        """Go to any step from 0 to head."""
        check_step(step, self.head)
        self._stand(min(step, self.frontier))
        self.step(step - self.position)

    def _stand(self, step: int) -> None:
        self.position = step
        self._system.restore(self._frames[step].state)

    def fork(self) -> NetworkRecording:
        """An independent run whose log ends at the position."""
        position = self.position
        prefix = self._log.prefix(position)
        copy = NetworkRecording(self._make, self.policy, self.seed, prefix, self.protocol)
        copy._frames = self._frames[: position + 1]
        copy._actions = self._actions[:position]
        copy._marks = [mark for mark in self._marks if mark[0] <= position]
        copy._outcomes = {
            number: judged for number, judged in self._outcomes.items() if judged[0] <= position
        }
        copy.digests = self.digests[: position // digest.EVERY]
        copy._stand(position)
        return copy

    def ahead(self) -> NetworkRecording:
        """An independent run at the position that knows the recorded future, too."""
        copy = self.fork()
        copy._log = Log(self._log.entries)
        return copy

    # What happened

    def _trace(self) -> StepTrace:
        """The step that led to the position."""
        step = self.position
        return StepTrace(step, self._actions[step - 1], tuple(self._events(step)))

    def _events(self, step: int) -> Iterator[Event]:
        before, after = self._frames[step - 1], self._frames[step]
        yield from happened(self._system, self._actions[step - 1], before[:2], after[:2])
        for number in self._completed(step):
            yield self._outcomes[number][1]
        if not self._system.enabled():
            yield NetworkFinished(step)

    def _completed(self, step: int) -> list[int]:
        """Snapshots that this step completed."""
        before, after = self._frames[step - 1].state, self._frames[step].state
        return [
            number
            for number in range(1, len(self._system.network.snapshots) + 1)
            if completed_in(self._system, after, number)
            and not completed_in(self._system, before, number)
        ]

    def _history(self, step: int) -> History:
        states = [frame.state for frame in self._frames[: step + 1]]
        return History.of(self._system, states, self._actions[:step])

    def _mark(self, step: int) -> None:
        for event in self._events(step):
            if isinstance(event, ProcessRecorded):
                number = str(event.snapshot)
                if not any(mark[1:] == ["snapshot_started", number] for mark in self._marks):
                    self._marks.append([step, "snapshot_started", number])
                self._marks.append([step, "recorded", f"{event.process}/{number}"])
            elif isinstance(event, SnapshotCompleted):
                self._marks.append([step, "snapshot_completed", str(event.snapshot)])
                if event.backwards or event.total != event.there_are:
                    self._marks.append([step, "inconsistent", str(event.snapshot)])
                elif event.occurred is None:
                    self._marks.append([step, "never_occurred", str(event.snapshot)])

    # What there is to see

    def view(self) -> dict[str, Any]:
        """The picture at `position`."""
        return network_picture(self._history(self.position), self.protocol, self._outcomes)

    def diagram(self) -> SpaceTime:
        """The run up to `position` as a space-time diagram."""
        return self._history(self.position).space_time()

    def possible(self) -> list[dict[str, Any]]:
        return possible_actions(self._system, self.next_action())

    def impossible(self) -> list[dict[str, Any]]:
        return impossible_actions(self._system)

    def commands(self) -> list[dict[str, Any]]:
        return []

    def narrate(self, step: StepTrace, times: TimeFormat = NUMBERS) -> str:
        """A step of this run as one sentence; a network has no event time."""
        return narrate_network(step)

    def fingerprint(self) -> int:
        """A digest of what the run shows at its position."""
        return crc32(repr(self._frames[self.position][:2]).encode())

    @property
    def marks(self) -> list[list[Any]]:
        """[step, kind, text] of what a timeline shows, for the part executed so far, in order."""
        return [list(mark) for mark in self._marks]

    def memory_bytes(self) -> int:
        """A rough size of this run in memory."""
        state = self._frames[-1].state
        return 50_000 + len(self._frames) * (
            BYTES_A_FRAME + 16 * (len(state.kept) + len(state.recorded) + len(state.links))
        )
