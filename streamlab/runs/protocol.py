"""The wire form of the live runs: the only module that knows it.

Text frames, one JSON object each, with a "type". `MESSAGES` are what a client may send, `ANSWERS` what
the server sends; docs/protocol.md is generated from both.

Numbers: integers beyond 2^53, which browsers would round, travel as strings of digits; the lowest and
the highest watermark as "-inf" and "+inf"; NaN is refused.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from streamlab.runs.errors import RunError

VERSION = 1
MESSAGE_BYTES_MAX = 16 * 1024
FASTEST = 1000  # as a rate: as fast as the client reads
STEPS_AT_ONCE = 200
REF_MAX = 2**53 - 1

SAFE = 2**53
LOWEST = -(2**63)
HIGHEST = 2**63 - 1

# ---- what a field may hold -----------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """`accepts(value)`; `text` completes the sentence "... must be"."""

    text: str
    accepts: Callable[[Any], bool]


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def whole(lowest: int, highest: int) -> Rule:
    return Rule(
        f"a whole number from {lowest} to {highest}",
        lambda value: is_whole(value) and lowest <= value <= highest,
    )


def text(longest: int) -> Rule:
    return Rule(
        f"text of 1 to {longest} characters",
        lambda value: isinstance(value, str) and 0 < len(value) <= longest,
    )


def is_rate(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and (0.25 <= value <= 64 or value == FASTEST)


STEP = whole(0, 2**31 - 1)
REF = whole(0, REF_MAX)
NAME = text(200)
RATE = Rule(f"a number from 0.25 to 64, or {FASTEST} for as fast as you read", is_rate)
TIMESTAMP = whole(-SAFE + 1, SAFE - 1)


@dataclass(frozen=True)
class Field:
    name: str
    rule: Rule
    meaning: str
    optional: bool = False
    default: Any = None


@dataclass(frozen=True)
class Choice:
    """An object whose "kind" says which other fields it has; fields beyond them are dropped."""

    kinds: dict[str, tuple[Field, ...]]

    def parse(self, value: Any, *, message: str, name: str) -> dict[str, Any]:
        kind = value.get("kind") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in self.kinds:
            rule = "an object whose kind is one of " + ", ".join(self.kinds)
            raise bad_field(message, name, rule)
        return {
            "kind": kind,
            **parse_fields(value, self.kinds[kind], message=message, at=f"{name}."),
        }


COMMAND = Choice(
    {
        "checkpoint": (),
        "fail": (Field("subtask", NAME, "the subtask to fail"),),
        "rescale": (
            Field("operator", NAME, "the operator"),
            Field("parallelism", whole(1, 32768), "its new parallelism"),
        ),
    }
)
BREAKPOINT = Choice(
    {
        "window_fires": (Field("subtask", NAME, "only this subtask", optional=True),),
        "checkpoint_completes": (),
        "watermark_passes": (
            Field("timestamp", TIMESTAMP, "event time in milliseconds"),
            Field("subtask", NAME, "only this subtask", optional=True),
        ),
        "late_record": (),
        "step": (Field("step", STEP, "the step to stop at"),),
        "end": (),
    }
)

# ---- client to server ----------------------------------------------------------------------------

REF_FIELD = Field("ref", REF, "a number of the client's, echoed in the answer")
EXPECTED = (
    REF_FIELD,
    Field("head", STEP, "the head that the client believes in"),
    Field("position", STEP, "the position that the client believes in"),
)


@dataclass(frozen=True)
class Message:
    """What a client may send. driving: only the owner may, and it counts against the run's rate."""

    name: str
    meaning: str
    fields: tuple[Field, ...]
    driving: bool = False
    choices: dict[str, Choice] = field(default_factory=dict)


MESSAGES: dict[str, Message] = {
    message.name: message
    for message in (
        Message(
            "hello",
            "The first message, within 10 s.",
            (
                Field("protocol", whole(0, 10**6), "the protocol version of the page"),
                Field(
                    "credit", whole(1, 10**6), "how many events may be sent until more is granted"
                ),
                Field(
                    "have",
                    STEP,
                    "the step of the view that the client has folded; without it a view is sent",
                    optional=True,
                ),
            ),
        ),
        Message(
            "credit",
            "Grant more events.",
            (Field("n", whole(1, 10**6), "events, added to the grant"),),
        ),
        Message(
            "step",
            "Take steps: along the recorded future where there is one, else as the policy chooses.",
            (
                *EXPECTED,
                Field("count", whole(1, STEPS_AT_ONCE), "how many", optional=True, default=1),
            ),
            driving=True,
        ),
        Message(
            "choose",
            "Take this action. In the past, and not the recorded one: a branch starts.",
            (*EXPECTED, Field("action", text(400), "its id")),
            driving=True,
        ),
        Message(
            "command",
            "Give a command; it takes one step. In the past a branch starts. "
            "While the run plays, it counts for where the run is when it arrives.",
            EXPECTED,
            driving=True,
            choices={"command": COMMAND},
        ),
        Message(
            "play",
            "Play from here at a rate in steps per second.",
            (REF_FIELD, Field("rate", RATE, "steps per second")),
            driving=True,
        ),
        Message("pause", "Stop playing, or stop a run_until.", (REF_FIELD,), driving=True),
        Message(
            "rate",
            "Change the rate of a playing run.",
            (Field("rate", RATE, "steps per second"),),
            driving=True,
        ),
        Message(
            "run_until",
            "Run until something happens, at most 20,000 steps; only the end is shown when it is far.",
            EXPECTED,
            driving=True,
            choices={"until": BREAKPOINT},
        ),
        Message(
            "seek",
            "Show another step of the run.",
            (REF_FIELD, Field("step", STEP, "0 to head")),
            driving=True,
        ),
        Message("ping", "Answered by pong.", (REF_FIELD,)),
    )
}


def parse(data: str | None, *, binary: bool = False) -> tuple[Message, dict[str, Any]]:
    """The message and its fields, defaults filled in. Raises RunError with a sentence."""
    if data is None or binary:
        raise RunError("malformed")
    size = len(data.encode())
    if size > MESSAGE_BYTES_MAX:
        raise RunError("too_large", size=size, limit=MESSAGE_BYTES_MAX)
    try:
        content = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise RunError("malformed") from None
    if not isinstance(content, dict):
        raise RunError("malformed")
    kind = content.get("type")
    message = MESSAGES.get(kind) if isinstance(kind, str) else None
    if message is None:
        shown = repr(kind[:40]) if isinstance(kind, str) else "unknown"
        raise RunError("unknown_message", place="type", type=shown, known=", ".join(MESSAGES))
    values = parse_fields(content, message.fields, message=message.name)
    for name, choice in message.choices.items():
        values[name] = choice.parse(content.get(name), message=message.name, name=name)
    return message, values


def ref_of(data: str | None) -> int | None:
    """The ref of a message that was refused, so that its sender can tell which one it was."""
    try:
        content = orjson.loads(data or "")
    except orjson.JSONDecodeError:
        return None
    ref = content.get("ref") if isinstance(content, dict) else None
    return ref if REF.accepts(ref) else None


NEW_RUN = (
    Field("seed", whole(0, SAFE - 1), "the seed", optional=True),
    Field("policy", text(32), "who chooses when nobody does", optional=True),
    Field("quantum", whole(1, 1000), "elements per turn", optional=True, default=1),
    Field(
        "parameters",
        Rule("an object of numbers", lambda value: isinstance(value, dict) and len(value) <= 100),
        "the parameters of the lab that differ from their defaults",
        optional=True,
    ),
)
NEW_LINK = (Field("step", STEP, "the step to share"),)


def parse_body(body: bytes, fields: tuple[Field, ...], *, name: str) -> dict[str, Any]:
    """The fields of a request's JSON body; an empty one is an empty object."""
    if len(body) > MESSAGE_BYTES_MAX:
        raise RunError("too_large", size=len(body), limit=MESSAGE_BYTES_MAX)
    try:
        content = orjson.loads(body or b"{}")
    except orjson.JSONDecodeError:
        raise RunError("malformed") from None
    if not isinstance(content, dict):
        raise RunError("malformed")
    return parse_fields(content, fields, message=name)


def parse_fields(
    content: dict[str, Any], fields: Iterable[Field], *, message: str, at: str = ""
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for item in fields:
        value = content.get(item.name)
        if value is None and item.optional:
            if at == "":
                values[item.name] = item.default
            continue
        if not item.rule.accepts(value):
            raise bad_field(message, at + item.name, item.rule.text)
        values[item.name] = value
    return values


def bad_field(message: str, name: str, rule: str) -> RunError:
    return RunError("bad_field", place=f"{message}.{name}", name=name, message=message, rule=rule)


# ---- server to client ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    name: str
    meaning: str
    fields: dict[str, str]


ANSWERS: tuple[Answer, ...] = (
    Answer(
        "welcome",
        "The answer to hello.",
        {
            "protocol": "the protocol version of the server",
            "server": "StreamLab's version",
            "engine": "ENGINE_VERSION",
            "run": "{id, lab, title, seed, policy, quantum, parent, fork_step, head, position, mine, "
            "branches: [{id, parent, fork_step, head, title}]}; branches: the whole family",
            "limits": "{steps, memory, message_bytes, messages_per_second}",
            "time_zone_minutes": "zone in which times are shown, minutes east of UTC",
            "parameters": "the parameters of the job",
        },
    ),
    Answer(
        "view",
        "The whole picture at a step. Costs one event of credit.",
        {
            "step": "the step that it shows",
            "head": "steps in the run",
            "view": "the picture",
            "actions": "{possible, impossible, commands}",
            "say": "the sentence of this step, empty at step 0",
            "why": '"start", "seek", "catch-up", "resume" or "other tab"',
        },
    ),
    Answer(
        "steps",
        "Steps in a row, at most one frame every 33 ms. Costs its number of events. The frame that "
        "uses up the credit ends with a whole step. No steps: only actions are news.",
        {
            "from": "the step that the client's view must be at: the first step of the frame less 1",
            "to": "the step that it is at afterwards",
            "head": "steps in the run",
            "steps": "[{step, action, say, events: [{e: name, ...}]}]",
            "actions": "as in view; null while the run plays at more than 4 steps/s",
            "marks": "[[step, kind, text]]: marks that this connection has not been sent yet",
        },
    ),
    Answer("marks", "All marks of the run so far.", {"marks": "[[step, kind, text]]"}),
    Answer(
        "status",
        "What the run is doing has changed.",
        {
            "state": '"paused", "playing" or "running" (a run_until)',
            "rate": "steps per second while playing, else null",
            "position": "step",
            "head": "steps in the run",
            "why": 'a reason, such as "window fired" or a sentence on a limit',
        },
    ),
    Answer("done", "The message with this ref was carried out.", {"ref": "its ref"}),
    Answer("pong", "The answer to ping.", {"ref": "its ref"}),
    Answer(
        "branched",
        "Acting in the past made a new run, in which the choice was taken.",
        {"ref": "of the message", "run": "id of the new run", "step": "the step that it forks at"},
    ),
    Answer(
        "error",
        "A refusal. The connection stays open unless the table below names a close code.",
        {
            "ref": "of the message, null where it has none",
            "code": "stable name",
            "sentence": "which rule was broken",
            "place": "field, step, subtask, or empty",
            "mend": "what to do",
        },
    ),
)

Frame = str


def encode(kind: str, **fields: Any) -> Frame:
    return dumps({"type": kind, **clean(fields)}).decode()


def error_form(error: Any) -> dict[str, str]:
    """The four parts, for answers over HTTP."""
    return {
        "code": error.code,
        "sentence": error.sentence,
        "place": str(error.place or ""),
        "mend": error.mend or "",
    }


def encode_error(error: Any, ref: int | None = None) -> Frame:
    """`error`: a RunError or an engine error; both have the four parts."""
    return encode("error", ref=ref, **error_form(error))


def encode_step(step: int, action: str, say: str, events: Iterable[Any]) -> bytes:
    """One step, encoded once for everybody who watches the run."""
    return dumps(
        {"step": step, "action": action, "say": say, "events": [event_form(e) for e in events]}
    )


def encode_part(value: Any) -> bytes:
    """Any other part of a frame, to be put into it by `part`."""
    return dumps(clean(value))


def part(encoded: bytes | None) -> Any:
    return None if encoded is None else orjson.Fragment(encoded)


def dumps(value: Any) -> bytes:
    return orjson.dumps(value)


def event_form(event: Any) -> dict[str, Any]:
    """{"e": name, field: value ...} of an event of the engine."""
    return {"e": type(event).__name__, **clean(event)}


def clean(value: Any) -> Any:
    """The value in JSON's types, with numbers as the protocol writes them. ValueError for NaN."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is int:
        if -SAFE < value < SAFE:
            return value
        return "-inf" if value == LOWEST else "+inf" if value == HIGHEST else str(value)
    if kind is float:
        if value != value:
            raise ValueError("NaN cannot be sent")
        if value in (float("inf"), float("-inf")):
            return "+inf" if value > 0 else "-inf"
        return value
    if kind is dict:
        return {str(key): clean(item) for key, item in value.items()}
    if kind is orjson.Fragment:
        return value
    if hasattr(value, "_fields"):  # an event or a part of one
        return {name: clean(item) for name, item in zip(value._fields, value, strict=True)}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    raise TypeError(f"{kind.__name__} has no form on the wire")
