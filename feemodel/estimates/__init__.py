"""Results of `rollup_estimateGas`."""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.estimates.rollup import Measuring as Measuring
    from feemodel.estimates.rollup import RollupEstimate as RollupEstimate
    from feemodel.estimates.rollup import rollup_estimate as rollup_estimate

__getattr__, __dir__ = lazy_names(__name__)
