"""Taiko: the base fee depends on the block time (EIP-4396), and a share goes to the proposer; no fee for L1 data.

Source: taikoxyz/taiko-mono at b9c5bb2 (2026-08-21): packages/protocol/docs/Derivation.md; EIP-4396.
"""

from typing import Annotated

from feemodel.checks import require
from feemodel.ethereum.fee_market import moved_base_fee
from feemodel.exact import maximum, minimum
from feemodel.formula import formula
from feemodel.quantities import BaseFee, Gas, GasUsed, Quantity, Seconds, Whole
from feemodel.rollups.chains import Parameters
from feemodel.rollups.factors import Columns, Factors, Rule

ELASTICITY = 2
BASE_FEE_CHANGE_DENOMINATOR = 8
MAX_TARGET_PERCENT = 95  # maximum of the adjusted target [% of the gas limit]
BLOCK_TIME_TARGET = 2  # s
GAS_LIMIT = 240_000_000  # gas limit of a block
MIN_BASE_FEE, MAX_BASE_FEE = 10_000_000, 1_000_000_000  # of mainnet [wei / gas]
INITIAL_BASE_FEE = 25_000_000  # wei / gas

TargetedGasLimit = Annotated[Whole, Quantity("gas", "gas limit of the block", minimum=ELASTICITY)]


@formula
def adjusted_target(gas_limit: TargetedGasLimit, block_time: Seconds) -> Gas:
    """Return a block's gas target: min(gas_limit // 2 · block_time // 2, gas_limit · 95 // 100).

    `block_time` is the time since the previous block.

    >>> adjusted_target(240_000_000, 3)
    180000000
    """
    by_time = gas_limit // ELASTICITY * block_time // BLOCK_TIME_TARGET
    return minimum(by_time, gas_limit * MAX_TARGET_PERCENT // 100)


@formula
def next_base_fee(
    base_fee: BaseFee,
    gas_used: GasUsed,
    gas_limit: TargetedGasLimit,
    block_time: Seconds,
    *,
    min_base_fee: BaseFee = MIN_BASE_FEE,
    max_base_fee: BaseFee = MAX_BASE_FEE,
) -> BaseFee:
    """Return the base fee of the next block.

    The base fee changes by base_fee · |gas_used − adjusted| // target // 8, where target is gas_limit // 2, and
    adjusted is adjusted_target(gas_limit, block_time). If the base fee rises, it rises by at least 1 wei. The base fee
    stays between its minimum and maximum. All arguments are of the parent block; `block_time` is the time
    between the parent block and the block before it.

    The time between the parent block and the block before it was 2 s, and the parent block used three quarters of its
    gas limit:

    >>> next_base_fee(25_000_000, 180_000_000, 240_000_000, 2)
    26562500
    """
    require("gas_used", "expected at most the gas limit", gas_used, gas_used <= gas_limit)
    target, adjusted = gas_limit // ELASTICITY, adjusted_target.core(gas_limit, block_time)
    moved = moved_base_fee.core(base_fee, gas_used, target, adjusted, BASE_FEE_CHANGE_DENOMINATOR)
    return minimum(maximum(moved, min_base_fee), max_base_fee)


def taiko_rule(parameters: Parameters) -> Rule:
    """Return Taiko's rule: gas · minimum base fee, without a fee for L1 data.

    >>> from feemodel.rollups.rules import rule
    >>> rule("taiko").fees({"gas": 21_000}, base_fee=10**9, blob_base_fee=1)
    Fees(l1=0, l2=210000000000)
    """
    terms = parameters.known("min_base_fee")

    def factors(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        return Factors(0, 0, 1, columns["gas"], terms["min_base_fee"])

    return Rule(parameters, ("gas",), tuple(terms), factors)


def taiko_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return the largest base fee of Taiko after some full blocks with the same timestamp.

    Each such block raises the base fee by a quarter, up to the chain's maximum. Any even gas limit gives this bound.
    """
    bounds = parameters.known("min_base_fee", "max_base_fee")
    for _ in range(blocks):
        if base_fee >= bounds["max_base_fee"]:
            break
        base_fee = next_base_fee.core(base_fee, GAS_LIMIT, GAS_LIMIT, 0, **bounds)
    return base_fee
