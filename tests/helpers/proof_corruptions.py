"""Every single-byte corruption of a proof."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from feemodel.errors import InvalidProof
from feemodel.ledger.proof import check_proof

INDEX_BYTES = 6  # of a leaf index, which has 40 bits and may be written with more


def corruptions(proof: dict[str, Any], *, step: int = 1) -> Iterator[tuple[str, dict[str, Any]]]:
    """The proof with one byte changed: of each key, value, node and leaf index; every `step`-th place."""
    changed = copy.deepcopy(proof)
    for count, (where, owner, name, place) in enumerate(_places(changed)):
        if count % step:
            continue
        kept = owner[name]
        flip = 1 + (count * 37) % 255
        owner[name] = kept ^ flip << 8 * place if isinstance(kept, int) else _flipped(kept, place, flip)
        yield f"{where} byte {place}", changed
        owner[name] = kept


def _flipped(text: str, place: int, flip: int) -> str:
    data = bytearray.fromhex(text[2:])
    data[place] ^= flip
    return "0x" + data.hex()


def _places(value: Any, where: str = "proof") -> Iterator[tuple[str, Any, Any, int]]:
    for name, item in value.items() if isinstance(value, dict) else enumerate(value):
        inner = f"{where}.{name}"
        if isinstance(item, (dict, list)):
            yield from _places(item, inner)
        else:
            size = INDEX_BYTES if isinstance(item, int) else len(item) // 2 - 1
            yield from ((inner, value, name, place) for place in range(size))


def accepted(proof: dict[str, Any], *, step: int = 1, **request: Any) -> tuple[int, list[str]]:
    """How many corruptions were tried, and which of them were accepted."""
    check_proof(proof, **request)
    tried, wrong = 0, []
    for where, corrupted in corruptions(proof, step=step):
        tried += 1
        try:
            check_proof(corrupted, **request)
        except InvalidProof:
            continue
        wrong.append(where)
    return tried, wrong


def recorded(path: Path) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """The proofs of a file of vectors that have a root: name, proof, what was asked."""
    data = json.loads(path.read_bytes())
    for name, proof in data.get("results", {"result": data.get("result")}).items():
        keys = [entry["key"] for entry in proof["storageProofs"]]
        request = {"root": data["topRoot"], "address": proof["accountProof"]["key"], "storage_keys": keys}
        yield name, proof, request
