"""Values as bytes and back."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.datastream.extensions import writable
from engine.event_time.windows import TimeWindow
from engine.explore.canonical import frozen
from engine.operators.keyed import KeyedPart
from engine.state.codec import DEEPEST, NotWritable, Unreadable, decode, encode
from engine.state.operator_state import Held
from engine.values import Boxed

ROOT = Path(__file__).resolve().parents[3]


@writable
class Point(NamedTuple):
    x: int
    y: int


@writable
@dataclasses.dataclass(frozen=True)
class Person:
    name: str
    friends: tuple = ()


HASHABLE = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.complex_numbers(),
        st.text(st.characters(), max_size=8),
        st.binary(max_size=8),
        st.builds(TimeWindow, st.integers(), st.integers()),
        st.builds(Point, st.integers(), st.integers()),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple), st.frozensets(inner, max_size=4)
    ),
    max_leaves=8,
)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(HASHABLE, inner, max_size=4),
        st.sets(HASHABLE, max_size=4),
        inner.map(Boxed),
        st.builds(Person, st.text(), st.lists(inner, max_size=2).map(tuple)),
        st.builds(Held, st.text(), st.lists(inner, max_size=2).map(tuple)),
        st.dictionaries(HASHABLE, inner, max_size=2).map(
            lambda table: KeyedPart({"a": ("value", table)}, {}, {})
        ),
    ),
    max_leaves=12,
)


@given(VALUES)
def test_what_is_written_is_read(value):
    found = decode(encode(value))
    assert type(found) is type(value)
    assert encode(found) == encode(value)
    assert frozen(found) == frozen(value)


@pytest.mark.parametrize(
    "value", [math.inf, -math.inf, -0.0, 0.0, 1 << 10_000, -(1 << 63), "\ud800", "", b"", range(3, -7, -2)]
)  # fmt: skip
def test_values_at_the_edge(value):
    found = decode(encode(value))
    assert (type(found), repr(found)) == (type(value), repr(value))


def test_nan_is_read_as_nan():
    assert math.isnan(decode(encode(math.nan)))


def test_numbers_that_are_equal_stay_apart():
    assert [type(value) for value in decode(encode([1, 1.0, True]))] == [int, float, bool]


@given(VALUES, st.data())
def test_damaged_bytes_are_refused_or_read_and_nothing_else(value, data):
    """Nothing but Unreadable is raised, whatever the bytes are."""
    written = bytearray(encode(value))
    for _ in range(data.draw(st.integers(1, 3))):
        written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(Unreadable):
        decode(bytes(written))


@given(VALUES)
def test_a_value_that_ends_early_or_goes_on_is_refused(value):
    written = encode(value)
    for damaged in (written[:-1], written + b"n"):
        with pytest.raises(Unreadable):
            decode(damaged)


class Own:
    pass


class Unregistered(NamedTuple):
    x: int


class Loud(str):
    pass


@pytest.mark.parametrize("value", [Own(), Unregistered(1), Loud("a"), len, Own])
def test_a_value_that_cannot_be_written_is_told_with_the_way_to_it(value):
    with pytest.raises(NotWritable, match="cannot be written") as refused:
        encode({"state": {"key": [(1, value)]}})
    assert refused.value.path == ["state", "key"]
    assert "extensions.writable" in refused.value.mend


def test_values_nested_too_deep_are_refused_both_ways():
    value = None
    for _ in range(DEEPEST + 1):
        value = [value]
    with pytest.raises(NotWritable, match="deep"):
        encode(value)
    with pytest.raises(Unreadable, match="deep"):
        decode(b"[\x01" * (DEEPEST + 1) + b"n")


def test_reading_calls_no_code_of_the_class():
    calls = []

    @writable
    @dataclasses.dataclass
    class Noisy:
        x: int

        def __post_init__(self):
            calls.append(self.x)

    written = encode(Noisy(1))
    calls.clear()
    assert decode(written).x == 1
    assert calls == []


def test_a_type_that_is_not_registered_is_not_made():
    written = encode(Point(1, 2)).replace(b"Point", b"Joint")
    with pytest.raises(Unreadable, match="has to register it"):
        decode(written)


def test_only_named_tuples_and_dataclasses_can_be_registered():
    with pytest.raises(NotWritable, match="Own is neither"):
        writable(Own)


def test_equal_sets_are_equal_bytes_under_every_hash_seed():
    script = "from engine.state.codec import encode; print(encode({'a', 'b', ('c', 1), 2.5, None}).hex())"
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, cwd=ROOT, check=True, timeout=60,
        ).stdout
        for seed in ("0", "1", "2")
    }  # fmt: skip
    assert len(found) == 1
