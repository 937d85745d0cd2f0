"""Pictures of runs that do not exist yet: what a page draws before anybody has driven anything.

Opening a page, or a share link, writes no row; the run is made at the first driving action. Until
then the page shows the job at step 0, or the shared run at its step.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import orjson

from labs.spec import LabSpec
from streamlab.runs import logs, protocol, recordings
from streamlab.runs.schemes import scheme_shown
from streamlab.runs.slices import Pace, Turns

KEPT_MAX = 64

_kept: OrderedDict[bytes, dict[str, Any]] = OrderedDict()


async def preview(
    *,
    turns: Turns,
    lab: LabSpec,
    parameters: dict[str, Any],
    policy: str,
    quantum: int,
    seed: int,
    mutant: str = "",
    log: Sequence[logs.Entry] = (),
) -> dict[str, Any]:
    """{step, head, view, actions, say, marks, scheme} at the end of the log. Raises an engine error."""
    job = (lab.digest, parameters, policy, quantum, seed, mutant)
    name = orjson.dumps([*job, log], option=orjson.OPT_SORT_KEYS)
    if name not in _kept:
        recording = recordings.open_recording(
            lab=lab,
            parameters=parameters,
            policy=policy,
            quantum=quantum,
            seed=seed,
            mutant=mutant,
            log=log,
        )
        step, pace = logs.length(log), Pace()
        done = step == 0
        while not done:
            async with pace.slice(turns, step) as steps:
                done = recording.replay_slice(steps)
        say = recordings.go_to(recording, step, recordings.times_of(lab))
        _kept[name] = protocol.clean(
            {
                "step": step,
                "head": step,
                "view": recording.view(),
                "actions": recordings.actions(recording),
                "say": say,
                "marks": recording.marks,
                "scheme": scheme_shown(recording.runtime.job)
                if isinstance(recording, recordings.Recording)
                else None,
            }
        )
        if len(_kept) > KEPT_MAX:
            _kept.popitem(last=False)
    _kept.move_to_end(name)
    return _kept[name]
