"""The public surface is a list."""

from __future__ import annotations

import engine
from engine import datastream

ENGINE = [
    "ENGINE_VERSION", "EngineBug", "FailSubtask", "ImpossibleAction", "InvalidJob", "LearnerMistake",
    "Policy", "Recording", "Rescale", "StepTrace", "StreamLabError", "TriggerCheckpoint", "WouldBranch",
    "fold",
]  # fmt: skip


def test_the_names_of_the_engine():
    assert engine.__all__ == ENGINE


def test_every_name_is_there_in_order_and_documented():
    for module in (engine, datastream):
        assert module.__all__ == sorted(module.__all__)
        for name in module.__all__:
            exported = getattr(module, name)
            assert isinstance(exported, int) or exported.__doc__, name
