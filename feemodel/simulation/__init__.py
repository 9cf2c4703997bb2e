"""Experiments: sample, evaluate, analyse; and a rollup in a closed loop."""

from typing import TYPE_CHECKING

from feemodel.lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.simulation.closed_loop.baseline import baseline_pricing as baseline_pricing
    from feemodel.simulation.closed_loop.baseline import break_even as break_even
    from feemodel.simulation.closed_loop.baseline import fitted as fitted
    from feemodel.simulation.closed_loop.costs import Costs as Costs
    from feemodel.simulation.closed_loop.demand import Demand as Demand
    from feemodel.simulation.closed_loop.execution_prices import ArbitrumExecution as ArbitrumExecution
    from feemodel.simulation.closed_loop.execution_prices import Eip1559 as Eip1559
    from feemodel.simulation.closed_loop.execution_prices import FixedExecution as FixedExecution
    from feemodel.simulation.closed_loop.execution_prices import TaikoPricing as TaikoPricing
    from feemodel.simulation.closed_loop.finality import price_of_finality as price_of_finality
    from feemodel.simulation.closed_loop.paths import Bootstrap as Bootstrap
    from feemodel.simulation.closed_loop.policies import ArbitrumPricing as ArbitrumPricing
    from feemodel.simulation.closed_loop.policies import Fixed as Fixed
    from feemodel.simulation.closed_loop.policies import LineaPricing as LineaPricing
    from feemodel.simulation.closed_loop.policies import OpStackPricing as OpStackPricing
    from feemodel.simulation.closed_loop.policies import VaultEip1559 as VaultEip1559
    from feemodel.simulation.closed_loop.policies import VaultPricing as VaultPricing
    from feemodel.simulation.closed_loop.profit import linea_surplus as linea_surplus
    from feemodel.simulation.closed_loop.profit import profit_and_loss as profit_and_loss
    from feemodel.simulation.closed_loop.simulator import Experiment as Experiment
    from feemodel.simulation.closed_loop.simulator import simulate as simulate
    from feemodel.simulation.posting import Posting as Posting
    from feemodel.simulation.posting import PriceCap as PriceCap

__getattr__, __dir__ = lazy_names(__name__)
