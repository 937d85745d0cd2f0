"""A lab folder -> a validated, frozen LabSpec.

    lab.toml   title, order, minutes, seed, scheduler, parameters, schemes, times, keys, parts, questions
    page.md    the exercise, with the places of its questions
    hints.md   hints to questions, with what they cost
    job.py     builds the job; or network.txt, where the lab is about a network of processes
    data/      what its sources read

Errors name file, line and mend; all that can be found at once are told at once. This module knows
neither Django nor the engine: lab content may import it.
"""

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, to_json

from labs.hints import Hint, read_hints
from labs.pages import Piece, read_page
from labs.problems import LabInvalid, Problem
from labs.questions.spec import AnyQuestion, Part, Question
from labs.toml_lines import line_of

SLUG = r"^[a-z0-9]+(-[a-z0-9]+)*$"
IDENTIFIER = r"^[a-z_][a-z0-9_]*$"

Scheme = Literal[
    "aligned",
    "unaligned",
    "unaligned_after_timeout",
    "at_least_once",
    "none",
    "stop_the_world",
]
"""How snapshots of a run are taken; streamlab/runs/schemes.py says what each means. A lab that lists none offers no choice."""

Sentence = Annotated[str, Field(min_length=1, max_length=200)]


class Strict(BaseModel):
    """An unknown key is a mistake: it is usually a misspelt one."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Parameter(Strict):
    """A number that the student may change before a run starts."""

    name: Annotated[str, Field(pattern=IDENTIFIER)]
    label: Sentence
    unit: str = ""
    default: int
    minimum: int
    maximum: int
    choices: tuple[Sentence, ...] = ()  # names of the values from the minimum on, to choose from

    @model_validator(mode="after")
    def every_value_has_a_name(self) -> Self:
        if self.choices and len(self.choices) != self.maximum - self.minimum + 1:
            raise ValueError(
                f"choices must name the values from {self.minimum} to {self.maximum}, but it has {len(self.choices)} names"
            )
        return self

    @model_validator(mode="after")
    def within_its_range(self) -> Self:
        if not self.minimum <= self.default <= self.maximum:
            raise ValueError(
                f"default must lie between minimum and maximum, but {self.default} does not lie "
                f"between {self.minimum} and {self.maximum}"
            )
        return self

    def accept(self, value: object) -> int:
        """Return `value` where a student may set it; else ValueError with a sentence."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{self.label} must be a whole number.")
        if not self.minimum <= value <= self.maximum:
            raise ValueError(f"{self.label} must lie between {self.minimum} and {self.maximum}.")
        return value


class Times(Strict):
    """How event times are shown: never in the browser's zone."""

    zone_minutes: Annotated[int, Field(ge=-14 * 60, le=14 * 60)] = 0
    zone_name: str = "UTC"
    format: Literal["time", "day and time", "milliseconds"] = "time"


class LabFile(Strict):
    """lab.toml."""

    id: Annotated[str, Field(pattern=SLUG)]
    title: Sentence
    summary: Sentence
    order: Annotated[int, Field(ge=0)]
    minutes: Annotated[int, Field(ge=1, le=600)]
    seed: Annotated[int, Field(ge=0, lt=2**53)]
    kind: Literal["job", "network"] = "job"
    scheduler: Literal["round_robin", "seeded_random", "manual", "script"] = "round_robin"
    job: str = "job.py"
    network: str = "network.txt"
    times: Times = Times()
    parameters: tuple[Parameter, ...] = ()
    schemes: tuple[Scheme, ...] = get_args(Scheme)
    keys: dict[str, str] = {}
    parts: tuple[Part, ...] = ()
    questions: tuple[Question, ...] = ()

    @model_validator(mode="after")
    def only_a_network_has_a_script(self) -> Self:
        if self.kind == "job" and self.scheduler == "script":
            raise ValueError('scheduler = "script" is for networks, and kind is "job"')
        return self

    @model_validator(mode="after")
    def parameters_have_different_names(self) -> Self:
        names = [parameter.name for parameter in self.parameters]
        if len(set(names)) < len(names):
            raise ValueError("each parameter needs a name of its own")
        return self


@dataclass(frozen=True)
class LabSpec:
    """What the rest of the site knows of a lab. Time zones are minutes east of UTC."""

    slug: str
    title: str
    summary: str
    order: int
    minutes: int
    kind: str  # job or network
    seed: int
    scheduler: str
    parameters: tuple[Parameter, ...]
    schemes: tuple[str, ...]  # that a student may choose from
    time_zone_minutes: int
    time_zone_name: str
    time_format: str
    key_names: tuple[tuple[str, str], ...]  # (key, what it stands for)
    folder: Path
    job_path: Path
    network_path: Path
    data_dir: Path
    pieces: tuple[Piece, ...]  # of the page
    parts: tuple[Part, ...]
    questions: tuple[AnyQuestion, ...]
    hints: tuple[Hint, ...]
    digest: str  # SHA-256 of the folder: the lab's version

    @property
    def page_html(self) -> str:
        """The text of the page, without its questions."""
        return "".join(piece.html for piece in self.pieces)

    def question(self, name: str) -> AnyQuestion | None:
        return next((one for one in self.questions if one.id == name), None)

    def hints_to(self, question: str) -> tuple[Hint, ...]:
        """In the order in which they are given."""
        return tuple(hint for hint in self.hints if hint.question == question)

    def parameter_values(self, chosen: dict[str, object]) -> dict[str, int]:
        """Every parameter with its chosen or default value; ValueError with a sentence."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in chosen:
            if name not in known:
                raise ValueError(f"This lab has no parameter named {name!r}.")
        return {name: known[name].accept(chosen.get(name, known[name].default)) for name in known}


def load_lab(folder: Path) -> LabSpec:
    """Read and check a lab folder. Raises LabInvalid."""
    folder = Path(folder)
    texts = {name: read_text(folder / name) for name in ("lab.toml", "page.md")}
    problems = [text for text in texts.values() if isinstance(text, Problem)]
    lab: LabFile | None = None
    if isinstance(texts["lab.toml"], str):
        lab, found = parse_lab_toml(folder / "lab.toml", texts["lab.toml"])
        problems += found
    pieces: tuple[Piece, ...] = ()
    hints: tuple[Hint, ...] = ()
    if isinstance(texts["page.md"], str):
        pieces, found = read_page(folder / "page.md", texts["page.md"])
        problems += found
    if (folder / "hints.md").exists():
        text = read_text(folder / "hints.md")
        if isinstance(text, Problem):
            problems.append(text)
        else:
            hints, found = read_hints(folder / "hints.md", text)
            problems += found
    if lab:
        problems += check_folder(folder, lab)
        problems += check_places(folder, lab, pieces, hints)
    if problems or lab is None:
        raise LabInvalid(problems)
    return LabSpec(
        slug=lab.id,
        title=lab.title,
        summary=lab.summary,
        order=lab.order,
        minutes=lab.minutes,
        kind=lab.kind,
        seed=lab.seed,
        scheduler=lab.scheduler,
        parameters=lab.parameters,
        schemes=lab.schemes,
        time_zone_minutes=lab.times.zone_minutes,
        time_zone_name=lab.times.zone_name,
        time_format=lab.times.format,
        key_names=tuple(lab.keys.items()),
        folder=folder,
        job_path=folder / lab.job,
        network_path=folder / lab.network,
        data_dir=folder / "data",
        pieces=pieces,
        parts=lab.parts,
        questions=lab.questions,
        hints=hints,
        digest=folder_digest(folder),
    )


def read_text(path: Path) -> str | Problem:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        return Problem("lab-not-utf8", "This is not UTF-8 text.", path, line, "Save it as UTF-8.")
    except OSError:
        return Problem("lab-file-missing", "This file is missing.", path, None, "Add it.")


def parse_lab_toml(path: Path, text: str) -> tuple[LabFile | None, list[Problem]]:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        sentence, _, position = str(error).partition(" (at ")
        words = position.rstrip(")").replace(",", "").split()
        last = max(1, len(text.splitlines()))
        line = int(words[1]) if words[:1] == ["line"] else last
        mend = "Write it as TOML: key = value, texts in double quotes."
        return None, [Problem("lab-toml-syntax", f"{sentence}.", path, line, mend)]
    # By way of JSON, because there pydantic's strict mode takes a list where a tuple is meant.
    try:
        return LabFile.model_validate_json(to_json(content)), []
    except ValidationError as error:
        return None, [explain(path, text, details) for details in error.errors()]


def explain(path: Path, text: str, details: ErrorDetails) -> Problem:
    """Turn one of pydantic's errors into a sentence with a place."""
    location = details["loc"]
    if location[:1] == ("questions",) and len(location) > 2:
        location = (*location[:2], *location[3:])  # pydantic names the type of the question, too
    name = ".".join(str(part) for part in location if not isinstance(part, int)) or "lab.toml"
    line = line_of(text, location)
    kind, message = details["type"], details["msg"]
    if kind == "missing":
        return Problem(
            "lab-key-missing", f"{name} is missing.", path, line, f"Add `{location[-1]} = …`."
        )
    if kind == "extra_forbidden":
        return Problem(
            "lab-key-unknown",
            f"{name} is not a key of lab.toml.",
            path,
            line,
            "Correct its spelling or take it out.",
        )
    if kind.startswith("union_tag"):
        sentence = "The type of this question is missing or unknown."
        mend = 'Write type = "predict", "drive" or "counterexample".'
        return Problem("lab-value-wrong", sentence, path, line, mend)
    if kind == "value_error":
        sentence = f"{name}: {message.removeprefix('Value error, ')}."
        return Problem("lab-value-wrong", sentence, path, line, "Change one of them.")
    if kind == "string_pattern_mismatch":
        mend = "Use small letters, digits and " + ("hyphens." if name == "id" else "underscores.")
        return Problem(
            "lab-value-wrong", f"{name} = {details['input']!r} has other signs.", path, line, mend
        )
    sentence = f"{name} = {details['input']!r} will not do."
    return Problem("lab-value-wrong", sentence, path, line, f"{message}.")


def check_folder(folder: Path, lab: LabFile) -> list[Problem]:
    problems = []
    toml = folder / "lab.toml"
    line = line_of(toml.read_text(encoding="utf-8"), ("id",))
    if lab.id != folder.name:
        sentence = f"id is {lab.id!r}, but the folder is called {folder.name!r}."
        problems.append(Problem("lab-id-differs", sentence, toml, line, "Give both the same name."))
    if lab.kind == "network":  # labs/networks.py reads it: this module knows no engine
        network = folder / lab.network
        found = read_text(network)
        return [*problems, found] if isinstance(found, Problem) else problems
    job = folder / lab.job
    if not job.is_file():
        mend = "Add it, with a function `build(env, parameters, data)`."
        problems.append(Problem("lab-file-missing", "This file is missing.", job, None, mend))
        return problems
    try:
        compile(job.read_bytes(), str(job), "exec")
    except (SyntaxError, ValueError) as error:
        at = getattr(error, "lineno", None)
        sentence = f"This is not Python: {getattr(error, 'msg', error)}."
        problems.append(Problem("lab-job-syntax", sentence, job, at, "Correct the line."))
    return problems


def check_places(
    folder: Path, lab: LabFile, pieces: tuple[Piece, ...], hints: tuple[Hint, ...]
) -> list[Problem]:
    """Questions and parts are declared once, stand on the page once, and hints belong to them."""
    toml, page = folder / "lab.toml", folder / "page.md"
    text = toml.read_text(encoding="utf-8")
    problems: list[Problem] = []

    def told(sentence: str, path: Path, line: int | None, mend: str) -> None:
        problems.append(Problem("lab-question", sentence, path, line, mend))

    parts = {part.id for part in lab.parts}
    for kind, declared in (("question", lab.questions), ("part", lab.parts)):
        names = [one.id for one in declared]
        placed = [piece.argument for piece in pieces if piece.kind == kind]
        for number, name in enumerate(names):
            line = line_of(text, (f"{kind}s", number, "id"))
            if name in names[:number]:
                told(f"Another {kind} is called {name}, too.", toml, line, "Rename one of them.")
            elif name not in placed:
                mend = f"Write :::{{{kind}}} {name} where it belongs."
                told(f"The {kind} {name} stands nowhere on the page.", toml, line, mend)
        for number, piece in enumerate(pieces):
            if piece.kind != kind or not piece.argument:
                continue
            if piece.argument not in names:
                mend = f"Add [[{kind}s]] with id = {piece.argument!r}, or correct the name."
                told(f"There is no {kind} {piece.argument}.", page, piece.line, mend)
            elif any(
                one.kind == kind and one.argument == piece.argument for one in pieces[:number]
            ):
                told(
                    f"The {kind} {piece.argument} stands here again.",
                    page,
                    piece.line,
                    "Take one out.",
                )
    for number, question in enumerate(lab.questions):
        if question.part and question.part not in parts:
            line = line_of(text, ("questions", number, "part"))
            told(f"There is no part {question.part}.", toml, line, "Add it under [[parts]].")
    for hint in hints:
        if hint.question not in {question.id for question in lab.questions}:
            told(
                f"There is no question {hint.question}.",
                folder / "hints.md",
                hint.line,
                "Correct the name.",
            )
    return problems


def files_of(folder: Path) -> list[Path]:
    """The files that make up a lab's version: all but hidden ones and what Python leaves behind."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and path.suffix != ".pyc"
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and not path.name.endswith("~")
    )


def folder_digest(folder: Path) -> str:
    """SHA-256 over names, sizes and contents, in the order of the names."""
    digest = hashlib.sha256()
    for path in files_of(folder):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
