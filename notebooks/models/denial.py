"""Denial of service by filling a rollup's blocks: the attacker's cost and the operator's posting cost.

`published_denial` and `published_finality_delay` are the models of arXiv 2509.17126 (figures 4 and 11a, the abstract,
and the scripts `dos.py` and `l2da.py` of StefanosChaliasos/rollup-tfm-attacks at 28831ba). The results of
`published_denial` and `published_finality_delay` agree with the published numbers in all printed digits. In the
published models, the blob base fee starts at 1 wei and is multiplied by 1.15 in each block, the number of blobs per
block is not limited, and the base fee is 1 gwei. `denial` simulates the attack of `published_denial` by the rules of
the protocol: blobs that do not fit in a block wait for a later block. The fees start at given values and change by the
rules of EIP-1559, EIP-4844 and EIP-7918.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import xarray as xr

from feemodel.arguments import check_fields, check_of
from feemodel.checks import INT64_MAX, check_limit, instance
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.ethereum.fee_market import (
    GAS_PER_BLOB,
    LARGEST_EXPONENT,
    TRANSACTION_GAS,
    blob_base_fee,
    next_excess_blob_gas,
)
from feemodel.linea.coordinator import variable_cost
from feemodel.quantities import Quantity
from feemodel.simulation._metadata import described_dataset
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.quantities import Amount, BytePrice, CountAboveZero, DurationAboveZero, Price, WholeGas
from models.saturation import (
    MAX_BLOCKS,
    PUBLISHED_BLOBS,
    PUBLISHED_GROWTH,
    Budget,
    L1State,
    base_fee_after_block,
    saturate,
)

L1_BLOCK_TIME = 12.0  # seconds
ROUNDING = 1e-9  # tolerance for rounding errors in a number of blobs
PUBLISHED_CALLDATA_GAS = 5_124_000  # gas of a blob's bytes at Ethereum's calldata floor price (3 % zero bytes)
ERA_CALLDATA_GAS = 10 * GAS_PER_BLOB  # gas of a blob's bytes on ZKsync Era, at 10 gas per byte
RealBlobs = Annotated[float, Quantity("blob", double=True, above_zero=True)]
PUBLISHED_SATURATION = 398  # number of L1 blocks that 10 ETH fill with blobs; `l2da.py` states 2 · 199


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """Rollup under attack. `PUBLISHED` contains the rollups from the scripts of arXiv 2509.17126."""

    name: str
    block_time: DurationAboveZero  #: time between L2 blocks
    batch_blobs: RealBlobs  #: number of blobs in one batch
    block_blobs: RealBlobs  #: number of blobs that the data of a full L2 block fills
    commit_gas: WholeGas  #: L1 gas of committing a batch
    #: number of transactions that fill an L2 block
    block_transactions: Annotated[int, Quantity("1", maximum=INT64_MAX)]
    gas_price: Price  #: L2 gas price without the priority fee
    priority_fee: Price = 200_000_000.0  #: priority fee that the attacker pays
    calldata_gas: WholeGas = PUBLISHED_CALLDATA_GAS  #: L2 gas for the bytes of the transactions that fill a blob
    variable_cost: BytePrice | None = None  #: price of data on L2; `None` means the blob base fee of L1
    pays_transaction_gas: bool = True  #: whether the attacker also pays the fixed gas of transactions

    def __post_init__(self) -> None:
        check_fields(self)
        if self.blocks < 1:
            raise InvalidInput(
                "block_time", f"expected at most {L1_BLOCK_TIME:g} s, the time of an L1 block", self.block_time
            )

    @property
    def blocks(self) -> int:
        """Number of L2 blocks per L1 block."""
        return int(L1_BLOCK_TIME / self.block_time)

    @property
    def blobs(self) -> float:
        """Number of blobs that full L2 blocks fill during one L1 block."""
        return self.blocks * min(self.batch_blobs, self.block_blobs)

    @property
    def execution(self) -> float:
        """Attacker's cost of L2 gas during one L1 block, which does not depend on L1 fees [wei]."""
        price = self.gas_price + self.priority_fee
        transactions = self.blocks * self.block_transactions * TRANSACTION_GAS if self.pays_transaction_gas else 0
        return (self.blobs * self.calldata_gas + transactions) * price

    def batches(self, waiting: float) -> tuple[float, float]:
        """Return the number of batches committed in an L1 block, and the number of blobs that wait afterwards."""
        held = self.blobs + waiting
        if self.batch_blobs == self.block_blobs:
            return float(self.blocks), held % self.batch_blobs
        return held // self.batch_blobs, held % self.batch_blobs


PUBLISHED = (
    Victim(name="Scroll", block_time=3.0, batch_blobs=6, block_blobs=6, commit_gas=75_840, block_transactions=1,
           gas_price=39e6),
    Victim(name="Linea", block_time=2.0, batch_blobs=6, block_blobs=1, commit_gas=400_030, block_transactions=2,
           gas_price=83e6, variable_cost=90e6, pays_transaction_gas=False),
    # For ZKsync Era, the script `dos.py` uses Ethereum's calldata gas, while `l2da.py` uses `ERA_CALLDATA_GAS`.
    Victim(name="ZKsync Era", block_time=1.0, batch_blobs=1, block_blobs=1, commit_gas=232_524, block_transactions=1,
           gas_price=45e6, priority_fee=0.0),
    Victim(name="Base", block_time=2.0, batch_blobs=7, block_blobs=6, commit_gas=21_000, block_transactions=1,
           gas_price=2e6),
    Victim(name="Base, throttled", block_time=2.0, batch_blobs=7, block_blobs=0.16, commit_gas=21_000,
           block_transactions=70, gas_price=2e6),
    Victim(name="Optimism", block_time=2.0, batch_blobs=6, block_blobs=2, commit_gas=21_000, block_transactions=2,
           gas_price=12e6),
    Victim(name="Optimism, throttled", block_time=2.0, batch_blobs=6, block_blobs=0.16, commit_gas=21_000,
           block_transactions=70, gas_price=12e6),
)  # fmt: skip
#: Arbitrum with blocks that use gas at the chain's speed limit. Of the scripts `dos.py` and `l2da.py`, only
#: `l2da.py` includes Arbitrum, where transactions are ordered by time of arrival.
PUBLISHED_ARBITRUM = Victim(
    name="Arbitrum", block_time=1.0, batch_blobs=1.2, block_blobs=1.2, commit_gas=168_858, block_transactions=1,
    gas_price=14e6,
)  # fmt: skip


def published_denial(
    victim: Victim, blocks: int, *, update_blocks: int = 1, growth: float = PUBLISHED_GROWTH
) -> xr.Dataset:
    """Compute the cost of a denial of service in each L1 block with the published model.

    For ZKsync Era, the attacker's cost is computed as in the script `dos.py`: the gas of the bytes is Ethereum's
    calldata gas, and a priority fee of 0.2 gwei is paid only for the fixed gas of each transaction.

    Parameters
    ----------
    victim : the rollup.
    blocks : duration of the attack [L1 blocks].
    update_blocks : number of L1 blocks between two updates of the rollup's blob price. As in the script `dos.py`, an
        update multiplies the rollup's blob price by `growth` only once, even if L1's blob base fee has grown in several
        blocks since the last update.
    growth : factor by which each block multiplies the blob base fee. The blob base fee grows only if full L2 blocks
        fill more than six blobs per L1 block [1].

    Returns
    -------
    Dataset over `block`: `paid`, the attacker's total cost; `data`, the attacker's cost of data; and `blob_fees`, the
    blob fees on L1 [wei].

    An attack on Optimism that lasts half an hour costs 1.983 ETH:

    >>> found = published_denial(PUBLISHED[5], 150)
    >>> round(float(found.paid.sum()) / 1e18, 3)
    1.983
    """
    attacked, count = instance("victim", victim, Victim), _blocks(blocks)
    every, factor = check_of(CountAboveZero)("update_blocks", update_blocks), check_of(float)("growth", growth)
    if factor > 1.0 and count * math.log(factor) > 700.0:  # e**709 is close to the largest double
        raise InvalidInput(
            "growth", f"expected a growth for which the blob base fee after {count:,} blocks fits a double", growth
        )
    paid, data, blob_fees = np.empty(count), np.empty(count), np.empty(count)
    execution, waiting, seen, updates, grows = _published_execution(attacked), 0.0, 1.0, 0, attacked.blobs > 6
    for block in range(count):
        batches, waiting = attacked.batches(waiting)
        price = GAS_PER_BLOB * seen if attacked.variable_cost is None else GAS_PER_BLOB * attacked.variable_cost
        data[block] = attacked.blobs * price
        paid[block] = data[block] + execution + batches * attacked.commit_gas * WEI_PER_GWEI
        blob_fees[block] = attacked.blobs * GAS_PER_BLOB * (factor**block if grows else 1.0)
        if grows and (block + 1) % every == 0:
            updates += 1
            seen = factor**updates
    return _dataset({"paid": paid, "data": data, "blob_fees": blob_fees}, attacked)


def _published_execution(victim: Victim) -> float:
    """Return `Victim.execution`; for ZKsync Era, add a priority fee of 0.2 gwei for the fixed gas of transactions."""
    if victim.priority_fee:
        return victim.execution
    return victim.execution + victim.blocks * victim.block_transactions * TRANSACTION_GAS * 200_000_000.0


def published_finality_delay(victim: Victim, budget: float) -> int:
    """Return by how many L1 blocks an attack with a given budget delays the finality of a rollup, as in `l2da.py`.

    If the budget pays for an attack of k L1 blocks, the delay is 2 · k + k · ⌈remaining / 9⌉. In this formula,
    `remaining` is the number of blobs per L1 block that full L2 blocks fill and that do not fit in an L1 block with
    nine blobs.

    Raises `InvalidInput` if full L2 blocks do not fill more than one batch per L1 block.

    An attack on Base that costs 10 ETH delays finality by 1,086 L1 blocks. An attack that spends 10 ETH on blobs fills
    only 398 L1 blocks. 1,086 blocks / 398 blocks is 2.73:

    >>> round(published_finality_delay(PUBLISHED[3], 10e18) / PUBLISHED_SATURATION, 2)
    2.73
    """
    attacked, held = instance("victim", victim, Victim), check_of(Amount)("budget", budget)
    blocks = L1_BLOCK_TIME / attacked.block_time
    filled = blocks * attacked.block_blobs // attacked.batch_blobs
    if not filled <= INT64_MAX:
        raise InvalidInput(
            "victim", "expected full blocks that fill less than 2**63 batches per L1 block", attacked.block_blobs
        )
    batches = int(filled)
    if batches <= 1:
        raise InvalidInput(
            "victim", "expected a rollup whose full blocks fill more than one batch per L1 block", attacked.name
        )
    blobs = blocks * attacked.block_blobs
    price = attacked.priority_fee or attacked.gas_price
    calldata = ERA_CALLDATA_GAS if not attacked.priority_fee else PUBLISHED_CALLDATA_GAS
    constant = blobs * calldata * price + blocks * TRANSACTION_GAS * 0.2 + batches * attacked.commit_gas * WEI_PER_GWEI
    spent, lasted = 0.0, 0
    while spent + (cost := blobs * GAS_PER_BLOB * PUBLISHED_GROWTH**lasted + constant) <= held:
        spent, lasted = spent + cost, lasted + 1
    remaining = (batches - PUBLISHED_BLOBS // attacked.batch_blobs) * attacked.batch_blobs
    return int(2 * lasted + lasted * math.ceil(remaining / PUBLISHED_BLOBS))


def denial(
    victim: Victim,
    blocks: int,
    l1: L1State | None = None,
    *,
    budget: int | None = None,
    update_blocks: int = 1,
    rule: PricingRule | None = None,
) -> xr.Dataset:
    """Simulate a denial of service in each L1 block by the rules of the protocol.

    The attacker pays for L2 gas, for the blob gas of all bytes, and for the gas of committing batches. The prices of
    blob gas and commit gas are the L1 fees at the rollup's last update. If the victim has a `variable_cost`, the
    attacker does not pay for blob gas and commit gas, but pays the variable cost that Linea's coordinator computes from
    the L1 fees at the rollup's last update. At most `maximum − other_blobs` blobs of the rollup fit in an L1 block. If
    a blob does not fit, the operator posts the blob in a later block, at the fees of the later block.

    Parameters
    ----------
    victim : the rollup.
    blocks : maximum duration of the attack [L1 blocks].
    l1 : L1 fees at the start; `None` means a blob base fee of 1 wei, a base fee of 1 gwei and the rules of BPO2.
    budget : budget of the attacker, `None` for no limit; the attack ends when the budget is spent [wei].
    update_blocks : number of L1 blocks between two updates of the rollup's L1 prices.
    rule : parameters of Linea's coordinator; `None` means the published defaults.

    Returns
    -------
    Dataset over `block`: `paid`, the attacker's total cost [wei]; `data`, the attacker's cost of data [wei]; `posting`,
    the operator's cost of posting [wei]; `blob_base_fee` and `base_fee` [wei / gas]; and `backlog`, the number of
    waiting blobs [blobs]. The attribute `clearing` is the number of L1 blocks that the operator needs to post the
    backlog after the attack.

    Raises
    ------
    InvalidInput : other users fill all blobs of each L1 block, or the budget is below the cost of the first block.
    LimitExceeded : the blob base fee exceeds the range of a block header.

    During one L1 block, full L2 blocks of Base fill 36 blobs, but an L1 block has at most 21 blobs. The backlog
    therefore grows by 36 − 21 = 15 blobs per L1 block:

    >>> found = denial(PUBLISHED[3], 150, L1State(base_fee=69_000_000, blob_base_fee=4_312_500))
    >>> found.backlog.values[[0, -1]].tolist(), found.attrs["clearing"]
    ([15.0, 2250.0], 108)
    """
    attacked, count = instance("victim", victim, Victim), _blocks(blocks)
    state = L1State() if l1 is None else instance("l1", l1, L1State)
    terms = PricingRule() if rule is None else instance("rule", rule, PricingRule)
    every, schedule = check_of(CountAboveZero)("update_blocks", update_blocks), state.schedule
    free = state.rules.maximum - state.other_blobs
    if free == 0:
        raise InvalidInput(
            "other_blobs",
            "expected fewer blobs than the maximum, so that the rollup can post a blob",
            state.other_blobs,
        )
    held = math.inf if budget is None else check_of(Budget)("budget", budget)
    max_excess = LARGEST_EXPONENT * state.rules.update_fraction
    excess, base_fee, waiting, backlog, spent = state.excess_blob_gas, state.base_fee, 0.0, 0.0, 0.0
    rows = []
    for block in range(count):
        if excess > max_excess:
            raise LimitExceeded(f"after {block:,} blocks the blob base fee exceeds the range of a block header")
        fee = int(blob_base_fee(excess, 0, schedule))
        if block % every == 0:
            seen = (base_fee + state.tip, fee)
        batches, waiting = attacked.batches(waiting)
        data = _data(attacked, batches, terms, *seen)
        spent += data + attacked.execution
        if spent > held:
            break
        posted = min(math.floor(backlog + attacked.blobs + ROUNDING), free)
        backlog = max(0.0, backlog + attacked.blobs - posted)
        commits = posted / attacked.batch_blobs * attacked.commit_gas * (base_fee + state.tip)
        posting = posted * GAS_PER_BLOB * fee + commits
        rows.append((data + attacked.execution, data, posting, fee, base_fee, backlog))
        used = (posted + state.other_blobs) * GAS_PER_BLOB
        excess = int(next_excess_blob_gas(excess, used, base_fee, 0, schedule))
        base_fee = base_fee_after_block(base_fee, state.gas_used_ratio)
    if not rows:
        raise InvalidInput("budget", f"expected at least {spent:,.0f} wei, the cost of the first block", budget)
    names = ("paid", "data", "posting", "blob_base_fee", "base_fee", "backlog")
    columns = dict(zip(names, np.array(rows).T, strict=True))
    attributes = {"clearing": math.ceil(max(backlog - ROUNDING, 0.0) / free), "rules": state.rules.name}
    return _dataset(columns, attacked).assign_attrs(attributes)


class FinalityDelay(NamedTuple):
    """Effects of two attacks with the same budget: filling a rollup's blocks, and filling L1's blob space."""

    attack: int  #: number of L1 blocks during which the attacker can fill the rollup's blocks
    clearing: int  #: number of L1 blocks that posting the backlog takes after the attack
    saturated: int  #: number of L1 blocks whose blob space the attacker can fill


def finality_delay(victim: Victim, budget: int, l1: L1State | None = None) -> FinalityDelay:
    """Compute how many L1 blocks an attack on a rollup lasts with a given budget, and how long the backlog remains.

    Parameters
    ----------
    victim : the rollup.
    budget : budget of the attacker [wei].
    l1 : L1 fees at the start; `None` means a blob base fee of 1 wei, a base fee of 1 gwei and the rules of BPO2.

    Raises the same errors as `denial`.

    At the fees of January 2026, an attacker with 10 ETH can fill the blocks of Base during 127 L1 blocks, or the blob
    space of 142 L1 blocks:

    >>> finality_delay(PUBLISHED[3], 10**19, L1State(base_fee=69_000_000, blob_base_fee=4_000_000))
    FinalityDelay(attack=127, clearing=91, saturated=142)
    """
    found = denial(victim, MAX_BLOCKS, l1, budget=budget)
    return FinalityDelay(found.sizes["block"], int(found.attrs["clearing"]), saturate(budget, l1).blocks)


def _data(victim: Victim, batches: float, rule: PricingRule, gas_price: int, blob_fee: int) -> float:
    """Return the attacker's cost of data in one L1 block, at the L1 prices of the rollup's last update [wei]."""
    if victim.variable_cost is None:
        return victim.blobs * GAS_PER_BLOB * blob_fee + batches * victim.commit_gas * gas_price
    cost = variable_cost(
        gas_price, 0, blob_fee, execution_gas=rule.execution_gas, blob_gas=rule.blob_gas, margin=rule.margin,
        bytes_per_submission=rule.bytes_per_submission, lower_bound=rule.lower_bound, upper_bound=rule.upper_bound,
    )  # fmt: skip
    return victim.blobs * GAS_PER_BLOB * float(cost)


def _blocks(blocks: int) -> int:
    count = check_of(CountAboveZero)("blocks", blocks)
    check_limit(count, "blocks", MAX_BLOCKS)
    return count


def _dataset(columns: dict[str, Any], victim: Victim) -> xr.Dataset:
    units = {"blob_base_fee": "wei / gas", "base_fee": "wei / gas", "backlog": "1"}
    count = len(next(iter(columns.values())))
    return described_dataset(
        {name: ("block", values, units.get(name, "wei")) for name, values in columns.items()},
        {"block": ("block", np.arange(1, count + 1), "1")},
        {"rollup": victim.name},
    )
