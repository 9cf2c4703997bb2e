"""Gas that a call pays for its bytes on L1, as estimated by an Arbitrum node."""

from feemodel.checks import whole_scalar
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._transaction import DYNAMIC_FEE, Signature, Transaction
from feemodel.rollups import arbitrum
from feemodel.sizes._codecs import Brotli

PLACEHOLDER_V = 3 * 42_161  # v of the placeholder signature: three times the chain id of Arbitrum One


def node_interface_gas(data: bytes, *, to: bytes | None, price_per_unit: int, base_fee: int, version: str) -> int:
    """Return the result of `NodeInterface.gasEstimateL1Component`, the gas that a call would pay for its bytes [gas].

    The node measures a transaction with placeholders for the missing fields: units = (16 · size + 256) · 10,100 //
    10,000; gas = (price_per_unit · units) · 11,000 // 10,000 // base_fee.

    Parameters
    ----------
    data : calldata of the call.
    to : address of 20 bytes; `None` for a contract creation.
    price_per_unit : price per unit of the L1 pricing controller [wei / unit].
    base_fee : base fee of the chain, at least 1 [wei / gas].
    version : ArbOS version, which determines the compression level of brotli.

    Source: OffchainLabs/nitro at 12c0e4f, execution/nodeinterface/node_interface.go; arbos/l1pricing/l1pricing.go.

    For a call without data, the placeholder transaction has 122 bytes. After compression, the transaction has 126
    bytes, or (16 · 126 + 256) · 1.01 = 2,294 units:

    >>> node_interface_gas(b"", to=bytes(range(20)), price_per_unit=10**9, base_fee=10**7, version="arbos-51")
    252340
    """
    level = arbitrum.version(version).brotli_level
    placeholder = Transaction(
        type=DYNAMIC_FEE, chain_id=0, nonce=_placeholder("Nonce", 8), max_priority_fee=_placeholder("GasTipCap", 4),
        max_fee=_placeholder("GasFeeCap", 4), gas_limit=_placeholder("Gas", 4), to=to, data=data,
        signature=Signature(PLACEHOLDER_V, _placeholder("R", 32), _placeholder("S", 32)),
    )  # fmt: skip
    size = Brotli(quality=level).size(placeholder.signed())
    cost = int(arbitrum._estimated_cost(size, whole_scalar("price_per_unit", price_per_unit, unit="wei")))
    return cost // whole_scalar("base_fee", base_fee, minimum=1, unit="wei")


def _placeholder(name: str, size: int) -> int:
    return int.from_bytes(keccak256(name.encode())[:size], "big")
