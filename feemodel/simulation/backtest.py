"""A backtest: the fees of real transactions against the costs of posting them, at given L1 fees."""

from typing import TYPE_CHECKING

import xarray as xr

from feemodel.progress import Progress
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.simulator import simulate
from feemodel.simulation.policies.base import Pricing
from feemodel.simulation.posting import Posting
from feemodel.simulation.scenarios import Rng
from feemodel.simulation.surfaces import Workload

if TYPE_CHECKING:
    import pandas as pd


def backtest(
    workload: "Workload | pd.DataFrame",
    l1_fees: xr.Dataset,
    rule: Pricing | PricingRule | None = None,
    posting: Posting | None = None,
    *,
    arrival_rate: float,
    step: float = 12.0,
    record: int = 1,
    rng: Rng,
    progress: Progress = None,
) -> xr.Dataset:
    """Simulate real transactions that do not respond to the prices of a rule, at given L1 fees.

    This is `simulate` with the demand `Demand(rate=arrival_rate, workload=workload)`. The transactions are drawn from
    the workload with replacement; per unit of gas, each pays the base fee and `feemodel.priority_fee` of its own size
    and gas at the announced costs.

    Parameters
    ----------
    workload : sizes and gas of transactions, or a table of `feemodel.io.read_transactions`, which is converted by
        `Workload.from_transactions`.
    l1_fees : scenario of `feemodel.simulation.scenarios`, which lasts `duration(l1_fees)`.
    rule : pricing rule: how costs are announced, and which margin users pay; `None` means the published defaults. Any
        other policy of `simulate` may take its place.
    posting : rule for when data is posted; `None` means that full blobs are posted.
    arrival_rate : mean number of transactions per second [1 / s].
    step : length of a step [s].
    record : number of paths for which the result contains the values in each step.
    rng : seed, SeedSequence or Generator. With the same seed, all rules get the same transactions.
    progress : `True` for a progress bar, or a function that is called for each path.

    Returns
    -------
    The Dataset of `simulate`. `data_fees` are the part of the fees that depends on size; `recovery` is data fees over
    the cost of posting, and `total_recovery` is all fees over the cost of posting.

    Raises
    ------
    InvalidInput : a workload without transactions or with sizes of 0, calldata pressure without calldata, or an
        argument that `simulate` rejects.

    A transfer of 128 bytes and 21,000 gas pays the base fee of 7 wei per gas and a priority fee with a margin of 1.2,
    in total 7 + trunc(1.2 · (30,000,000 + 90,000,000 · 128 // 21,000)) wei per gas:

    >>> import numpy as np
    >>> from feemodel.simulation.scenarios import replay
    >>> fees = replay({"timestamp": [0, 1_800], "base_fee": [7e7, 7e7], "blob_base_fee": [4e6, 4e6]}, source="by hand")
    >>> transfers = Workload("transfers", np.array([128]), np.array([21_000]))
    >>> found = backtest(transfers, fees, arrival_rate=0.1, rng=1)
    >>> (found.total_fees / found.transactions.sum("day")).values.tolist()
    [769824132000.0]
    """
    if not isinstance(workload, Workload):
        workload = Workload.from_transactions(workload)
    demand = Demand(rate=arrival_rate, workload=workload)
    pricing = PricingRule() if rule is None else rule
    return simulate(l1_fees, pricing, posting, demand, step=step, record=record, rng=rng, progress=progress)
