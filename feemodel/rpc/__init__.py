"""The server: JSON-RPC over HTTP, thin."""

from feemodel.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, {})
