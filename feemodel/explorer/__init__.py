"""The explorer: a page, and the JSON-RPC methods that compute its numbers."""

from feemodel.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, {})
