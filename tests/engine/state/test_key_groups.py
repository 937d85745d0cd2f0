"""Key groups are held against Flink's own numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidJob
from engine.state.key_groups import (
    assign_to_key_group,
    canonical,
    default_max_parallelism,
    java_hash,
    key_group_range,
    murmur_hash,
    operator_index_for_key_group,
    original,
)

from ..oracles import rows


def python_key(key_type: str, shown: str) -> tuple[Any, str | None]:
    """The key that a row of an oracle shows, and its declared type."""
    if key_type == "string":
        return json.loads(shown), None
    if key_type in ("int", "Short"):
        return int(shown), "INT"
    if key_type == "Long":
        return int(shown), "LONG"
    if key_type == "Double":
        return float(shown), None
    if key_type == "Boolean":
        return shown == "true", None
    return tuple(item(part) for part in shown.strip("()").split(",")), None


def item(part: str) -> Any:
    if part in ("true", "false"):
        return part == "true"
    return int(part) if part.isdigit() else part


ROWS = rows("flink_keygroups.csv") + rows("flink_keygroups_more_types.csv")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['key_type']} {row['key']}")
def test_a_key_has_the_hash_the_group_and_the_subtask_that_flink_gives_it(row):
    key, key_type = python_key(row["key_type"], row["key"])
    assert java_hash(key, key_type) == int(row["java_hash_code"])
    assert murmur_hash(java_hash(key, key_type)) == int(row["murmur"])
    for column, wanted in row.items():
        if column.startswith("kg_max"):
            maximum = int(column.removeprefix("kg_max"))
            assert assign_to_key_group(key, maximum, key_type) == int(wanted), column
        elif column.startswith("op_max"):
            maximum, parallelism = map(int, column.removeprefix("op_max").split("_p"))
            group = assign_to_key_group(key, maximum, key_type)
            found = operator_index_for_key_group(maximum, parallelism, group)
            assert found == int(wanted), column


def test_murmur_hash():
    for row in rows("flink_murmur.csv"):
        assert murmur_hash(int(row["int_code"])) == int(row["flink_murmur"]), row


def test_key_group_ranges():
    for row in rows("flink_keygroup_ranges.csv"):
        found = key_group_range(
            int(row["max_parallelism"]), int(row["parallelism"]), int(row["operator_index"])
        )
        wanted = int(row["start_key_group"]), int(row["end_key_group_inclusive"])
        assert found == wanted, row


def test_the_subtask_of_a_key_group():
    for row in rows("flink_operator_index_for_keygroup.csv"):
        found = operator_index_for_key_group(
            int(row["max_parallelism"]), int(row["parallelism"]), int(row["key_group"])
        )
        assert found == int(row["operator_index"]), row


def test_default_max_parallelism():
    for row in rows("flink_default_max_parallelism.csv"):
        found = default_max_parallelism(int(row["parallelism"]))
        assert found == int(row["default_max_parallelism"]), row


@given(st.integers(1, 300), st.data())
def test_every_key_group_has_one_owner_and_the_ranges_say_which(maximum, data):
    parallelism = data.draw(st.integers(1, maximum))
    owners = [
        index
        for index in range(parallelism)
        for first, last in [key_group_range(maximum, parallelism, index)]
        for _ in range(first, last + 1)
    ]
    assert owners == [
        operator_index_for_key_group(maximum, parallelism, group) for group in range(maximum)
    ]


SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text()
KEYS = st.recursive(SCALARS, lambda keys: st.lists(keys, max_size=3) | st.tuples(keys, keys))


def model_hash(key: Any) -> int:
    """Java's hash codes as their documentation writes them, in unbounded arithmetic, cut to 32 bits at the end."""
    if isinstance(key, str):
        data = key.encode("utf-16-le", "surrogatepass")
        units = [low + 256 * high for low, high in zip(data[::2], data[1::2], strict=True)]
        value = sum(unit * 31 ** (len(units) - 1 - place) for place, unit in enumerate(units))
    elif isinstance(key, bool):
        value = 1231 if key else 1237
    elif isinstance(key, int):
        value = (key % 2**64) // 2**32 ^ key % 2**32
    elif isinstance(key, tuple):
        value = model_hash(key[0])
        for part in key[1:]:
            value = 31 * value + model_hash(part)
    elif isinstance(key, list):
        value = 1
        for part in key:
            value = 31 * value + model_hash(part)
    else:
        raise AssertionError(key)
    return (value + 2**31) % 2**32 - 2**31


TEXTS_AND_INTEGERS = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda keys: st.lists(keys, max_size=3) | st.tuples(keys, keys),
)


@given(TEXTS_AND_INTEGERS)
def test_hash_codes_are_those_of_the_model(key):
    assert java_hash(key) == model_hash(key)


@given(KEYS)
def test_a_canonical_key_turns_back_into_the_key(key):
    assert repr(original(canonical(key))) == repr(key)
    hash(canonical(key))


@given(KEYS, KEYS)
def test_canonical_keys_are_equal_only_if_type_and_value_are(one, other):
    assert (canonical(one) == canonical(other)) == (repr(one) == repr(other))


def test_one_true_and_one_point_zero_are_three_keys():
    assert len({canonical(1), canonical(True), canonical(1.0)}) == 3


def test_an_integer_key_is_a_long_unless_it_is_declared_an_int():
    assert java_hash(-1) == 0
    assert java_hash(-1, "INT") == -1


@pytest.mark.parametrize(
    ("key", "key_type", "code"),
    [
        ({"a"}, None, "key_type"),
        ({"a": 1}, None, "key_type"),
        (b"bytes", None, "key_type"),
        (object(), None, "key_type"),
        (("a", {1}), None, "key_type"),
        (2**31, "INT", "key_out_of_range"),
        (2**63, None, "key_out_of_range"),
    ],
)
def test_a_key_without_a_stable_hash_is_refused(key, key_type, code):
    with pytest.raises(InvalidJob) as refused:
        assign_to_key_group(key, 128, key_type)
    assert refused.value.code == code
    assert refused.value.mend
