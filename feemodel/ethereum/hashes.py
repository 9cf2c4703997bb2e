"""Keccak-256, the hash function of Ethereum."""

from collections.abc import Callable

_digest: Callable[[bytes], bytes]
try:
    from sha3 import keccak_256
except ModuleNotFoundError:  # which has wheels for Linux alone
    from Crypto.Hash import keccak

    def _digest(data: bytes) -> bytes:
        return keccak.new(digest_bits=256, data=data).digest()
else:

    def _digest(data: bytes) -> bytes:
        digest: bytes = keccak_256(data).digest()
        return digest


def keccak256(data: bytes) -> bytes:
    """The legacy Keccak-256, 32 bytes; not the standard's SHA3-256.

    >>> keccak256(b"").hex()[:8]
    'c5d24601'
    """
    return _digest(data)
