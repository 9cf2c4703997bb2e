"""Keccak-256, and the fields of signatures and of EIP-7702 authorizations."""

from typing import Any, NamedTuple

try:
    from sha3 import keccak_256
except ModuleNotFoundError:  # the dependency safe-pysha3 is installed on Linux only
    from Crypto.Hash import keccak

    def keccak_256(data: bytes) -> Any:
        return keccak.new(digest_bits=256, data=data)


def keccak256(data: bytes) -> bytes:
    """Return the legacy Keccak-256 hash, which differs from the standardized SHA3-256.

    Parameters
    ----------
    data : bytes of any length.

    Returns
    -------
    bytes of length 32.

    >>> keccak256(b"").hex()[:8]
    'c5d24601'
    """
    digest: bytes = keccak_256(data).digest()
    return digest


class Signature(NamedTuple):
    """ECDSA signature over secp256k1; `v` is 27, 28 or as in EIP-155, or the y parity in a typed transaction."""

    v: int
    r: int
    s: int


class Authorization(NamedTuple):
    """Authorization of EIP-7702: an account delegates to the code at another address."""

    chain_id: int
    address: bytes
    nonce: int
    y_parity: int
    r: int
    s: int
