"""A search that another process asks for: through JSON and back, and its trace as a run."""

from __future__ import annotations

import json

import pytest

from engine import FailSubtask, ImpossibleAction, LearnerMistake, Recording, TriggerCheckpoint
from engine.explore.invariants import first_broken
from engine.explore.registry import INVARIANTS, MUTANTS
from engine.explore.request import Request, explore, log_of
from engine.explore.search import system_of
from engine.runtime import Runtime

from ..checkpointing.networks import pair
from ..small import MANUAL
from .test_job import ONE

ONCE = [
    {"command": {"kind": "checkpoint"}, "times": 1},
    {"command": {"kind": "fail", "subtask": "count[0]"}, "times": 1},
]
JOB = {"kind": "job", "invariants": ["exactly-once"], "commands": ONCE, "source": {"lab": "x"}}
NETWORK = {"kind": "network", "invariants": ["snapshot-conserves", "tokens-conserved"]}


def asked(data, subject, progress=None):
    """Through JSON in both directions, as a process is asked."""
    request = Request.from_data(json.loads(json.dumps(data)))
    return json.loads(json.dumps(explore(request, subject, progress)))


def test_a_request_survives_json():
    request = Request.from_data(JOB)
    assert request.commands == ((TriggerCheckpoint(), 1), (FailSubtask("count[0]"), 1))
    assert request.source == {"lab": "x"}
    assert Request.from_data(json.loads(json.dumps(request.to_data()))) == request


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "graph"}, "There is no kind 'graph'. (kind) Choose one of job, network"),
        ({"kind": []}, "no kind '[]'"),
        ({"invariants": []}, "Name at least one"),
        ({"invariants": "exactly-once"}, "Send a list of names"),
        (
            {"invariants": ["consistent-cut"]},
            "There is no invariant 'consistent-cut'. (invariants) Choose one of",
        ),
        ({"invariants": [["x"]]}, "no invariant"),
        ({"mutant": "wrong-id"}, "no mutant 'wrong-id'"),
        ({"mutant": None}, "is not a name"),
        ({"way": "sideways"}, "no way 'sideways'. (way) Choose one of breadth first, depth first"),
        ({"states": 0}, "from 1 to 5,000,000"),
        ({"states": True}, "states cannot be True"),
        ({"depth": -1}, "depth cannot be -1"),
        ({"walks": 1e9}, "walks cannot be"),
        ({"seed": 2**53}, "seed cannot be"),
        ({"commands": {}}, "Send a list"),
        ({"commands": ["checkpoint"]}, "has the fields command and times"),
        ({"commands": [{"command": {"kind": "bribe"}, "times": 1}]}, "no such command"),
        ({"commands": [{**ONCE[0], "times": 9}]}, "from 1 to 8"),
        ({"commands": [ONCE[0], ONCE[0]]}, "given twice"),
        ({"source": "lab"}, "Send an object"),
        ({"colour": 1}, "no field 'colour'"),
        ({"kind": "network", "invariants": ["fifo-links"]}, "takes no commands"),
    ],
)
def test_each_bad_field_is_told(change, words):
    with pytest.raises(LearnerMistake) as refused:
        Request.from_data({**JOB, **change})
    assert words in str(refused.value)


@pytest.mark.parametrize("data", [None, [], {"kind": "job"}, {"invariants": []}])
def test_what_is_no_request_is_refused(data):
    with pytest.raises(LearnerMistake):
        Request.from_data(data)


@pytest.mark.parametrize("way", ["breadth first", "depth first"])
def test_a_violation_opens_as_a_run(way):
    outcome = asked({**JOB, "mutant": "no-alignment", "way": way}, ONE)
    assert outcome["result"] == "violated"
    assert outcome["invariant"] == "exactly-once"
    assert outcome["minimal"] is True
    assert len(outcome["trace"]) <= outcome["found"]
    assert ["command", {"kind": "checkpoint"}] in outcome["trace"]
    wrong = MUTANTS["no-alignment"].make
    run = Recording(ONE, MANUAL, 0, outcome["trace"], runtime=wrong)
    run.step(len(outcome["trace"]))
    assert run.position == len(outcome["trace"])
    assert run.view()["job"]["state"] == "finished"
    assert run.fork().view() == run.view()
    right = Recording(ONE, MANUAL, 0, outcome["trace"])
    with pytest.raises(ImpossibleAction):
        right.step(len(outcome["trace"]))


def test_a_search_goes_on_from_where_a_run_stands():
    """What came before costs no budget, is no part of the trace, and leads to it."""
    wrong = MUTANTS["snapshot-after-emit"].make
    run = Recording(ONE, MANUAL, 0, (), runtime=wrong)
    run.apply({"kind": "checkpoint"})
    run.act(run.possible()[-1]["id"])
    before = run.log
    data = {**JOB, "commands": ONCE[1:], "mutant": "snapshot-after-emit"}
    outcome = explore(Request.from_data(data), ONE, before=before)
    assert outcome["result"] == "violated"
    assert ["command", {"kind": "checkpoint"}] not in outcome["trace"]
    whole = Recording(ONE, MANUAL, 0, [*before, *outcome["trace"]], runtime=wrong)
    whole.seek(whole.head)
    assert INVARIANTS["exactly-once"].make(ONE).broken(whole) == outcome["sentence"]


def test_walks_have_a_seed_of_their_own():
    walks = {**JOB, "way": "random walks", "walks": 20, "depth": 30, "seed": 1}
    told = [asked({**walks, "walk_seed": seed}, ONE)["counts"] for seed in (1, 1, 2)]
    assert told[0] == told[1] == asked(walks, ONE)["counts"] != told[2]
    with pytest.raises(LearnerMistake, match="walk_seed cannot be"):
        Request.from_data({**walks, "walk_seed": -1})


def test_the_three_results_of_a_job():
    small = {**JOB, "commands": ONCE[:1]}
    exhausted = asked({**small, "way": "depth first"}, ONE)
    assert (exhausted["result"], exhausted["bound"]) == ("exhausted", "")
    assert exhausted["counts"]["reduced"] is True
    bounded = asked({**small, "states": 40}, ONE)
    assert (bounded["result"], bounded["bound"]) == ("bound reached", "states")
    assert asked({**small, "depth": 4}, ONE)["bound"] == "depth"
    assert asked({**small, "way": "random walks", "walks": 3}, ONE)["bound"] == "walks"


def test_progress_can_stop_a_search():
    seen = []

    def progress(counts):
        seen.append(counts.transitions)
        return len(seen) == 2

    outcome = asked(JOB, ONE, progress)
    assert (outcome["result"], outcome["bound"]) == ("bound reached", "stopped")
    assert seen == [256, 512]


def test_progress_can_stop_the_shortening():
    """The walks are over before they ask for the first time."""
    walks = {**NETWORK, "mutant": "no-channel-state", "way": "random walks", "seed": 2}
    whole = asked(walks, pair())
    stopped = asked(walks, pair(), lambda counts: True)
    assert (whole["minimal"], stopped["minimal"]) == (True, False)
    assert len(whole["trace"]) < len(stopped["trace"]) <= whole["found"]


def test_a_network_is_asked_for_in_the_same_way():
    assert asked(NETWORK, pair())["result"] == "exhausted"
    outcome = asked({**NETWORK, "mutant": "not-fifo", "way": "random walks"}, pair())
    assert outcome["result"] == "violated"
    assert outcome["trace"][0][0] == "action"


@pytest.mark.parametrize(
    ("data", "subject"), [(JOB, pair()), (NETWORK, ONE)], ids=["job", "network"]
)
def test_a_subject_of_another_kind_is_refused(data, subject):
    with pytest.raises(LearnerMistake, match="is no"):
        explore(Request.from_data(data), subject)


@pytest.mark.parametrize("name", INVARIANTS)
def test_every_rule_has_words_and_can_be_judged(name):
    named = INVARIANTS[name]
    assert named.title
    assert named.explanation.endswith(".")
    subject = ONE if named.kind == "job" else pair()
    rule = named.make(subject)
    system = system_of(subject, [rule])
    start = system.capture()
    taken = []
    while actions := system.enabled():
        taken.append(actions[0])
        system.apply(actions[0])
    system.restore(start)
    assert first_broken(system, taken, [rule]) is None or named.belief
    assert log_of(system, tuple(taken))[0] == ["action", taken[0]]


@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_has_words_and_runs(name):
    mutant = MUTANTS[name]
    assert mutant.title
    assert mutant.explanation.endswith(".")
    assert mutant.kind == "network" or issubclass(mutant.make, Runtime)
    system = system_of(ONE if mutant.kind == "job" else pair(), [], protocol=mutant.make)
    assert system.enabled()
