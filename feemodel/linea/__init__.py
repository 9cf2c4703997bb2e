"""The rollup that the two methods come from: its fee formulas, parameters, and the checks of its nodes."""

from feemodel.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, {})
