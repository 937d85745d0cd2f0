"""A deterministic streaming engine that takes one atomic action at a time.

Given the same job, policy, seed and choices, it produces the same trace, on every machine and under every hash seed.
"""

from engine.commands import FailSubtask, Rescale, TriggerCheckpoint
from engine.errors import (
    EngineBug,
    ImpossibleAction,
    InvalidJob,
    LearnerMistake,
    StreamLabError,
    WouldBranch,
)
from engine.fold import fold
from engine.keyframes import Recording
from engine.scheduler import Policy
from engine.trace import StepTrace
from engine.version import ENGINE_VERSION

__all__ = [
    "ENGINE_VERSION",
    "EngineBug",
    "FailSubtask",
    "ImpossibleAction",
    "InvalidJob",
    "LearnerMistake",
    "Policy",
    "Recording",
    "Rescale",
    "StepTrace",
    "StreamLabError",
    "TriggerCheckpoint",
    "WouldBranch",
    "fold",
]
