"""Results of `rollup_estimateGas`, and comparisons of new estimates with captured transactions."""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.estimates._comparison import Comparison as Comparison
    from feemodel.estimates._comparison import compare_transactions as compare_transactions
    from feemodel.estimates._replay import state_before as state_before
    from feemodel.estimates._rollup import Measuring as Measuring
    from feemodel.estimates._rollup import RollupEstimate as RollupEstimate
    from feemodel.estimates._rollup import rollup_estimate as rollup_estimate

__getattr__, __dir__ = lazy_names(__name__)
