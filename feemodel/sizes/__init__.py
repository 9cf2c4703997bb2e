"""Measures: bytes in, sizes out."""

from feemodel.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, {})
