"""Baseline for comparing pricing policies with the same L1 fees, demand, posting and parameters.

Demand is a continuous flow of 1.45 transactions per second. A transaction has 119.42 compressed bytes. A submission
carries one blob of 130,048 bytes, uses 65,250 gas and pays a tip of 0.1 gwei. Bytes that remain at the end are posted
in one last blob. The policies set only the data price.
"""

from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Annotated, Literal, NamedTuple, TypeAlias, get_args

from feemodel.arguments import checked
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import USABLE_BLOB_BYTES
from feemodel.quantities import Quantity
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.paths import MAX_STEPS
from feemodel.simulation.closed_loop.simulator import simulate
from feemodel.simulation.policies.arbitrum import ArbitrumPricing
from feemodel.simulation.policies.base import Pricing
from feemodel.simulation.policies.fixed import Fixed
from feemodel.simulation.policies.linea import LineaPricing
from feemodel.simulation.policies.op_stack import OpStackPricing
from feemodel.simulation.posting import Costs, Posting
from feemodel.simulation.quantities import Duration, DurationAboveZero
from feemodel.simulation.scenarios import Scenario

Kind: TypeAlias = Literal["fixed", "linea", "linea-unbounded", "op-stack", "arbitrum"]
PRICINGS: tuple[str, ...] = get_args(Kind)
Blocks = Annotated[int, Quantity("1", minimum=1, maximum=MAX_STEPS)]
FIT_TOLERANCE, MAX_DOUBLINGS = 1e-9, 21


class BreakEven(NamedTuple):
    """Break-even price and mean costs over a history, if demand does not respond to prices."""

    price: float  #: constant price at which fees equal the cost of posting [wei / byte]
    cost_per_day: float  #: mean cost of posting per day [wei]
    bytes_per_day: float  #: mean number of bytes per day [byte]


@checked
def break_even(l1_fees: Scenario, posting: Posting, demand: Demand, *, step: DurationAboveZero = 12.0) -> BreakEven:
    """Return the constant data price at which fees equal posting costs over a history, for demand with elasticity 0.

    Parameters
    ----------
    l1_fees : scenario of one path.
    posting : rule for when data is posted.
    demand : demand for transactions; its elasticity is replaced by 0.
    step : length of a step [s].

    Returns
    -------
    Break-even price [wei / byte], mean cost per day and mean bytes per day.

    Raises
    ------
    InvalidInput : the scenario is invalid or shorter than a step, or the rate of the demand is 0.
    LimitExceeded : the steps do not fit in memory.

    >>> from feemodel.simulation.scenarios import replay
    >>> rows = {"timestamp": [0, 86_400], "base_fee": [7e7] * 2, "blob_base_fee": [4e6] * 2}
    >>> round(break_even(replay(rows, source="by hand"), Posting(), Demand()).price / 1e6, 1)  # last blob part full
    90.1
    """
    inelastic = replace(demand, elasticity=0.0, poisson=False)
    if inelastic.rate == 0.0:
        raise InvalidInput("demand", "expected a rate above 0, to compute a price", demand.rate)
    found = simulate(l1_fees, Fixed(price=0.0), posting, inelastic, step=step)
    days = float(found["covered"].sum())
    # Fees depend on separately compressed sizes, whose sum exceeds the stream.
    cost, size = float(found["data_cost"][0]), float(found["bytes"][0].sum()) / posting.stream_ratio
    return BreakEven(cost / size, cost / days, size / days)


@checked
def baseline_pricing(kind: Kind, even: BreakEven, *, window_blocks: Blocks = 1_000, step: Duration = 12.0) -> Pricing:
    """Return the pricing policy with a given short name, with the parameters of the baseline.

    Parameters
    ----------
    kind : short name. "linea" has prices that are meant to cover only posting costs and is updated in every step;
        "linea-unbounded" is the same without bounds on the variable cost.
    even : break-even price, which is the price of "fixed" and the initial price of "arbitrum".
    window_blocks : length of Linea's averaging window [steps].
    step : length of a step [s].

    Returns
    -------
    The policy.

    Raises
    ------
    InvalidInput : `kind` is unknown, or a parameter is out of range.

    >>> pricing = baseline_pricing("linea", BreakEven(1e8, 1e15, 1e7), window_blocks=50)
    >>> pricing.window, pricing.estimate_margin, pricing.lower_bound
    (600.0, 1.0, 90000001.0)
    """
    if kind == "fixed":
        return Fixed(price=even.price)
    if kind == "op-stack":
        return OpStackPricing()
    if kind == "arbitrum":
        return ArbitrumPricing(price=even.price)
    linea = LineaPricing(
        base_fee=0,
        fixed_cost=0,
        estimate_margin=1.0,
        window=window_blocks * step,
        update_interval=step,
        bytes_per_submission=USABLE_BLOB_BYTES,
    )
    return linea if kind == "linea" else replace(linea, lower_bound=None, upper_bound=None)


@checked
def fitted(
    l1_fees: Scenario,
    pricing: Pricing,
    posting: Posting,
    demand: Demand,
    costs: Costs | None = None,
    *,
    step: DurationAboveZero = 12.0,
) -> Pricing:
    """Set the level of a policy so that fees equal posting costs over a history, for demand with elasticity 0.

    An operator could not have fitted the level in advance, because the fit uses the whole history. The results of the
    fitted policy are therefore an upper bound on the results that an operator could have achieved.

    Parameters
    ----------
    l1_fees : scenario of one path.
    pricing : pricing policy that has an attribute `level`.
    posting : rule for when data is posted.
    demand : demand for transactions; its elasticity is replaced by 0.
    costs : costs of finalization, proving and overhead; `None` means no such costs.
    step : length of a step [s].

    Returns
    -------
    The policy with the fitted level.

    Raises
    ------
    InvalidInput : the policy has no attribute `level`, or no level makes fees equal to posting costs.

    >>> from feemodel.simulation.scenarios import replay
    >>> rows = {"timestamp": [0, 86_400], "base_fee": [7e7] * 2, "blob_base_fee": [4e6] * 2}
    >>> fees = replay(rows, source="by hand")
    >>> half = Fixed(price=break_even(fees, Posting(), Demand()).price / 2.0)
    >>> round(fitted(fees, half, Posting(), Demand()).level, 9)
    2.0
    """
    if not is_dataclass(pricing) or not any(field.name == "level" for field in fields(pricing)):
        raise InvalidInput("level", "expected a policy with a level", pricing)
    from scipy.optimize import brentq

    inelastic = replace(demand, elasticity=0.0, poisson=False)

    @cache
    def surplus(level: float) -> float:
        at_level = replace(pricing, level=level)
        return float(simulate(l1_fees, at_level, posting, inelastic, costs, step=step)["recovery"].mean()) - 1.0

    levels = [2.0**doublings for doublings in range(MAX_DOUBLINGS)]
    low = next((1.0 / level for level in levels if surplus(1.0 / level) <= 0.0), 1.0)
    high = next((level for level in levels if surplus(level) >= 0.0), 1.0)
    level = float(brentq(surplus, low, high, xtol=1e-12)) if surplus(low) <= 0.0 <= surplus(high) else low
    if not abs(surplus(level)) <= FIT_TOLERANCE:  # the surplus can jump, if prices decide when data is posted
        reason = "expected a policy that recovers its cost at some level; one that follows the balance needs no fit"
        raise InvalidInput("level", reason, type(pricing).__name__)
    return replace(pricing, level=level)
