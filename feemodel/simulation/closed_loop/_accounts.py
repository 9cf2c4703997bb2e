"""Data types of the compiled simulation loop: inputs of the loop for one path, and records with the loop's results."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel.checks import RealArray

#: Kinds of costs of the operator [wei].
LINES = (
    "data_base_fee",
    "data_tip",
    "data_blob_fee",
    "data_calldata",
    "data_alternative_layer",
    "finalization_base_fee",
    "finalization_tip",
    "proving",
    "overhead",
)
DATA_LINES = tuple(line for line in LINES if line.startswith("data_"))

#: Totals of a day. `_results.DAILY` has the units and descriptions of the fields that appear in results.
DAY = np.dtype(
    [
        (name, np.float64)
        for name in (
            "data_fees",
            "execution_fees",
            "operator_fees",
            *LINES,
            "accrued_data_cost",
            "accrued_finalization_cost",
            "transactions",
            "bytes",
            "submissions",
            "blobs",
            "finalizations",
            "price_sum",
            "last_price",
            "min_balance",
            "steps",
            "overcharge",
            "undercharge",
            "bytes_below_cost",
            "lost_transactions",
            "lost_fees",
        )
    ],
    align=True,
)

#: Values that are stored in each step of a recorded path.
SERIES = np.dtype(
    [
        (name, np.float64)
        for name in ("price", "balance", "backlog", "transactions_in_step", "data_fees_in_step", "data_cost_of_step")
    ],
    align=True,
)

#: Running totals of a path, updated in each step.
ACCOUNTS = np.dtype(
    [
        ("balance", np.float64),  # balance of the operator [wei]
        ("peak", np.float64),  # maximum balance so far [wei]
        ("drawdown", np.float64),  # maximum drawdown: largest decrease from an earlier balance [wei]
        ("waited", np.float64),  # sum of the waiting times of all posted bytes [byte · s]
        ("at_deadline", np.float64),  # bytes posted because the deadline was reached [byte]
        ("arrived", np.float64),  # bytes that have arrived [byte]
        ("posted", np.float64),  # bytes that have been posted [byte]
        ("front", np.int64),  # step in which the oldest unposted byte arrived
        ("full", np.int64),  # step in which the oldest unposted submission became full
        ("finalized", np.float64),  # bytes that have been finalized [byte]
        ("final_front", np.int64),  # step in which the oldest unfinalized byte arrived
        ("unfinalized_blobs", np.float64),
        ("next_finalization", np.float64),  # time from the start of the path to the next finalization [s]
        ("step_bytes", np.float64),  # bytes posted in the step [byte]
        ("step_cost", np.float64),  # cost of the submissions of the step [wei]
        ("day", np.int64),  # number of the day
        ("steps_left_in_day", np.int64),
        ("refused", np.int64),  # step with an invalid price, counted from 1; 0 if there is no such step
    ],
    align=True,
)


class L1(NamedTuple):
    """L1 fees and usage ratios; an array has one value for each step, or one value for all steps."""

    base_fee: RealArray  #: [wei / gas]
    blob_base_fee: RealArray  #: [wei / gas]
    tip: RealArray  #: [wei / gas]
    gas_used_ratio: RealArray  #: [1]
    blob_gas_used_ratio: RealArray  #: [1]


class SubmissionFees(NamedTuple):
    """L1 fees of a submission, as numbers or arrays [wei / gas]."""

    base_fee: Any
    blob_base_fee: Any
    tip: Any


class Clock(NamedTuple):
    """Start of a path, and division of the path into steps and days."""

    start: float  #: time of the first step, in seconds since 1970 [s]
    step: float  #: length of a step [s]
    day_steps: int  #: number of steps in a day
    offset: int  #: number of steps from the start of the first day to the start of the path


class DemandTerms(NamedTuple):
    """Fields of a `Demand`, in the types that the compiled loop requires."""

    rate: float  #: [1 / s]
    bytes_per_transaction: float  #: [byte]
    gas_per_transaction: float  #: [gas]
    calldata_per_transaction: float  #: [byte]
    elasticity: float  #: [1]
    reference_fee: float  #: [wei]
    choke: float  #: [1]
    total: bool  #: `True`: demand responds to the total fee; `False`: only to the data fee
    poisson: bool


class Arrivals(NamedTuple):
    """Real transactions that arrive on a path; without real transactions, the arrays are empty."""

    ends: NDArray[np.int64]  #: number of transactions that have arrived by the end of each step
    kind: NDArray[np.int32]  #: for each transaction in order of arrival, its index in the workload
    size: NDArray[np.int64]  #: size of each transaction of the workload, which its fee depends on [byte]
    gas: NDArray[np.int64]  #: gas of each transaction of the workload [gas]
    calldata: NDArray[np.int64]  #: calldata of each transaction of the workload [byte]


class Rounding(NamedTuple):
    """Rounding of the fee of a real transaction to whole wei per gas, as Linea's node does it."""

    whole: bool  #: `False`: fees are not rounded, and the other fields are not used
    margin: float  #: factor on the announced costs, which the data price includes [1]
    fixed_cost: int  #: announced fixed cost [wei / gas]
    base_fee: int  #: base fee of the rollup [wei / gas]


class PostingTerms(NamedTuple):
    """Fields of a `Posting`, in the types that the compiled loop requires."""

    kind: int
    capacity: float  #: capacity of a blob [byte]
    need: float  #: size of a full submission [byte]
    execution_gas: float  #: execution gas of a submission with one blob [gas]
    further_blob_gas: float  #: execution gas of each further blob [gas]
    blob_gas: float  #: blob gas of a blob [gas]
    deadline: float  #: [s]
    layer_cost: float  #: [wei / byte]
    commitment_gas: float  #: [gas]
    target_delay: float  #: [s]
    adjustment: float  #: [1]
    tip_paid: bool  #: `True`: submissions pay the tip that the price cap allows; `False`: the L1 tip
    from_first_byte: bool  #: `True`: the cap rises after the first byte arrives; `False`: after the submission is full
    coefficient: float  #: [1]
    tip_cap: float  #: [wei / gas]
    stream_ratio: float  #: bytes posted / sum of the sizes that fees depend on [1]


class CostTerms(NamedTuple):
    """Fields of `Costs`, in the types that the compiled loop requires."""

    finalizes: bool
    finalization_gas: float  #: [gas]
    finalization_gas_per_blob: float  #: [gas]
    finalize_blobs: float  #: number of posted blobs between finalizations; 0: finalizations do not depend on blobs
    finalize_seconds: float  #: time between finalizations; 0: finalizations do not depend on time [s]
    proving_per_gas: float  #: [wei / gas]
    proving_per_byte: float  #: [wei / byte]
    overhead: float  #: operator's overhead per step [wei]


class Caps(NamedTuple):
    """Fee limits of the price cap; for all other posting policies, the arrays are empty."""

    base_fee_percentile: RealArray  #: rolling percentile of base fees in each step [wei / gas]
    blob_base_fee_percentile: RealArray  #: rolling percentile of blob base fees in each step [wei / gas]
    hours: RealArray  #: factor by which the price cap is multiplied in each hour of the week [1]


class PolicyTerms(NamedTuple):
    """Attributes of a policy that the loop applies itself; the functions of the policy must not apply them again."""

    level: float  #: factor by which the data price is multiplied [1]
    l1_lag: int  #: delay with which the policy observes L1 fees [steps]


class Found(NamedTuple):
    """Arrays in which the loop stores its results."""

    prices: RealArray  #: data price in each step [wei / byte]
    arrived: RealArray  #: total bytes that have arrived by the end of each step [byte]
    days: NDArray[Any]  #: `DAY` records
    waits: RealArray  #: element n: bytes that waited n steps; the last element includes longer waits [byte]
    series: NDArray[Any]  #: one record of type `SERIES` for each step; empty if the path is not recorded


class Path(NamedTuple):
    """Inputs and outputs of the loop for one path, except for the state of the policy."""

    l1: L1
    activity: RealArray  #: demand factor that depends on L1 fees and time of day, for each step or for all steps [1]
    clock: Clock
    policy: PolicyTerms
    demand: DemandTerms
    arrivals: Arrivals
    rounding: Rounding
    posting: PostingTerms
    costs: CostTerms
    caps: Caps
    balances: RealArray  #: ring buffer of the balances in the last `balance_lag + 1` steps [wei]
    charges: RealArray  #: ring buffer of the fees of a transaction in the last `lag + 1` steps [wei]
    seen: np.record  #: `SEEN` record
    price: np.record  #: `PRICE` record
    settled: np.record  #: `SETTLED` record
    accounts: np.record  #: `ACCOUNTS` record
    found: Found
