"""Values as lines of JSON, in both directions between the sandbox and the process that asks it.

Reading calls nothing that the line names: a named tuple arrives as one of the types that the reader knows. Kinds beyond
JSON's own are lists with a tag in front; a plain list has the tag "l".
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections import namedtuple
from collections.abc import Callable, Iterable
from typing import Any

DEEPEST = 60
"""How deep values may be nested."""


class NotAValue(TypeError):
    """This cannot cross the wall of the sandbox; the sentence says why."""


def _fields(kind: type) -> tuple[str, ...] | None:
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return tuple(kind._fields)
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return None


def _unpadded(value: Any) -> str:
    """The order of a set's items: that of their lines, the same in every process."""
    return json.dumps(value)


class Codec:
    """Writes and reads values.

    known: the types beyond Python's own that may be written and read, by name.
    learns: whether a NamedTuple or dataclass becomes known when it is written. So does the process that asks.
    invents: whether a named tuple of an unknown name is read into a new type of its own. So does the sandbox.
    objects: (name, fields) -> what "o" stands for; where there is none, "o" is refused.
    """

    def __init__(
        self,
        known: Iterable[type] = (),
        learns: bool = False,
        invents: bool = False,
        objects: Callable[[str, Any], Any] | None = None,
    ) -> None:
        self.known = {kind.__name__: kind for kind in known}
        self.learns = learns
        self.invents = invents
        self.objects = objects

    # Writing

    def plain(self, value: Any, depth: int = 0) -> Any:
        """`value` as what json writes; NotAValue where it is not one."""
        kind = type(value)
        if value is None or kind in (bool, str, int):
            return value
        if depth > DEEPEST:
            raise NotAValue(f"A value is nested more than {DEEPEST} deep.")
        if kind is float:
            if math.isnan(value):
                raise NotAValue("NaN is not equal to itself, so it is no value here.")
            return value if math.isfinite(value) else ["f", "+" if value > 0 else "-"]
        if kind is list or kind is tuple:
            return ["l" if kind is list else "t", *[self.plain(item, depth + 1) for item in value]]
        if kind is dict:
            pairs = [
                [self.plain(key, depth + 1), self.plain(held, depth + 1)]
                for key, held in value.items()
            ]
            return ["d", *pairs]
        if kind is set or kind is frozenset:
            items = sorted((self.plain(item, depth + 1) for item in value), key=_unpadded)
            return ["s" if kind is set else "z", *items]
        if kind is bytes:
            return ["b", base64.b64encode(value).decode("ascii")]
        if kind is Sent:
            return ["o", value.name, self.plain(value.fields, depth + 1)]
        return self._named(value, kind, depth)

    def _named(self, value: Any, kind: type, depth: int) -> Any:
        name, fields = kind.__name__, _fields(kind)
        if fields is not None and (self.learns and name not in self.known):
            self.known[name] = kind
        if fields is None or self.known.get(name) is not kind:
            raise NotAValue(
                f"A value of type {name} cannot leave here: use numbers, text, bytes, tuples, lists, dicts or sets."
            )
        items = [self.plain(getattr(value, field), depth + 1) for field in fields]
        return ["n", name, list(fields), *items]

    # Reading

    def value(self, plain: Any, depth: int = 0) -> Any:
        """What `plain` was given; NotAValue where it is not from there."""
        kind = type(plain)
        if plain is None or kind is bool:
            return plain
        if kind is str:
            try:
                plain.encode()
            except UnicodeEncodeError:
                raise NotAValue("A text holds half of a character.") from None
            return plain
        if kind is int:
            return plain
        if kind is float:
            if not math.isfinite(plain):
                raise NotAValue("A number is beyond the range of floats.")
            return plain
        if kind is not list or not plain or depth > DEEPEST:
            raise NotAValue("This is not the line of a value.")
        tag, *items = plain
        try:
            return self._tagged(tag, items, depth + 1)
        except (TypeError, ValueError, LookupError) as error:
            if isinstance(error, NotAValue):
                raise
            raise NotAValue("This is not the line of a value.") from None

    def _tagged(self, tag: Any, items: list[Any], depth: int) -> Any:
        if tag == "l" or tag == "t":
            held = [self.value(item, depth) for item in items]
            return held if tag == "l" else tuple(held)
        if tag == "d":
            return {self.value(key, depth): self.value(held, depth) for key, held in items}
        if tag == "s" or tag == "z":
            return (set if tag == "s" else frozenset)([self.value(item, depth) for item in items])
        if tag == "b":
            (text,) = items
            return base64.b64decode(text, validate=True)
        if tag == "f":
            (sign,) = items
            return {"+": math.inf, "-": -math.inf}[sign]
        if tag == "n":
            name, fields, *held = items
            return self._made(name, fields, [self.value(item, depth) for item in held])
        if tag == "o" and self.objects is not None:
            name, held = items
            return self.objects(name, self.value(held, depth))
        raise NotAValue("This is not the line of a value.")

    def _made(self, name: str, fields: list[str], items: list[Any]) -> Any:
        kind = self.known.get(name)
        if kind is None and self.invents:
            kind = self.known[name] = namedtuple(name, fields)  # type: ignore[misc]
        if kind is None or list(_fields(kind) or ()) != fields or len(items) != len(fields):
            raise NotAValue("There is no type of this name here.")
        if issubclass(kind, tuple):
            return tuple.__new__(kind, items)
        made = object.__new__(kind)
        for field, item in zip(fields, items, strict=True):
            object.__setattr__(made, field, item)
        return made


class Sent:
    """Stands for an object of the other side: it is written with its name and its fields."""

    __slots__ = ("fields", "name")

    def __init__(self, name: str, **fields: Any) -> None:
        self.name = name
        self.fields = fields


def line(message: list[Any]) -> bytes:
    """One message of what `plain` made, as it goes over the pipe."""
    try:
        return json.dumps(message, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"
    except ValueError:
        raise NotAValue("A number has more than 4,300 digits.") from None


def message(data: bytes) -> list[Any]:
    """What `line` was given; NotAValue where it is not from there."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise NotAValue("This is not a line of JSON.") from None
    if type(found) is not list:
        raise NotAValue("This is not a message.")
    return found
