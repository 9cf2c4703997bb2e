"""Inputs changed in the structure of their format, so that fuzzing gets past the parser: JSON, RLP."""

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from ethereum_rlp import rlp
from ethereum_rlp.exceptions import RLPException

from tests.fuzz.target import Mutate

BLIND = 0.15  # of the mutations do not look at the structure
MAX_SIZE = 65_536  # bytes that a mutation may make of an input
CHANGES = (1, 1, 1, 2, 4)  # of an input
#: What JSON has as it stands here, and what its writer would not write.
RAW = [
    "0", "-0", "-1", "1", "2", "7", "1.0", "0.5", "-0.0", "1e3", "1e308", "1e309", "-1e999", "NaN", "Infinity",
    str(2**31), str(2**53 + 1), str(2**63 - 1), str(2**63), str(2**64 - 1), str(2**64), str(2**256 - 1),
    str(2**256), "1" + "0" * 400, "9" * 4_300, "9" * 4_301, "01", "1_000", "0x1", "+1", ".5", "1.",
    "null", "true", "false", "[]", "{}", "[[]]", "[{}]", '{"":0}', "[null]", '{"value":null}', "[0,0]", '["0x"]',
    '[["a"],0]', '["' + "a" * 9_000 + '"' + ',""' * 2_000 + "]",
]  # fmt: skip
#: Around the interpreter's limit.
DEEP = [left * depth + "0" + right * depth for left, right in (("[", "]"), ('{"a":', "}"))
        for depth in (3, 33, 65, 900, *range(930, 1_010, 5))]  # fmt: skip
TEXTS = [
    "", "0", "0x", "0X1", "0x0", "0x00", "0x1", "0x01", "0x7", "0xg", "0x1g", " 0x1", "0x1 ", "0x1\n", "0x 1", "0x-1",
    "0x1_0", "-0x1", "0x" + "00" * 20, "0x" + "11" * 20, "0x" + "00" * 32, "0x" + "ff" * 20, "0x" + "ff" * 32,
    "0xF" + "f" * 63, "0x1" + "0" * 64, "0x" + "f" * 16, "0x1" + "0" * 16, "0x" + "f" * 5_000, "0x" + "11" * 21,
    "0x" + "11" * 33, "11" * 20, "0x" + "aB" * 20, "0x" + "Ab" * 32, "１２", "0x１", "0x\u0000", "\ud800", "é",
    "latest", "pending", "safe", "finalized", "earliest", "2.0", "1.0", "true", "null", "__class__", "a" * 3_000,
]  # fmt: skip
ITEMS = [b"", b"\0", b"\1", b"\x7f", b"\x80", b"\0\1", bytes(20), b"\x11" * 20, bytes(32), b"\xff" * 32, b"\1" * 33, []]


def mutated_json(data: bytes, rng: Random, mutate: Mutate) -> bytes:
    """JSON text with one to four of its values, names or lists changed."""
    raw: list[str] = []  # texts that take the places of strings which name them
    try:
        root = [json.loads(data)] if rng.random() > BLIND else []
        for _ in range(rng.choice(CHANGES) if root else 0):
            _change_json(root, rng, mutate, raw)
        text = json.dumps(root[0]) if root else ""
    except (ValueError, RecursionError):
        text = ""
    if not text:
        return mutate(data)
    for place, written in enumerate(raw):
        text = text.replace(json.dumps(f"\0{place}\0"), written)
    return text.replace("\\u0000again ", "").encode("utf-8", "surrogatepass")[:MAX_SIZE]


def _change_json(root: list[Any], rng: Random, mutate: Mutate, raw: list[str]) -> None:
    places = list(_places(root))
    owner, place = rng.choice(places)
    value, chosen = owner[place], rng.random()
    if chosen < 0.15 and owner is not root:
        del owner[place]
    elif chosen < 0.3 and owner is not root:  # the same once more, or a name twice
        if isinstance(owner, dict):
            owner[f"\0again {place}"] = value
        else:
            owner.insert(place, copy.deepcopy(value))
    elif chosen < 0.35 and isinstance(owner, dict):
        owner[rng.choice(TEXTS)] = owner.pop(place)
    elif chosen < 0.5 and isinstance(value, str):
        owner[place] = mutate(value.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
    elif chosen < 0.6 and isinstance(value, int) and abs(value) < 2**300:
        owner[place] = value + rng.choice((-1, 1, 2**32, -(2**64)))
    elif chosen < 0.7:
        owner[place] = rng.choice(([value], {"value": value}))
    elif chosen < 0.8:
        other, elsewhere = rng.choice(places)
        owner[place] = copy.deepcopy(other[elsewhere])
    elif chosen < 0.9:
        owner[place] = rng.choice(TEXTS)
    else:
        owner[place] = f"\0{len(raw)}\0"
        raw.append(rng.choice(DEEP) if rng.random() < 0.1 else rng.choice(RAW))


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
            root = [_lists(rlp.decode(body))]
            for _ in range(rng.choice(CHANGES)):
                _change_rlp(root, rng, mutate)
            return (head + rlp.encode(root[0]))[:MAX_SIZE]
        except (RLPException, IndexError, RecursionError):  # none, or nothing there
            return mutate(data)

    return mutated


def _lists(item: Any) -> Any:
    return item if isinstance(item, bytes) else [_lists(one) for one in item]


def _change_rlp(root: list[Any], rng: Random, mutate: Mutate) -> None:
    places = list(_places(root))
    owner, place = rng.choice(places)
    value, chosen = owner[place], rng.random()
    if chosen < 0.35 and isinstance(value, bytes):
        owner[place] = mutate(value)
    elif chosen < 0.6 or owner is root:
        owner[place] = copy.deepcopy(rng.choice(ITEMS))
    elif chosen < 0.7:
        del owner[place]
    elif chosen < 0.8:
        owner.insert(place, copy.deepcopy(value))
    elif chosen < 0.9:
        other, elsewhere = rng.choice(places)
        owner[place] = copy.deepcopy(other[elsewhere])
    else:
        owner[place] = [value] * rng.choice((1, 1, 2, 20, 32))


def _places(root: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Every list and object, and every place in it that holds a value."""
    waiting: list[Any] = [root]
    while waiting:
        owner = waiting.pop()
        for place, value in list(owner.items() if isinstance(owner, dict) else enumerate(owner)):
            yield owner, place
            if isinstance(value, (list, dict)):
                waiting.append(value)


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
