"""Attack that fills L1 blocks with blobs: number of blocks that a budget fills, and time until the fee falls again.

In the published model (arXiv 2509.17126, Figure 5a; `l1da.py` of StefanosChaliasos/rollup-tfm-attacks at 28831ba), each
full block multiplies the blob base fee by 1.15, and after the attack the fee falls as fast as it rose. By the rules of
the protocol, a full block multiplies the fee by e^((maximum − target) · 131,072 / update_fraction), which is 1.0817 on
all schedules since Prague. If the target number of blobs is more than half of the maximum, the blob base fee falls
faster than it rises. With EIP-7918, the fee does not fall any further when it is below base_fee / 16.
"""

from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

from feemodel.arguments import check_fields, check_of, checked
from feemodel.checks import INT64_MAX, check_limit, choice
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import (
    BLOB_BASE_COST,
    ELASTICITY,
    GAS_PER_BLOB,
    MAINNET,
    MIN_BLOB_BASE_FEE,
    BlobRules,
    Schedule,
    blob_base_fee,
    excess_behind,
    next_base_fee,
    next_excess_blob_gas,
)
from feemodel.quantities import GasPrice, Quantity, Wei
from feemodel.simulation.quantities import IN_WEI, Amount, FactorAboveZero

L1Price = Annotated[int, Quantity("wei / gas", lowest=1_000, maximum=INT64_MAX, hint=IN_WEI)]
Budget = Annotated[int, Quantity("wei", lowest=100_000, hint="in wei; 1 ETH are 10**18")]
Growth = Annotated[float, Quantity("1", double=True, maximum=10, hint="a factor; 15 % more = 1.15")]
Blobs = Annotated[int, Quantity("blob", minimum=1, maximum=INT64_MAX)]
PUBLISHED_GROWTH = 1.15  # factor by which a full block multiplies the blob base fee [1]
PUBLISHED_BLOBS = 9  # blobs in a full block
GAS_LIMIT = 60_000_000  # assumed gas limit of an L1 block; only gas used / limit matters [gas]
MAX_BLOCKS = 1_000_000


def upgrade(name: str) -> BlobRules:
    """Return the blob rules of the mainnet upgrade with the given name.

    >>> upgrade("BPO2").maximum
    21
    """
    return {row.name: row for row in MAINNET.rows}[choice("upgrade", name, tuple(row.name for row in MAINNET.rows))]


@dataclass(frozen=True, slots=True, kw_only=True)
class L1State:
    """L1 fees at the start of an attack, and the use of L1 by other users during the attack.

    >>> L1State(base_fee=69_000_000, blob_base_fee=4_000_000).excess_blob_gas
    177628090
    """

    rules: BlobRules = MAINNET.rows[-1]  #: blob rules
    base_fee: L1Price = 1_000_000_000  #: base fee
    blob_base_fee: GasPrice = MIN_BLOB_BASE_FEE  #: blob base fee
    tip: L1Price = 0  #: priority fee of postings
    other_blobs: int = 0  #: blobs of other users in every block, included before the rollup's blobs
    #: Gas used in every block divided by the gas limit. At a ratio of 0.5, the base fee is constant; at a ratio of
    #: 1, the base fee rises by 1/8 in each block.
    gas_used_ratio: Annotated[float, Quantity("1", double=True, maximum=1)] = 0.5

    def __post_init__(self) -> None:
        check_fields(self)
        if self.other_blobs > self.rules.maximum:
            raise InvalidInput("other_blobs", f"expected at most {self.rules.maximum}, a full block", self.other_blobs)

    @property
    def schedule(self) -> Schedule:
        """Schedule for `feemodel.ethereum.fee_market` in which the blob rules `rules` apply at all times."""
        return Schedule((replace(self.rules, timestamp=0),))

    @property
    def excess_blob_gas(self) -> int:
        """Smallest excess blob gas at which the blob base fee is at least `blob_base_fee` [gas]."""
        return excess_behind(self.blob_base_fee, self.rules.update_fraction)

    @property
    def reserve(self) -> int:
        """Reserve price of blobs by EIP-7918, base_fee / 16; 0 if the blob rules have no reserve price [wei / gas].

        >>> L1State(base_fee=1_000_000_000).reserve
        62500000
        """
        return self.base_fee * BLOB_BASE_COST // GAS_PER_BLOB if self.rules.reserve else 0


class Saturation(NamedTuple):
    """Result of an attack that fills L1's blob space."""

    blocks: int  #: number of blocks that the budget fills
    spent: int  #: cost of the filled blocks [wei]
    blob_base_fee: int  #: blob base fee after the last filled block [wei / gas]
    cooling: int | None  #: number of blocks until the blob base fee falls to twice its initial value; `None`: never


@checked
def published_saturation(
    budget: Amount,
    *,
    growth: Growth = PUBLISHED_GROWTH,
    blobs: Blobs = PUBLISHED_BLOBS,
    blob_base_fee: FactorAboveZero = 1.0,
) -> int:
    """Return how many full blocks a budget pays for, if every full block multiplies the blob base fee by `growth`.

    Parameters
    ----------
    budget : budget of the attacker [wei].
    growth : factor by which each full block multiplies the blob base fee, above 1 [1].
    blobs : number of blobs in a full block.
    blob_base_fee : blob base fee of the first block [wei / gas].

    Raises
    ------
    InvalidInput : a number is not valid, or `growth` is not above 1.
    LimitExceeded : the budget pays for more than 1,000,000 blocks.

    >>> [published_saturation(ether * 1e18) for ether in (1, 10, 100)]
    [182, 199, 215]
    """
    if growth <= 1.0:
        raise InvalidInput("growth", "expected above 1", growth)
    first = blobs * GAS_PER_BLOB * blob_base_fee
    spent, blocks = 0.0, 0
    while spent + first * growth**blocks <= budget:
        spent += first * growth**blocks
        blocks += 1
        check_limit(blocks, "blocks that the budget fills", MAX_BLOCKS)
    return blocks


@checked
def saturate(budget: Budget, l1: L1State | None = None, *, blobs_while_cooling: int = 0) -> Saturation:
    """Simulate, by the rules of the protocol, an attack that fills L1 blocks with blobs until the budget is spent.

    The attacker buys all blobs of every block. During the attack, the base fee follows EIP-1559 for blocks that use the
    share `l1.gas_used_ratio` of the gas limit. After the attack, the base fee is constant.

    Parameters
    ----------
    budget : budget of the attacker [wei].
    l1 : L1 fees at the start; `None` means a blob base fee of 1 wei, a base fee of 1 gwei and the rules of BPO2.
    blobs_while_cooling : number of blobs in every block after the attack, while the blob base fee falls.

    Returns
    -------
    Number of full blocks, their cost, the blob base fee after the last full block, and the number of blocks until the
    fee has fallen to twice the initial fee.

    Raises
    ------
    InvalidInput : a number is not valid.
    LimitExceeded : the budget pays for more than 1,000,000 blocks.

    With 1 ETH, an attacker can fill 307 blocks if the blob base fee starts at 1 wei, but only 113 blocks at the fees of
    January 2026:

    >>> saturate(10**18).blocks
    307
    >>> found = saturate(10**18, L1State(base_fee=69_000_000, blob_base_fee=4_000_000))
    >>> found.blocks, found.cooling
    (113, 53)
    """
    held, state, quiet = budget, l1 or L1State(), blobs_while_cooling
    rules = state.rules
    if quiet > rules.maximum:
        raise InvalidInput("blobs_while_cooling", f"expected at most {rules.maximum}, a full block", quiet)
    excess, base_fee, spent, blocks, schedule = state.excess_blob_gas, state.base_fee, 0, 0, state.schedule
    start = fee = int(blob_base_fee(excess, 0, schedule))
    while spent + (cost := rules.maximum * GAS_PER_BLOB * fee) <= held:
        spent, blocks = spent + cost, blocks + 1
        excess = int(next_excess_blob_gas(excess, rules.maximum * GAS_PER_BLOB, base_fee, 0, schedule))
        base_fee = base_fee_after_block(base_fee, state.gas_used_ratio)
        fee = int(blob_base_fee(excess, 0, schedule))
        check_limit(blocks, "blocks that the budget fills", MAX_BLOCKS)
    return Saturation(blocks, spent, fee, _cooling(excess, 2 * start, quiet, base_fee, schedule))


def _cooling(excess: int, target: int, blobs: int, base_fee: int, schedule: Schedule) -> int | None:
    """Return the number of blocks until the blob base fee falls to `target`; `None` if the fee stays above `target`."""
    blocks = 0
    while blob_base_fee(excess, 0, schedule) > target:
        following = int(next_excess_blob_gas(excess, blobs * GAS_PER_BLOB, base_fee, 0, schedule))
        if following >= excess:  # the excess no longer falls in any later block
            return None
        excess, blocks = following, blocks + 1
    return blocks


def base_fee_after_block(base_fee: int, gas_used_ratio: float) -> int:
    """Return the base fee of the block after a block that used a given share of the gas limit [wei / gas].

    >>> base_fee_after_block(8_000_000, 1.0)
    9000000
    """
    fee, share = check_of(Wei)("base_fee", base_fee), check_of(float)("gas_used_ratio", gas_used_ratio)
    if share > 1.0:
        raise InvalidInput("gas_used_ratio", "expected at most 1, which is a full block", gas_used_ratio)
    if share == 1 / ELASTICITY:
        return fee
    return int(next_base_fee(fee, int(share * GAS_LIMIT), GAS_LIMIT))
