"""Fees of rollup transactions: fee formulas, compressed sizes, gas estimates and simulations.

Each public name is imported when it is first used, so that `import feemodel` is fast.
"""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.execution._estimate import estimate_gas as estimate_gas
    from feemodel.ledger.proof import check_proof as check_proof
    from feemodel.linea._explanation import explain as explain
    from feemodel.linea._measure import fee_bytes as fee_bytes
    from feemodel.linea._measure import fee_size as fee_size
    from feemodel.linea._measure import fee_sizes as fee_sizes
    from feemodel.linea.coordinator import variable_cost as variable_cost
    from feemodel.linea.extra_data import PricingRecord as PricingRecord
    from feemodel.linea.from_l1 import priority_fee_from_l1 as priority_fee_from_l1
    from feemodel.linea.pricing_forms import CostPerByte as CostPerByte
    from feemodel.linea.pricing_forms import VerificationCost as VerificationCost
    from feemodel.linea.priority import breakdown as breakdown
    from feemodel.linea.priority import priority_fee as priority_fee
    from feemodel.linea.priority import profitable as profitable
    from feemodel.linea.priority import verification_margin as verification_margin
    from feemodel.linea.priority import verification_priority_fee as verification_priority_fee
    from feemodel.rollups.tables import compare as compare
    from feemodel.simulation.announced import PricingRule as PricingRule
    from feemodel.simulation.backtest import backtest as backtest
    from feemodel.simulation.calibrate import calibrate as calibrate
    from feemodel.simulation.closed_loop.simulator import simulate as simulate
    from feemodel.simulation.forecast.distribution import forecast as forecast
    from feemodel.simulation.forecast.recommend import recommend as recommend
    from feemodel.simulation.posting import Posting as Posting
    from feemodel.simulation.samples import grid as grid
    from feemodel.simulation.samples import monte_carlo as monte_carlo
    from feemodel.simulation.samples import rows as rows
    from feemodel.simulation.samples import sobol as sobol
    from feemodel.simulation.sensitivity import sobol_indices as sobol_indices
    from feemodel.simulation.statistics import over as over
    from feemodel.simulation.sweep import sweep as sweep
    from feemodel.sizes._codecs import Brotli as Brotli
    from feemodel.sizes._codecs import FastLz as FastLz
    from feemodel.sizes._codecs import Zstd as Zstd
    from feemodel.sizes._codecs import compressed_size as compressed_size
    from feemodel.sizes._codecs import compressed_sizes as compressed_sizes
    from feemodel.sizes._lzss import Lzss as Lzss

__version__ = "0.1.0"

__getattr__, __dir__ = lazy_names(__name__)
