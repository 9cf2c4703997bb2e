"""Price discovery of blobs: number of blocks until the blob base fee rises to a given price.

By the exponential formula, a block with `used` blobs multiplies the fee by e^((used − target) · 131,072 /
update_fraction). A rise from 1 wei to a price takes ln(price) · update_fraction / (131,072 · (used − target)) blocks.
This module uses the integer arithmetic of EIP-4844 and EIP-7918.

Source: the motivations of EIP-7762 (Resnick, Crapis, Dietrichs, 2024-08-31) and EIP-7918 (Elowsson, Adams, D'Amato,
2025-03-25).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from feemodel.checks import check_limit, instance, sequence
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import GAS_PER_BLOB, blob_base_fee, next_excess_blob_gas
from feemodel.quantities import Quantity
from models.saturation import MAX_BLOCKS, L1State, base_fee_after_block

HIGHEST_PRICE = 2**62  # maximum price to reach [wei / gas]; the last fee may be higher, but fits in 64 bits


def price_discovery(price: int, l1: L1State, *, blobs: Sequence[int] | None = None) -> NDArray[np.int64]:
    """Return the blob base fee block by block, from the initial fee in `l1` until the fee is at least `price`.

    Parameters
    ----------
    price : blob base fee to reach, from 1 to 2**62 [wei / gas].
    l1 : protocol rules, and fees at the start. The base fee is updated in each block for the given `gas_used_ratio`;
        `other_blobs` is ignored.
    blobs : number of blobs in each block, repeated if more blocks are needed; `None` means that all blocks are full.

    Returns
    -------
    Blob base fees at the start and after each block, of shape (blocks + 1,) [wei / gas].

    Raises
    ------
    InvalidInput : an empty `blobs`, more blobs than the maximum, or blobs with which the fee never reaches the price.
    LimitExceeded : more than 1,000,000 blocks.

    With a target of 3 and a maximum of 6 blobs, a full block adds the gas of three blobs to the excess. In the example
    in EIP-7762, the excess must rise to 63,070,646 gas, which takes 63,070,646 / 393,216 = 160.4 blocks. After 161
    blocks, the blob base fee has reached the price:

    >>> from models.saturation import upgrade
    >>> path = price_discovery(160_217_286, L1State(rules=upgrade("Cancun")))
    >>> len(path) - 1, int(path[-2]) < 160_217_286 <= int(path[-1])
    (161, True)
    """
    target = Quantity("wei", minimum=1, maximum=HIGHEST_PRICE).check_one("price", price)
    rules = instance("l1", l1, L1State).rules
    given = (rules.maximum,) if blobs is None else tuple(sequence("blobs", blobs))
    if not given:
        raise InvalidInput("blobs", "expected at least one block", blobs)
    used = [Quantity("blob", maximum=rules.maximum).check_one("blobs", one) * GAS_PER_BLOB for one in given]
    excess, base_fee, schedule = l1.excess_blob_gas, l1.base_fee, l1.schedule
    fees = [blob_base_fee(excess, 0, schedule)]
    if fees[0] > HIGHEST_PRICE:
        raise InvalidInput("l1.blob_base_fee", "expected at most 2**62 wei", fees[0])
    round_start = (excess, base_fee)  # excess blob gas and base fee at the start of the current pass through `blobs`
    while fees[-1] < target:
        blocks = len(fees) - 1
        check_limit(blocks + 1, "blocks until the price", MAX_BLOCKS)
        excess = next_excess_blob_gas(excess, used[blocks % len(used)], base_fee, 0, schedule)
        base_fee = base_fee_after_block(base_fee, l1.gas_used_ratio)
        fees.append(blob_base_fee(excess, 0, schedule))
        if (blocks + 1) % len(used) == 0:
            # If one pass through `blobs` increases neither the excess nor the base fee, the price is never reached.
            if excess <= round_start[0] and base_fee <= round_start[1]:
                raise InvalidInput(
                    "blobs",
                    f"expected enough blobs for the fee to reach {target:,} wei; the fee reaches {max(fees):,} wei",
                    blobs,
                )
            round_start = (excess, base_fee)
    return np.array(fees, dtype=np.int64)
