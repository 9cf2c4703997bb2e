"""An account as the state tree holds it: six words, flat in proofs, hashed in the encoding of its generation."""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import InvalidInput
from feemodel.ethereum.hashes import keccak256
from feemodel.ethereum.quantities import WORD_SIZE
from feemodel.ledger.scheme import Scheme, cut, side_by_side
from feemodel.records import printed_as_table

ACCOUNT_SIZE = 6 * WORD_SIZE
EMPTY_KECCAK = keccak256(b"")


@printed_as_table
class Account(NamedTuple):
    """An account of one block.

    Parameters
    ----------
    nonce, balance [wei], code_size [bytes] : integers below 2**256.
    storage_root : root of the account's storage tree.
    code_hash : hash of the code in the tree's generation.
    keccak_code_hash : Keccak-256 of the code.
    """

    nonce: int
    balance: int
    storage_root: bytes
    code_hash: bytes
    keccak_code_hash: bytes
    code_size: int

    def to_bytes(self) -> bytes:
        """The flat value, 192 bytes, as proofs show it."""
        return b"".join(field if isinstance(field, bytes) else field.to_bytes(WORD_SIZE) for field in self)

    @classmethod
    def from_bytes(cls, value: bytes) -> "Account":
        """The account of a flat value."""
        _check_size(value)
        words = (value[start : start + WORD_SIZE] for start in range(0, ACCOUNT_SIZE, WORD_SIZE))
        nonce, balance, storage_root, code_hash, keccak, size = words
        return cls(
            int.from_bytes(nonce), int.from_bytes(balance), storage_root, code_hash, keccak, int.from_bytes(size)
        )


@cache
def plain_suffix(scheme: Scheme) -> bytes:
    """The last four words of the flat value of every account without code and storage."""
    return scheme.empty_root + scheme.empty_code_hash + EMPTY_KECCAK + bytes(WORD_SIZE)


def account_hashes(scheme: Scheme, values: Sequence[bytes]) -> list[bytes]:
    """The hvals of flat account values: the two roots are hashed as they are, the other words encoded.

    Raises `InvalidInput` for a value that is not 192 bytes long, or a root out of the hash's field.
    """
    if not values:
        return []
    for value in values:
        _check_size(value)
    flat = np.frombuffer(b"".join(values), dtype=np.uint8).reshape(len(values), ACCOUNT_SIZE)
    return cut(flat_hashes(scheme, flat))


def flat_hashes(scheme: Scheme, flat: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The hvals [n, 32] of flat account values [n, 192]."""
    numbers, roots, keccaks, sizes = np.split(flat, [2 * WORD_SIZE, 4 * WORD_SIZE, 5 * WORD_SIZE], axis=1)
    messages = side_by_side(
        len(flat),
        scheme.numbers(numbers.tobytes()),  # nonce, balance
        roots.tobytes(),  # of the storage, of the code
        scheme.words(keccaks.tobytes()),
        scheme.numbers(sizes.tobytes()),
    )
    hashes = scheme.digests(messages, len(messages) // len(flat))
    return np.frombuffer(hashes, dtype=np.uint8).reshape(-1, WORD_SIZE)


def account_message(scheme: Scheme, value: bytes) -> bytes:
    """What is hashed of one flat account value, nothing of one that is not 192 bytes long."""
    if len(value) != ACCOUNT_SIZE:
        return b""
    return scheme.numbers(value[: 2 * WORD_SIZE]) + _suffix_message(scheme, value[2 * WORD_SIZE :])


@lru_cache(1_024)
def _suffix_message(scheme: Scheme, suffix: bytes) -> bytes:
    """What is hashed of the last four words, which all accounts without code share."""
    roots, keccak, size = suffix[: 2 * WORD_SIZE], suffix[2 * WORD_SIZE : 3 * WORD_SIZE], suffix[3 * WORD_SIZE :]
    return roots + scheme.words(keccak) + scheme.numbers(size)


def account_hash(scheme: Scheme, value: bytes) -> bytes:
    """The hval of one flat account value."""
    return account_hashes(scheme, [value])[0]


def _check_size(value: bytes) -> None:
    if len(value) != ACCOUNT_SIZE:
        raise InvalidInput("account value", f"expected {ACCOUNT_SIZE} bytes", len(value))
