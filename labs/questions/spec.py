"""The form of a question in lab.toml. Knows no engine: which facts, rules and operators exist is checked by check.py."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

IDENTIFIER = r"^[a-z_][a-z0-9_]*$"
NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"

Sentence = Annotated[str, Field(min_length=1, max_length=400)]
Name = Annotated[str, Field(pattern=NAME, max_length=60)]
FactText = Annotated[str, Field(min_length=1, max_length=200)]


class Strict(BaseModel):
    """An unknown key is a mistake: it is usually a misspelt one."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Part(Strict):
    """A section of a page with any number of questions."""

    id: Name
    title: Sentence


class Moment(Strict):
    """Where a run stands still: just before a step in which `event` happens, at `subtask` where one is named.

    event: the name of an event of the engine. between: [first, last] step that is looked at.
    """

    event: str
    subtask: str = ""
    between: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=1, le=20_000)]] = (0, 400)

    @model_validator(mode="after")
    def first_before_last(self) -> Self:
        if self.between[0] >= self.between[1]:
            raise ValueError("between must name an earlier step first")
        return self


class Until(Strict):
    """The step up to which the run goes on: the first one in which `event` happens, at `subtask` where one is named."""

    event: str
    subtask: str = ""


class WrongFact(Strict):
    """A plausible wrong answer to a prediction: what somebody believes who would give it."""

    answer: FactText
    why: Sentence


class Forbidden(Strict):
    """Actions or commands that a student may not choose. action: an id, `*` stands for anything. command: its kind."""

    action: str = ""
    command: str = ""
    why: Sentence

    @model_validator(mode="after")
    def one_of_both(self) -> Self:
        if bool(self.action) == bool(self.command):
            raise ValueError("name an action or a command, and not both")
        return self


class Phase(Strict):
    """A piece of a schedule, written as a preference: until `until` holds, the first possible action that fits is taken.

    prefer: ids of actions, `*` stands for anything; where none is possible the policy of the lab decides.
    command: is given at the beginning. until: a condition; empty: until nothing more can happen.
    """

    prefer: tuple[str, ...] = ()
    command: dict[str, Any] | None = None
    until: str = ""


class Plan(Strict):
    """A schedule in words; of a wrong one `why` says what is wrong."""

    phases: tuple[Phase, ...]
    why: str = ""


class Steps(Strict):
    """How many steps a run may have, and from how many on it is worth less: at `most` it is worth half."""

    full: Annotated[int, Field(ge=1, le=20_000)]
    most: Annotated[int, Field(ge=1, le=20_000)]

    @model_validator(mode="after")
    def full_before_most(self) -> Self:
        if self.full > self.most:
            raise ValueError("full must not be above most")
        return self


class Case(Strict):
    """A protocol and a rule of which it is asked whether any schedule breaks it."""

    mutant: str
    invariant: str


class Budget(Strict):
    """How often a command may be given in one schedule."""

    command: dict[str, Any]
    times: Annotated[int, Field(ge=1, le=8)] = 1


class Common(Strict):
    """What every question has. points: whole points. attempts: submissions that count.

    worth: percent of the points that the first, second ... attempt can earn; the last one goes for all that follow.
    vary: values of lab parameters to draw from, by name.
    """

    id: Name
    title: Sentence
    part: str = ""
    points: Annotated[int, Field(ge=1, le=100)]
    attempts: Annotated[int, Field(ge=1, le=100)] = 3
    worth: tuple[Annotated[int, Field(ge=0, le=100)], ...] = (100,)
    generator: Annotated[int, Field(ge=1)] = 1
    vary: dict[str, tuple[int, ...]] = {}

    @model_validator(mode="after")
    def something_to_draw_from(self) -> Self:
        if not self.worth:
            raise ValueError("worth needs at least one percentage")
        for name, values in self.vary.items():
            if not values:
                raise ValueError(f"vary.{name} has no value to draw from")
        return self


class Predict(Common):
    """What will happen? The run stands before a moment, goes on until another, and answers by itself."""

    type: Literal["predict"]
    asks: FactText
    at: Moment
    until: Until | None = None
    command: dict[str, Any] | None = None
    wrong: tuple[WrongFact, ...]


class Drive(Common):
    """Reach a goal by choosing what happens."""

    type: Literal["drive"]
    goal: tuple[FactText, ...]
    steps: Steps
    forbidden: tuple[Forbidden, ...] = ()
    reference: Plan
    wrong: tuple[Plan, ...]

    @model_validator(mode="after")
    def a_goal(self) -> Self:
        if not self.goal:
            raise ValueError("goal needs at least one condition")
        return self


class Counterexample(Common):
    """Is there a schedule under which a protocol breaks a rule? The answer is the schedule, or that there is none."""

    type: Literal["counterexample"]
    cases: tuple[Case, ...]
    most: Annotated[int, Field(ge=1, le=1000)]
    commands: tuple[Budget, ...] = ()
    wrong: tuple[Plan, ...] = ()

    @model_validator(mode="after")
    def a_case(self) -> Self:
        if not self.cases:
            raise ValueError("cases needs at least one entry")
        return self


Question = Annotated[Predict | Drive | Counterexample, Field(discriminator="type")]
AnyQuestion = Predict | Drive | Counterexample
