"""A rollup in a closed loop with L1, its users and its operator: prices, demand, posting and the balance interact."""

from feemodel._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
