"""Rise of the variable cost under calldata pressure, and the cost of attacks that fill blocks with calldata.

The rule is `feemodel.linea.coordinator.calldata_variable_cost`. The variable cost is written to the pricing record of
each block as a whole number of kwei, rounded down, of at most 2**32 − 1 kwei.
"""

import math
from dataclasses import dataclass

import numpy as np
import xarray as xr

from feemodel._compiled import cached_njit
from feemodel.arguments import check_of
from feemodel.checks import WholeArray, check_limit, instance
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.ethereum._fee_units import implausible
from feemodel.ethereum.fee_market import calldata_floor_gas
from feemodel.linea.coordinator import calldata_pressure
from feemodel.linea.extra_data import recorded_cost
from feemodel.linea.kernels import recorded
from feemodel.linea.parameters import COORDINATOR, NODE
from feemodel.linea.priority import priority_fee
from feemodel.quantities import ANY_REAL, Byte, BytesAboveZero, Quantity, RealWei, Wei
from feemodel.simulation._metadata import described_dataset
from feemodel.simulation.announced import CalldataPressure
from feemodel.simulation.quantities import IN_WEI, BytePrice, FactorAboveZero
from feemodel.simulation.surfaces import Submission

MAX_BLOCKS = 10_000_000  # maximum number of blocks, about 230 days
LARGEST_ATTACK = 1 << 26  # maximum number of transactions in all blocks together, which need about 3 GB of memory
MAX_TRANSACTIONS = 1_000_000  # maximum number of transactions of an attack in one block


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """Attack that fills blocks with calldata, in the largest transactions that a node accepts."""

    calldata: int = COORDINATOR.max_block_calldata  #: calldata in each block [byte]
    compression: float = 1.0  #: compressed size divided by uncompressed size, 1 for random bytes [1]
    transaction_calldata: int = NODE.max_transaction_calldata  #: maximum calldata of a transaction [byte]

    def __post_init__(self) -> None:
        maximum = check_of(BytesAboveZero)("transaction_calldata", self.transaction_calldata)
        if check_of(Byte)("calldata", self.calldata) > maximum * MAX_TRANSACTIONS:
            raise LimitExceeded(f"more than {MAX_TRANSACTIONS:,} transactions in a block: {self.calldata:,} bytes")
        if max(1.0, check_of(float)("compression", self.compression)) * self.calldata >= 2**53:
            raise InvalidInput("compression", "expected less than 2**53 compressed bytes", self.compression)
        if self.calldata >= 2**53:
            raise InvalidInput("calldata", "expected less than 2**53 bytes", self.calldata)

    def transactions(self) -> tuple[WholeArray, WholeArray]:
        """Return the compressed size [byte] and the gas [gas] of each transaction that the attack adds to a block.

        All bytes of the calldata are assumed to be nonzero. The floor price of EIP-7623 is 40 gas per nonzero byte of
        calldata.

        >>> Attack().transactions()
        (array([60000, 49000]), array([2421000, 1981000]))
        """
        maximum = self.transaction_calldata
        full, rest = divmod(self.calldata, maximum)
        lengths = np.array([maximum] * full + [rest] * (rest > 0), dtype=np.int64)
        sizes = np.ceil(lengths * self.compression).astype(np.int64)
        return sizes, calldata_floor_gas(0, lengths)


def doubling_blocks(pressure: float = 1.0, denominator: float = COORDINATOR.calldata_fee_denominator) -> float:
    """Return the number of blocks after which constant pressure has doubled the variable cost.

    The variable cost doubles in `ln 2 / ln(1 + pressure / denominator)` blocks. Raises `InvalidInput` if the pressure
    does not raise the variable cost.

    >>> round(doubling_blocks(), 3)
    22.526
    """
    divisor = Quantity("1", double=True, minimum=1).check_one("denominator", denominator)
    growth: float = ANY_REAL.check_one("pressure", pressure) / divisor
    if not 0.0 < growth * denominator <= 1.0:
        raise InvalidInput("pressure", "expected a number above 0, at most 1", pressure)
    return math.log(2.0) / math.log1p(growth)


def pressure_path(
    calldata: WholeArray,
    *,
    variable_cost: float,
    latest_variable_cost: float | None = None,
    pressure: CalldataPressure | None = None,
) -> xr.Dataset:
    """Return the announced variable cost after each block, given the calldata of the blocks.

    Parameters
    ----------
    calldata : calldata of each block, of shape (blocks,) [byte]. Blocks before the first block are assumed to have no
        calldata.
    variable_cost : constant variable cost from L1 fees, already limited to the coordinator's bounds [wei / byte].
    latest_variable_cost : variable cost announced before the first block; `None` means `variable_cost` [wei / byte].
    pressure : parameters of the rule; `None` means the published parameters.

    Returns
    -------
    Dataset over `block`: `calldata` [byte], and `variable_cost`, the cost announced after the block [wei / byte].

    The variable cost rises if the last five blocks contain more than half of their maximum calldata. With full blocks,
    the variable cost first rises after the third block:

    >>> path = pressure_path(np.full(5, 109_000), variable_cost=1e9)
    >>> path["variable_cost"].values.tolist()
    [1000000000, 1000000000, 1006250000, 1025117000, 1057151000]
    """
    terms = CalldataPressure() if pressure is None else instance("pressure", pressure, CalldataPressure)
    blocks = Quantity("byte").check("calldata", calldata)
    if not isinstance(blocks, np.ndarray) or blocks.ndim != 1 or not blocks.size:
        raise InvalidInput("calldata", "expected a list of numbers, one per block", calldata)
    if blocks.max() * max(terms.block_count, 1) >= 2**53:
        raise InvalidInput("calldata", "expected a sum below 2**53 bytes", int(blocks.max()))
    check_limit(terms.block_count, "blocks of a calldata window", MAX_BLOCKS)
    cost = latest = check_of(BytePrice)("variable_cost", variable_cost)
    if latest_variable_cost is not None:
        latest = check_of(float)("latest_variable_cost", latest_variable_cost)
    growth = np.zeros(len(blocks))  # with a block count of 0, growth stays 0 and only L1 fees determine the cost
    if terms.block_count:
        seen = np.convolve(blocks, np.ones(terms.block_count, dtype=np.int64))[: len(blocks)]
        moved = calldata_pressure(seen, max_block_calldata=terms.max_block_calldata, block_count=terms.block_count)
        growth = 1.0 + np.asarray(moved) / terms.denominator
    announced = under_pressure(np.full(len(blocks), cost), growth, latest)
    return described_dataset(
        {"calldata": ("block", blocks, "byte"), "variable_cost": ("block", announced, "wei / byte")},
        {"block": ("block", np.arange(1, len(blocks) + 1), "1")},
        {"l1_variable_cost": float(variable_cost), "block_time": NODE.block_time, "block_count": terms.block_count},
    )


@cached_njit(nogil=True)
def under_pressure(cost, growth, latest):  # type: ignore[no-untyped-def]
    """Return the announced cost at each update: max(cost from L1 fees, growth · previously announced cost)."""
    announced = np.empty(cost.size, dtype=np.int64)
    for i in range(cost.size):
        latest = recorded(max(cost[i], latest * growth[i]))
        announced[i] = latest
    return announced


def attack_cost(
    attack: Attack,
    *,
    hours: float,
    variable_cost: float,
    fixed_cost: int,
    margin: float,
    base_fee: int = NODE.base_fee,
    pressure: CalldataPressure | None = None,
    submission: Submission | None = None,
    l1_base_fee: float,
    l1_blob_base_fee: float,
) -> xr.Dataset:
    """Return the cost of an attack that fills blocks with calldata, with and without calldata pressure.

    The priority fee of each transaction is computed from the variable cost announced after the previous block.

    Parameters
    ----------
    attack : size and compression of the attack's calldata.
    hours : duration of the attack [h].
    variable_cost : variable cost from L1 fees, already limited to the coordinator's bounds [wei / byte].
    fixed_cost : cost of one unit of gas [wei / gas].
    margin : minimum margin of the priority fee [1].
    base_fee : L2 base fee [wei / gas].
    pressure : parameters of the rule; `None` means the published parameters. A block count of 0 turns calldata pressure
        off.
    submission : L1 transaction that posts the compressed bytes; `None` means one full blob.
    l1_base_fee : L1 base fee of the submissions [wei / gas].
    l1_blob_base_fee : L1 blob base fee of the submissions [wei / gas].

    Returns
    -------
    Dataset over `block` and `rule` ("calldata pressure", "without"): `variable_cost`, the variable cost that applies to
    the block's transactions [wei / byte]; `paid`, the fees that the attacker pays in the block [wei]; and `posting`,
    the cost of posting the block's bytes [wei].

    In the first block, the variable cost is the same with and without pressure. In the last of 900 blocks, the variable
    cost is much higher with pressure than without:

    >>> found = attack_cost(Attack(), hours=0.5, variable_cost=1e9, fixed_cost=30_000_000, margin=1.0,
    ...                     l1_base_fee=7e7, l1_blob_base_fee=4e6)
    >>> found.sizes["block"], found.variable_cost[0].values.tolist(), found.variable_cost[-1].values.tolist()
    (900, [1000000000, 1000000000], [4294967295000, 1000000000])
    """
    blocks = math.ceil(check_of(FactorAboveZero)("hours", hours) * 3_600 / NODE.block_time)
    check_limit(blocks, "blocks", MAX_BLOCKS)
    sizes, gas = instance("attack", attack, Attack).transactions()
    if blocks * len(sizes) > LARGEST_ATTACK:
        raise LimitExceeded(f"{blocks:,} blocks of {len(sizes):,} transactions are more than {LARGEST_ATTACK:,}")
    posted = Submission() if submission is None else instance("submission", submission, Submission)
    rollup_base_fee = check_of(Wei)("base_fee", base_fee)
    l1_fees = check_of(float)("l1_base_fee", l1_base_fee), check_of(float)("l1_blob_base_fee", l1_blob_base_fee)
    for name, fee in zip(("base_fee", "blob_base_fee"), l1_fees, strict=True):
        if fee and (wrong := implausible(name, np.array([fee]))):
            raise InvalidInput(f"l1_{name}", f"expected {wrong.expected} ({IN_WEI})", fee)
    path = pressure_path(np.full(blocks, attack.calldata), variable_cost=variable_cost, pressure=pressure)
    steady = recorded_cost(check_of(RealWei)("variable_cost", variable_cost))
    pressed = np.append(steady, path["variable_cost"].to_numpy()[:-1])
    costs = np.stack([pressed, np.full(blocks, steady)], axis=1)
    fees = priority_fee(sizes, gas, variable_cost=costs[:, :, None], fixed_cost=fixed_cost, margin=margin)
    paid = ((np.asarray(fees, dtype=np.float64) + rollup_base_fee) * gas).sum(axis=2)
    posting = sizes.sum() * posted.cost_per_byte(*l1_fees)
    return described_dataset(
        {
            "variable_cost": (("block", "rule"), costs, "wei / byte"),
            "paid": (("block", "rule"), paid, "wei"),
            "posting": ("block", np.full(blocks, posting), "wei"),
        },
        {"block": ("block", np.arange(1, blocks + 1), "1"), "rule": ["calldata pressure", "without"]},
        path.attrs | {"calldata": attack.calldata, "compression": attack.compression, "margin": margin},
    )
