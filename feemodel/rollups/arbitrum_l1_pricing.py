"""Arbitrum's L1 pricing controller, which adjusts the price per unit to the actual cost of posting batches.

The state of the controller is an immutable object, `L1Pricing`. `charged` returns the state after transactions, and
`reported` the state after a batch report. `feemodel.rollups.arbitrum` computes the charge of a transaction from the
price per unit.

Source: OffchainLabs/nitro at 6dce8d1 (2026-04-23): arbos/l1pricing/l1pricing.go. The formulas are valid since ArbOS 10.
In place of `fees_available`, ArbOS 3 to 9 use the balance of the account L1PricerFundsPool.
"""

from dataclasses import dataclass, fields, replace
from typing import NamedTuple

from feemodel.checks import INT64_MAX, UINT64_MAX, instance, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import GAS_PER_BLOB
from feemodel.formula import formula
from feemodel.quantities import BaseFee, BlobBaseFee, BytesAboveZero, Divisor, Gas, Wei, Whole, WholeNumber
from feemodel.rollups.arbitrum import BIPS, UNITS_PER_BYTE, VERSIONS, version
from feemodel.rollups.chains import Parameters
from feemodel.rollups.factors import Columns, Factors, Rule

MINIMUM = -(2**256)  # lower limit of a surplus; a surplus may be negative [wei]
INERTIA = 10
PER_UNIT_REWARD = 10  # wei
BATCH = ("batch_l1_gas", "batch_blobs", "batch_transaction_bytes")  # parameters of the rule


@dataclass(frozen=True, slots=True, kw_only=True)
class L1Pricing:
    """State of the controller between two batch reports."""

    price_per_unit: int  #: [wei / unit]
    units_since_update: int = 0  #: units charged but not yet allocated to a batch [unit]
    fees_available: int = 0  #: fees collected and not yet paid out [wei]
    due_to_posters: int = 0  #: amount owed to batch posters [wei]
    due_for_rewards: int = 0  #: amount owed as rewards [wei]
    last_surplus: int = 0  #: surplus after the last report [wei]
    last_update_time: int = 0  #: time at which the last reported batch was posted [s]

    def __post_init__(self) -> None:
        for field in fields(self):
            whole_scalar(field.name, getattr(self, field.name), minimum=MINIMUM if field.name == "last_surplus" else 0)


class BatchReport(NamedTuple):
    """State of the controller after a batch report, and the amounts paid out."""

    state: L1Pricing
    reward_paid: int  #: [wei]
    poster_paid: int  #: [wei]


def charged(state: L1Pricing, units: int, fees: int) -> L1Pricing:
    """Return the controller's state after transactions paid `fees` [wei] for `units`.

    >>> charged(L1Pricing(price_per_unit=10), 3, 30)
    L1Pricing(price_per_unit=10, units_since_update=3, fees_available=30, due_to_posters=0, due_for_rewards=0, \
last_surplus=0, last_update_time=0)
    """
    return replace(
        instance("state", state, L1Pricing),
        units_since_update=state.units_since_update + whole_scalar("units", units),
        fees_available=state.fees_available + whole_scalar("fees", fees),
    )


def reported(
    state: L1Pricing,
    *,
    update_time: int,
    current_time: int,
    wei_spent: int,
    l1_base_fee: int = 0,
    cost_cap_bips: int = 0,
    per_unit_reward: int = PER_UNIT_REWARD,
    equilibration_units: int = VERSIONS[-1].equilibration_units,
    inertia: int = INERTIA,
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
    instance("state", state, L1Pricing)
    allocated = _allocated_units(
        state, whole_scalar("update_time", update_time), whole_scalar("current_time", current_time)
    )
    spent = whole_scalar("wei_spent", wei_spent)
    cap_bips = min(whole_scalar("cost_cap_bips", cost_cap_bips), INT64_MAX)  # nitro stores the cap as int64
    if cap_bips:
        spent = min(spent, whole_scalar("l1_base_fee", l1_base_fee) * allocated * cap_bips // BIPS)
    reward = whole_scalar("per_unit_reward", per_unit_reward) * allocated
    reward_paid = min(reward, state.fees_available)
    due_to_posters = state.due_to_posters + spent
    poster_paid = min(due_to_posters, state.fees_available - reward_paid)
    settled = replace(
        state,
        units_since_update=state.units_since_update - allocated,
        fees_available=state.fees_available - reward_paid - poster_paid,
        due_to_posters=due_to_posters - poster_paid,
        due_for_rewards=state.due_for_rewards + reward - reward_paid,
        last_update_time=update_time,
    )
    equilibrium = whole_scalar("equilibration_units", equilibration_units, minimum=1)
    resistance = whole_scalar("inertia", inertia, minimum=1)
    priced = _priced(settled, allocated, equilibrium, resistance) if allocated else settled
    return BatchReport(priced, reward_paid, poster_paid)


@formula
def equilibrium_price(wei_spent: Wei, units: Divisor, *, per_unit_reward: Wei = PER_UNIT_REWARD) -> Wei:
    """Return the price per unit at which fees equal costs, if there is no surplus: ⌈wei_spent / units⌉ + reward.

    >>> equilibrium_price(16_000_000, 1_600)
    10010
    """
    return (wei_spent + units - 1) // units + per_unit_reward


def _allocated_units(state: L1Pricing, update_time: int, current_time: int) -> int:
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
    terms = instance("parameters", parameters, Parameters).known("version", "min_base_fee", *BATCH)
    version(terms["version"])
    batch = {name: terms[name] for name in BATCH}
    # The owner of a chain can set the minimum to 0. A node then charges nothing for a transaction's bytes at a base fee
    # of 0; the formulas of this package do not describe this case.
    gas_price = whole_scalar("min_base_fee", terms["min_base_fee"], minimum=1, unit="wei")

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
