"""Keccak-256, RLP, ECDSA signatures, and the authorizations of EIP-7702."""

from collections.abc import Callable
from typing import Any, NamedTuple

from feemodel.errors import InvalidInput

SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141

_digest: Callable[[bytes], bytes]
try:
    from sha3 import keccak_256
except ModuleNotFoundError:  # the dependency safe-pysha3 is installed on Linux only
    from Crypto.Hash import keccak

    def _digest(data: bytes) -> bytes:
        return keccak.new(digest_bits=256, data=data).digest()
else:

    def _digest(data: bytes) -> bytes:
        digest: bytes = keccak_256(data).digest()
        return digest


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
    return _digest(data)


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

    def authority(self) -> bytes | None:
        """Return the address of the account that signed, 20 bytes; `None` if the signature is not valid."""
        if self.y_parity > 1 or not 0 < self.s <= SECP256K1_ORDER // 2:
            return None
        digest = keccak256(b"\x05" + rlp_encoded([self.chain_id, self.address, self.nonce]))
        try:
            return signer(digest, Signature(self.y_parity, self.r, self.s))
        except InvalidInput:
            return None


def rlp_encoded(item: Any) -> bytes:
    """Return the RLP encoding of an integer, of bytes, or of a sequence of items; `None` is encoded as no bytes.

    Source: the Yellow Paper, appendix B.

    >>> rlp_encoded([1_024, b"dog", (0, None)]).hex()
    'ca82040083646f67c28080'
    """
    if item is None:
        item = b""
    elif isinstance(item, int):
        item = item.to_bytes((item.bit_length() + 7) // 8)
    if isinstance(item, bytes):
        if len(item) == 1 and item[0] < 0x80:
            return item
        first, content = 0x80, item
    else:
        first, content = 0xC0, b"".join(map(rlp_encoded, item))
    if len(content) < 56:
        return (first + len(content)).to_bytes() + content
    size = len(content).to_bytes((len(content).bit_length() + 7) // 8)
    return (first + 55 + len(size)).to_bytes() + size + content


def signer(digest: bytes, signature: Signature) -> bytes:
    """Return the address whose key signed a hash.

    Parameters
    ----------
    digest : the hash, 32 bytes.
    signature : signature whose `v` is the y parity, 0 or 1.

    Returns
    -------
    bytes of length 20.

    Raises
    ------
    InvalidInput : a signature from which no key can be recovered.
    """
    from coincurve import PublicKey

    try:
        compact = signature.r.to_bytes(32, "big") + signature.s.to_bytes(32, "big") + bytes([signature.v])
        key = PublicKey.from_signature_and_message(compact, digest, hasher=None)
    except (ValueError, OverflowError) as error:
        raise InvalidInput("signature", "expected a signature from which a key can be recovered", signature) from error
    return keccak256(key.format(compressed=False)[1:])[12:]
