"""The messages of an exploration's websocket and the bodies of its requests, in the form of those of the runs."""

from streamlab.runs.messages import NAME, REF_FIELD, STEP, Answer, Field, Message, Rule

MESSAGES: dict[str, Message] = {
    message.name: message
    for message in (
        Message("stop", "End the search; it says what it has.", (REF_FIELD,)),
        Message("ping", "Answered by pong.", (REF_FIELD,)),
    )
}

ANSWERS: tuple[Answer, ...] = (
    Answer(
        "exploration",
        "Sent at the start, about four times a second while it searches, and at the end.",
        {
            "state": '"waiting", "running"; then one of "violated", "exhausted", "bound reached" and "failed"',
            "active": "whether it may still change",
            "place": "in the queue from 1 on while it waits, else null",
            "lab, run, step": "where it starts: null for the run means the start of a run of the lab",
            "request": "{invariants, mutant, commands: [{command, times}], way, states, depth, walks, walk_seed, ...}",
            "counts": "{states, transitions, terminal, depth, reduced}, null before the first",
            "seconds, states_per_second": "searched so far",
            "outcome": "{result, bound, invariant, title, sentence, told, found, minimal, trace, steps: [{action, say}]}; "
            'bound: "states", "depth", "walks", "time", "memory", "stopped" or "abandoned"',
            "error": "{sentence, mend} where it failed, else null",
            "opened": "the run that shows the trace, once there is one",
        },
    ),
)

NEW_EXPLORATION = (
    Field("run", NAME, "the run to start from", optional=True),
    Field("step", STEP, "its step to start from", optional=True, default=0),
    Field("lab", NAME, "instead of a run: the start of a run of this lab", optional=True),
    Field(
        "request",
        Rule("an object", lambda value: isinstance(value, dict)),
        "{invariants: [name], mutant: name or empty, commands: [{command, times}], way, states, depth, walks, walk_seed}",
    ),
)
