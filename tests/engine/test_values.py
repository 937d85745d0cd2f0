"""Values by value, and as text that is the same in every process."""

from __future__ import annotations

import enum
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.values import Boxed, by_value, is_immutable, loaded, stored, text

MANY = {"kiwi", "apple", "pear", "fig"}
SHOWN = "{'apple', 'fig', 'kiwi', 'pear'}"


class Point(NamedTuple):
    x: int
    tags: Any


@dataclass
class Data:
    x: int
    tags: Any


@dataclass
class Told:
    x: int = 1

    def __repr__(self):
        return "as told"


class Plain:
    def __init__(self):
        self.x = {"b", "a"}


class Raises:
    def __repr__(self):
        raise ValueError("no")


class Shy:
    __slots__ = ()


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("text", "text"),
        (1.23456789, "1.234568"),
        ((1,), "(1,)"),
        ([1, ("a", None)], "[1, ('a', None)]"),
        (MANY, SHOWN),
        (frozenset(MANY), SHOWN),
        (Point(1, MANY), f"Point(x=1, tags={SHOWN})"),
        (Data(1, MANY), f"Data(x=1, tags={SHOWN})"),
        (Told(), "as told"),
        (Plain(), "Plain(x={'a', 'b'})"),
        (Shy(), "Shy()"),
        (Colour.RED, "<Colour.RED: 1>"),
        (Raises(), "Raises(?)"),
        ([Raises()], "list(?)"),
        (defaultdict(list, a=[MANY]), f"defaultdict({{'a': [{SHOWN}]}})"),
        (Counter("aab"), "Counter({'a': 2, 'b': 1})"),
        (OrderedDict(a=1), "OrderedDict({'a': 1})"),
        (10**5000, "int(?)"),
        (Boxed([1]), "[1]"),
        ([[[[[1]]]]], "[[[[…]]]]"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_text(value, shown):
    assert text(value) == shown


def test_text_is_short_and_has_no_addresses():
    assert len(text("x" * 1000)) == 200
    assert " at 0x" not in text([object(), lambda: 0, print, Shy, (x for x in ())])


def test_a_value_that_holds_itself_is_shown():
    value: list[Any] = []
    value.append(value)
    assert text(value) == "[[[[…]]]]"


VALUES = st.recursive(
    st.integers() | st.text() | st.booleans(),
    lambda values: (
        st.lists(values) | st.tuples(values, values) | st.dictionaries(st.text(), values)
    ),
)


@given(VALUES)
def test_a_stored_value_is_what_it_was_and_nobody_elses(value):
    held = stored(value)
    assert loaded(held) == value == by_value(value)
    if not is_immutable(value):
        assert type(held) is Boxed
        assert loaded(held) is not loaded(held)
        assert held.value is not value


@dataclass
class Holder:
    items: list[int] = field(default_factory=list)


@pytest.mark.parametrize(
    ("value", "immutable"),
    [((1, "a", None), True), ((1, [2]), False), (Point(1, 2), True), (Point(1, []), False),
     ([], False), ({}, False), (Holder(), False), (((1,), (2,)), True)],
)  # fmt: skip
def test_what_can_be_shared(value, immutable):
    assert is_immutable(value) == immutable
