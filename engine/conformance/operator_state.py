"""Who gets which operator state after a rescale."""

from __future__ import annotations

import json
from typing import Any

from engine.conformance.report import Outcome
from engine.state.operator_state import (
    SPLIT,
    UNION,
    Held,
    broadcast_items,
    redistribute_operator_state,
)

MODES = {"SPLIT_DISTRIBUTE": SPLIT, "UNION": UNION}


def run_file(path: str) -> list[Outcome]:
    with open(path, encoding="utf-8") as file:
        return [run_case(number, case) for number, case in enumerate(json.load(file))]


def run_case(number: int, case: dict[str, Any]) -> Outcome:
    name = f"case {number}, {case['mode']} from {case['old']} to {case['new']}"
    old = [
        tuple(f"h{index}:{item}" for item in range(count))
        for index, count in enumerate(case["old_counts"])
    ]
    if case["mode"] == "BROADCAST":
        got = [list(items) for items in broadcast_items(old, case["new"])]
    elif case["mode"] in MODES:
        parts = [{"state": Held(MODES[case["mode"]], items)} for items in old]
        dealt = redistribute_operator_state(parts, lambda key: 0, case["new"])
        got = [list(part["state"].items) for part in dealt]
    else:
        return Outcome(name, unsupported=f"the mode {case['mode']}")
    return Outcome(
        name, "" if got == case["new_items"] else f"gave {got} instead of {case['new_items']}"
    )
