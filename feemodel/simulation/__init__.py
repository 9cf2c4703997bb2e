"""Evaluate fees over many inputs, and simulate a rollup whose prices and demand affect each other."""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.simulation.closed_loop.baseline import baseline_pricing as baseline_pricing
    from feemodel.simulation.closed_loop.baseline import break_even as break_even
    from feemodel.simulation.closed_loop.baseline import fitted as fitted
    from feemodel.simulation.closed_loop.demand import Demand as Demand
    from feemodel.simulation.closed_loop.observations import policy_state as policy_state
    from feemodel.simulation.closed_loop.paths import Bootstrap as Bootstrap
    from feemodel.simulation.closed_loop.simulator import Experiment as Experiment
    from feemodel.simulation.closed_loop.simulator import simulate as simulate
    from feemodel.simulation.margin import margins as margins
    from feemodel.simulation.policies.arbitrum import ArbitrumPricing as ArbitrumPricing
    from feemodel.simulation.policies.eip1559 import Eip1559 as Eip1559
    from feemodel.simulation.policies.fixed import Fixed as Fixed
    from feemodel.simulation.policies.linea import LineaPricing as LineaPricing
    from feemodel.simulation.policies.op_stack import OpStackPricing as OpStackPricing
    from feemodel.simulation.posting import Costs as Costs
    from feemodel.simulation.posting import Posting as Posting
    from feemodel.simulation.posting import PriceCap as PriceCap

__getattr__, __dir__ = lazy_names(__name__)
