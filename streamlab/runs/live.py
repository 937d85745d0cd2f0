"""One run in memory: an engine that can be dropped at any moment, and the browsers that look at it.

Every change happens under `lock` and in this order: the engine steps, the choice is committed, the
effect is shown. So whatever anybody has seen can be replayed after a crash.

Architecture invariant: the recording never runs ahead of what is published while the lock is free.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from django.conf import settings

from engine import ENGINE_VERSION, LearnerMistake, StepTrace, WouldBranch
from engine.narration import TimeFormat
from streamlab.runs import logs, protocol, recordings, selectors, services
from streamlab.runs.audience import Audience
from streamlab.runs.errors import RunError
from streamlab.runs.invariants import Invariants
from streamlab.runs.models import Run
from streamlab.runs.outbox import Batch, Outbox, Step
from streamlab.runs.player import Player
from streamlab.runs.rebuild import load, rebuild
from streamlab.runs.slices import Pace
from streamlab.runs.writer import Conflict

if TYPE_CHECKING:
    from streamlab.runs.registry import Registry

Impossible = LearnerMistake  # what the engine answers to a choice that it cannot take

RESUME_STEPS_MAX = 500  # more than this, and a view is shorter
RUN_UNTIL_STEPS_MAX = 20_000
SHOWN_STEPS_MAX = 1_000  # a run_until over fewer steps is shown step by step
TRACED_STEPS = 64  # with events, at once: they take less than a slice
NOTHING_MORE = "nothing more can happen"


class LiveRun:
    def __init__(self, registry: "Registry", run: Run) -> None:
        self.registry = registry
        self.run = run  # as it was when it was opened: use it for what never changes
        self.id: str = run.pk
        self.lock = asyncio.Lock()
        self.pace = Pace()
        self.player = Player(self)
        self.audience = Audience()
        self.invariants = Invariants(self, run.invariants)

        self.times = TimeFormat()
        self.recording: Any = None
        self.loading = False
        self.tail = logs.Tail(rows=0, covered=run.fork_step)
        self.leased = False
        self.used_at = time.monotonic()

        # what is published, which is also what is stored, but for a second of `position`
        self.head: int = run.head
        self.position: int = run.position
        self.stored_position: int = run.position
        self.printed_position = run.fingerprint[0] if run.fingerprint else 0
        self.digests = 0
        self.say = ""
        self.actions: bytes | None = None
        self.marks: list[Any] = []
        self.picture: bytes | None = None  # the encoded view of this position

    # ---- the engine, when it is needed -------------------------------------------------------------

    async def ensure(self) -> Any:
        """The recording, rebuilt from the log where it is not in memory. Needs the lock."""
        self.used_at = time.monotonic()
        if self.recording is None:
            self.loading = True
            try:
                await self.registry.make_room(self)
                await self.rebuild()
            finally:
                self.loading = False
        return self.recording

    async def rebuild(self) -> None:
        stored = await self.registry.database(load, self.id)
        rebuilt = await rebuild(stored, turns=self.registry.turns, pace=self.pace)
        self.run, self.tail = stored.run, stored.tail
        self.stored_position = stored.run.position
        self.digests = len(stored.run.digests)
        self.recording, self.times, self.say = rebuilt.recording, rebuilt.times, rebuilt.say
        self.invariants.reset()
        self.note()

    @property
    def has_moved(self) -> bool:
        """Its position is not stored, or not with its fingerprint. Needs the lock, or a free one."""
        return self.recording is not None and (self.stored_position, self.printed_position) != (
            self.position,
            self.position,
        )

    def drop(self) -> None:
        """Forget the engine; the next use rebuilds it."""
        self.recording = None
        self.actions = self.picture = None

    def go_to(self, step: int) -> None:
        """Seek, and know the sentence of that step."""
        self.say = recordings.go_to(self.recording, step, self.times)

    def note(self) -> None:
        """What the recording shows now is what is published."""
        recording = self.recording
        self.position, self.head = recording.position, recording.head
        self.marks = recording.marks
        self.actions = self.picture = None

    def describe_actions(self) -> bytes:
        if self.actions is None:
            self.actions = protocol.encode_part(recordings.actions(self.recording))
        return self.actions

    # ---- who looks ---------------------------------------------------------------------------------

    async def attach(self, outbox: Outbox, *, mine: bool, have: int | None) -> bool:
        """Show the run to one more browser, from the step that it has where that is near.

        False: this object was given up while the caller waited; the registry has another.
        """
        async with self.lock:
            if self.registry.runs.setdefault(self.id, self) is not self:
                return False
            await self.ensure()
            family = await self.registry.database(selectors.run_family, run=self.run)
            await outbox.send(self.welcome(mine=mine, family=family))
            outbox.marks_sent = len(self.marks)
            await outbox.send(protocol.encode("marks", marks=self.marks))
            if have is not None and 0 <= self.position - have <= RESUME_STEPS_MAX:
                steps = await self.missing(have)
                outbox.put_batch(Batch(steps, self.position, self.head, self.describe_actions()))
            else:
                outbox.want_view("start" if have is None else "resume")
            outbox.put_frame(self.status())
            outbox.put_frame(self.invariants.frame())
            self.audience.join(outbox, mine=mine)
            self.invariants.moved()
            return True

    async def missing(self, have: int) -> list[Step]:
        try:
            return await self.steps_between(have, self.position)
        except BaseException:  # the recording may stand anywhere
            self.drop()
            raise

    async def detach(self, outbox: Outbox) -> None:
        """The position is saved, and a run whose owner has left stands still."""
        self.audience.leave(outbox)
        if not self.audience.has_owner:
            await self.player.stop()
            async with self.lock:
                await self.registry.save_positions([self])
                if not self.audience.has_owner:
                    await self.registry.release(self)

    def welcome(self, *, mine: bool, family: list[dict[str, Any]]) -> str:
        run = self.run
        return protocol.encode(
            "welcome",
            protocol=protocol.VERSION,
            server=self.registry.server_version,
            engine=ENGINE_VERSION,
            run={
                "id": self.id,
                "lab": run.lab,
                "title": run.title,
                "seed": run.seed,
                "policy": run.policy,
                "quantum": run.quantum,
                "mutant": run.mutant,
                "parent": run.parent_id,
                "fork_step": run.fork_step,
                "head": self.head,
                "position": self.position,
                "mine": mine,
                "branches": family,
            },
            limits={
                "steps": settings.RUN_STEPS_MAX,
                "memory": settings.RUN_MEMORY_MAX,
                "message_bytes": protocol.MESSAGE_BYTES_MAX,
                "messages_per_second": self.registry.run_rate.per_second,
            },
            time_zone_minutes=self.times.zone_minutes,
            parameters=run.parameters,
        )

    def status(self, why: str = "") -> str:
        return protocol.encode(
            "status",
            state=self.player.state,
            rate=self.player.rate if self.player.state == "playing" else None,
            position=self.position,
            head=self.head,
            why=why,
        )

    def tell_status(self, why: str = "") -> None:
        self.audience.tell(self.status(why))

    async def view_frame(self, outbox: Outbox) -> str:
        """For an outbox: the view at a moment between two steps."""
        async with self.lock:
            await self.ensure()
            if self.picture is None:
                self.picture = protocol.encode_part(self.recording.view())
            frame = protocol.encode(
                "view",
                step=self.position,
                head=self.head,
                view=protocol.part(self.picture),
                actions=protocol.part(self.describe_actions()),
                say=self.say,
                why=outbox.view_wanted,
            )
            outbox.view_taken()
            return frame

    def jumped(self, asked: Outbox) -> None:
        """The position is another one, and no steps tell how: everybody gets a view."""
        self.note()
        self.audience.show_view("seek", asked=asked)
        self.invariants.moved()

    def publish(self, steps: list[Step]) -> None:
        """Show committed steps to everybody; no steps: show the actions of a run that has stopped."""
        self.note()
        actions = self.describe_actions() if self.player.shows_actions else None
        self.audience.publish(Batch(steps, self.position, self.head, actions))
        self.invariants.moved()

    # ---- driving -----------------------------------------------------------------------------------

    @asynccontextmanager
    async def driving(self, expected: tuple[int, int] | None = None) -> AsyncIterator[Any]:
        """The recording, for a change. `expected`: the (head, position) that the asker believes in.

        Whatever goes wrong in between, the engine in memory never stays ahead of the database.
        """
        async with self.lock:
            recording = await self.ensure()
            await self.hold_lease()
            if expected is not None and expected != (self.head, self.position):
                raise RunError("stale", position=self.position, head=self.head)
            try:
                yield recording
            except (LearnerMistake, RunError) as error:
                if isinstance(error, RunError) and error.code == "not_saved":
                    await self.start_over()
                raise
            except Conflict:
                self.leased = False
                await self.start_over()
                raise RunError("stale", position=self.position, head=self.head) from None
            except Exception:
                await self.start_over()
                raise
            except BaseException:  # cancelled: nothing may be awaited here
                self.drop()
                raise

    async def start_over(self) -> None:
        """Rebuild from the database and show everybody what is true."""
        self.drop()
        await self.ensure()
        self.audience.show_view("resume")

    async def hold_lease(self) -> None:
        """Only the process with the lease drives. Raises RunError elsewhere, or stale."""
        if self.leased:
            return
        if not await self.registry.acquire(self):
            raise RunError("elsewhere", seconds=self.registry.lease_seconds)
        self.leased = True
        stored = await self.registry.database(selectors.run_get, run_id=self.id)
        if (stored.head, stored.position) != (self.head, self.stored_position):
            await self.start_over()
            raise RunError("stale", position=self.position, head=self.head)

    async def save(self, rows: Sequence[tuple[int, str, Any, int]] = ()) -> None:
        """Commit what the recording has beyond the published head. Raises Conflict."""
        recording = self.recording
        if recording.head == self.head:
            return
        digests = recording.digests if len(recording.digests) > self.digests else None
        await self.registry.writer.commit(
            services.Growth(
                run_id=self.id,
                expected_head=self.head,
                head=recording.head,
                position=recording.position,
                rows=rows,
                digests=digests,
            )
        )
        self.stored_position = recording.position
        self.digests = len(recording.digests)

    def room(self) -> int:
        """Steps that may still be taken from here. Raises RunError where there are none."""
        recording = self.recording
        if recording.position < recording.head:
            return settings.RUN_STEPS_MAX - recording.position
        if recording.head >= settings.RUN_STEPS_MAX:
            raise RunError("steps_limit", limit=f"{settings.RUN_STEPS_MAX:,}")
        if recording.memory_bytes() > settings.RUN_MEMORY_MAX:
            raise RunError("memory_limit", limit=settings.RUN_MEMORY_MAX // 2**20)
        return settings.RUN_STEPS_MAX - recording.head

    async def advance(self, count: int) -> list[Step]:
        """Up to `count` steps, with events. Fewer where nothing more can happen."""
        return await self.traced(min(count, self.room()))

    async def steps_between(self, start: int, end: int) -> list[Step]:
        """Regenerate recorded steps; the position is `end` afterwards."""
        if start == end:
            return []
        self.recording.seek(start)
        return await self.traced(end - start)

    async def traced(self, count: int) -> list[Step]:
        steps: list[Step] = []
        while count > 0:
            wanted = min(count, TRACED_STEPS)
            traces = self.watched(wanted)
            steps += map(self.encoded, traces)
            if len(traces) < wanted:
                break
            count -= wanted
            if count > 0:
                await asyncio.sleep(0)
        return steps

    def watched(self, count: int) -> list[StepTrace]:
        """Steps with events; one by one where rules look at the state between them."""
        recording, invariants = self.recording, self.invariants
        if not invariants:
            return list(recording.step(count, events=True))
        traces: list[StepTrace] = []
        for _ in range(count):
            taken = recording.step(1, events=True)
            if not taken:
                break
            invariants.observe(recording, taken[0])
            traces += taken
        return traces

    async def step(self, *, head: int, position: int, count: int) -> None:
        await self.player.stop()
        async with self.driving((head, position)):
            steps = await self.advance(count)
            if not steps:
                raise RunError("nothing_possible")
            await self.save()
            self.say_last(steps)

    async def play(self, rate: float) -> None:
        async with self.driving():
            pass  # whether it may be driven is known before it plays
        await self.player.play(rate)

    async def play_steps(self, count: int) -> str:
        """For the player: returns why it cannot go on, or nothing."""
        async with self.driving():
            steps = await self.advance(count)
            await self.save()
            if steps:
                self.say_last(steps)
            return "" if len(steps) == count else NOTHING_MORE

    async def play_slice(self, pace: Pace) -> str:
        """For the player at full speed: as many steps as fit into a slice."""
        async with self.driving():
            async with pace.slice(self.registry.turns, TRACED_STEPS) as count:
                steps = await self.advance(count)
            await self.save()
            if steps:
                self.say_last(steps)
            return "" if len(steps) == count else NOTHING_MORE

    async def at_rest(self, why: str) -> None:
        """The player has stopped: what is possible now is shown, and why it stopped."""
        async with self.lock:
            if self.recording is not None:
                self.publish([])
        self.tell_status(why)

    def say_last(self, steps: list[Step]) -> None:
        self.say = steps[-1].say
        self.publish(steps)

    async def choose(self, *, head: int, position: int, action: str) -> "LiveRun | None":
        """Take an action; returns the new run where this made a branch."""
        await self.player.stop()
        async with self.driving((head, position)):
            return await self.take("action", action)

    async def command(
        self, *, head: int, position: int, command: dict[str, Any]
    ) -> "LiveRun | None":
        """Give a command; returns the new run where this made a branch.

        A run that plays has moved on when a command arrives. At its head the command counts for where
        the run is then; in the recorded past it would branch at a step that nobody chose.
        """
        plays = self.player.state == "playing" and self.position == self.head
        if plays and position <= self.position:
            async with self.driving():
                return await self.take("command", command)
        await self.player.stop()
        async with self.driving((head, position)):
            return await self.take("command", command)

    async def take(self, kind: str, payload: Any) -> "LiveRun | None":
        recording = self.recording
        self.room()
        take = "act" if kind == "action" else "apply"
        try:
            trace = getattr(recording, take)(payload, events=True)
        except WouldBranch:
            fork = recording.fork()
            trace = getattr(fork, take)(payload, events=True)  # not possible: no branch is made
            return await self.registry.branch(self, fork, kind, payload)
        self.invariants.observe(recording, trace)
        if recording.head > self.head:
            await self.save(self.tail.choice(self.head, kind, payload))
        self.say_last([self.encoded(trace)])
        return None

    async def seek(self, step: int, *, asked: Outbox) -> None:
        await self.player.stop()
        async with self.driving():
            if step > self.head:
                raise RunError("outside", place="seek.step", step=step, head=self.head)
            async with self.registry.turns.turn():
                self.go_to(step)
            self.jumped(asked)

    async def run_until(
        self, *, head: int, position: int, until: dict[str, Any], asked: Outbox
    ) -> None:
        """Runs in slices; stops after the step that matched, at a limit, or when told to."""
        await self.player.stop()
        why = ""
        try:
            with self.player.running():
                async with self.driving((head, position)) as recording:
                    self.tell_status()
                    why = await self.run_slices(recording, until)
                    await self.save()
                    await self.show_since(position, asked=asked)
        finally:
            self.tell_status(why)

    async def show_since(self, start: int, *, asked: Outbox) -> None:
        """A short way is shown step by step, a long one as the view at its end."""
        end = self.recording.position
        if end == start:
            return
        if end - start <= SHOWN_STEPS_MAX:
            self.say_last(await self.steps_between(start, end))
        else:
            self.go_to(end)
            self.jumped(asked)

    async def run_slices(self, recording: Any, until: dict[str, Any]) -> str:
        left = RUN_UNTIL_STEPS_MAX
        while left > 0:
            if self.player.stopping:
                return "paused"
            try:
                room = self.room()
            except RunError as error:
                return error.sentence
            async with self.pace.slice(self.registry.turns, min(left, room)) as steps:
                before = recording.position
                reason = recording.run_until(until, steps, events=False)
            taken = recording.position - before
            left -= taken
            if reason:
                return reason
            if taken < steps:
                return NOTHING_MORE
        return f"it did not happen within {RUN_UNTIL_STEPS_MAX:,} steps"

    def encoded(self, trace: StepTrace) -> Step:
        say = self.recording.narrate(trace, self.times)
        return Step(
            number=trace.step,
            cost=len(trace.events),
            say=say,
            encoded=protocol.encode_step(trace.step, trace.action, say, trace.events),
        )
