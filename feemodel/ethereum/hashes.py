"""Keccak-256, the hash function of Ethereum."""

from Crypto.Hash import keccak


def keccak256(data: bytes) -> bytes:
    """The legacy Keccak-256, 32 bytes; not the standard's SHA3-256.

    >>> keccak256(b"").hex()[:8]
    'c5d24601'
    """
    return keccak.new(digest_bits=256, data=data).digest()
