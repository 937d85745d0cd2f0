"""The text of a lab's network: what it means, and what is said of each mistake."""

from __future__ import annotations

import pytest

from engine import InvalidJob
from engine.checkpointing.chandy_lamport import ChandyLamport
from engine.checkpointing.network_text import check_script, read_network
from engine.checkpointing.process_network import Link, Send


def test_every_statement_is_read():
    network = read_network(
        """
        # two processes and a chatty observer
        process P 3      # tokens
        process Q_2 0
        process R 1
        link P <-> Q_2
        link Q_2 -> R
        link R -> P unordered
        send P -> Q_2 2
        snapshot P
        join R 1
        send P -> Q_2 1
        deliver P -> Q_2
        snapshot R
        deliver R -> P 2
        """
    )
    assert network.tokens == {"P": 3, "Q_2": 0, "R": 1}
    assert network.links == (
        Link("P", "Q_2"),
        Link("Q_2", "P"),
        Link("Q_2", "R"),
        Link("R", "P", fifo=False),
    )
    assert network.sends == (Send("P", "Q_2", 2), Send("P", "Q_2", 1))
    assert network.snapshots == (("P", "R"), ("R",))
    assert network.script == (
        "send:P", "snapshot:P/1", "snapshot:R/1", "send:P", "deliver:P>Q_2", "snapshot:R/2", "deliver:R>P#1",
    )  # fmt: skip


def test_the_script_is_a_run_of_the_network():
    network = read_network(
        """
        process P 1
        process Q 0
        link P <-> Q
        send P -> Q 1
        snapshot Q
        deliver Q -> P
        deliver P -> Q
        deliver P -> Q
        """
    )
    system = ChandyLamport(network)
    system.run(network.script)
    assert system.recorded_state(1) == (1, {"P": 0, "Q": 0}, {"P>Q": (1,)})


DECLARED = "process P 1\nprocess Q 1\nlink P -> Q\nlink Q -> P\n"


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("proces R 1", "unknown_statement", "'proces'"),
        ("process R", "statement_form", "`process NAME TOKENS`"),
        ("process R many", "statement_form", "`process NAME TOKENS`"),
        ("process R -1", "tokens", "at least 0"),
        ("process P>Q 1", "process_name", "'P>Q'"),
        ("process P 1", "double_process", "declared twice"),
        ("link P -> R", "unknown_process", "P, Q"),
        ("link P to Q", "statement_form", "`link NAME -> NAME`"),
        ("link P -> Q", "double_link", "two links from P to Q"),
        ("link P -> P sorted", "statement_form", "`link NAME -> NAME`"),
        ("send P -> P 1", "no_link", "`link P -> P`"),
        ("send P -> R 1", "unknown_process", "'R'"),
        ("send P -> Q 0", "tokens", "at least 1"),
        ("send P <-> Q 1", "statement_form", "`send NAME -> NAME TOKENS`"),
        ("snapshot", "statement_form", "`snapshot NAME`"),
        ("snapshot R", "unknown_process", "'R'"),
        ("join P 1", "unknown_snapshot", "no snapshot 1"),
        ("deliver P -> Q 2", "fifo_link", "`unordered`"),
        ("deliver P -> Q 0", "statement_form", "`deliver NAME -> NAME`"),
        ("deliver P -> P", "no_link", "from P to P"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_its_mend(line, code, words):
    with pytest.raises(InvalidJob) as raised:
        read_network(DECLARED + line, "ring.txt")
    assert raised.value.code == code
    assert raised.value.place == "ring.txt, line 5"
    assert raised.value.mend
    assert words in str(raised.value)


def test_who_joins_must_not_be_there_already():
    with pytest.raises(InvalidJob, match="starts snapshot 1 already") as raised:
        read_network(DECLARED + "snapshot P\njoin P 1")
    assert raised.value.place == "network, line 6"


def test_a_snapshot_that_never_ends_is_refused_at_the_line_that_starts_it():
    text = (
        "process P 1\nprocess Q 1\nprocess R 1\nlink P -> Q\nlink Q -> P\nlink R -> P\nsnapshot P"
    )
    with pytest.raises(InvalidJob, match="from P to R, so snapshot 1 never ends") as raised:
        read_network(text)
    assert raised.value.place == "network, line 7"
    assert read_network(f"{text}\njoin R 1").snapshots == (("P", "R"),)


def test_a_network_without_processes_is_refused():
    with pytest.raises(InvalidJob, match="at least one process"):
        read_network("# nothing yet\n")


def test_a_parameter_stands_for_its_value():
    text = "process P $tokens\nprocess Q 0\nlink P <-> Q\nsend P -> Q $tokens\nsnapshot P"
    network = read_network(text, "network.txt", {"tokens": 7})
    assert network.tokens == {"P": 7, "Q": 0}
    assert network.sends == (Send("P", "Q", 7),)
    with pytest.raises(InvalidJob, match="no parameter 'tokens'") as caught:
        read_network(text, "network.txt", {"size": 7})
    assert caught.value.place == "network.txt, line 1"
    assert caught.value.mend == "The parameters are $size."


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("deliver P -> Q", "link P>Q holds no more"),
        ("send Q -> P 2", "Q has 1 tokens and has to send 2"),
    ],
)
def test_a_script_that_cannot_be_followed_is_told_with_its_line(line, sentence):
    text = f"process P 1\nprocess Q 1\nlink P <-> Q\nmarkers P\n{line}\n"
    assert read_network(text).script[0] == "markers:P"
    with pytest.raises(InvalidJob, match="The script cannot do this here") as caught:
        check_script(text, "network.txt")
    assert sentence in caught.value.sentence
    assert caught.value.place == "network.txt, line 5"


def test_a_network_that_no_page_could_show_is_refused_with_its_line():
    text = "\n".join(f"process P{number} 1" for number in range(13))
    with pytest.raises(InvalidJob, match="at most 12 processes") as caught:
        read_network(text)
    assert caught.value.place == "network, line 13"
