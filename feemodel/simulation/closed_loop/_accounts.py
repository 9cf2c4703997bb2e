"""Records and terms of the compiled loop: what it takes of a path, and what it fills."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel.checks import RealArray
from feemodel.simulation.closed_loop._stopping import Limits

#: Lines of the operator's costs [wei].
LINES = (
    "data_base_fee", "data_tip", "data_blob_fee", "data_calldata", "data_alternative_layer",
    "finalization_base_fee", "finalization_tip", "proving", "overhead",
)  # fmt: skip
DATA_LINES = tuple(line for line in LINES if line.startswith("data_"))

#: Sums of a day; names and units of those that a result has are in `results`.
DAY = np.dtype(
    [
        (name, np.float64)
        for name in (
            "data_fees", "execution_fees", "operator_fees", *LINES, "accrued_data_cost", "accrued_finalization_cost",
            "transactions", "bytes", "submissions", "blobs", "finalizations", "price_sum", "last_price",
            "min_balance", "steps", "overcharge", "undercharge", "bytes_below_cost", "lost_transactions", "lost_fees",
        )
    ],
    align=True,
)  # fmt: skip

#: Series over steps of a recorded path.
SERIES = np.dtype([(name, np.float64) for name in ("price", "balance", "backlog", "transactions_in_step")], align=True)

#: Accounts of a path as it goes.
ACCOUNTS = np.dtype(
    [
        ("balance", np.float64),  # of the operator [wei]
        ("peak", np.float64),  # greatest balance so far [wei]
        ("drawdown", np.float64),  # deepest fall below a peak [wei]
        ("waited", np.float64),  # bytes times how long each waited [byte · s]
        ("at_deadline", np.float64),  # bytes that left at the deadline [byte]
        ("arrived", np.float64),  # [byte]
        ("posted", np.float64),  # [byte]
        ("front", np.int64),  # step of the oldest byte that is not posted
        ("full", np.int64),  # step in which the oldest submission became full
        ("finalized", np.float64),  # [byte]
        ("final_front", np.int64),  # step of the oldest byte that is not finalized
        ("unfinalized_blobs", np.float64),
        ("next_finalization", np.float64),  # since the start [s]
        ("step_bytes", np.float64),  # posted in the step [byte]
        ("step_cost", np.float64),  # of it [wei]
        ("day", np.int64),  # number of the day
        ("steps_left_in_day", np.int64),  # steps
        ("refused", np.int64),  # number of the step, from 1 on, whose prices were refused
    ],
    align=True,
)


class L1(NamedTuple):
    """Fees and usage of L1 in each step, or one value that stays."""

    base_fee: RealArray  #: [wei / gas]
    blob_base_fee: RealArray  #: [wei / gas]
    tip: RealArray  #: [wei / gas]
    gas_used_ratio: RealArray  #: [1]
    blob_gas_used_ratio: RealArray  #: [1]


class Fees(NamedTuple):
    """Fees of L1 that a submission pays, or arrays of them [wei / gas]."""

    base_fee: Any
    blob_base_fee: Any
    tip: Any


class Clock(NamedTuple):
    """Steps and days of a path."""

    start: float  #: since 1970 [s]
    step: float  #: [s]
    day_steps: int  #: steps of a day
    offset: int  #: steps of the first day before the path


class DemandTerms(NamedTuple):
    """Numbers of a `Demand`."""

    rate: float  #: [1 / s]
    bytes_per_transaction: float  #: [byte]
    gas_per_transaction: float  #: [gas]
    calldata_per_transaction: float  #: [byte]
    elasticity: float  #: [1]
    reference_fee: float  #: [wei]
    choke: float  #: [1]
    total: bool  #: whether users answer the whole fee and not that of data alone
    poisson: bool


class PostingTerms(NamedTuple):
    """Numbers of a `Posting`."""

    kind: int
    capacity: float  #: of a blob [byte]
    need: float  #: bytes of a full submission [byte]
    execution_gas: float  #: [gas]
    further_blob_gas: float  #: [gas]
    blob_gas: float  #: [gas]
    deadline: float  #: [s]
    layer_cost: float  #: [wei / byte]
    commitment_gas: float  #: [gas]
    target_delay: float  #: [s]
    adjustment: float  #: [1]
    tip_paid: bool  #: whether a submission pays the tip that the caps leave
    from_first_byte: bool
    coefficient: float  #: [1]
    tip_cap: float  #: [wei / gas]


class CostTerms(NamedTuple):
    """Numbers of `Costs`."""

    finalizes: bool
    finalization_gas: float  #: [gas]
    finalization_gas_per_blob: float  #: [gas]
    finalize_blobs: float  #: 0: not by blobs
    finalize_seconds: float  #: 0: not by the clock [s]
    proving_per_gas: float  #: [wei / gas]
    proving_per_byte: float  #: [wei / byte]
    overhead: float  #: of a step [wei]


class Caps(NamedTuple):
    """Fees that the waiting postings look at; empty for those that need none."""

    base_fee_percentile: RealArray  #: in each step [wei / gas]
    blob_base_fee_percentile: RealArray  #: [wei / gas]
    hours: RealArray  #: factor of each hour of the week [1]
    cheapest: NDArray[np.int64]  #: step to post in
    limits: Limits  #: by forecast


class PolicyTerms(NamedTuple):
    """Numbers of a policy that the loop applies."""

    level: float  #: factor on the data price [1]
    l1_lag: int  #: [steps]


class Found(NamedTuple):
    """Series that the loop fills."""

    prices: RealArray  #: of data in each step [wei / byte]
    arrived: RealArray  #: bytes up to the end of each step [byte]
    days: NDArray[Any]  #: records of the type `DAY`
    waits: RealArray  #: bytes by the number of steps that they waited [byte]
    series: NDArray[Any]  #: records of the type `SERIES`, of no length where a path is not recorded


class Path(NamedTuple):
    """All that the loop takes of a path besides the policy's state."""

    execution: Any  #: state of the price of execution, an `ExecutionState`
    l1: L1
    activity: RealArray  #: demand before prices, in each step or one value [1]
    clock: Clock
    policy: PolicyTerms
    demand: DemandTerms
    posting: PostingTerms
    costs: CostTerms
    caps: Caps
    rng: np.random.Generator
    balances: RealArray  #: ring of as many balances as the policy is late, and one [wei]
    charges: RealArray  #: ring of as many fees of a transaction as users are late, and one [wei]
    seen: np.record  #: of the type `SEEN`
    price: np.record  #: of the type `PRICE`
    settled: np.record  #: of the type `SETTLED`
    accounts: np.record  #: of the type `ACCOUNTS`
    found: Found
