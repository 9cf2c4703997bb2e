"""Arbitrum's L2 base fee, which is an exponential function of backlogs of gas.

Since ArbOS 50, a chain can have several gas constraints. Each constraint has a target [gas / s], a window [s] and a
backlog [gas]. The node updates backlogs and base fee by these formulas:

    backlog  = max(0, backlog − target · seconds)                          at the start of a block
    exponent = sum of backlog · 10,000 // (window · target)                [basis points], each term rounded down
    base fee = min_base_fee · A(exponent) // 10,000                        A: `approx_exp_basis_points`
    backlog  = backlog + gas used, without the gas that pays for L1        after each transaction

At the start of each block, the node puts the stored base fee into the header, and then stores the updated base fee.
Therefore, the gas of block N first affects the base fee in the header of block N + 2. A chain without constraints
follows the legacy rule, with one target and a tolerated backlog.

Since ArbOS 60, a chain can price each kind of resource separately (multi-gas), by constraints with a weight for each
kind of resource. Multi-gas pricing is not enabled on Arbitrum One and Nova.

A product that does not fit the node's 64-bit integer type is set to the maximum of this type, as in the node; see
`_saturated_product`.

Source: OffchainLabs/nitro at 6dce8d1 (2026-04-23): arbos/l2pricing/{model, gas_constraint, multi_gas_constraint,
multi_gas_fees, l2pricing}.go, arbos/{block_processor, internal_tx, tx_processor}.go, util/arbmath/{math, bips}.go.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from feemodel.arguments import check_fields, check_of, checked
from feemodel.checks import INT64_MAX, UINT64_MAX, require
from feemodel.errors import InvalidInput
from feemodel.exact import maximum, minimum, where
from feemodel.formula import formula
from feemodel.quantities import WHOLE, BaseFee, Gas, GasPerSecond, GasPrice, Quantity, Seconds, Timestamp, Wei, Whole
from feemodel.rollups.arbitrum import BIPS, version
from feemodel.rollups.chains import Parameters

Bips = Annotated[Whole, Quantity("1e-4", "number in basis points", minimum=None)]
Exponent = Annotated[Whole, Quantity("1e-4", "exponent in basis points")]
TargetGas = Annotated[Whole, Quantity("gas / s", "gas target per second", minimum=1)]
SecondsAboveZero = Annotated[Whole, Quantity("s", "time", minimum=1)]
Target = Annotated[int, Quantity("gas / s", "gas target per second", minimum=1, maximum=UINT64_MAX)]
Window = Annotated[int, Quantity("s", "length of the window", minimum=1, maximum=UINT64_MAX)]
Backlog = Annotated[int, Quantity("gas", "backlog of a constraint", maximum=UINT64_MAX)]
Weight = Annotated[int, Quantity("1", "weight of a kind of resource", maximum=UINT64_MAX)]

EXPONENTIAL_ACCURACY = 4  # number of terms of the Taylor series

BLOCK_GAS = 2 * 32_000_000  # twice the block gas limit, because the last transaction may exceed the limit

# Parameters of the legacy rule.
PRICING_INERTIA = 102  # s
BACKLOG_TOLERANCE = 10  # s

#: Kinds of resources of multi-gas constraints, in the node's order.
RESOURCE_KINDS = (
    "unknown",
    "computation",
    "history_growth",
    "storage_access_read",
    "storage_access_write",
    "storage_growth",
    "single_dim",
    "l2_calldata",
    "wasm_computation",
)
SINGLE_DIMENSION = "single_dim"  # gas for L1 data, whose price does not depend on constraints
Kind = Annotated[str, RESOURCE_KINDS]
WeightedKind = Annotated[str, RESOURCE_KINDS[1:]]  # a constraint has no weight for "unknown"


@dataclass(frozen=True, slots=True)
class GasConstraint:
    """A gas target, and the window: the time over which the price responds to gas use above the target."""

    target: Target  #: gas target, at least 1 [gas / s]
    window: Window  #: length of the window, at least 1 [s]

    def __post_init__(self) -> None:
        check_fields(self)


#: Constraints of Arbitrum One and Nova since ArbOS 51, 2026-01-08.
#: Sources: docs.arbitrum.io, chain parameters; nitro model_test.go.
DIA_CONSTRAINTS = (
    GasConstraint(60_000_000, 9),
    GasConstraint(41_000_000, 52),
    GasConstraint(29_000_000, 329),
    GasConstraint(20_000_000, 2_105),
    GasConstraint(14_000_000, 13_485),
    GasConstraint(10_000_000, 86_400),
)


class PricingUpdate(NamedTuple):
    """Base fee and backlogs after the update at the start of a block."""

    base_fee: int  #: base fee in the header of the next block [wei / gas]
    exponent: int  #: [basis points]
    backlogs: tuple[int, ...]  #: backlog of each constraint [gas]


class BaseFees(NamedTuple):
    """Base fees of a sequence of blocks."""

    base_fees: NDArray[np.int64]  #: base fee in the header of each block [wei / gas]
    next_base_fee: int  #: base fee in the header of the block after the last block [wei / gas]
    backlogs: tuple[int, ...]  #: backlog of each constraint after the last block [gas]


def _saturated_product(value: int, factor: int, limit: int = UINT64_MAX) -> int:
    """Return min(value · factor, limit), where `limit` is the maximum of the node's integer type.

    >>> _saturated_product(2**62, 8) == 2**64 - 1
    True
    """
    return min(value * factor, limit)


@formula
def approx_exp_basis_points(bips: Bips) -> Bips:
    """Return `e**x` by its Taylor series with Horner's rule, as in the node; x and the result are in basis points.

    For a large x, four terms are not accurate: at 85,000 basis points, the series gives 365, but e^8.5 is 4,915.

    >>> approx_exp_basis_points(2_000), approx_exp_basis_points(-10_000), approx_exp_basis_points(85_000)
    (12214, 3692, 3654791)
    """
    size = maximum(bips, -bips)
    value = BIPS + size // EXPONENTIAL_ACCURACY
    for i in range(EXPONENTIAL_ACCURACY - 1, 0, -1):
        value = BIPS + minimum(value * size, UINT64_MAX) // (i * BIPS)
    return where(bips < 0, BIPS * BIPS // value, value)


def _exponent(backlogs: Sequence[int], constraints: Sequence[GasConstraint]) -> int:
    """Return the sum over all constraints of backlog · 10,000 // (window · target) [basis points].

    After a block of 32 million gas, the backlogs of all six constraints are 32 million if they were 0 before the block.
    The exponent is 592 + 150 + 33 + 7 + 1 + 0:

    >>> _exponent([32_000_000] * 6, DIA_CONSTRAINTS)
    783
    """
    total = 0
    for backlog, one in zip(backlogs, constraints, strict=True):
        scale = min(_saturated_product(one.window, one.target), INT64_MAX)
        total = min(total + _saturated_product(backlog, BIPS, INT64_MAX) // scale, INT64_MAX)
    return total


@formula
def constraint_base_fee(exponent: Exponent, *, min_base_fee: BaseFee) -> BaseFee:
    """Return the base fee for an exponent: min_base_fee · `approx_exp_basis_points`(exponent) // 10,000.

    >>> constraint_base_fee(783, min_base_fee=20_000_000)
    21628000
    """
    return min_base_fee * minimum(approx_exp_basis_points.core(exponent), INT64_MAX) // BIPS


@checked
def update_pricing(
    backlogs: Sequence[Backlog], seconds: Seconds, *, constraints: Sequence[GasConstraint], min_base_fee: BaseFee
) -> PricingUpdate:
    """Reduce the backlogs for the time since the parent block, then compute the base fee from the new backlogs.

    Parameters
    ----------
    backlogs : backlog of each constraint [gas].
    seconds : time since the parent block [s].
    constraints : the chain's gas constraints.
    min_base_fee : the chain's minimum base fee [wei / gas].

    >>> update_pricing([1_000_000_000] * 6, 1, constraints=DIA_CONSTRAINTS, min_base_fee=20_000_000)[:2]
    (186256000, 23217)
    """
    _check_backlogs(backlogs, constraints)
    return _updated(backlogs, seconds, constraints, min_base_fee)


def _updated(
    backlogs: Sequence[int], seconds: int, constraints: Sequence[GasConstraint], min_base_fee: int
) -> PricingUpdate:
    paid_off = _paid_off(backlogs, seconds, constraints)
    exponent = _exponent(paid_off, constraints)
    return PricingUpdate(constraint_base_fee.core(exponent, min_base_fee=min_base_fee), exponent, paid_off)


@checked
def base_fees(
    gas_used: Sequence[int] | NDArray[np.int64],
    timestamps: Sequence[int] | NDArray[np.int64],
    *,
    constraints: Sequence[GasConstraint] = DIA_CONSTRAINTS,
    min_base_fee: BaseFee = 20_000_000,
    backlogs: Sequence[Backlog] | None = None,
    base_fee: BaseFee | None = None,
    parent_timestamp: Timestamp | None = None,
) -> BaseFees:
    """Compute the base fee in the header of each block of a sequence.

    Parameters
    ----------
    gas_used : gas used by each block, without the gas that pays for L1, shape (blocks,) [gas].
    timestamps : time of each block, non-decreasing, shape (blocks,) [s].
    constraints : the chain's gas constraints; see `l2_base_fee` for the legacy rule.
    min_base_fee : the chain's minimum base fee [wei / gas].
    backlogs : backlog of each constraint before the first block; `None`: all 0 [gas].
    base_fee : base fee in the header of the first block; `None`: the minimum [wei / gas].
    parent_timestamp : time of the block before the first block; `None`: the time of the first block [s].

    The gas of the first block affects the base fee of the third block:

    >>> base_fees([32_000_000, 0, 0], [0, 0, 0]).base_fees
    array([20000000, 20000000, 21628000])
    """
    gas = np.atleast_1d(np.asarray(Quantity("gas").check("gas_used", gas_used)))
    times = np.atleast_1d(np.asarray(Quantity("s").check("timestamps", timestamps)))
    if gas.ndim != 1 or gas.shape != times.shape:
        reason = "expected one-dimensional arrays of equal length for the blocks and the timestamps"
        raise InvalidInput("timestamps", reason, f"shapes {gas.shape} and {times.shape}")
    if not constraints:
        raise InvalidInput("constraints", "expected at least one constraint", constraints)
    following = min_base_fee if base_fee is None else base_fee
    state: Sequence[int] = [0] * len(constraints) if backlogs is None else backlogs
    _check_backlogs(state, constraints)
    start = times[:1] if parent_timestamp is None else parent_timestamp
    seconds = np.diff(times, prepend=start) if times.size else times
    require("timestamps", "expected times that do not decrease", times, seconds >= 0)
    fees = []
    for used, elapsed in zip(gas.tolist(), seconds.tolist(), strict=True):
        fees.append(following)
        following, _, paid_off = _updated(state, elapsed, constraints, min_base_fee)
        state = tuple(min(backlog + used, UINT64_MAX) for backlog in paid_off)
    return BaseFees(np.atleast_1d(WHOLE.check("base fee", np.array(fees, dtype=object))), following, tuple(state))


# The legacy rule


@formula
def next_backlog(backlog: Gas, gas_used: Gas, seconds: Seconds, *, speed_limit: GasPerSecond) -> Gas:
    """Return the backlog of the legacy rule after a block: max(0, backlog + gas_used − seconds · speed_limit).

    `seconds` is the time since the previous block.

    >>> next_backlog(5_000_000, 4_000_000, 1, speed_limit=7_000_000)
    2000000
    """
    return maximum(backlog + gas_used - seconds * speed_limit, 0)


@formula
def l2_base_fee(
    backlog: Gas,
    *,
    min_base_fee: BaseFee,
    speed_limit: TargetGas,
    inertia: SecondsAboveZero = PRICING_INERTIA,
    tolerance: Seconds = BACKLOG_TOLERANCE,
) -> BaseFee:
    """Return the L2 base fee of the legacy rule, min_base_fee · e**x, where x increases with the backlog.

    Here x is (backlog − tolerance · speed_limit) / (inertia · speed_limit), rounded down to a whole basis point: a
    backlog of at most tolerance · speed_limit does not raise the price, and the price responds over the time `inertia`.
    With one constraint of target `speed_limit`, window `inertia` and backlog max(0, backlog − tolerance · speed_limit),
    the formula for gas constraints gives the same base fee.

    >>> l2_base_fee(70_000_000 + 714_000_000, min_base_fee=10**7, speed_limit=7_000_000)
    27083000
    """
    excess = maximum(backlog - tolerance * speed_limit, 0)
    # As in the node, products above 2**63 − 1 are replaced by 2**63 − 1.
    exponent = minimum(excess * BIPS, INT64_MAX) // minimum(inertia * speed_limit, INT64_MAX)
    return min_base_fee * approx_exp_basis_points.core(exponent) // BIPS


# Multi-gas constraints, ArbOS 60


@dataclass(frozen=True, slots=True)
class MultiGasConstraint:
    """A gas constraint with a weight for each kind of resource."""

    target: Target  #: gas target, at least 1 [gas / s]
    window: Window  #: length of the window, at least 1 [s]
    weights: Mapping[WeightedKind, Weight]  #: kind of resource (not "unknown") → weight; default 0

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.largest_weight:
            raise InvalidInput("weights", "expected at least one weight above 0", dict(self.weights))
        object.__setattr__(self, "weights", MappingProxyType(dict(self.weights)))

    @property
    def largest_weight(self) -> int:
        """Largest weight; the exponent is computed with target · largest weight."""
        return max(self.weights.values(), default=0)


Constraint: TypeAlias = GasConstraint | MultiGasConstraint


class MultiGasUpdate(NamedTuple):
    """Multi-gas prices and backlogs after the update at the start of a block."""

    base_fee: int  #: base fee in the header of the next block [wei / gas]
    fees: dict[str, int]  #: price by kind of resource, at least the minimum base fee [wei / gas]
    backlogs: tuple[int, ...]  #: backlog of each constraint [gas]


@checked
def change_multi_gas_backlog(
    backlog: Gas, amounts: Mapping[Kind, Gas], constraint: MultiGasConstraint, *, shrink: bool = False
) -> Gas:
    """Return backlog + s, or backlog − s if `shrink` is true, where s is a transaction's Σ weight · amount [gas].

    >>> change_multi_gas_backlog(0, {"computation": 10}, MultiGasConstraint(7, 1, {"computation": 3}))
    30
    """
    for kind, weight in constraint.weights.items():
        product = _saturated_product(weight, amounts.get(kind, 0))
        backlog = max(0, backlog - product) if shrink else min(backlog + product, UINT64_MAX)
    return backlog


@checked
def multi_gas_exponents(backlogs: Sequence[Backlog], constraints: Sequence[MultiGasConstraint]) -> dict[str, int]:
    """Return the exponents that are not 0, by kind of resource [basis points].

    A kind's exponent is the sum over all constraints of backlog · weight · 10,000 // (window · target · largest
    weight).

    >>> constraint = MultiGasConstraint(100_000, 10, {"computation": 1, "storage_access_read": 2})
    >>> multi_gas_exponents([20_000], [constraint])
    {'computation': 100, 'storage_access_read': 200}
    """
    exponents: dict[str, int] = {}
    _check_backlogs(backlogs, constraints)
    for backlog, one in zip(backlogs, constraints, strict=True):
        scaled = _saturated_product(one.target, one.largest_weight)
        scale = min(_saturated_product(one.window, scaled), INT64_MAX)
        for kind in RESOURCE_KINDS:
            weight = one.weights.get(kind, 0)
            if weight and backlog and kind != SINGLE_DIMENSION:
                weighted = min(_saturated_product(backlog, weight), INT64_MAX)
                term = _saturated_product(weighted, BIPS, INT64_MAX) // scale
                exponents[kind] = min(exponents.get(kind, 0) + term, INT64_MAX)
    return exponents


@checked
def update_multi_gas_pricing(
    backlogs: Sequence[Backlog], seconds: Seconds, *, constraints: Sequence[MultiGasConstraint], min_base_fee: BaseFee
) -> MultiGasUpdate:
    """Update backlogs and prices at the start of a block with multi-gas pricing.

    The base fee in the header is the highest price of any kind of resource. A transaction gets a
    refund for kinds of resource with a price below the base fee, see `multi_gas_refund`. A kind of resource that has no
    weight in any constraint costs the minimum base fee.

    Parameters
    ----------
    backlogs : backlog of each constraint [gas].
    seconds : time since the parent block [s].
    constraints : the chain's multi-gas constraints.
    min_base_fee : the chain's minimum base fee [wei / gas].

    >>> constraint = MultiGasConstraint(7_000_000, 102, {"computation": 1})
    >>> update = update_multi_gas_pricing([714_000_000], 0, constraints=[constraint], min_base_fee=10**7)
    >>> update.base_fee, update.fees["computation"], update.fees["l2_calldata"]
    (27083000, 27083000, 10000000)
    """
    _check_backlogs(backlogs, constraints)
    paid_off = _paid_off(backlogs, seconds, constraints)
    exponents = multi_gas_exponents(paid_off, constraints)
    own = {kind: exponents.get(kind, 0) for kind in RESOURCE_KINDS}
    fees = {kind: constraint_base_fee.core(one, min_base_fee=min_base_fee) for kind, one in own.items()}
    return MultiGasUpdate(max(fees.values()), fees, paid_off)


@checked
def multi_gas_price(used: Mapping[Kind, Gas], *, fees: Mapping[Kind, BaseFee], next_base_fee: BaseFee) -> Wei:
    """Return the cost of a transaction's resources, where each kind of resource has its own price [wei].

    Parameters
    ----------
    used : amount of each kind of resource that the transaction used [gas].
    fees : price of each kind of resource: `MultiGasUpdate.fees` of the previous block [wei / gas]. A kind of resource
        whose price is 0 or missing has the price `next_base_fee`.
    next_base_fee : `MultiGasUpdate.base_fee` of this block, which is also the price of the kind "single_dim" [wei /
        gas].

    The cost is 100 gas · 8 wei for `computation` plus 10 gas · 12 wei for `single_dim`:

    >>> multi_gas_price({"computation": 100, "single_dim": 10}, fees={"computation": 8}, next_base_fee=12)
    920
    """
    prices = {**fees, SINGLE_DIMENSION: next_base_fee}
    return sum(amount * (prices.get(kind) or next_base_fee) for kind, amount in used.items())


@checked
def multi_gas_refund(
    used: Mapping[Kind, Gas], *, gas_used: Gas, base_fee: BaseFee, next_base_fee: BaseFee, fees: Mapping[Kind, BaseFee]
) -> Wei:
    """Return the refund of a transaction: max(0, base_fee · gas_used − `multi_gas_price`) [wei].

    Parameters
    ----------
    used : amount of each kind of resource that the transaction used [gas].
    gas_used : gas used by the transaction [gas].
    base_fee : base fee that the transaction paid, from the header of the block of the transaction [wei / gas].
    next_base_fee : `MultiGasUpdate.base_fee` of the block of the transaction [wei / gas].
    fees : price of each kind of resource: `MultiGasUpdate.fees` of the previous block [wei / gas].

    The refund is base fee · gas used − computation gas · its fee = 10 · 150 − 100 · 8 = 700 wei:

    >>> multi_gas_refund({"computation": 100}, gas_used=150, base_fee=10, next_base_fee=12, fees={"computation": 8})
    700
    """
    return max(0, base_fee * gas_used - multi_gas_price(used, fees=fees, next_base_fee=next_base_fee))


def _paid_off(backlogs: Sequence[int], seconds: int, constraints: Sequence[Constraint]) -> tuple[int, ...]:
    """Return the backlogs after a time of `seconds` in which no gas is used."""
    rows = zip(backlogs, constraints, strict=True)
    return tuple(max(0, backlog - _saturated_product(seconds, one.target)) for backlog, one in rows)


def _check_backlogs(backlogs: Sequence[int], constraints: Sequence[Constraint]) -> None:
    if len(backlogs) != len(constraints):
        raise InvalidInput("backlogs", f"expected one backlog for each of {len(constraints)} constraints", backlogs)


def arbitrum_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return the largest base fee of Arbitrum after some full blocks with the same timestamp.

    The base fee does not determine the backlogs exactly, so the function assumes the largest exponent that gives the
    current base fee. Each full block adds 64 million gas to the backlog of every constraint. The legacy rule is one
    constraint whose target is the speed limit and whose window is the inertia.
    """
    terms = parameters.known("version", "min_base_fee")
    lowest = check_of(GasPrice)("min_base_fee", terms["min_base_fee"])
    limit = version(terms["version"]).speed_limit
    constraints = DIA_CONSTRAINTS if limit is None else (GasConstraint(limit, PRICING_INERTIA),)
    fee = max(base_fee, lowest)
    if fee >= constraint_base_fee.core(INT64_MAX, min_base_fee=lowest):
        raise InvalidInput("base_fee", "expected a fee below the maximum of the node's arithmetic", base_fee)
    low, high = 0, 1  # binary search for the largest exponent whose base fee is at most `fee`
    while constraint_base_fee.core(high, min_base_fee=lowest) <= fee:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        fits = constraint_base_fee.core(middle, min_base_fee=lowest) <= fee
        low, high = (middle, high) if fits else (low, middle)
    gas = blocks * BLOCK_GAS * BIPS
    added = [-(-gas // (one.window * one.target)) for one in constraints]
    return int(constraint_base_fee.core(low + sum(added), min_base_fee=lowest))
