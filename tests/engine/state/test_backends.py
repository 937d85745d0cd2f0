"""Tables that note what changes, and what snapshots make of it: against a dict, and against each other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.state.backends import Backend, BackendSettings, make_backend
from engine.state.backends.changelog import ChangelogBackend
from engine.state.backends.lsm import FANOUT, LsmBackend, compacted, in_order, run, tier
from engine.state.backends.parts import Incremental, whole
from engine.state.backends.tracked import move_to_end
from engine.state.sizes import estimated_bytes, full_bytes, written_bytes

KEYS = st.integers(0, 6)
ENTRIES = st.integers(0, 4)
VALUES = st.one_of(st.none(), st.integers(0, 9), st.tuples(st.integers(0, 9)))
FLAT = st.one_of(
    st.tuples(st.just("set"), KEYS, VALUES),
    st.tuples(st.just("pop"), KEYS),
    st.tuples(st.just("setdefault"), KEYS, VALUES),
    st.tuples(st.just("update"), st.dictionaries(KEYS, VALUES, max_size=3)),
    st.tuples(st.just("popitem")),
    st.tuples(st.just("or"), st.dictionaries(KEYS, VALUES, max_size=3)),
    st.tuples(st.just("clear")),
)
NESTED = st.one_of(
    st.tuples(st.just("in"), KEYS, FLAT),
    st.tuples(st.just("set"), KEYS, st.dictionaries(ENTRIES, VALUES, min_size=1, max_size=3)),
    st.tuples(st.just("pop"), KEYS),
    st.tuples(st.just("move_to_end"), KEYS),
    st.tuples(st.just("clear")),
)
CHANGES = st.one_of(
    st.tuples(st.just("flat"), FLAT),
    st.tuples(st.just("nested"), NESTED),
    st.just(("snapshot", None)),
)
MAKERS = {
    "changelog": lambda: ChangelogBackend(7),
    "changelog without end": lambda: ChangelogBackend(10**9),
    "lsm": LsmBackend,
}


def change_flat(table, change):
    kind, *arguments = change
    if kind == "set":
        table[arguments[0]] = arguments[1]
    elif kind == "pop":
        table.pop(arguments[0], None)
    elif kind == "popitem":
        if table:
            table.popitem()
    elif kind == "or":
        table |= arguments[0]
    else:
        getattr(table, kind)(*arguments)


def change_nested(table, change):
    kind, *arguments = change
    if kind == "in":
        change_flat(table.setdefault(arguments[0], {}), arguments[1])
        if not table[arguments[0]]:
            del table[arguments[0]]
    elif kind == "set":
        table[arguments[0]] = dict(arguments[1])
    elif kind == "pop":
        taken = table.pop(arguments[0], {})
        taken["later"] = 1  # what was taken out is nobody's state any more
    elif kind == "move_to_end":
        if arguments[0] in table:
            move_to_end(table, arguments[0])
    else:
        table.clear()


def copied(flat, nested):
    """Tables as they are, with the order of the inner ones, which functions can see."""
    return dict(flat), {key: list(held.items()) for key, held in nested.items()}


def rebuilt(part):
    tables = whole(part)
    return copied(*(tables.get(name, ("", {}))[1] for name in ("flat", "nested")))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@settings(max_examples=150, deadline=None)
@given(changes=st.lists(CHANGES, max_size=60), returns=st.integers(0, 60))
def test_a_snapshot_holds_what_a_dict_held_and_nothing_of_later(make, changes, returns):
    """Also after going back to a keyframe and taking the same way again, and after going on from a snapshot."""
    backend = make()
    flat, nested = backend.table("flat", "value", False), backend.table("nested", "map", True)
    plain_flat: dict = {}
    plain_nested: dict = {}
    snapshots = []
    frame = None
    for number, (which, change) in enumerate(changes):
        if number == returns:
            frame = backend.keyframe(), dict(flat), {k: dict(v) for k, v in nested.items()}
        if which == "flat":
            change_flat(flat, change)
            change_flat(plain_flat, change)
        elif which == "nested":
            change_nested(nested, change)
            change_nested(plain_nested, change)
        else:
            snapshots.append((number, backend.snapshot(), copied(plain_flat, plain_nested)))
        assert flat == plain_flat
        assert copied(flat, nested) == copied(plain_flat, plain_nested)
        assert list(nested) == list(plain_nested)
    snapshots.append((len(changes), backend.snapshot(), copied(plain_flat, plain_nested)))
    for _, part, expected in snapshots:
        assert rebuilt(part) == expected

    if frame is not None:
        layout, held_flat, held_nested = frame
        load(flat, nested, held_flat, held_nested)
        backend.rewind(layout)
        again = []
        for number, (which, change) in enumerate(changes[returns:], returns):
            if which == "snapshot":
                again.append((number, backend.snapshot()))
            else:
                (change_flat if which == "flat" else change_nested)(
                    flat if which == "flat" else nested, change
                )
        again.append((len(changes), backend.snapshot()))
        first = [(number, part) for number, part, _ in snapshots if number >= returns]
        assert again == first

    _, part, _ = snapshots[-1]
    other = make()
    flat, nested = other.table("flat", "value", False), other.table("nested", "map", True)
    tables = {"flat": ("", {}), "nested": ("", {}), **whole(part)}
    load(flat, nested, tables["flat"][1], tables["nested"][1])
    other.restored(part)
    resumed = other.snapshot()
    assert resumed.layers == part.layers
    assert written_bytes(resumed) == 0
    flat[99] = 99
    nested.setdefault(0, {})[99] = 99
    assert rebuilt(other.snapshot()) == copied(flat, nested)

    for replacement in (make(), LsmBackend()):
        flat = replacement.table("flat", "value", False)
        nested = replacement.table("nested", "map", True)
        load(flat, nested, tables["flat"][1], tables["nested"][1])
        replacement.restored(None)
        assert rebuilt(replacement.snapshot()) == copied(flat, nested)


def load(flat, nested, from_flat, from_nested):
    flat.clear()
    nested.clear()
    flat.update(from_flat)
    nested.update({key: dict(held) for key, held in from_nested.items()})


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_has_to_be_written_is_in_proportion_to_what_has_changed(make):
    backend = make()
    table = backend.table("t", "value", False)
    for key in range(20_000):
        table[f"key{key}"] = key
    first = backend.snapshot()
    assert written_bytes(first) == full_bytes(first) > 20_000 * 16
    if isinstance(backend, ChangelogBackend):
        backend.materialize_every = 10**9
    for changed in (20, 200, 2000):
        for key in range(changed):
            table[f"key{key}"] = -key
        part = backend.snapshot()
        share = written_bytes(part) / full_bytes(first)
        assert share == pytest.approx(changed / 20_000, rel=0.3)
    assert written_bytes(backend.snapshot()) == 0


def test_a_heap_snapshot_is_full_and_says_so():
    assert type(make_backend(BackendSettings())) is Backend
    assert type(make_backend(BackendSettings("rocksdb"))) is Backend, "not incremental: in full"
    part = ({"t": ("value", {key: key for key in range(10)})},)
    assert full_bytes(part) == written_bytes(part) == estimated_bytes(part) > 10 * 16


def test_a_changelog_writes_a_new_base_after_so_many_changes_and_keeps_no_endless_log():
    backend = ChangelogBackend(10)
    table = backend.table("t", "value", False)
    for number in range(10):
        table["a"] = number
    part = backend.snapshot()
    assert [layer.kind for layer in part.layers] == ["log"]
    assert len(part.layers[0].rows) == 10
    table["b"] = 0
    part = backend.snapshot()
    assert [layer.kind for layer in part.layers] == ["base"]
    assert part.fresh == 1
    for number in range(1000):
        table["b"] = number
    assert backend.log == []
    table["b"] = 5
    assert rows(backend.snapshot()) == {"a": 9, "b": 5}


def rows(part: Incremental):
    return whole(part)["t"][1]


def test_runs_are_sorted_and_a_tombstone_hides_what_is_older():
    backend = LsmBackend()
    table = backend.table("t", "value", False)
    table.update({"c": 1, "a": 2, "b": 3})
    backend.snapshot()
    del table["a"]
    part = backend.snapshot()
    older, newer = part.layers
    assert [row[1] for row in older.rows] == ["a", "b", "c"]
    assert newer.rows == {("t", "a"): ()}
    assert list(rows(part)) == ["c", "b"], "in the order in which they were inserted"


def test_keys_of_several_types_are_in_order_too():
    assert in_order([("t", "b"), ("t", 2), ("t", "a"), ("t", 10)]) == [
        ("t", "a"), ("t", "b"), ("t", 10), ("t", 2),
    ]  # fmt: skip
    assert in_order([("t", 10), ("t", 2)]) == [("t", 2), ("t", 10)]


def test_what_comes_and_goes_between_two_snapshots_leaves_nothing():
    backend = LsmBackend()
    table = backend.table("t", "value", False)
    for number in range(1000):
        table[number] = 1
        del table[number]
    assert backend.memtable == {}
    assert backend.snapshot().layers == ()


@settings(deadline=None)
@given(st.lists(st.integers(1, 700), max_size=40))
def test_compaction_leaves_fewer_than_fanout_runs_of_a_tier_side_by_side(sizes):
    runs: tuple = ()
    newest: dict = {}
    for number, size in enumerate(sizes):
        # Every other run removes what the one before it has put there.
        keys = range(size * (number // 2), size * (number // 2) + size)
        versions = {("t", key): () if number % 2 else (number, key) for key in keys}
        newest.update(versions)
        runs = compacted((*runs, run(versions)))
        tiers = [tier(len(layer.rows)) for layer in runs]
        for wanted in set(tiers):
            tail = tiers[max((i + 1 for i, t in enumerate(tiers) if t > wanted), default=0) :]
            assert tail.count(wanted) < FANOUT
    found: dict = {}
    for layer in runs:
        assert list(layer.rows) == sorted(layer.rows)
        found.update(layer.rows)
    assert {row: held for row, held in found.items() if held} == {
        row: held for row, held in newest.items() if held
    }


def test_the_oldest_run_holds_no_tombstone_once_it_was_merged():
    backend = LsmBackend()
    table = backend.table("t", "value", False)
    for number in range(FANOUT):
        table[number] = number
        if number:
            del table[number - 1]
        part = backend.snapshot()
    assert len(part.layers) == 1
    assert part.layers[0].rows == {("t", FANOUT - 1): (FANOUT - 1, FANOUT - 1)}
