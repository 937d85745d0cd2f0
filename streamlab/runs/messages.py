"""The messages of the websocket: their fields, what those may hold, and what they mean.

`MESSAGES` are what a client may send, `ANSWERS` what the server sends. docs/protocol.md is generated
from them; protocol.py reads and writes them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

FASTEST = 1000  # as a rate: as fast as the client reads
STEPS_AT_ONCE = 200
SAFE = 2**53  # browsers round integers from here on

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
REF = whole(0, SAFE - 1)
NAME = text(200)
RATE = Rule(f"a number from 0.25 to 64, or {FASTEST} for as fast as you read", is_rate)
FLAG = Rule("true or false", lambda value: isinstance(value, bool))
TIMESTAMP = whole(-SAFE + 1, SAFE - 1)
LOWEST = -(2**63)
HIGHEST = 2**63 - 1


def moment_of(value: Any) -> int | None:
    """Event time in ms as the server writes it: beyond 2^53 as digits, the ends as "-inf" and "+inf"; None for what is none."""
    if value in ("-inf", "+inf"):
        return LOWEST if value == "-inf" else HIGHEST
    if isinstance(value, str) and re.fullmatch("-?[0-9]{1,19}", value):
        value = int(value)
    return value if is_whole(value) and LOWEST <= value <= HIGHEST + 1 else None


def window_of(value: Any) -> tuple[int, int] | None:
    """(start, end) as integers; None for what is no window."""
    if not isinstance(value, list) or len(value) != 2:
        return None
    start, end = map(moment_of, value)
    return (start, end) if start is not None and end is not None and start < end else None


MOMENT = Rule(
    'event time: a whole number of milliseconds, "-inf" or "+inf"',
    lambda value: moment_of(value) is not None,
)
WINDOW = Rule(
    "[start, end) in milliseconds, the start before the end",
    lambda value: window_of(value) is not None,
)


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


RESCALE = (
    Field("operator", NAME, "the operator"),
    Field("parallelism", whole(1, 32768), "its new parallelism"),
)
COMMAND = Choice(
    {
        "checkpoint": (),
        "savepoint": (),
        "stop": (Field("drain", FLAG, "whether event time ends first"),),
        "refuse_upload": (
            Field("subtask", NAME, "the subtask whose next snapshot the storage refuses"),
        ),
        "fail": (Field("subtask", NAME, "the subtask to fail"),),
        "rescale": RESCALE,
        "rescale_from_checkpoint": RESCALE,
    }
)
BREAKPOINT = Choice(
    {
        "window_fires": (Field("subtask", NAME, "only this subtask", optional=True),),
        "checkpoint_completes": (),
        "snapshot_completes": (),
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
    """What a client may send.

    driving: only the owner may, and it counts against the run's rate. asking: it may take a while, changes nothing, and one
    connection asks one question at a time.
    """

    name: str
    meaning: str
    fields: tuple[Field, ...]
    driving: bool = False
    asking: bool = False
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
        Message(
            "explain",
            "Why has this window not fired? Answered by explanation.",
            (
                REF_FIELD,
                Field("subtask", NAME, "where the window is"),
                Field("key", text(400), "its key, as the picture shows it"),
                Field("window", WINDOW, "its start and its end, as the picture has them"),
            ),
            asking=True,
        ),
        Message(
            "explain_late",
            "Why was this record late? Answered by explanation.",
            (
                REF_FIELD,
                Field("subtask", NAME, "the subtask that dropped it"),
                Field("timestamp", MOMENT, "of the record, as in RecordLate"),
                Field("watermark", MOMENT, "of the subtask then, as in RecordLate"),
            ),
            asking=True,
        ),
        Message(
            "lineage",
            "Which records was this made of? Answered by lineage.",
            (
                REF_FIELD,
                Field(
                    "element",
                    text(400),
                    'id of an element, or of a result: its sink, "#" and its index, such as sink[0]#12',
                ),
            ),
            asking=True,
        ),
        Message(
            "watch",
            "Switch an invariant on or off; what the run has recorded is judged, too.",
            (
                REF_FIELD,
                Field("name", NAME, "of the invariant, as the page lists them"),
                Field("on", Rule("true or false", lambda value: isinstance(value, bool)), "which"),
            ),
            driving=True,
        ),
        Message(
            "space_time",
            "Barriers and records around a checkpoint, as lanes, arrows and cuts. Answered by space_time.",
            (
                REF_FIELD,
                Field(
                    "checkpoint",
                    whole(1, 2**31 - 1),
                    "its number; the newest without it",
                    optional=True,
                ),
            ),
            asking=True,
        ),
        Message("ping", "Answered by pong.", (REF_FIELD,)),
    )
}


# ---- bodies of requests over HTTP -----------------------------------------------------------------

NEW_RUN = (
    Field("seed", whole(0, SAFE - 1), "the seed", optional=True),
    Field("policy", text(32), "who chooses when nobody does", optional=True),
    Field("quantum", whole(1, 1000), "elements per turn", optional=True, default=1),
    Field(
        "parameters",
        Rule("an object", lambda value: isinstance(value, dict) and len(value) <= 100),
        "the parameters of the lab that differ from their defaults, and the snapshot scheme as @scheme",
        optional=True,
    ),
)
NEW_LINK = (Field("step", STEP, "the step to share"),)


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
            "run": "{id, lab, title, seed, policy, quantum, mutant, parent, fork_step, head, position, mine, "
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
    Answer(
        "explanation",
        "The answer to explain and to explain_late.",
        {
            "ref": "of the message",
            "step": "the step at which it was asked",
            "facts": "[{sentence, kind, id}], from what was asked about down to what holds it back; kind is "
            '"subtask", "channel", "split", "element", "window" or "clock", and id names it',
            "steps": "in how many steps the window fires there, null where 20,000 do not reach it, and for explain_late",
        },
    ),
    Answer(
        "lineage",
        "The answer to lineage.",
        {
            "ref": "of the message",
            "step": "the step at which it was asked",
            "element": "as asked",
            "origins": "[{split, offset, text}]: the records as their sources read them",
            "elements": "ids of the elements between, at most 2,000",
        },
    ),
    Answer(
        "invariants",
        "The invariants that are switched on. Sent at the start and where a state changes.",
        {
            "on": '[{name, state, step, checked, sentence}]; state: "checking" (judged up to `checked`), "holds" (at every '
            'step so far), "undecided" (judged at the end of the job), "violated" (first at `step`, `sentence` says why) or '
            '"refused" (`sentence` says why it cannot be judged)',
        },
    ),
    Answer(
        "space_time",
        "The answer to space_time: at most 400 steps up to the one at which it was asked.",
        {
            "ref": "of the message",
            "step": "the step at which it was asked",
            "from": "the step before the first that is covered",
            "to": "the last step that is covered",
            "checkpoint": "the checkpoint that they are around, or null where there is none yet",
            "lanes": "[subtask]",
            "arrows": "[{channel, from, to, kind: barrier or record, checkpoint, text, sent, delivered, held, lost, crossing}]; sent is null "
            "for what was sent before, delivered for what is under way; held: the checkpoint that saved it in flight; lost: the step of the "
            "failure that destroyed it; crossing: the checkpoint whose cut it crosses backwards",
            "cuts": "[{checkpoint, points: {subtask: step at which it copied its state}}]",
            "left_out": "how many records are not among the arrows",
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
