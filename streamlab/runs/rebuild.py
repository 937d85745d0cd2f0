"""From the database to an engine that stands where the run stood."""

import logging
from dataclasses import dataclass

from engine import ENGINE_VERSION, StreamLabError
from engine.narration import TimeFormat
from labs.spec import LabSpec
from streamlab.runs import logs, recordings, selectors
from streamlab.runs.bundles import bundle_lab
from streamlab.runs.errors import RunError
from streamlab.runs.models import Run
from streamlab.runs.slices import Pace, Turns

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stored:
    """A run as the database has it."""

    run: Run
    lab: LabSpec
    log: list[logs.Entry]
    tail: logs.Tail


@dataclass(frozen=True)
class Rebuilt:
    """Its engine at the stored position, and the sentence of that step."""

    recording: recordings.AnyRecording
    times: TimeFormat
    say: str


def load(run_id: str) -> Stored:
    """Reads the database. Raises RunError unknown_run."""
    run = selectors.run_get(run_id=run_id)
    return Stored(
        run=run,
        lab=bundle_lab(digest=run.bundle_id),
        log=selectors.run_log(run=run),
        tail=selectors.run_tail(run=run),
    )


async def rebuild(stored: Stored, *, turns: Turns, pace: Pace) -> Rebuilt:
    """Replays the log in slices. Raises RunError run_diverged or run_unreadable."""
    run = stored.run
    try:
        recording = recordings.open_recording(
            lab=stored.lab,
            parameters=run.parameters,
            policy=run.policy,
            quantum=run.quantum,
            seed=run.seed,
            mutant=run.mutant,
            log=stored.log,
        )
        done = run.head == 0
        while not done:
            async with pace.slice(turns, run.head) as steps:
                done = recording.replay_slice(steps)
            recordings.check_digests(recording, run.digests)
        if run.engine != ENGINE_VERSION and run.fingerprint:
            recordings.check_fingerprint(recording, run.fingerprint)
        times = recordings.times_of(stored.lab)
        return Rebuilt(recording, times, recordings.go_to(recording, run.position, times))
    except StreamLabError as error:
        logger.warning("run %s cannot be rebuilt: %s", run.pk, error)
        raise RunError("run_unreadable", sentence=error.sentence, place=error.place) from error
