"""What must a rollup transaction pay, and will that pay for L1?

Every public name is imported when it is first used, so that `import feemodel` costs next to nothing.
"""

from typing import TYPE_CHECKING

from feemodel.lazy import lazy_names
from feemodel.moved import answer_old_paths

if TYPE_CHECKING:
    from feemodel.execution.estimate import estimate_gas as estimate_gas
    from feemodel.explanation import explain as explain
    from feemodel.fees.forms import CostPerByte as CostPerByte
    from feemodel.fees.forms import VerificationCost as VerificationCost
    from feemodel.fees.from_l1 import priority_fee_from_l1 as priority_fee_from_l1
    from feemodel.fees.pricing import variable_cost as variable_cost
    from feemodel.fees.priority import breakdown as breakdown
    from feemodel.fees.priority import compatibility_priority_fee as compatibility_priority_fee
    from feemodel.fees.priority import priority_fee as priority_fee
    from feemodel.fees.priority import profitable as profitable
    from feemodel.fees.priority import verification_breakdown as verification_breakdown
    from feemodel.fees.priority import verification_margin as verification_margin
    from feemodel.fees.priority import verification_priority_fee as verification_priority_fee
    from feemodel.fees.record import PricingRecord as PricingRecord
    from feemodel.ledger.check import check_proof as check_proof
    from feemodel.simulation.announced import PricingRule as PricingRule
    from feemodel.simulation.backtest import backtest as backtest
    from feemodel.simulation.calibrate import calibrate as calibrate
    from feemodel.simulation.posting import Posting as Posting
    from feemodel.simulation.reduce import over as over
    from feemodel.simulation.samples import grid as grid
    from feemodel.simulation.samples import monte_carlo as monte_carlo
    from feemodel.simulation.samples import sobol as sobol
    from feemodel.simulation.sensitivity import sobol_indices as sobol_indices
    from feemodel.simulation.sweep import sweep as sweep
    from feemodel.sizes.codecs import Brotli as Brotli
    from feemodel.sizes.codecs import Deflate as Deflate
    from feemodel.sizes.codecs import FastLz as FastLz
    from feemodel.sizes.codecs import Zstd as Zstd
    from feemodel.sizes.codecs import compressed_size as compressed_size
    from feemodel.sizes.codecs import compressed_sizes as compressed_sizes
    from feemodel.sizes.lzss import Lzss as Lzss
    from feemodel.sizes.measure import fee_payloads as fee_payloads
    from feemodel.sizes.measure import fee_size as fee_size
    from feemodel.sizes.measure import fee_sizes as fee_sizes
    from feemodel.transaction import fee_transaction as fee_transaction

__version__ = "0.1.0"

_HOME = {
    "Brotli": "sizes.codecs",
    "CostPerByte": "fees.forms",
    "Deflate": "sizes.codecs",
    "FastLz": "sizes.codecs",
    "Lzss": "sizes.lzss",
    "Posting": "simulation.posting",
    "PricingRecord": "fees.record",
    "PricingRule": "simulation.announced",
    "VerificationCost": "fees.forms",
    "Zstd": "sizes.codecs",
    "backtest": "simulation.backtest",
    "breakdown": "fees.priority",
    "calibrate": "simulation.calibrate",
    "check_proof": "ledger.check",
    "compatibility_priority_fee": "fees.priority",
    "compressed_size": "sizes.codecs",
    "compressed_sizes": "sizes.codecs",
    "estimate_gas": "execution.estimate",
    "explain": "explanation",
    "fee_payloads": "sizes.measure",
    "fee_size": "sizes.measure",
    "fee_sizes": "sizes.measure",
    "fee_transaction": "transaction",
    "grid": "simulation.samples",
    "monte_carlo": "simulation.samples",
    "over": "simulation.reduce",
    "priority_fee": "fees.priority",
    "priority_fee_from_l1": "fees.from_l1",
    "profitable": "fees.priority",
    "sobol": "simulation.samples",
    "sobol_indices": "simulation.sensitivity",
    "sweep": "simulation.sweep",
    "variable_cost": "fees.pricing",
    "verification_breakdown": "fees.priority",
    "verification_margin": "fees.priority",
    "verification_priority_fee": "fees.priority",
}
__all__ = [*_HOME]
__getattr__, __dir__ = lazy_names(__name__, _HOME)
answer_old_paths()
