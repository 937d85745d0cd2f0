"""Check lab folders; name file, line and mend of whatever is wrong. Questions are tried out on many variants."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management import BaseCommand, CommandError

from engine.errors import StreamLabError
from labs.catalog import CONTENT, is_lab, whole_lab
from labs.problems import LabInvalid, Problem
from labs.questions import explored, proof
from labs.questions.spec import Counterexample
from labs.spec import LabSpec


class Command(BaseCommand):
    help = "Check every lab folder, or those that are named."
    requires_system_checks: list[str] = []  # they would say the same twice

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slugs", nargs="*", metavar="SLUG")
        parser.add_argument(
            "--explore",
            action="store_true",
            help="look for every counterexample first, and keep what is found in explored.json",
        )
        parser.add_argument(
            "--variants", type=int, default=proof.VARIANTS, help="how many of each question to try"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        known = sorted(path.name for path in CONTENT.iterdir() if is_lab(path))
        slugs = options["slugs"] or known
        broken = 0
        for slug in slugs:
            if slug not in known:
                raise CommandError(f"No lab is called {slug!r}. There are: {', '.join(known)}.")
            problems = list(self.problems(slug, **options))
            for problem in problems:
                self.stdout.write(str(problem))
            broken += bool(problems)
        if broken:
            raise CommandError(f"{broken} of {len(slugs)} labs cannot be offered as they are.")

    def problems(self, slug: str, *, explore: bool, variants: int, **_: Any) -> Iterator[Problem]:
        try:
            lab = whole_lab(CONTENT / slug)
            if explore and any(isinstance(one, Counterexample) for one in lab.questions):
                self.explore(lab)
                lab = whole_lab(CONTENT / slug)
        except LabInvalid as error:
            yield from error.problems
            return
        except StreamLabError as error:
            path, mend = CONTENT / slug / "lab.toml", error.mend or ""
            yield Problem("lab-question-unexplored", error.sentence, path, None, mend)
            return
        problems = proof.stale(lab) or proof.prove(lab, variants)
        yield from problems
        if not problems:
            asked = f", {len(lab.questions)} questions" if lab.questions else ""
            self.stdout.write(f"{slug}: good ({lab.title}, version {lab.digest[:12]}{asked})")

    def explore(self, lab: LabSpec) -> None:
        known, found = explored.load(lab), {}
        for question in lab.questions:
            if not isinstance(question, Counterexample):
                continue
            for mutant, invariant, values in explored.combinations(lab, question):
                name = explored.name_of(lab, question, mutant, invariant, values)
                found[name] = known.get(name) or explored.search(
                    lab, question, mutant, invariant, values
                )
                self.stdout.write(f"{question.id}, {mutant}, {invariant}: {found[name]['told']}")
        text = json.dumps(found, indent=1, sort_keys=True) + "\n"
        (lab.folder / explored.FILE).write_text(text, encoding="utf-8")
