"""Which key belongs to which key group, and which key group to which subtask.

Source: Flink 2.2 `KeyGroupRangeAssignment` and `MathUtils.murmurHash`, with Java's `hashCode` for the key types that
PyFlink can declare. The numbers are held against Flink's own in tests/engine/state/test_key_groups.py.

Keys are *canonical* inside the engine. In Python 1 == True == 1.0, in Flink a Long, a Boolean and a Double are three
keys. `canonical` gives values that are equal only if type and value are; `original` turns them back.
"""

from __future__ import annotations

import struct
from typing import Any

from engine.errors import InvalidJob

UPPER_BOUND_MAX_PARALLELISM = 1 << 15
DEFAULT_LOWER_BOUND_MAX_PARALLELISM = 1 << 7
_MASK = 0xFFFFFFFF


def murmur_hash(code: int) -> int:
    """Flink's `MathUtils.murmurHash(int)`: a 32-bit Java int to 0..2^31-1."""
    code = code * 0xCC9E2D51 & _MASK
    code = (code << 15 | code >> 17) & _MASK
    code = code * 0x1B873593 & _MASK
    code = (code << 13 | code >> 19) & _MASK
    code = (code * 5 + 0xE6546B64) & _MASK
    code ^= 4
    code ^= code >> 16
    code = code * 0x85EBCA6B & _MASK
    code ^= code >> 13
    code = code * 0xC2B2AE35 & _MASK
    code ^= code >> 16
    if code < 0x80000000:
        return code
    if code != 0x80000000:
        return 0x100000000 - code
    return 0


def _signed(code: int) -> int:
    code &= _MASK
    return code - 0x100000000 if code & 0x80000000 else code


def java_hash(key: Any, key_type: str | None = None) -> int:
    """Java's `hashCode` of `key`, -2^31..2^31-1.

    `key_type` is "INT" or "LONG" for integers (LONG when None); other types follow from the value: str, bool, float,
    None, and tuples, which hash as Flink's TupleN, and lists, which hash as java.util.List.
    """
    kind = type(key)
    if kind is str:
        code = 0
        data = key.encode("utf-16-le", "surrogatepass")
        for index in range(0, len(data), 2):
            code = (code * 31 + data[index] + (data[index + 1] << 8)) & _MASK
        return _signed(code)
    if kind is bool:
        return 1231 if key else 1237
    if kind is int:
        if key_type == "INT":
            if not -(2**31) <= key < 2**31:
                raise InvalidJob(
                    "key_out_of_range",
                    f"The key {key} does not fit the declared key type INT.",
                    mend="Declare Types.LONG().",
                )
            return int(key)
        if not -(2**63) <= key < 2**63:
            raise InvalidJob(
                "key_out_of_range",
                f"The key {key} does not fit 64 bits.",
                mend="Use a string key instead.",
            )
        bits = key & 0xFFFFFFFFFFFFFFFF
        return _signed(bits ^ bits >> 32)
    if kind is float:
        bits = 0x7FF8000000000000 if key != key else struct.unpack("<Q", struct.pack("<d", key))[0]
        return _signed(bits ^ bits >> 32)
    if key is None:
        return 0
    if kind is tuple:
        code = 0
        for index, item in enumerate(key):
            code = java_hash(item) if index == 0 else code * 31 + java_hash(item)
        return _signed(code)
    if kind is list:
        code = 1
        for item in key:
            code = code * 31 + java_hash(item)
        return _signed(code)
    raise InvalidJob(
        "key_type",
        f"A key of type {kind.__name__} has no hash that is the same on every machine.",
        mend="Return a str, int, float, bool or a tuple of these from the key selector.",
    )


def assign_to_key_group(key: Any, max_parallelism: int, key_type: str | None = None) -> int:
    """The key group, 0..max_parallelism-1, of `key` (Flink: KeyGroupRangeAssignment.assignToKeyGroup)."""
    return murmur_hash(java_hash(key, key_type)) % max_parallelism


def operator_index_for_key_group(max_parallelism: int, parallelism: int, key_group: int) -> int:
    """The subtask, 0..parallelism-1, that owns `key_group` (Flink: computeOperatorIndexForKeyGroup)."""
    return key_group * parallelism // max_parallelism


def key_group_range(max_parallelism: int, parallelism: int, index: int) -> tuple[int, int]:
    """First and last key group, both included, of subtask `index` (Flink: computeKeyGroupRangeForOperatorIndex)."""
    start = (index * max_parallelism + parallelism - 1) // parallelism
    end = ((index + 1) * max_parallelism - 1) // parallelism
    return start, end


def default_max_parallelism(parallelism: int) -> int:
    """parallelism * 1.5 rounded up to a power of two, 128..32768 (Flink: computeDefaultMaxParallelism)."""
    wanted = parallelism + parallelism // 2
    power = 1 << max(0, (wanted - 1).bit_length())
    return min(max(power, DEFAULT_LOWER_BOUND_MAX_PARALLELISM), UPPER_BOUND_MAX_PARALLELISM)


def canonical(key: Any) -> Any:
    """A hashable stand-in for `key`, equal to another only if type and value are equal.

    Strings and integers stand for themselves; whatever else is a pair (type name, payload), so that no tuple in the
    canonical domain is a key of the user's.
    """
    kind = type(key)
    if kind is str or kind is int:
        return key
    if kind is tuple or kind is list:
        return (kind.__name__, tuple(map(canonical, key)))
    if kind is float:
        return ("float", "nan" if key != key else key.hex())
    java_hash(key)  # refuses every type that has no stable hash
    return (kind.__name__, key)


def original(key: Any) -> Any:
    """The inverse of `canonical`."""
    if type(key) is not tuple:
        return key
    tag, payload = key
    if tag == "tuple":
        return tuple(map(original, payload))
    if tag == "list":
        return list(map(original, payload))
    if tag == "float":
        return float("nan") if payload == "nan" else float.fromhex(payload)
    return payload
