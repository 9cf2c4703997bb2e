"""The two hash functions of the state tree, computed by the native package or in Python.

Since the end of March 2026, the tree uses Poseidon2 over the KoalaBear field; until then, it used MiMC over the scalar
field of BLS12-377. Both hash functions split a message into blocks of 32 bytes and absorb the blocks in order into a
state of 32 bytes:

- Poseidon2: a block is eight big-endian elements, `state = permutation(state ‖ block)[8:] + block`. A short last block
  is padded with zeros on the left.
- MiMC: a block m is one big-endian element, `x = m; for c in constants: x = (x + state + c)**17`, then
  `state = x + 2·state + m` (Miyaguchi-Preneel).

Source: `Poseidon2.sol` and `Mimc.sol` of Consensys/linea-monorepo at cb180134 (2026-06), `field/koalabear/poseidon2` of
Consensys/gnark-crypto at e07d4d57, `LibGnark` of hyperledger/besu-native at 8f75d567; "Poseidon2: A Faster Version of
the Poseidon Hash Function" (eprint 2023/323).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from feemodel._extras import has_native
from feemodel.errors import InvalidInput

POSEIDON2_ORDER = 2**31 - 2**24 + 1
MIMC_ORDER = 8444461749428370424248824938781546531375899335154063827935233455917409239041
BLOCK_SIZE = 32  # size of a digest, and of the blocks into which a message is divided [byte]


@dataclass(frozen=True, eq=False)
class Hash:
    """A hash function of the state tree.

    Parameters
    ----------
    name : "poseidon2" or "mimc".
    order : number of elements of the field.
    element_size : size of an element in a message [byte].
    """

    name: str
    order: int
    element_size: int

    def digest(self, data: bytes) -> bytes:
        """Return the hash of a message.

        Parameters
        ----------
        data : message whose elements are below the field's order; for MiMC, the length of the message must be a
            multiple of 32 bytes.

        Raises `InvalidInput` if the length is not allowed, or if an element is not below the field's order.

        >>> from feemodel.ledger.scheme import MIMC, POSEIDON2
        >>> POSEIDON2.digest(bytes(32)).hex()
        '0656ab853b3f52840362a8177e217b630c3f876b11e848365145aa24220647fc'
        >>> MIMC.digest(bytes(32)).hex()
        '0134373b65f439c874734ff51ea349327c140cde2e47a933146e6f9f2ad8eb17'
        """
        return self.digests(data, len(data)) if data else bytes(BLOCK_SIZE)

    def digests(self, data: bytes, size: int) -> bytes:
        """Return the concatenated 32-byte hashes of many messages of equal size.

        Parameters
        ----------
        data : the concatenated messages.
        size : size of one message, at least 1 [byte].

        Raises `InvalidInput` for a length that is not a multiple of `size`, and for messages that `digest` rejects.

        >>> from feemodel.ledger.scheme import POSEIDON2
        >>> POSEIDON2.digests(bytes(64), 32) == 2 * POSEIDON2.digest(bytes(32))
        True
        """
        if size < 1 or len(data) % size:
            raise InvalidInput("data", f"expected whole messages of {size:,} bytes", len(data))
        if self.element_size == BLOCK_SIZE and size % BLOCK_SIZE:
            raise InvalidInput("data", f"expected messages whose length is a multiple of {BLOCK_SIZE} bytes", size)
        found = self.compiled(data, size)
        if found is None:
            raise InvalidInput("data", f"expected elements below the order of the field, {self.order}", data)
        return found

    def path_roots(self, nodes: bytes, siblings: bytes, indices: Sequence[int]) -> bytes:
        """Return the roots of Merkle paths, in which each node is the hash of its two children.

        Parameters
        ----------
        nodes : concatenated 32-byte hashes at the lower ends of the paths.
        siblings : concatenated sibling hashes of each path, from its lower end upwards; all paths have the same length.
        indices : index of each node on its level; the lowest bit is 1 if the first sibling is on the left.

        Raises `InvalidInput` for an element that is not below the field's order.

        >>> from feemodel.ledger.scheme import POSEIDON2
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


def pieces(data: bytes, size: int) -> list[bytes]:
    """Cut data into pieces of `size` bytes.

    >>> pieces(b"aabb", 2)
    [b'aa', b'bb']
    """
    return [data[start : start + size] for start in range(0, len(data), size)]
