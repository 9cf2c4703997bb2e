"""The two generations of the state tree, which differ in the hash function and in the encoding of data for hashing.

Encoders return the bytes that the hash function absorbs. With Poseidon2, each KoalaBear element encodes two bytes of
data (a "limb"), so that 16 bytes of data become a block of 32 bytes. With MiMC, a word that is always below the field's
order is encoded as one BLS12-377 element; any other word is encoded as two elements, one for each half.

Source: Consensys/shomei at 3f47bed (Poseidon2) and tag 2.3.0 (MiMC).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from feemodel._extras import has_native
from feemodel.checks import choice
from feemodel.errors import InvalidInput
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import WORD_SIZE
from feemodel.ledger.hashing import BLOCK_SIZE, MIMC_ORDER, POSEIDON2_ORDER, pieces

if TYPE_CHECKING:
    from feemodel.ledger.rows import Leaf

DEPTH = 40  # number of levels below the sub root; leaf indices are 0 to 2**40 - 1
HEAD, TAIL = 0, 1  # leaf indices of the two ends of the linked list
FIRST_FREE = 2
HASH_SIZE = 32
PIECE_SIZE = 16  # size of the pieces in which code is hashed [byte]
NOTHING = bytes(HASH_SIZE)  # hash of an empty leaf, hval of the head leaf and of the tail leaf, hkey of the head leaf


@dataclass(frozen=True, eq=False)
class Scheme:
    """One generation of the state tree: a hash function, and an encoding of data for hashing.

    Parameters
    ----------
    name : "poseidon2" or "mimc".
    order : number of elements of the field of the hash function.
    tail_key : hashed key of the last leaf in the linked list, larger than all other hashed keys [32 bytes].
    numbers : function that encodes concatenated 32-byte integers below 2**128 for a message to hash.
    plain : inverse of `numbers`: function that decodes 32-byte integers from a message to hash.
    words : function that encodes concatenated 32-byte words for a message to hash.
    address_word : function that converts an address to 32 bytes, which `numbers` encodes for a message to hash.
    pieces : function that encodes concatenated 16-byte pieces of code for a message to hash.
    empty_code_hash : code hash of an account without code, which is the hash of one zero block.
    empty_sub_root : sub root of a tree that has only a head leaf and a tail leaf.
    empty_root : root of an empty tree.
    """

    name: str
    order: int
    tail_key: bytes
    numbers: Callable[[bytes], bytes]
    plain: Callable[[bytes], bytes]
    words: Callable[[bytes], bytes]
    address_word: Callable[[bytes], bytes]
    pieces: Callable[[bytes], bytes]
    empty_code_hash: bytes
    empty_sub_root: bytes
    empty_root: bytes

    def digest(self, data: bytes) -> bytes:
        """Return the hash of a message; with MiMC, the length of a message is a multiple of 32 bytes.

        Raises `InvalidInput` if the length is not allowed, or if an element is not below the field's order.

        >>> POSEIDON2.digest(bytes(32)).hex()
        '0656ab853b3f52840362a8177e217b630c3f876b11e848365145aa24220647fc'
        >>> MIMC.digest(bytes(32)).hex()
        '0134373b65f439c874734ff51ea349327c140cde2e47a933146e6f9f2ad8eb17'
        """
        return self.digests(data, len(data)) if data else bytes(BLOCK_SIZE)

    def digests(self, data: bytes, size: int) -> bytes:
        """Return the concatenated 32-byte hashes of many concatenated messages, all of `size` bytes.

        Raises `InvalidInput` for a length that is not a multiple of `size`, and for messages that `digest` rejects.

        >>> POSEIDON2.digests(bytes(64), 32) == 2 * POSEIDON2.digest(bytes(32))
        True
        """
        if size < 1 or len(data) % size:
            raise InvalidInput("data", f"expected whole messages of {size:,} bytes", len(data))
        found = self.compiled(data, size)
        if found is None:
            raise InvalidInput("data", f"expected whole elements below the order of the field, {self.order}", data)
        return found

    def path_roots(self, nodes: bytes, siblings: bytes, indices: Sequence[int]) -> bytes:
        """Return the roots of Merkle paths of equal length, from concatenated hashes and indices of the lowest nodes.

        `siblings` has each path's siblings upwards; the lowest bit of an index is 1 if the first sibling is on the
        left. Raises `InvalidInput` for an element that is not below the field's order.

        >>> POSEIDON2.path_roots(bytes(32), bytes(32), [0]) == POSEIDON2.digest(bytes(64))
        True
        """
        hashes, beside, height = pieces(nodes, BLOCK_SIZE), pieces(siblings, BLOCK_SIZE), len(siblings) // len(nodes)
        for level in range(height):
            pairs = zip(indices, hashes, beside[level::height], strict=True)
            joined = b"".join([right + left if index >> level & 1 else left + right for index, left, right in pairs])
            hashes = pieces(self.digests(joined, 2 * BLOCK_SIZE), BLOCK_SIZE)
        return b"".join(hashes)

    @cached_property
    def compiled(self) -> Callable[[bytes, int], bytes | None]:
        """`digests` by the native package or else in Python; `None` for an element that is not below the order."""
        if has_native():
            from feemodel_native import Hash as NativeHash

            return NativeHash(self.name).digests
        from feemodel.ledger.plain_hashes import DIGESTS

        return DIGESTS[self.name]

    def hashes(self, messages: bytes, count: int) -> list[bytes]:
        """Return the hashes of `count` concatenated messages of one size."""
        return pieces(self.digests(messages, len(messages) // count), HASH_SIZE) if count else []

    def leaf(self, leaf: "Leaf") -> bytes:
        """Return the bytes of a leaf: indices of the neighbouring leaves, hashed key, and hash of the value."""
        links = leaf.previous.to_bytes(WORD_SIZE) + leaf.following.to_bytes(WORD_SIZE)
        return self.numbers(links) + leaf.hkey + leaf.hval

    def leaf_hashes(self, leaves: Sequence["Leaf"]) -> bytes:
        """Return the concatenated hashes of leaves, computed in one batch."""
        links = np.zeros((len(leaves), 2, WORD_SIZE // 8), dtype=">u8")
        links[:, 0, -1], links[:, 1, -1] = [leaf.previous for leaf in leaves], [leaf.following for leaf in leaves]
        hkeys, hvals = b"".join([leaf.hkey for leaf in leaves]), b"".join([leaf.hval for leaf in leaves])
        encoded = side_by_side(len(leaves), self.numbers(links.tobytes()), hkeys, hvals)
        return self.digests(encoded, len(encoded) // len(leaves))

    def sub_roots(self, digests: bytes, height: int) -> list[bytes]:
        """Return the sub roots of trees from the hashes of their leftmost nodes at a height; all others are empty."""
        for zero in self.zeros[height:DEPTH] if digests else ():
            digests = self.digests(b"".join([digest + zero for digest in pieces(digests, HASH_SIZE)]), 2 * HASH_SIZE)
        return pieces(digests, HASH_SIZE)

    def top(self, next_free: int, sub_root: bytes) -> bytes:
        """Return the bytes of the top node, whose hash is the root."""
        return self.numbers(next_free.to_bytes(WORD_SIZE)) + sub_root

    def account_key(self, address: bytes) -> bytes:
        """Return the hashed key of an account."""
        return self.digest(self.numbers(self.address_word(address)))

    def account_keys(self, addresses: Sequence[bytes]) -> list[bytes]:
        """Return the hashed keys of accounts, computed in one batch."""
        return self.hashes(self.numbers(b"".join(map(self.address_word, addresses))), len(addresses))

    def word_hash(self, word: bytes) -> bytes:
        """Return the hash of a storage slot or of the value of a slot."""
        return self.digest(self.words(word))

    def word_hashes(self, words: Sequence[bytes]) -> list[bytes]:
        """Return the hashes of storage slots or of slot values, computed in one batch."""
        return self.hashes(self.words(b"".join(words)), len(words))

    def code_hash(self, code: bytes) -> bytes:
        """Return the hash of a contract's code; empty code has the hash of one zero block."""
        if not code:
            return self.empty_code_hash
        whole = len(code) - len(code) % PIECE_SIZE
        last = code[whole:].rjust(PIECE_SIZE, b"\0") if whole < len(code) else b""
        return self.digest(self.pieces(code[:whole] + last))

    @cached_property
    def zeros(self) -> tuple[bytes, ...]:
        """Hashes of empty subtrees, for each height from 0 to 40."""
        zeros = [NOTHING]
        for _ in range(DEPTH):
            zeros.append(self.digest(2 * zeros[-1]))
        return tuple(zeros)


def side_by_side(count: int, *columns: bytes) -> bytes:
    """Concatenate columns into messages; each column contains one part of every message."""
    parts = [np.frombuffer(column, dtype=np.uint8).reshape(count, -1) for column in columns]
    return np.concatenate(parts, axis=1).tobytes()


def _limbs(data: bytes) -> bytes:
    """Encode each pair of bytes as a four-byte element."""
    spread = bytearray(2 * len(data))
    spread[2::4], spread[3::4] = data[::2], data[1::2]
    return bytes(spread)


def _pairs(limbs: bytes) -> bytes:
    """Decode the pair of bytes in each four-byte element."""
    data = bytearray(len(limbs) // 2)
    data[::2], data[1::2] = limbs[2::4], limbs[3::4]
    return bytes(data)


def _widened(pieces: bytes) -> bytes:
    """Encode each piece of 16 bytes as a 32-byte element."""
    return b"".join(bytes(16) + pieces[start : start + 16] for start in range(0, len(pieces), 16))


def _low_halves_first(words: bytes) -> bytes:
    """Encode each word as two elements: first the low half, then the high half."""
    starts = range(0, len(words), WORD_SIZE)
    return _widened(b"".join(words[start + 16 : start + 32] + words[start : start + 16] for start in starts))


def _in_two_pieces(address: bytes) -> bytes:
    """Return the first 16 bytes of an address, and then the last four bytes, right-aligned in 16 bytes."""
    return address[:16] + address[16:].rjust(16, b"\0")


# The hashes of empty trees are constants, because each opened ledger needs these hashes and computing them is slow.
POSEIDON2 = Scheme(
    name="poseidon2",
    order=POSEIDON2_ORDER,
    tail_key=(POSEIDON2_ORDER - 1).to_bytes(4) * 8,
    numbers=_limbs,
    plain=_pairs,
    words=_limbs,
    address_word=_in_two_pieces,
    pieces=_limbs,
    empty_code_hash=bytes.fromhex("0656ab853b3f52840362a8177e217b630c3f876b11e848365145aa24220647fc"),
    empty_sub_root=bytes.fromhex("3a00a8e34a16f8a1225fee734816edb326f783bd6678d793345a28f046586ba6"),
    empty_root=bytes.fromhex("2fa0344a2fab2b310d2af3155c330261263f887379aef18b4941e3ea1cc59df7"),
)
MIMC = Scheme(
    name="mimc",
    order=MIMC_ORDER,
    tail_key=(MIMC_ORDER - 1).to_bytes(WORD_SIZE),
    numbers=bytes,  # unchanged
    plain=bytes,
    words=_low_halves_first,
    address_word=lambda address: address.rjust(WORD_SIZE, b"\0"),
    pieces=_widened,
    empty_code_hash=bytes.fromhex("0134373b65f439c874734ff51ea349327c140cde2e47a933146e6f9f2ad8eb17"),
    empty_sub_root=bytes.fromhex("0951bfcd4ac808d195af8247140b906a4379b3f2d37ec66e34d2f4a5d35fa166"),
    empty_root=bytes.fromhex("07977874126658098c066972282d4c85f230520af3847e297fe7524f976873e5"),
)
SCHEMES = {scheme.name: scheme for scheme in (POSEIDON2, MIMC)}


def scheme_of(name: str) -> Scheme:
    """Return the scheme with this name.

    Raises `InvalidInput` for a name other than "poseidon2" and "mimc".
    """
    return SCHEMES[choice("hashing", name, SCHEMES)]


ACCOUNT_SIZE = 6 * WORD_SIZE
EMPTY_KECCAK = keccak256(b"")


class AccountLeaf(NamedTuple):
    """Account after a block.

    Parameters
    ----------
    nonce : integer below 2**256.
    balance : integer below 2**256 [wei].
    code_size : integer below 2**256 [byte].
    storage_root : root of the account's storage tree.
    code_hash : hash of the code, computed with the hash function of the tree.
    keccak_code_hash : Keccak-256 of the code.
    """

    nonce: int
    balance: int
    storage_root: bytes
    code_hash: bytes
    keccak_code_hash: bytes
    code_size: int

    def to_bytes(self) -> bytes:
        """Return the account as 192 bytes (its "flat value"), as in proofs."""
        numbers = self.nonce.to_bytes(WORD_SIZE) + self.balance.to_bytes(WORD_SIZE)
        hashes = self.storage_root + self.code_hash + self.keccak_code_hash
        return numbers + hashes + self.code_size.to_bytes(WORD_SIZE)

    @classmethod
    def from_bytes(cls, value: bytes) -> "AccountLeaf":
        """Decode an account from its flat value; raises `InvalidInput` for a value that is not 192 bytes long."""
        if len(value) != ACCOUNT_SIZE:
            raise InvalidInput("account value", f"expected {ACCOUNT_SIZE} bytes", len(value))
        words = (value[start : start + WORD_SIZE] for start in range(0, ACCOUNT_SIZE, WORD_SIZE))
        nonce, balance, storage_root, code_hash, keccak, size = words
        return cls(
            int.from_bytes(nonce), int.from_bytes(balance), storage_root, code_hash, keccak, int.from_bytes(size)
        )


def account_hashes(scheme: Scheme, values: Sequence[bytes]) -> list[bytes]:
    """Return the hashes of flat account values. The storage root and the code hash are hashed without further encoding.

    Raises `InvalidInput` for a root outside the field.
    """
    if not values:
        return []
    words = np.frombuffer(b"".join(values), f"V{WORD_SIZE}").reshape(len(values), -1)
    nonce_and_balance, root_and_code_hash = words[:, :2].tobytes(), words[:, 2:4].tobytes()
    keccak, size = words[:, 4].tobytes(), words[:, 5].tobytes()
    encoded = scheme.numbers(nonce_and_balance), root_and_code_hash, scheme.words(keccak), scheme.numbers(size)
    return scheme.hashes(side_by_side(len(values), *encoded), len(values))
