"""What the explorer has found out about the counterexample questions of a lab: explored.json in its folder.

`manage.py checklabs --explore` writes it; nothing is searched when a student asks. Each entry names what it is about by a digest of
the job, the question and the engine's version, so that an edit makes it stale.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from engine import ENGINE_VERSION
from engine.explore.request import Request, explore
from labs.questions.facts import unanswerable
from labs.questions.spec import Counterexample
from labs.spec import LabSpec
from streamlab.runs import recordings

FILE = "explored.json"
VIOLATED, EXHAUSTED = "violated", "exhausted"


def combinations(
    lab: LabSpec, question: Counterexample
) -> Iterator[tuple[str, str, dict[str, int]]]:
    """(mutant, invariant, parameters) of every variant that there can be."""
    defaults = lab.parameter_values({})
    for case in question.cases:
        for values in itertools.product(*question.vary.values()):
            drawn = dict(zip(question.vary, values, strict=True))
            yield case.mutant, case.invariant, {**defaults, **drawn}


def name_of(
    lab: LabSpec, question: Counterexample, mutant: str, invariant: str, values: Mapping[str, int]
) -> str:
    digest = hashlib.sha256()
    digest.update(lab.job_path.read_bytes())
    asked = [ENGINE_VERSION, question.model_dump(mode="json", include={"most", "commands"})]
    digest.update(json.dumps([asked, mutant, invariant, dict(values)], sort_keys=True).encode())
    return f"{question.id} {digest.hexdigest()[:24]}"


def load(lab: LabSpec) -> dict[str, Any]:
    try:
        found = json.loads((lab.folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def search(
    lab: LabSpec, question: Counterexample, mutant: str, invariant: str, values: dict[str, int]
) -> dict[str, Any]:
    """{result, told, trace}; result is "exhausted" where no schedule of at most `most` steps violates the rule.

    Raises an engine error where the job cannot be explored, or not to the end.
    """
    request = Request.from_data(
        {
            "kind": "job",
            "invariants": [invariant],
            "mutant": mutant,
            "commands": [
                {"command": budget.command, "times": budget.times} for budget in question.commands
            ],
            "depth": question.most,
            "states": 2_000_000,
        }
    )
    outcome = explore(request, recordings.graph_factory(lab, values))
    found = {name: outcome[name] for name in ("result", "told", "trace")}
    if outcome["bound"] == "depth":  # breadth first: every schedule up to here has been looked at
        told = f"No schedule of at most {question.most} steps violates it."
        return {**found, "result": EXHAUSTED, "told": told}
    if outcome["bound"]:
        raise unanswerable(
            f"The explorer came to no end: {outcome['told']}",
            question.id,
            "Use fewer records, fewer commands, or a lower bound on steps (most).",
        )
    return found
