"""Results of `rollup_estimateGas`."""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.estimates.rollup import Gas as Gas
    from feemodel.estimates.rollup import Measuring as Measuring
    from feemodel.estimates.rollup import RollupEstimate as RollupEstimate

__getattr__, __dir__ = lazy_names(__name__)
