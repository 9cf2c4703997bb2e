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

import numpy as np

POSEIDON2_ORDER = 2**31 - 2**24 + 1
MIMC_ORDER = 8444461749428370424248824938781546531375899335154063827935233455917409239041
BLOCK_SIZE = 32  # size of a digest, and of the blocks into which a message is divided [byte]


def pieces(data: bytes, size: int) -> list[bytes]:
    """Cut data into pieces of `size` bytes; the size of the data is a multiple of it.

    >>> pieces(b"aabb", 2)
    [b'aa', b'bb']
    """
    cut: list[bytes] = np.frombuffer(data, f"V{size}").tolist()
    return cut
