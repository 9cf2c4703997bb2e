"""Formulas: numbers and arrays in, numbers and arrays out."""

from feemodel.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, {})
