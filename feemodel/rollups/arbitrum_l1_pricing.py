"""Arbitrum's L1 pricing controller, which adjusts the price per unit to the actual cost of posting batches.

The state of the controller is an immutable object, `L1Pricing`. `charged` returns the state after transactions, and
`reported` the state after a batch report. `feemodel.rollups.arbitrum` computes the charge of a transaction from the
price per unit.

Source: OffchainLabs/nitro at 6dce8d1 (2026-04-23): arbos/l1pricing/l1pricing.go. The formulas are valid since ArbOS 10.
In place of `fees_available`, ArbOS 3 to 9 use the balance of the account L1PricerFundsPool.
"""

from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

from feemodel.arguments import check_fields, check_of, checked
from feemodel.checks import INT64_MAX, UINT64_MAX
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import GAS_PER_BLOB
from feemodel.formula import formula
from feemodel.quantities import (
    BaseFee,
    BlobBaseFee,
    BytesAboveZero,
    Divisor,
    Gas,
    GasPrice,
    Quantity,
    Seconds,
    Wei,
    Whole,
    WholeNumber,
)
from feemodel.rollups.arbitrum import BIPS, UNITS_PER_BYTE, VERSIONS, version
from feemodel.rollups.chains import Parameters
from feemodel.rollups.factors import Columns, Factors, Rule

Surplus = Annotated[int, Quantity("wei", "surplus, which may be negative", minimum=-(2**256))]

INERTIA = 10
PER_UNIT_REWARD = 10  # wei
BATCH = ("batch_l1_gas", "batch_blobs", "batch_transaction_bytes")  # parameters of the rule


@dataclass(frozen=True, slots=True, kw_only=True)
class L1Pricing:
    """State of the controller between two batch reports."""

    price_per_unit: Wei  #: [wei / unit]
    units_since_update: WholeNumber = 0  #: units charged but not yet allocated to a batch [unit]
    fees_available: Wei = 0  #: fees collected and not yet paid out [wei]
    due_to_posters: Wei = 0  #: amount owed to batch posters [wei]
    due_for_rewards: Wei = 0  #: amount owed as rewards [wei]
    last_surplus: Surplus = 0  #: surplus after the last report [wei]
    last_update_time: Seconds = 0  #: time at which the last reported batch was posted [s]

    def __post_init__(self) -> None:
        check_fields(self)


class BatchReport(NamedTuple):
    """State of the controller after a batch report, and the amounts paid out."""

    state: L1Pricing
    reward_paid: int  #: [wei]
    poster_paid: int  #: [wei]


@checked
def charged(state: L1Pricing, units: WholeNumber, fees: Wei) -> L1Pricing:
    """Return the controller's state after transactions paid `fees` [wei] for `units`.

    >>> charged(L1Pricing(price_per_unit=10), 3, 30)
    L1Pricing(price_per_unit=10, units_since_update=3, fees_available=30, due_to_posters=0, due_for_rewards=0, \
last_surplus=0, last_update_time=0)
    """
    units_since_update, fees_available = state.units_since_update + units, state.fees_available + fees
    return replace(state, units_since_update=units_since_update, fees_available=fees_available)


@checked
def reported(
    state: L1Pricing,
    *,
    update_time: Seconds,
    current_time: Seconds,
    wei_spent: Wei,
    l1_base_fee: BaseFee = 0,
    cost_cap_bips: WholeNumber = 0,
    per_unit_reward: Wei = PER_UNIT_REWARD,
    equilibration_units: Divisor = VERSIONS[-1].equilibration_units,
    inertia: Divisor = INERTIA,
) -> BatchReport:
    """Return the state after a batch report: the controller pays the reward and the poster, then adjusts the price.

    Payments are limited to the available fees. Of the units charged since the last report, units · (update_time − last)
    // (current_time − last) are allocated to the batch, where `last` is the time of the last report. The price changes
    by the following amount, where surplus = fees_available − all amounts due:

        (−surplus // equilibration_units − (surplus − last_surplus) // allocated) · allocated
        // (equilibration_units // inertia + allocated)

    The price does not fall below 0. All divisions round down.

    Parameters
    ----------
    state : state of the controller before the batch report.
    update_time : time at which the batch was posted [s].
    current_time : time of the report [s].
    wei_spent : cost of posting the batch [wei].
    l1_base_fee : base fee of the L1 block; used only if `cost_cap_bips` is not 0 [wei / gas].
    cost_cap_bips : the cost is limited to l1_base_fee · allocated · cost_cap_bips // 10,000; 0 means no limit. Since
        ArbOS 11, the cap is 0.
    per_unit_reward : reward per unit [wei / unit].
    equilibration_units, inertia : parameters of the formula for the price, at least 1.

    The batch was posted 1 second after the last report, and reported after 3 seconds. The batch is therefore allocated
    a third of the 234 units, and the reward is 78 · 10 wei:

    >>> report = reported(L1Pricing(price_per_unit=0, units_since_update=234, fees_available=23_400),
    ...                   update_time=1, current_time=3, wei_spent=3_000)
    >>> report.reward_paid, report.poster_paid, report.state.fees_available, report.state.units_since_update
    (780, 3000, 19620, 156)
    """
    allocated = _allocated_units(state, update_time, current_time)
    if cost_cap_bips:
        cap = l1_base_fee * allocated * min(cost_cap_bips, INT64_MAX) // BIPS  # nitro stores the cap as int64
        wei_spent = min(wei_spent, cap)
    reward = per_unit_reward * allocated
    reward_paid = min(reward, state.fees_available)
    due_to_posters = state.due_to_posters + wei_spent
    poster_paid = min(due_to_posters, state.fees_available - reward_paid)
    settled = replace(
        state,
        units_since_update=state.units_since_update - allocated,
        fees_available=state.fees_available - reward_paid - poster_paid,
        due_to_posters=due_to_posters - poster_paid,
        due_for_rewards=state.due_for_rewards + reward - reward_paid,
        last_update_time=update_time,
    )
    priced = _priced(settled, allocated, equilibration_units, inertia) if allocated else settled
    return BatchReport(priced, reward_paid, poster_paid)


@formula
def equilibrium_price(wei_spent: Wei, units: Divisor, *, per_unit_reward: Wei = PER_UNIT_REWARD) -> Wei:
    """Return the price per unit at which fees equal costs, if there is no surplus: ⌈wei_spent / units⌉ + reward.

    >>> equilibrium_price(16_000_000, 1_600)
    10010
    """
    return (wei_spent + units - 1) // units + per_unit_reward


def _allocated_units(state: L1Pricing, update_time: int, current_time: int) -> WholeNumber:
    last = state.last_update_time
    if last == 0 and update_time > 0:  # for the first report, there is no time of an earlier report
        last = update_time - 1
    if not last <= update_time <= current_time:
        reason = f"expected a time from {last:,} (the last report) to {current_time:,} (now)"
        raise InvalidInput("update_time", reason, update_time)
    if current_time == last:
        return state.units_since_update
    return min(state.units_since_update * (update_time - last), UINT64_MAX) // (current_time - last)


def _priced(state: L1Pricing, allocated: int, equilibration_units: int, inertia: int) -> L1Pricing:
    surplus = state.fees_available - state.due_to_posters - state.due_for_rewards
    desired = -surplus // equilibration_units
    actual = (surplus - state.last_surplus) // allocated
    change = (desired - actual) * allocated // (equilibration_units // inertia + allocated)
    return replace(state, price_per_unit=max(0, state.price_per_unit + change), last_surplus=surplus)


def arbitrum_rule(parameters: Parameters) -> Rule:
    """Return Arbitrum's rule, at the equilibrium price per unit of its L1 pricing controller.

    All batches are assumed to have the same L1 gas, blobs and transaction bytes, which are parameters of the chain.

    >>> from feemodel.rollups.rules import rule
    >>> rule("arbitrum-one").columns
    ('gas', 'brotli_size')
    """
    terms = parameters.known("version", "min_base_fee", *BATCH)
    version(terms["version"])
    batch = {name: terms[name] for name in BATCH}
    # The owner of a chain can set the minimum to 0. A node then charges nothing for a transaction's bytes at a base fee
    # of 0; the formulas of this package do not describe this case.
    gas_price = check_of(GasPrice)("min_base_fee", terms["min_base_fee"])

    def factors(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        units, price = UNITS_PER_BYTE * columns["brotli_size"], batch_price.core(base_fee, blob_base_fee, **batch)
        return Factors(units, price, gas_price, columns["gas"], gas_price, step=gas_price, saturates=True)

    return Rule(parameters, ("gas", "brotli_size"), tuple(terms), factors)


@formula
def batch_price(
    base_fee: BaseFee,
    blob_base_fee: BlobBaseFee,
    *,
    batch_l1_gas: Gas,
    batch_blobs: WholeNumber,
    batch_transaction_bytes: BytesAboveZero,
) -> Wei:
    """Return the equilibrium price per unit if all batches have the same L1 gas, blobs and transaction bytes.

    (1 gwei · 210,000 gas + 1 wei · 131,072 blob gas) / 1,600,000 units, rounded up, plus the reward of 10 wei:

    >>> batch_price(10**9, 1, batch_l1_gas=210_000, batch_blobs=1, batch_transaction_bytes=100_000)
    131250011
    """
    cost = base_fee * batch_l1_gas + blob_base_fee * (batch_blobs * GAS_PER_BLOB)
    return equilibrium_price.core(cost, UNITS_PER_BYTE * batch_transaction_bytes)
