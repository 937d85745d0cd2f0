"""The text that describes a lab's process network.

One statement a line; `#` begins a comment. A name is declared before it is used.

    process P 1              P starts with 1 token
    link P -> Q              a link; `link P <-> Q` is one in each direction, `unordered` at the end gives up its order
    send P -> Q 1            P sends 1 token to Q
    snapshot P               P starts a new snapshot, the first one is snapshot 1
    join Q 1                 Q starts snapshot 1 as well, where none of its markers has reached Q yet
    deliver P -> Q           the head of the link is delivered; `deliver P -> Q 2` what stands second on an unordered link
    markers P                P sends the markers that it owes, where the protocol sends them late; skipped elsewhere

The last five are the script: one run, in order. Who explores the network takes from it what each process sends, in its
order, and which snapshots there are, and chooses the rest. `$name` stands for the value of a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized

from engine.checkpointing.chandy_lamport import UNRECORDED, ChandyLamport
from engine.checkpointing.process_network import (
    Link,
    ProcessNetwork,
    Send,
    check_known,
    check_link,
    check_process,
    check_send,
)
from engine.errors import ImpossibleAction, InvalidJob

MOST_PROCESSES = 12
MOST_LINKS = 48
MOST_SENDS = 2000
MOST_SNAPSHOTS = 9
"""What a picture can show, and a run of what it shows can be kept in memory."""


class _Reader:
    """What has been read so far."""

    def __init__(self, values: Mapping[str, int]) -> None:
        self.values = values
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
            "markers": (self.markers, "markers NAME"),
        }
        self.most: dict[str, tuple[Sized, int, str]] = {
            "process": (self.tokens, MOST_PROCESSES, "processes"),
            "link": (self.links, MOST_LINKS, "links"),
            "send": (self.sends, MOST_SENDS, "sends"),
            "snapshot": (self.snapshots, MOST_SNAPSHOTS, "snapshots"),
        }

    def read(self, words: list[str]) -> None:
        """One statement; ValueError where it is not written as its form says."""
        name, *rest = words
        self.statements[name][0]([self.value(word) if word[0] == "$" else word for word in rest])
        if name in self.most:
            held, most, what = self.most[name]
            if len(held) > most:
                raise InvalidJob(
                    "network_too_large",
                    f"A network has at most {most} {what}.",
                    mend="Leave some out.",
                )

    def value(self, word: str) -> str:
        name = word[1:]
        if name not in self.values:
            known = ", ".join(f"${one}" for one in self.values)
            raise InvalidJob(
                "unknown_parameter",
                f"There is no parameter {name!r}.",
                mend=f"The parameters are {known}." if known else "Write the number itself.",
            )
        return str(self.values[name])

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

    def markers(self, words: list[str]) -> None:
        (name,) = words
        check_known(name, self.tokens)
        self.script.append(f"markers:{name}")


def read_network(
    text: str, name: str = "network", values: Mapping[str, int] | None = None
) -> ProcessNetwork:
    """The network that `text` describes; InvalidJob names the line (after `name`) and the mend.

    values: of the parameters that the text may name.
    """
    return _read(text, name, values)[0]


def check_script(
    text: str, name: str = "network", values: Mapping[str, int] | None = None
) -> ProcessNetwork:
    """As `read_network`, and the script can be followed to its end; InvalidJob names the line where it cannot."""
    network, lines = _read(text, name, values)
    system = ChandyLamport(network)
    for action, line in zip(network.script, lines, strict=True):
        if action.startswith("markers:") or _comes_too_late(system, action):
            continue
        try:
            system.apply(action)
        except ImpossibleAction as error:
            raise InvalidJob(
                "script_impossible",
                f"The script cannot do this here: {error.sentence.partition(': ')[2]}",
                place=f"{name}, line {line}",
                mend="Move the line, or add what has to happen before it.",
            ) from None
    return network


def _comes_too_late(system: ChandyLamport, action: str) -> bool:
    """Whether a process has recorded for the snapshot that it is to join: who drives the run may let it join earlier."""
    kind, _, rest = action.partition(":")
    process, _, number = rest.rpartition("/")
    if kind != "snapshot" or process == system.network.snapshots[int(number) - 1][0]:
        return False
    place = (int(number) - 1) * len(system.processes) + system.processes.index(process)
    return system.recorded[place] != UNRECORDED


def _read(
    text: str, name: str, values: Mapping[str, int] | None
) -> tuple[ProcessNetwork, list[int]]:
    """The network, and the line of each action of its script."""
    reader = _Reader(values or {})
    begun: dict[int, int] = {}
    """The line that starts each snapshot."""
    lines: list[int] = []
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
        form = reader.statements[words[0]][1]
        try:
            reader.read(words)
        except ValueError:
            raise InvalidJob(
                "statement_form",
                f"This is not how a {words[0]} is written.",
                place=place,
                mend=f"Write `{form}`.",
            ) from None
        except InvalidJob as error:
            raise InvalidJob(error.code, error.sentence, place=place, mend=error.mend) from None
        lines += [line] * (len(reader.script) - len(lines))
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
    return network, lines


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
