"""Window arithmetic against Flink's own assignments."""

from __future__ import annotations

import pytest

from engine.errors import InvalidJob
from engine.event_time.windows import TumblingWindows

from ..oracles import rows

TUMBLING = [row for row in rows("flink_window_assign.csv") if row["type"] == "tumbling"]


@pytest.mark.parametrize(
    "row", TUMBLING, ids=lambda row: f"{row['size']}+{row['offset']} at {row['timestamp']}"
)
def test_a_timestamp_falls_into_the_tumbling_window_that_flink_gives_it(row):
    windows = TumblingWindows(int(row["size"]), int(row["offset"])).validated()
    window = windows.assign(int(row["timestamp"]))
    assert f"{window.start}:{window.end}" == row["windows_start_end"]


@pytest.mark.parametrize(("size", "offset"), [(0, 0), (-5, 0), (5, 5), (5, -5)])
def test_a_window_without_length_or_with_an_offset_of_a_window_is_refused(size, offset):
    with pytest.raises(InvalidJob, match="must"):
        TumblingWindows(size, offset).validated()
