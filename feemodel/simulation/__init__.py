"""Experiments: sample, evaluate, analyse."""

from feemodel.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, {})
