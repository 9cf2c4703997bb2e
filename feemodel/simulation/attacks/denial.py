"""Keeping a rollup's blocks full: what the attacker pays, what posting the bytes costs the operator, who pays the rest.

`published_denial` and `published_finality_delay` are the models of arXiv 2509.17126 (Fig. 4, Fig. 11a and the
abstract; `dos.py` and `l2da.py` of StefanosChaliasos/rollup-tfm-attacks at 28831ba) to the printed digit: the blob base
fee grows by 1.15 a block from 1 wei, whatever L1 can take, and the base fee stays at 1 gwei. `denial` plays the same
attack by the protocol: L1 takes at most its maximum of blobs, the rest waits; the fee follows EIP-4844 and EIP-7918
from where it is; the base fee moves.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from feemodel._records import printed_as_table
from feemodel.checks import INT64_MAX, check_fields, check_limit, check_plausible, instance, real_scalar, whole_scalar
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.ethereum._fee_units import IN_WEI, IN_WEI_OF_ETH, MIN_AMOUNT, MIN_PRICE
from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.ethereum.fee_market import (
    GAS_PER_BLOB,
    LARGEST_EXPONENT,
    TRANSACTION_GAS,
    blob_base_fee,
    next_excess_blob_gas,
)
from feemodel.simulation._metadata import described_dataset
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.attacks.saturation import (
    MAX_BLOCKS,
    PUBLISHED_BLOBS,
    PUBLISHED_GROWTH,
    L1State,
    base_fee_after_block,
    saturate,
)

L1_BLOCK_TIME = 12.0  # seconds
ROUNDING = 1e-9  # of sums of parts of blobs
PUBLISHED_CALLDATA_GAS = 5_124_000  # of one blob's bytes on a chain with Ethereum's calldata floor (3 % zero bytes)
ERA_CALLDATA_GAS = 10 * GAS_PER_BLOB  # of one blob's bytes on ZKsync Era, 10 a byte
PUBLISHED_SATURATION = 398  # blocks that `l2da.py` compares a budget of 10 ETH with: twice 199


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """Rollup under attack; `PUBLISHED` has those of the paper's scripts."""

    name: str
    block_time: float  #: [s]
    batch_blobs: float  #: blobs in one batch
    block_blobs: float  #: blobs that one full L2 block fills
    commit_gas: int  #: L1 gas of committing a batch [gas]
    block_transactions: int  #: that fill an L2 block
    gas_price: float  #: of L2, without the priority fee [wei / gas]
    priority_fee: float = 200_000_000.0  #: that the attacker adds to be first [wei / gas]
    calldata_gas: int = PUBLISHED_CALLDATA_GAS  #: L2 gas of one blob's bytes [gas]
    variable_cost: float | None = None  #: what users pay for data where that is not L1's blob fee [wei / byte]
    pays_transaction_gas: bool = True  #: whether the fixed gas of transactions is counted

    def __post_init__(self) -> None:
        gas = dict.fromkeys(("commit_gas", "block_transactions", "calldata_gas"), INT64_MAX)
        check_fields(self, above_zero=("block_time", "batch_blobs", "block_blobs"), maximum=gas)
        for name in ("gas_price", "priority_fee", "variable_cost"):
            check_plausible(name, getattr(self, name), IN_WEI, lowest=MIN_PRICE)
        if self.blocks < 1:
            raise InvalidInput(
                "block_time", f"expected at most the {L1_BLOCK_TIME:g} s of an L1 block", self.block_time
            )

    @property
    def blocks(self) -> int:
        """L2 blocks per L1 block."""
        return int(L1_BLOCK_TIME / self.block_time)

    @property
    def blobs(self) -> float:
        """Blobs per L1 block that full L2 blocks fill."""
        return self.blocks * min(self.batch_blobs, self.block_blobs)

    @property
    def execution(self) -> float:
        """Attacker's cost of L2 gas per L1 block, independent of L1 fees [wei]."""
        price = self.gas_price + self.priority_fee
        transactions = self.blocks * self.block_transactions * TRANSACTION_GAS if self.pays_transaction_gas else 0
        return (self.blobs * self.calldata_gas + transactions) * price

    def batches(self, waiting: float) -> tuple[float, float]:
        """Return the batches committed per L1 block and the blobs left over, given the blobs left over before."""
        held = self.blobs + waiting
        if self.batch_blobs == self.block_blobs:
            return float(self.blocks), held % self.batch_blobs
        return held // self.batch_blobs, held % self.batch_blobs


PUBLISHED = (
    Victim(name="Scroll", block_time=3.0, batch_blobs=6, block_blobs=6, commit_gas=75_840, block_transactions=1,
           gas_price=39e6),
    Victim(name="Linea", block_time=2.0, batch_blobs=6, block_blobs=1, commit_gas=400_030, block_transactions=2,
           gas_price=83e6, variable_cost=90e6, pays_transaction_gas=False),
    # The script prices Era's calldata with Ethereum's gas; its sibling `l2da.py` uses `ERA_CALLDATA_GAS`.
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
#: Arbitrum at its speed limit: in `l2da.py` alone, first come first served leaves nothing to bid for in `dos.py`.
PUBLISHED_ARBITRUM = Victim(
    name="Arbitrum", block_time=1.0, batch_blobs=1.2, block_blobs=1.2, commit_gas=168_858, block_transactions=1,
    gas_price=14e6,
)  # fmt: skip


def published_denial(
    victim: Victim, blocks: int, *, update_blocks: int = 1, growth: float = PUBLISHED_GROWTH
) -> xr.Dataset:
    """The published cost of a denial of service, one L1 block after the other.

    Era pays Ethereum's calldata gas and, of its transactions' fixed gas, the priority fee too, as the script has it.

    Parameters
    ----------
    victim : the rollup.
    blocks : L1 blocks that the attack lasts.
    update_blocks : L1 blocks between two updates of the rollup's blob price; each takes the next of all prices since
        the beginning, as the script's queue does, so that the price seen falls further and further behind.
    growth : of the blob base fee in each block in which the rollup fills more than six blobs [1].

    Returns
    -------
    Dataset over `block`: `paid` by the attacker, of it `data`; `blob_fees` that L1 would have charged [wei].

    Half an hour on Optimism, 1.983 ETH:

    >>> found = published_denial(PUBLISHED[5], 150)
    >>> round(float(found.paid.sum()) / 1e18, 3)
    1.983
    """
    attacked, count = instance("victim", victim, Victim), _blocks(blocks)
    every, factor = whole_scalar("update_blocks", update_blocks, minimum=1), real_scalar("growth", growth)
    if factor > 1.0 and count * math.log(factor) > 700.0:  # e**709 is the largest double
        raise InvalidInput("growth", f"expected one whose fee a double holds after {count:,} blocks", growth)
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
    """Return `Victim.execution` with the priority fee of the other chains for Era's transactions."""
    if victim.priority_fee:
        return victim.execution
    return victim.execution + victim.blocks * victim.block_transactions * TRANSACTION_GAS * 200_000_000.0


def published_finality_delay(victim: Victim, budget: float) -> int:
    """L1 blocks by which a rollup's finality is delayed for a budget, as `l2da.py` counts them.

    The attack lasts k blocks; each leaves more batches than nine blobs hold, and the delay is counted as
    2·k + k · ⌈blobs left / 9⌉.

    Raises `InvalidInput` where the attack fills at most one batch in an L1 block's time, which amplifies nothing.

    10 ETH on Base, 1,086 blocks, 2.73 times the 398 of saturating L1 with the same money:

    >>> round(published_finality_delay(PUBLISHED[3], 10e18) / PUBLISHED_SATURATION, 2)
    2.73
    """
    attacked, held = instance("victim", victim, Victim), real_scalar("budget", budget)
    check_plausible("budget", held, IN_WEI_OF_ETH, lowest=MIN_AMOUNT)
    blocks = L1_BLOCK_TIME / attacked.block_time
    filled = blocks * attacked.block_blobs // attacked.batch_blobs
    if not filled <= INT64_MAX:
        raise InvalidInput("victim", "expected one whose attack fills less than 2**63 batches", attacked.block_blobs)
    batches = int(filled)
    if batches <= 1:
        raise InvalidInput("victim", "expected one whose attack fills more than one batch an L1 block", attacked.name)
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
    """A denial of service by the protocol's rules, one L1 block after the other.

    The attacker pays L2 gas, the blob fee that the rollup saw at its last update for all bytes, and the batches' commit
    gas at L1's prices. A victim with a `variable_cost` charges what Linea's coordinator announces at those prices, held
    within the rule's bounds, instead of both. L1 takes `maximum − other_blobs` blobs a block; the rest waits, and is
    posted and paid for afterwards.

    Parameters
    ----------
    victim : the rollup.
    blocks : L1 blocks that the attack lasts at most.
    l1 : the fees at the start; 1 wei and 1 gwei under BPO2 unless given.
    budget : the attack ends before the block that it does not pay; without one it lasts for all blocks [wei].
    update_blocks : L1 blocks between two updates of the prices that the rollup sees.
    rule : bounds and terms of Linea's coordinator; the published defaults unless given.

    Returns
    -------
    Dataset over `block`: `paid` by the attacker, of it `data`; `posting`, the operator's cost at L1 of what left [wei];
    `blob_base_fee`, `base_fee` [wei / gas]; `backlog` that waits [blobs]. The attribute `clearing` is how many blocks
    L1 needs after the attack to take the rest.

    Raises
    ------
    InvalidInput : a block without room for the rollup, a budget that does not pay the first block.
    LimitExceeded : a blob base fee that no block header holds, before the attack ends.

    Half an hour on Base, whose blocks fill 36 blobs in an L1 block's time: L1 takes 21, and 15 wait every time.

    >>> found = denial(PUBLISHED[3], 150, L1State(base_fee=69_000_000, blob_base_fee=4_312_500))
    >>> found.backlog.values[[0, -1]].tolist(), found.attrs["clearing"]
    ([15.0, 2250.0], 108)
    """
    attacked, count = instance("victim", victim, Victim), _blocks(blocks)
    state = L1State() if l1 is None else instance("l1", l1, L1State)
    terms = PricingRule() if rule is None else instance("rule", rule, PricingRule)
    every, schedule = whole_scalar("update_blocks", update_blocks, minimum=1), state.schedule
    free = state.rules.maximum - state.other_blobs
    if free == 0:
        raise InvalidInput("other_blobs", "expected room for a blob of the rollup", state.other_blobs)
    check_plausible("budget", budget, IN_WEI_OF_ETH, lowest=MIN_AMOUNT)
    held = math.inf if budget is None else whole_scalar("budget", budget, unit="wei")
    max_excess = LARGEST_EXPONENT * state.rules.update_fraction
    excess, base_fee, waiting, backlog, spent = state.excess_blob_gas, state.base_fee, 0.0, 0.0, 0.0
    rows = []
    for block in range(count):
        if excess > max_excess:
            raise LimitExceeded(f"after {block:,} blocks the blob base fee is more than a block header holds")
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
        raise InvalidInput("budget", f"expected at least the {spent:,.0f} wei of the first block", budget)
    names = ("paid", "data", "posting", "blob_base_fee", "base_fee", "backlog")
    columns = dict(zip(names, np.array(rows).T, strict=True))
    attributes = {"clearing": math.ceil(max(backlog - ROUNDING, 0.0) / free), "rules": state.rules.name}
    return _dataset(columns, attacked).assign_attrs(attributes)


@printed_as_table
class FinalityDelay(NamedTuple):
    """Delay that a budget causes to a rollup's finality, and to L1's blob space for the same money [L1 blocks]."""

    attack: int  #: that the budget keeps the rollup's blocks full
    clearing: int  #: that L1 then needs to take what waits: the longest that a batch waits; 0 where L1 keeps up
    saturated: int  #: that the budget fills L1's blob space


def finality_delay(victim: Victim, budget: int, l1: L1State | None = None) -> FinalityDelay:
    """Return how long a budget keeps a rollup's blocks full under the protocol's rules, and the data then waiting.

    Parameters
    ----------
    victim : the rollup.
    budget : [wei].
    l1 : the fees at the start; 1 wei and 1 gwei under BPO2 unless given.

    Errors as `denial`. At January 2026's fees 10 ETH fill Base for 126 blocks, or L1's blob space for 142:

    >>> finality_delay(PUBLISHED[3], 10**19, L1State(base_fee=69_000_000, blob_base_fee=4_000_000))
    FinalityDelay(attack=127, clearing=91, saturated=142)
    """
    found = denial(victim, MAX_BLOCKS, l1, budget=budget)
    return FinalityDelay(found.sizes["block"], int(found.attrs["clearing"]), saturate(budget, l1).blocks)


def _data(victim: Victim, batches: float, rule: PricingRule, gas_price: int, blob_fee: int) -> float:
    """Return the attacker's cost of data per L1 block at the prices that the rollup has seen [wei]."""
    if victim.variable_cost is None:
        return victim.blobs * GAS_PER_BLOB * blob_fee + batches * victim.commit_gas * gas_price
    return victim.blobs * GAS_PER_BLOB * float(rule.variable_cost(gas_price, 0, blob_fee))


def _blocks(blocks: int) -> int:
    count = whole_scalar("blocks", blocks, minimum=1)
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
