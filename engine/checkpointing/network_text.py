"""The text that describes a lab's process network.

One statement a line; `#` begins a comment. A name is declared before it is used.

    process P 1              P starts with 1 token
    link P -> Q              a link; `link P <-> Q` is one in each direction, `unordered` at the end gives up its order
    send P -> Q 1            P sends 1 token to Q
    snapshot P               P starts a new snapshot, the first one is snapshot 1
    join Q 1                 Q starts snapshot 1 as well, where none of its markers has reached Q yet
    deliver P -> Q           the head of the link is delivered; `deliver P -> Q 2` what stands second on an unordered link

The last four are the script: one run, in order. Who explores the network takes from it what each process sends, in its
order, and which snapshots there are, and chooses the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.checkpointing.process_network import (
    Link,
    ProcessNetwork,
    Send,
    check_known,
    check_link,
    check_process,
    check_send,
)
from engine.errors import InvalidJob


class _Reader:
    """What has been read so far."""

    def __init__(self) -> None:
        self.tokens: dict[str, int] = {}
        self.links: list[Link] = []
        self.sends: list[Send] = []
        self.snapshots: list[list[str]] = []
        self.script: list[str] = []
        self.statements: dict[str, tuple[Callable[[list[str]], None], str]] = {
            "process": (self.process, "process NAME TOKENS"),
            "link": (self.link, "link NAME -> NAME"),
            "send": (self.send, "send NAME -> NAME TOKENS"),
            "snapshot": (self.snapshot, "snapshot NAME"),
            "join": (self.join, "join NAME SNAPSHOT"),
            "deliver": (self.deliver, "deliver NAME -> NAME"),
        }

    def known_links(self) -> set[tuple[str, str]]:
        return {link[:2] for link in self.links}

    def process(self, words: list[str]) -> None:
        name, tokens = words
        if name in self.tokens:
            raise InvalidJob(
                "double_process",
                f"Process {name} is declared twice.",
                mend="Leave one out, or give it another name.",
            )
        number = _integer(tokens)
        check_process(name, number)
        self.tokens[name] = number

    def link(self, words: list[str]) -> None:
        fifo = words[3:] != ["unordered"]
        source, arrow, target = words if fifo else words[:3]
        if arrow not in ("->", "<->"):
            raise ValueError
        both = ((source, target), (target, source))
        for ends in both if arrow == "<->" else both[:1]:
            link = Link(*ends, fifo)
            check_link(link, self.tokens, self.known_links())
            self.links.append(link)

    def send(self, words: list[str]) -> None:
        source, arrow, target, tokens = words
        if arrow != "->":
            raise ValueError
        send = Send(source, target, _integer(tokens))
        check_known(source, self.tokens)
        check_known(target, self.tokens)
        check_send(send, self.known_links())
        self.sends.append(send)
        self.script.append(f"send:{source}")

    def snapshot(self, words: list[str]) -> None:
        (name,) = words
        check_known(name, self.tokens)
        self.snapshots.append([name])
        self.script.append(f"snapshot:{name}/{len(self.snapshots)}")

    def join(self, words: list[str]) -> None:
        name, number = words
        check_known(name, self.tokens)
        snapshot = _integer(number)
        if not 1 <= snapshot <= len(self.snapshots):
            raise InvalidJob(
                "unknown_snapshot",
                f"There is no snapshot {snapshot} to join.",
                mend="Start it in a line above, with `snapshot NAME`; the first one is snapshot 1.",
            )
        if name in self.snapshots[snapshot - 1]:
            raise InvalidJob(
                "double_initiator",
                f"{name} starts snapshot {snapshot} already.",
                mend="Leave this line out.",
            )
        self.snapshots[snapshot - 1].append(name)
        self.script.append(f"snapshot:{name}/{snapshot}")

    def deliver(self, words: list[str]) -> None:
        source, arrow, target = words[:3]
        place = _integer(words[3]) if len(words) == 4 else 1
        if arrow != "->" or len(words) > 4 or place < 1:
            raise ValueError
        check_known(source, self.tokens)
        check_known(target, self.tokens)
        link = next((link for link in self.links if link[:2] == (source, target)), None)
        if link is None:
            raise InvalidJob(
                "no_link",
                f"There is no link from {source} to {target}.",
                mend=f"Add `link {source} -> {target}` above.",
            )
        if place > 1 and link.fifo:
            raise InvalidJob(
                "fifo_link",
                f"The link from {source} to {target} keeps its order, so only its head can be delivered.",
                mend="Leave the number out, or declare the link `unordered`.",
            )
        self.script.append(f"deliver:{link.name}" + (f"#{place - 1}" if place > 1 else ""))


def read_network(text: str, name: str = "network") -> ProcessNetwork:
    """The network that `text` describes; InvalidJob names the line (after `name`) and the mend."""
    reader = _Reader()
    begun: dict[int, int] = {}
    """The line that starts each snapshot."""
    for line, written in enumerate(text.splitlines(), 1):
        words = written.partition("#")[0].split()
        if not words:
            continue
        place = f"{name}, line {line}"
        if words[0] not in reader.statements:
            raise InvalidJob(
                "unknown_statement",
                f"A line cannot begin with {words[0]!r}.",
                place=place,
                mend=f"It begins with {', '.join(reader.statements)}.",
            )
        statement, form = reader.statements[words[0]]
        try:
            statement(words[1:])
        except ValueError:
            raise InvalidJob(
                "statement_form",
                f"This is not how a {words[0]} is written.",
                place=place,
                mend=f"Write `{form}`.",
            ) from None
        except InvalidJob as error:
            raise InvalidJob(error.code, error.sentence, place=place, mend=error.mend) from None
        if words[0] == "snapshot":
            begun[len(reader.snapshots)] = line
    if not reader.tokens:
        raise InvalidJob(
            "no_process",
            "A network needs at least one process.",
            place=name,
            mend="Write `process NAME TOKENS`.",
        )
    network = ProcessNetwork(
        reader.tokens,
        tuple(reader.links),
        tuple(reader.sends),
        tuple(map(tuple, reader.snapshots)),
        tuple(reader.script),
    )
    for number, line in begun.items():
        _check_reach(network, number, f"{name}, line {line}")
    return network


def _check_reach(network: ProcessNetwork, number: int, place: str) -> None:
    initiators = network.snapshots[number - 1]
    missed = network.unreached(initiators)
    if missed:
        raise InvalidJob(
            "unreached",
            f"No path of links leads from {' or '.join(initiators)} to {' and '.join(missed)}, so snapshot {number} never ends.",
            place=place,
            mend=f"Add a link towards {missed[0]}, or let another process start the snapshot.",
        )


def _integer(word: str) -> int:
    """An integer as people write it; ValueError for anything else."""
    if not word.lstrip("-").isdecimal() or len(word) > 18:
        raise ValueError
    return int(word)
