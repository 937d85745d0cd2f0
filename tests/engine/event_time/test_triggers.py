"""Triggers that could never fire, or would for ever, are refused where they are declared."""

from __future__ import annotations

import pytest

from engine.datastream import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    Time,
)
from engine.errors import InvalidJob


@pytest.mark.parametrize("count", [0, -3, 2.5, "2"])
def test_a_count_trigger_needs_a_count(count):
    with pytest.raises(InvalidJob, match="must be an integer > 0"):
        CountTrigger.of(count)


@pytest.mark.parametrize("trigger", [ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger])
def test_a_continuous_trigger_needs_an_interval(trigger):
    with pytest.raises(InvalidJob, match="interval of a continuous trigger"):
        trigger.of(Time.milliseconds(0))
