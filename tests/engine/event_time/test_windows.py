"""Window arithmetic against Flink's own assignments."""

from __future__ import annotations

import pytest

from engine.errors import InvalidJob
from engine.event_time.windows import SessionWindows, SlidingWindows, TumblingWindows

from ..oracles import rows

ASSIGNMENTS = rows("flink_window_assign.csv")


@pytest.mark.parametrize("row", ASSIGNMENTS, ids=lambda row: "-".join(list(row.values())[:5]))
def test_a_timestamp_falls_into_the_windows_that_flink_gives_it(row):
    size, slide, offset = (int(row[name]) for name in ("size", "slide", "offset"))
    if row["type"] == "tumbling":
        spec = TumblingWindows(size, offset)
    else:
        spec = SlidingWindows(size, slide, offset)
    windows = {f"{start}:{end}" for start, end in spec.assign(None, int(row["timestamp"]))}
    assert windows == set(row["windows_start_end"].split())


@pytest.mark.parametrize(("size", "offset"), [(0, 0), (-5, 0), (5, 5), (5, -5), ("5", 0)])
def test_a_window_without_length_or_with_an_offset_of_a_window_is_refused(size, offset):
    with pytest.raises(InvalidJob, match="must"):
        TumblingWindows(size, offset)


def test_a_slide_without_length_is_refused():
    with pytest.raises(InvalidJob, match="slide"):
        SlidingWindows(10, 0)


@pytest.mark.parametrize("gap", [0, -1, None, "2", 1.5])
def test_a_gap_function_that_returns_nonsense_is_named(gap):
    with pytest.raises(InvalidJob, match="gap function returned"):
        SessionWindows(lambda value: gap).assign("x", 1)
