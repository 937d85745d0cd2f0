"""Values as bytes, for what is written of state. Reading calls nothing that is named in the bytes.

A tag of one byte says what follows. Lengths are variable-length numbers, 7 bits a byte. Sets are written in the order of
their bytes, so that equal values are equal bytes in every process. Types beyond Python's own are known by name, and have
to be registered with `writable`.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from typing import Any, TypeVar

from engine.errors import StreamLabError
from engine.state.backends.parts import Incremental, Layer
from engine.values import Boxed, text

DEEPEST = 150
"""How deep values may be nested."""

Class = TypeVar("Class", bound=type[Any])
Refer = Callable[[Layer], bytes]
Resolve = Callable[[bytes], Layer]

_BY_NAME: dict[str, type[Any]] = {}
_NAMES: dict[type[Any], str] = {}


class NotWritable(StreamLabError):
    """A value cannot be written. `path` leads to it: the keys of the dicts around it, from the outside."""

    def __init__(self, sentence: str, mend: str) -> None:
        super().__init__("not_writable", sentence, mend=mend)
        self.path: list[Any] = []


class Unreadable(StreamLabError):
    """The bytes are not what `encode` writes."""

    def __init__(self, sentence: str) -> None:
        super().__init__("unreadable", sentence)


def writable(cls: Class) -> Class:
    """Register a NamedTuple or a dataclass whose instances may be written; for use as a decorator."""
    if not hasattr(cls, "_fields") and not dataclasses.is_dataclass(cls):
        raise NotWritable(
            f"{cls.__name__} is neither a NamedTuple nor a dataclass.", "Make it one of them."
        )
    module = cls.__module__
    name = cls.__qualname__ if module.startswith("engine.") else f"{module}:{cls.__qualname__}"
    _BY_NAME[name] = cls
    _NAMES[cls] = name
    return cls


writable(Incremental)
writable(Layer)


def encode(value: Any, refer: Refer | None = None) -> bytes:
    """`value` as bytes; NotWritable says which value cannot be written. refer: what to write instead of a layer."""
    encoder = _Encoder(refer)
    encoder.put(value, 0)
    return b"".join(encoder.out)


def decode(data: bytes, resolve: Resolve | None = None) -> Any:
    """What `encode` was given; Unreadable where the bytes are not from there."""
    decoder = _Decoder(data, resolve)
    value = decoder.take(0)
    if decoder.at != len(data):
        raise Unreadable("There are bytes behind the end.")
    return value


def _number(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _fields_of(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return list(value)
    return [getattr(value, field.name) for field in dataclasses.fields(value)]


def _unwritable_row(layer: Layer) -> Any:
    """The first row of a base or a log that cannot be written."""
    for change in layer.rows:
        try:
            encode(change)
        except NotWritable:
            return change[0]
    return None


class _Encoder:
    def __init__(self, refer: Refer | None) -> None:
        self.out: list[bytes] = []
        self.refer = refer

    def put(self, value: Any, depth: int) -> None:
        out, kind = self.out, type(value)
        if depth > DEEPEST:
            raise NotWritable(
                f"A value is nested more than {DEEPEST} deep.", "Store it in a flatter form."
            )
        if kind is str:
            self._block(b"s", value.encode("utf-8", "surrogatepass"))
        elif kind is int:
            self._block(b"i", value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
        elif value is None:
            out.append(b"n")
        elif kind is bool:
            out.append(b"t" if value else b"f")
        elif kind is float:
            out.append(b"d" + struct.pack(">d", value))
        elif kind is tuple or kind is list:
            self._items(b"(" if kind is tuple else b"[", value, depth)
        elif kind is dict:
            out.append(b"{" + _number(len(value)))
            for key, held in value.items():
                try:
                    self.put(key, depth + 1)
                    self.put(held, depth + 1)
                except NotWritable as error:
                    error.path.insert(0, key)
                    raise
        elif kind is set or kind is frozenset:
            out.append((b"u" if kind is set else b"z") + _number(len(value)))
            out.extend(sorted(encode(item, self.refer) for item in value))
        elif kind is bytes:
            self._block(b"b", value)
        elif kind is Boxed:
            out.append(b"x")
            self.put(value.value, depth + 1)
        elif kind is complex:
            out.append(b"c" + struct.pack(">dd", value.real, value.imag))
        elif kind is range:
            self._items(b"r", (value.start, value.stop, value.step), depth)
        elif kind is Layer and self.refer is not None:
            self._block(b"l", self.refer(value))
        elif kind in _NAMES:
            self._block(b"o", _NAMES[kind].encode())
            try:
                self._items(b"(", _fields_of(value), depth)
            except NotWritable as error:
                if kind is Layer and not error.path:
                    error.path = [_unwritable_row(value)]
                raise
        else:
            raise NotWritable(
                f"A value of type {kind.__name__} cannot be written: {text(value)}.",
                "Store numbers, text, bytes, tuples, lists, dicts or sets, or register its class with extensions.writable.",
            )

    def _block(self, tag: bytes, content: bytes) -> None:
        self.out.append(tag + _number(len(content)) + content)

    def _items(self, tag: bytes, items: Any, depth: int) -> None:
        self.out.append(tag + _number(len(items)))
        for item in items:
            self.put(item, depth + 1)


class _Decoder:
    def __init__(self, data: bytes, resolve: Resolve | None) -> None:
        self.data = data
        self.at = 0
        self.resolve = resolve

    def take(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise Unreadable(f"A value is nested more than {DEEPEST} deep.")
        tag = self._bytes(1)
        if tag == b"s":
            return self._text()
        if tag == b"i":
            return int.from_bytes(self._bytes(self._number()), "big", signed=True)
        if tag == b"n":
            return None
        if tag in (b"t", b"f"):
            return tag == b"t"
        if tag == b"d":
            return struct.unpack(">d", self._bytes(8))[0]
        if tag == b"(":
            return tuple(self._items(depth))
        if tag == b"[":
            return self._items(depth)
        if tag == b"{":
            return self._dict(depth)
        if tag in (b"u", b"z"):
            return self._hashed(set if tag == b"u" else frozenset, self._items(depth))
        if tag == b"b":
            return self._bytes(self._number())
        if tag == b"x":
            return Boxed(self.take(depth + 1))
        if tag == b"c":
            return complex(*struct.unpack(">dd", self._bytes(16)))
        if tag == b"r":
            bounds = self._items(depth)
            if len(bounds) != 3 or any(type(bound) is not int for bound in bounds) or not bounds[2]:
                raise Unreadable("A range has not three numbers.")
            return range(*bounds)
        if tag == b"l":
            return self._layer()
        if tag == b"o":
            return self._named(depth)
        raise Unreadable(f"There is no value with the tag {tag!r}.")

    def _bytes(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.data):
            raise Unreadable("The bytes end in the middle of a value.")
        found = self.data[self.at : end]
        self.at = end
        return found

    def _number(self) -> int:
        number = shift = 0
        while shift < 63:
            (byte,) = self._bytes(1)
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
        raise Unreadable("A length is too long.")

    def _text(self) -> str:
        try:
            return self._bytes(self._number()).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise Unreadable("A text is not UTF-8.") from None

    def _items(self, depth: int) -> list[Any]:
        return [self.take(depth + 1) for _ in range(self._counted())]

    def _counted(self) -> int:
        """How many values follow; each takes a byte at least."""
        count = self._number()
        if count > len(self.data) - self.at:
            raise Unreadable("The bytes end in the middle of a value.")
        return count

    def _dict(self, depth: int) -> dict[Any, Any]:
        pairs = [(self.take(depth + 1), self.take(depth + 1)) for _ in range(self._counted())]
        found: dict[Any, Any] = self._hashed(dict, pairs)
        return found

    def _hashed(self, make: Callable[[list[Any]], Any], items: list[Any]) -> Any:
        try:
            return make(items)
        except TypeError:
            raise Unreadable("A key is a value that has no hash.") from None

    def _layer(self) -> Layer:
        reference = self._bytes(self._number())
        if self.resolve is None:
            raise Unreadable("There is a reference to a layer where none can be.")
        return self.resolve(reference)

    def _named(self, depth: int) -> Any:
        name = self._text()
        cls = _BY_NAME.get(name)
        if cls is None:
            raise Unreadable(f"There is no type {name!r} here: the job has to register it.")
        fields = self.take(depth)
        if type(fields) is not tuple:
            raise Unreadable(f"The fields of {name} are missing.")
        wanted = getattr(cls, "_fields", None)
        if wanted is None:
            wanted = [field.name for field in dataclasses.fields(cls)]
        if len(fields) != len(wanted):
            raise Unreadable(f"{name} has {len(wanted)} fields here, and {len(fields)} there.")
        if issubclass(cls, tuple):
            return tuple.__new__(cls, fields)
        made = object.__new__(cls)
        for field, value in zip(wanted, fields, strict=True):
            object.__setattr__(made, field, value)
        return made
