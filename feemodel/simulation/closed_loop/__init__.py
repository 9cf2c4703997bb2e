"""Closed-loop simulation of a rollup, where prices, demand, posting and the operator's balance affect each other."""

from feemodel._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
