"""The labs of this installation: every folder under labs/content/.

A broken lab takes nothing else down: it is left out, and its problems are told to the operator.
An edit shows at once: a folder is read again when one of its files has changed.
"""

from dataclasses import dataclass
from pathlib import Path

from labs.networks import check_network
from labs.problems import LabInvalid, Problem
from labs.questions.check import check_questions
from labs.spec import LabSpec, files_of, load_lab

CONTENT = Path(__file__).resolve().parent / "content"

Signature = tuple[tuple[str, int, int], ...]

_read: dict[Path, tuple[Signature, LabSpec | LabInvalid]] = {}


@dataclass(frozen=True)
class Catalog:
    labs: tuple[LabSpec, ...]  # in the order that they are taught
    problems: tuple[Problem, ...]


def catalog(content: Path = CONTENT) -> Catalog:
    """Every lab that can be offered, and what is wrong with the others."""
    labs: list[LabSpec] = []
    problems: list[Problem] = []
    for folder in sorted(path for path in content.iterdir() if is_lab(path)):
        lab = read(folder)
        if isinstance(lab, LabSpec):
            labs.append(lab)
        else:
            problems += lab.problems
    labs.sort(key=lambda lab: (lab.order, lab.slug))
    return Catalog(labs=tuple(labs), problems=tuple(problems))


def find_lab(slug: str, content: Path = CONTENT) -> LabSpec | None:
    """The lab of that name, where it exists and is whole."""
    return next((lab for lab in catalog(content).labs if lab.slug == slug), None)


def is_lab(path: Path) -> bool:
    return path.is_dir() and not path.name.startswith((".", "_"))


def read(folder: Path) -> LabSpec | LabInvalid:
    signature = signature_of(folder)
    kept = _read.get(folder)
    if kept is None or kept[0] != signature:
        try:
            kept = signature, whole_lab(folder)
        except LabInvalid as error:
            kept = signature, error
        _read[folder] = kept
    return kept[1]


def whole_lab(folder: Path) -> LabSpec:
    """The lab of a folder, its network read and its questions checked where it has them. Raises LabInvalid."""
    lab = load_lab(folder)
    check_network(lab)
    check_questions(lab)
    return lab


def signature_of(folder: Path) -> Signature:
    """Changes when a file is saved, added or removed; far cheaper than reading them all."""
    return tuple(
        (str(path), status.st_mtime_ns, status.st_size)
        for path in files_of(folder)
        for status in [path.stat()]
    )
