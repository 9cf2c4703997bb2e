"""What every EVM chain shares: quantities, calls, transactions, hashes, and the fee market."""

from feemodel.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, {})
