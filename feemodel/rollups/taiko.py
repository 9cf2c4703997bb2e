"""Taiko: the base fee depends on the block time (EIP-4396), and a share goes to the proposer; no fee for L1 data.

Source: taikoxyz/taiko-mono at b9c5bb2 (2026-08-21): packages/protocol/docs/Derivation.md; EIP-4396.
"""

from dataclasses import dataclass

from feemodel.checks import ArrayLike, check_fields, check_int64, instance, whole
from feemodel.ethereum.fee_market import moved_base_fee
from feemodel.formula import formula
from feemodel.integers import Whole, maximum, minimum, multiply_divide, require

ELASTICITY = 2
BASE_FEE_CHANGE_DENOMINATOR = 8
MAX_TARGET_PERCENT = 95  # maximum of the adjusted target [% of the gas limit]
BLOCK_TIME_TARGET = 2  # s


@dataclass(frozen=True, slots=True, kw_only=True)
class TaikoChain:
    """Minimum and maximum base fee of a chain."""

    name: str
    min_base_fee: int  #: [wei / gas]
    max_base_fee: int = 1_000_000_000  #: [wei / gas]
    initial_base_fee: int = 25_000_000  #: [wei / gas]

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("min_base_fee", "max_base_fee"):
            check_int64(name, getattr(self, name))


MAINNET = TaikoChain(name="taiko-mainnet", min_base_fee=10_000_000)


def adjusted_target(gas_limit: Whole, block_time: Whole) -> Whole:
    """Return a block's gas target: min(gas_limit // 2 · block_time // 2, gas_limit · 95 // 100) [gas].

    Parameters
    ----------
    gas_limit : gas limit of the block, at least 2 [gas].
    block_time : time since the previous block [s].

    The arguments broadcast. Raises `InvalidInput` for an argument that is not an integer in range, and `Int64Overflow`
    if a product does not fit into an int64 array.

    >>> adjusted_target(240_000_000, 3)
    180000000
    """
    limit = whole("gas_limit", gas_limit, minimum=ELASTICITY, unit="gas")
    return _adjusted_target(limit, whole("block_time", block_time, unit="seconds"))


def _adjusted_target(gas_limit: Whole, block_time: Whole) -> Whole:
    return minimum(
        multiply_divide("block_time", gas_limit // ELASTICITY, block_time, BLOCK_TIME_TARGET),
        multiply_divide("gas_limit", gas_limit, MAX_TARGET_PERCENT, 100),
    )


@formula
def next_base_fee(
    base_fee: ArrayLike,
    gas_used: ArrayLike,
    gas_limit: ArrayLike,
    block_time: ArrayLike,
    *,
    chain: TaikoChain = MAINNET,
) -> Whole:
    """Return the base fee of the next block [wei / gas].

    The base fee changes by base_fee · |gas_used − adjusted| // target // 8, where target is gas_limit // 2, and
    adjusted is adjusted_target(gas_limit, block_time). If the base fee rises, it rises by at least 1 wei. The base fee
    stays between the chain's minimum and maximum.

    Parameters
    ----------
    base_fee : base fee of the parent block [wei / gas].
    gas_used, gas_limit : gas used and gas limit of the parent block [gas].
    block_time : time between the parent block and the block before it [s].
    chain : chain, with the minimum and the maximum of its base fee.

    The time between the parent block and the block before it was 2 s, and the parent block used three quarters of its
    gas limit:

    >>> next_base_fee(25_000_000, 180_000_000, 240_000_000, 2)
    26562500
    """
    instance("chain", chain, TaikoChain)
    fee, used = whole("base_fee", base_fee, unit="wei"), whole("gas_used", gas_used, unit="gas")
    limit = whole("gas_limit", gas_limit, minimum=ELASTICITY, unit="gas")
    require("gas_used", "expected at most the gas limit", used, used <= limit)
    return _next_base_fee(fee, used, limit, whole("block_time", block_time, unit="seconds"), chain)


def _next_base_fee(base_fee: Whole, gas_used: Whole, gas_limit: Whole, block_time: Whole, chain: TaikoChain) -> Whole:
    target: Whole = gas_limit // ELASTICITY
    adjusted = _adjusted_target(gas_limit, block_time)
    moved = moved_base_fee(base_fee, gas_used, target, adjusted, BASE_FEE_CHANGE_DENOMINATOR)
    return minimum(maximum(moved, chain.min_base_fee), chain.max_base_fee)
