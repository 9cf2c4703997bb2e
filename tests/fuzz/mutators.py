"""Inputs changed in the structure of their format, so that fuzzing gets past the parser: JSON, JSON Lines, RLP."""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tests.fuzz.target import Mutate

BLIND = 0.15  # of the mutations do not look at the structure
MAX_SIZE = 65_536  # bytes that a mutation may make of an input


class Raw(str):
    """Text that goes into JSON as it is."""


class Pair(list[Any]):
    """A name and its value in an object of JSON."""


class Pairs(list[Pair]):
    """An object of JSON as its pairs, so that a name may stand there twice."""


def _nested(open_: str, close: str, depth: int) -> Raw:
    return Raw(open_ * depth + "0" + close * depth)


NUMBERS = [
    Raw(text)
    for text in (
        "0", "-0", "-1", "1", "2", "7", "1.0", "0.5", "-0.0", "1e3", "1e308", "1e309", "-1e999", "NaN", "Infinity",
        str(2**31), str(2**53 + 1), str(2**63 - 1), str(2**63), str(2**64 - 1), str(2**64), str(2**256 - 1),
        str(2**256), "1" + "0" * 400, "9" * 4_300, "9" * 4_301, "01", "1_000", "0x1", "+1", ".5", "1.",
    )
]  # fmt: skip
HEXADECIMAL = [
    "", "0", "0x", "0X1", "0x0", "0x00", "0x1", "0x01", "0x7", "0xg", "0x1g", " 0x1", "0x1 ", "0x1\n", "0x 1", "0x-1",
    "0x1_0", "-0x1", "0x" + "00" * 20, "0x" + "11" * 20, "0x" + "00" * 32, "0x" + "ff" * 20, "0x" + "ff" * 32,
    "0xF" + "f" * 63, "0x1" + "0" * 64, "0x" + "f" * 16, "0x1" + "0" * 16, "0x" + "f" * 5_000, "0x" + "11" * 21,
    "0x" + "11" * 33, "11" * 20, "0x" + "aB" * 20, "0x" + "Ab" * 32, "１２", "0x１", "0x\u0000", "\ud800", "é",
]  # fmt: skip
WORDS = ["latest", "pending", "safe", "finalized", "earliest", "2.0", "1.0", "true", "null", "__class__", "a" * 3_000]
CONSTANTS = [
    Raw(text)
    for text in (
        "null", "true", "false", "[]", "{}", "[[]]", "[{}]", '{"":0}', "[null]", '{"value":null}', "[0,0]", '["0x"]',
        '[["a"],0]', '["' + "a" * 9_000 + '"' + ',""' * 2_000 + "]",
    )
]  # fmt: skip
DEEP = [_nested(*brackets, depth) for brackets in (("[", "]"), ('{"a":', "}")) for depth in (3, 33, 65, 900)]
DEPTHS = range(930, 1_010)  # around the interpreter's limit


def mutated_json(data: bytes, rng: Random, mutate: Mutate) -> bytes:
    """JSON text with one to four of its values, names or lists changed."""
    try:
        value = None if rng.random() < BLIND else json.loads(data, object_pairs_hook=_pairs)
    except (ValueError, RecursionError):
        value = None
    if value is None:
        return mutate(data)
    root = [value]
    try:
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            _change_json(root, rng, mutate)
        return _text(root[0]).encode("utf-8", "surrogatepass")[:MAX_SIZE]
    except RecursionError:
        return mutate(data)


def mutated_rlp(before: int) -> Callable[[bytes, Random, Mutate], bytes]:
    """A mutation of RLP that stands behind `before` bytes, or behind one byte if that is a transaction's type (-1)."""

    def mutated(data: bytes, rng: Random, mutate: Mutate) -> bytes:
        start = before if before >= 0 else int(data[:1] < b"\x80")
        head, body = data[:start], data[start:]
        if rng.random() < BLIND:
            return mutate(data)
        if head and rng.random() < 0.1:
            head = mutate(head)[: len(head) + 1]
        try:
            root = _items(body)[:1]
            for _ in range(rng.choice((1, 1, 1, 2, 4))):
                _change_rlp(root, rng, mutate)
            return (head + _encoded(root[0]))[:MAX_SIZE]
        except (IndexError, RecursionError):  # nothing there, or too deep
            return mutate(data)

    return mutated


def nearby_bytes(rng: Random) -> Mutate:
    """A mutation that needs no fuzzer: some bytes changed, left out or doubled."""

    def mutate(data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            start = rng.randrange(len(changed) + 1)
            size = rng.choice((1, 1, 2, 4, 16))
            match rng.randrange(4):
                case 0:
                    changed[start : start + size] = rng.randbytes(size)
                case 1:
                    del changed[start : start + size]
                case 2:
                    changed[start:start] = changed[start : start + size] or b"\0"
                case _ if start < len(changed):
                    changed[start] ^= 1 << rng.randrange(8)
        return bytes(changed)

    return mutate


def _pairs(pairs: list[tuple[str, Any]]) -> Pairs:
    return Pairs(map(Pair, pairs))


def _places(root: list[Any]) -> Iterator[tuple[list[Any], int]]:
    """Every list and every place in it that holds a value, the names of objects among them."""
    waiting = [root]
    while waiting:
        owner = waiting.pop()
        for place, value in enumerate(owner):
            yield owner, place
            if isinstance(value, list):
                waiting.append(value)


def _change_json(root: list[Any], rng: Random, mutate: Mutate) -> None:
    places = list(_places(root))
    owner, place = rng.choice(places)
    chosen = rng.random()
    if chosen < 0.3 and owner is not root and not isinstance(owner, Pair):
        if chosen < 0.15:
            del owner[place]
        else:
            owner.insert(rng.randrange(len(owner) + 1), _copied(owner[place]))
        return
    if isinstance(owner, Pairs):
        owner, place = owner[place], 1
    value = owner[place]
    if chosen < 0.8:
        owner[place] = _interesting(value, rng, mutate)
    elif chosen < 0.93:
        other, elsewhere = rng.choice(places)
        found = other[elsewhere]
        owner[place] = _copied(found[1] if isinstance(found, Pair) else found)
    else:
        owner[place] = rng.choice(([value], Pairs([Pair(["value", value])])))


def _interesting(value: Any, rng: Random, mutate: Mutate) -> Any:
    chosen = rng.random()
    if isinstance(value, str) and chosen < 0.35:
        return mutate(value.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
    if isinstance(value, int) and abs(value) < 2**300 and chosen < 0.25:
        return value + rng.choice((-1, 1, 2**32, -(2**64)))
    kinds = (NUMBERS, HEXADECIMAL, HEXADECIMAL, WORDS, CONSTANTS)
    if rng.random() < 0.03:
        return rng.choice((*DEEP, _nested("[", "]", rng.choice(DEPTHS))))
    return rng.choice(rng.choice(kinds))


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return type(value)(_copied(item) for item in value)
    return value


def _text(value: Any) -> str:
    if isinstance(value, Raw):
        return value
    if isinstance(value, Pairs):
        return "{" + ",".join(f"{_text(name)}:{_text(inner)}" for name, inner in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)


def _items(data: bytes) -> list[Any]:
    """What stands in RLP, read without a complaint; the reader under test is slowed by being watched."""
    items: list[Any] = []
    while data:
        first = data[0]
        if first < 0x80:
            items.append(data[:1])
            data = data[1:]
            continue
        short = first & 0x3F if first >= 0xC0 else first - 0x80
        wide = max(short - 55, 0)
        size = int.from_bytes(data[1 : 1 + wide]) if wide else short
        body, data = data[1 + wide : 1 + wide + size], data[1 + wide + size :]
        items.append(_items(body) if first >= 0xC0 else body)
    return items


def _encoded(item: Any) -> bytes:
    if isinstance(item, bytes) and len(item) == 1 and item < b"\x80":
        return item
    body, first = (item, 0x80) if isinstance(item, bytes) else (b"".join(map(_encoded, item)), 0xC0)
    if len(body) < 56:
        return bytes([first + len(body)]) + body
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8)
    return bytes([first + 55 + len(size)]) + size + body


ITEMS = [b"", b"\0", b"\1", b"\x7f", b"\x80", b"\0\1", bytes(20), b"\x11" * 20, bytes(32), b"\xff" * 32, b"\1" * 33, []]


def _change_rlp(root: list[Any], rng: Random, mutate: Mutate) -> None:
    places = list(_places(root))
    owner, place = rng.choice(places)
    value, chosen = owner[place], rng.random()
    if chosen < 0.35 and isinstance(value, bytes):
        owner[place] = mutate(value)
    elif chosen < 0.6 or owner is root:
        owner[place] = rng.choice(ITEMS)
    elif chosen < 0.7:
        del owner[place]
    elif chosen < 0.8:
        owner.insert(place, _copied(value))
    elif chosen < 0.9:
        other, elsewhere = rng.choice(places)
        owner[place] = _copied(other[elsewhere])
    else:
        owner[place] = [value] * rng.choice((1, 1, 2, 20, 32))
