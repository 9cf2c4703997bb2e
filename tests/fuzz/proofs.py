"""Proofs: real ones of both generations with edits, and files that claim to hold one.

An input is a list of edits: the first byte chooses a proof, the second what is asked of it, then each edit has a byte
for its kind, two for its place and some for its value. So every input is a proof that is nearly right.
"""

import copy
import json
from collections.abc import Iterator
from functools import cache, partial
from typing import Any, NamedTuple

from feemodel.errors import InvalidProof, UnreadableFile
from feemodel.ethereum._quantities import from_hex
from feemodel.ledger.files import read_proof
from feemodel.ledger.proof import Proven, check_proof, prove_account
from feemodel.ledger.scheme import EMPTY_KECCAK, AccountLeaf, account_hash, scheme_of
from feemodel.ledger.tree import Tree
from tests.fuzz.mutators import mutated_json
from tests.fuzz.target import Target, as_file, check, check_equal

USER, CONTRACT, OTHER, NOBODY = (bytes([first]) + bytes(19) for first in (0x24, 0x2F, 0x30, 0x77))
SLOTS = {bytes([0x0E]) + bytes(31): 0x12 << 248, (7).to_bytes(32): 7, (8).to_bytes(32): 2**256 - 1}
ABSENT = bytes(31) + b"\x01"
EDITS = 12  # at most, of one input
CONSTANTS: list[Any] = [
    None, True, 0, 1, -1, 1.0, 2**40 - 1, 2**40, 2**64, "", "0x", "0x0", [], {}, [[]], "0x" + "ff" * 32,
]  # fmt: skip


class State(NamedTuple):
    """An account tree and the one storage tree in it that is not empty."""

    accounts: Tree
    storage: Tree

    def proof(self, address: bytes, slots: tuple[bytes, ...]) -> dict[str, Any]:
        """The genuine proof."""
        empty = self.accounts.scheme.empty_root
        name = self.accounts.scheme.name
        return prove_account(self.accounts, lambda root: Tree(name) if root == empty else self.storage, address, slots)


@cache
def state(hashing: str) -> State:
    """Three accounts, one of them with slots."""
    scheme = scheme_of(hashing)
    accounts, storage = Tree(hashing), Tree(hashing)
    for slot, value in SLOTS.items():
        word = value.to_bytes(32)
        storage.put(scheme.word_hash(slot), scheme.word_hash(word), word)
    plain = (scheme.empty_root, scheme.empty_code_hash, EMPTY_KECCAK, 0)
    for address, account in (
        (USER, AccountLeaf(65, 835, *plain)),
        (CONTRACT, AccountLeaf(41, 15_353, storage.root, (0x4B).to_bytes(32), bytes([0x0F]) + bytes(31), 7)),
        (OTHER, AccountLeaf(0, 2**127, *plain)),
    ):
        value = account.to_bytes()
        accounts.put(scheme.account_key(address), account_hash(scheme, value), value)
    return State(accounts, storage)


class Asked(NamedTuple):
    """A proof, and what it was asked for."""

    state: State
    address: bytes
    slots: tuple[bytes, ...]
    proof: dict[str, Any]


@cache
def genuine(hashing: str) -> tuple[Asked, ...]:
    """Proofs of presence and absence."""
    present, *more = SLOTS
    held = state(hashing)
    return tuple(
        Asked(held, address, slots, held.proof(address, slots))
        for address, slots in (
            (CONTRACT, (present,)),
            (CONTRACT, (present, ABSENT)),
            (NOBODY, ()),
            (USER, (ABSENT,)),
            (CONTRACT, (ABSENT, *more)),
            (OTHER, ()),
        )
    )


class Edited(NamedTuple):
    """A proof with edits, what is asked of it, and what it was found to prove."""

    held: State
    proof: Any
    proven: Proven


def _checked(hashing: str, data: bytes) -> Edited:
    asked, proof, more = edited(hashing, data)
    proven = check_proof(proof, root=asked.state.accounts.root, **more)
    return Edited(asked.state, proof, proven)


def edited(hashing: str, data: bytes) -> tuple[Asked, Any, dict[str, Any]]:
    """The proof that an input stands for, and what the checker is asked beside the root."""
    first, second = (data[:2] + bytes(2))[:2]
    asked = genuine(hashing)[first % len(genuine(hashing))]
    document = [copy.deepcopy(asked.proof)]
    for kind, place, value in _edits(data[2:]):
        _apply(document, kind, place, value)
    more: dict[str, Any] = {}
    if second & 1:
        more["address"] = asked.address
    if second & 2:
        more["storage_keys"] = asked.slots if not second & 4 else (*asked.slots, ABSENT)
    return asked, document[0], more


def _edits(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Kind, place and value of each edit; a value has the length that its kind gives it."""
    for _ in range(EDITS):
        if len(data) < 4:
            return
        kind, place = data[0] % 10, int.from_bytes(data[1:3])
        size = (2, 3, 5, 1, 1, 1, 3, 3, 2, 1)[kind]
        yield kind, place, data[3 : 3 + size].ljust(size, b"\0")
        data = data[3 + size :]


def _apply(document: list[Any], kind: int, place: int, value: bytes) -> None:
    """Change one value of the proof; an edit that does not fit the value there leaves it."""
    places = list(_places(document))
    owner, name = places[place % len(places)]
    found = owner[name]
    other, elsewhere = places[int.from_bytes(value) % len(places)]
    if kind in (0, 1) and isinstance(found, str):
        owner[name] = _flipped(found, value) if kind == 0 else copy.deepcopy(other[elsewhere])
    elif kind == 2:
        owner[name] = int.from_bytes(value)
    elif kind == 3 and owner is not document:
        del owner[name]
    elif kind == 4:
        owner[name] = copy.deepcopy(CONSTANTS[value[0] % len(CONSTANTS)])
    elif kind == 5 and isinstance(found, str):
        owner[name] = (found.upper(), found[:-1], found + "00", found[2:], "0X" + found[2:], found + " ")[value[0] % 6]
    elif kind == 6 and owner is not document:
        owner[name] = copy.deepcopy(other[elsewhere])
    elif kind == 7 and isinstance(found, list):
        found.insert(value[0] % (len(found) + 1), copy.deepcopy(other[elsewhere]))
    elif kind == 8:
        known = (*genuine("poseidon2"), *genuine("mimc"))
        spliced = _at(known[value[0] % len(known)].proof, value[1])
        owner[name] = copy.deepcopy(spliced)
    elif isinstance(found, int) and not isinstance(found, bool):
        owner[name] = found + value[0] % 5 - 2


def _flipped(text: str, value: bytes) -> str:
    """A byte of hexadecimal text changed; of short or damaged text nothing."""
    digits = text[2:]
    if not text.startswith("0x") or len(digits) < 2 or len(digits) % 2 or not digits.isalnum():
        return text
    byte = 2 * (value[0] % (len(digits) // 2))
    try:
        changed = int(digits[byte : byte + 2], 16) ^ value[1]
    except ValueError:
        return text
    return f"0x{digits[:byte]}{changed:02x}{digits[byte + 2 :]}"


def _at(proof: Any, number: int) -> Any:
    places = list(_places([proof]))
    owner, name = places[number % len(places)]
    return owner[name]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a document, the outermost first, in an order that does not depend on the values."""
    for name in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, name
        if isinstance(value[name], (dict, list)):
            yield from _places(value[name])


def check_edited(data: bytes, edit: Edited) -> None:
    """Whatever is accepted is the genuine proof to the byte, or that without the proofs of an empty storage."""
    address = from_hex(edit.proof["accountProof"]["key"])
    slots = tuple(map(from_hex, edit.proven.storage))
    shown = tuple(from_hex(entry["key"]) for entry in edit.proof["storageProofs"])
    expected = edit.held.proof(address, shown)
    check_equal(expected, edit.proof, "a proof that was accepted")
    check(set(shown) <= set(slots), "a slot that was proven and not told")
    _check_proven(edit.held, address, edit.proven)


def _check_proven(held: State, address: bytes, proven: Proven) -> None:
    key = held.accounts.scheme.account_key(address)
    leaf = held.accounts.get([key]).get(key)
    check_equal(AccountLeaf.from_bytes(leaf.value) if leaf else None, proven.account, "the account")
    for slot, value in proven.storage.items():
        expected = SLOTS.get(from_hex(slot), 0) if address == CONTRACT else 0
        check_equal(expected, value, f"the slot {slot}")


def _proof_seeds() -> list[bytes]:
    plain = [bytes([number, flags]) for number in range(6) for flags in (0, 3)]
    edits = [bytes([1, 3, kind, place, place, 1, 2, 3, 4, 5]) for kind in range(10) for place in (0, 9, 60)]
    return plain + edits


def _proof_file(data: bytes) -> tuple[Any, Proven]:
    proof = read_proof(as_file(data))
    return proof, check_proof(proof, root=state("poseidon2").accounts.root)


def _check_proof_file(data: bytes, answer: tuple[Any, Proven]) -> None:
    proof, proven = answer
    check_edited(data, Edited(state("poseidon2"), proof, proven))


def _proof_file_seeds() -> list[bytes]:
    present, _, absent, *_ = genuine("poseidon2")
    documents = (present.proof, {"jsonrpc": "2.0", "id": 1, "result": absent.proof}, {"accountProof": {}})
    return [json.dumps(document).encode() for document in documents]


TARGETS = {
    **{
        name: Target(partial(_checked, hashing), (InvalidProof,), check_edited, _proof_seeds)
        for name, hashing in (("proof", "poseidon2"), ("proof_mimc", "mimc"))
    },
    "proof_file": Target(
        _proof_file, (InvalidProof, UnreadableFile), _check_proof_file, _proof_file_seeds, mutated_json
    ),
}
