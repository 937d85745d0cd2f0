"""The wire form of the live runs: messages.py says what is sent, this module reads and writes it.

Text frames, one JSON object each, with a "type".

Numbers: integers beyond 2^53, which browsers would round, travel as strings of digits; the lowest and
the highest watermark as "-inf" and "+inf"; NaN is refused.
"""

from collections.abc import Iterable
from typing import Any

import orjson

from streamlab.runs.errors import RunError
from streamlab.runs.messages import (
    HIGHEST,
    LOWEST,
    MESSAGES,
    REF,
    SAFE,
    Choice,
    Field,
    Message,
)

VERSION = 1
MESSAGE_BYTES_MAX = 16 * 1024


# ---- reading -----------------------------------------------------------------------------------


def parse(
    data: str | None, *, binary: bool = False, messages: dict[str, Message] = MESSAGES
) -> tuple[Message, dict[str, Any]]:
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
    message = messages.get(kind) if isinstance(kind, str) else None
    if message is None:
        shown = repr(kind[:40]) if isinstance(kind, str) else "unknown"
        raise RunError("unknown_message", place="type", type=shown, known=", ".join(messages))
    values = parse_fields(content, message.fields, message=message.name)
    for name, choice in message.choices.items():
        values[name] = parse_choice(choice, content.get(name), message=message.name, name=name)
    return message, values


def ref_of(data: str | None) -> int | None:
    """The ref of a message that was refused, so that its sender can tell which one it was."""
    try:
        content = orjson.loads(data or "")
    except orjson.JSONDecodeError:
        return None
    ref = content.get("ref") if isinstance(content, dict) else None
    return ref if REF.accepts(ref) else None


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


def parse_choice(choice: Choice, value: Any, *, message: str, name: str) -> dict[str, Any]:
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in choice.kinds:
        rule = "an object whose kind is one of " + ", ".join(choice.kinds)
        raise bad_field(message, name, rule)
    fields = choice.kinds[kind]
    return {"kind": kind, **parse_fields(value, fields, message=message, at=f"{name}.")}


# ---- writing -----------------------------------------------------------------------------------

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
