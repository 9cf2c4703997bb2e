"""Explanation of a transaction or call: its size, the parts of its fee, wallets' fees, and results of checks."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from feemodel.ethereum._transaction import DYNAMIC_FEE, LINEA_CHAIN_ID, Transaction
from feemodel.linea._measure import fee_bytes
from feemodel.linea._node import Check, offered_price, verdicts
from feemodel.linea.parameters import NODE
from feemodel.linea.pricing_forms import Form
from feemodel.sizes._codecs import Codec, get_codec
from feemodel.sizes._lzss import packed_size


class Wallet(NamedTuple):
    """Factors by which a wallet multiplies the priority fee and the base fee of an estimate."""

    name: str
    priority_multiplier: Decimal
    base_fee_multiplier: Decimal

    def fees(self, priority_fee: int, base_fee: int = NODE.base_fee) -> tuple[int, int]:
        """Return the max priority fee and the max fee that the wallet sets in a transaction [wei / gas].

        Both products are truncated, here 1.05 · 37,594,352 = 39,474,069.6 and 1.35 · 7 = 9.45:

        >>> WALLETS[2].fees(37_594_352)  # Linea mainnet block 28,279,135, transaction 2
        (39474069, 39474078)
        """
        priority = int(priority_fee * self.priority_multiplier)
        return priority, priority + int(base_fee * self.base_fee_multiplier)


# Source: Linea mainnet blocks 28,279,135 to 28,279,249 (January 2026), whose fees these factors reproduce exactly;
# MetaMask/core, gas-fee-controller for Linea; wevm/viem, estimateFeesPerGas.
WALLETS = (
    Wallet("viem", Decimal("1"), Decimal("1.2")),
    Wallet("MetaMask, low", Decimal("1"), Decimal("1")),
    Wallet("MetaMask, medium", Decimal("1.05"), Decimal("1.35")),
    Wallet("MetaMask, high", Decimal("1.1"), Decimal("1.7")),
)


def explain(
    subject: Transaction,
    gas: Mapping[str, int],
    *,
    form: Form,
    checks: Sequence[Check],
    codec: str | Codec = "zstd",
    measured: str = "sender_unsigned",
    packed: bool = False,
    nonce: int = 0,
    chain_id: int = LINEA_CHAIN_ID,
) -> dict[str, Any]:
    """Explain the fee of a transaction or call: size, parts of the fee, wallets' fees and the node's checks.

    Parameters
    ----------
    subject : a parsed call or signed transaction.
    gas : mapping with the amounts of gas "estimated", "limit" and, optionally, "used" [gas].
    form : pricing form with the node's costs.
    checks : checks of the node, see `feemodel.linea.node_checks`; the estimate uses the margin of the first check.
    codec : name of a codec, or a codec object.
    measured : encoding that is compressed: "sender_unsigned", "unsigned" or "signed".
    packed : whether the size is rounded up to 32-byte field elements of 254 usable bits.
    nonce, chain_id : nonce and chain id for a call that does not set these values.

    Returns
    -------
    dict of numbers, strings, lists and dicts, ready for JSON; fees per gas [wei / gas] and totals [wei] are ints.

    Raises
    ------
    InvalidInput : a subject, codec or encoding that is not valid, or zero gas.

    >>> from feemodel.linea import CostPerByte, linea_preset, node_checks
    >>> answer = explain(
    ...     Transaction(type=None, to=bytes(20), value=1),
    ...     {"estimated": 21_000, "limit": 21_000},
    ...     form=CostPerByte(variable_cost=1_000_000_000, fixed_cost=30_000_000),
    ...     checks=node_checks(linea_preset()),
    ... )
    >>> answer["compressedSize"], answer["priorityFeePerGas"], answer["stages"][0]["outcome"]
    (25, 37428571, 'accepted')
    """
    estimated, margin = gas["estimated"], checks[0].margin
    filled = {"gas": estimated, "nonce": nonce, "base_fee": form.base_fee, "chain_id": chain_id}
    encoded, codec = fee_bytes(subject, form=measured, **filled), get_codec(codec)
    size = int(packed_size(codec.size(encoded))) if packed else codec.size(encoded)
    parts = form.parts(size, estimated, margin)
    suggested = form.base_fee + parts.total
    offered = _offered(subject, form.base_fee)
    fee_per_gas = {"base": form.base_fee, **parts._asdict()}
    # RIP-7759 divides a fee into three. The data fee is the part that depends on the bytes. The priority fee is the
    # part of the offered price above the suggested price; Linea's `maxPriorityFeePerGas` also pays for the other two.
    paid = max(suggested, suggested if offered is None else offered)
    data_fee = (parts.total - form.fee(0, estimated, margin)) * estimated
    return {
        "subject": "call" if subject.type is None else "transaction",
        "pricing": form.name,
        "margin": margin,
        "codec": codec.name,
        "form": measured,
        "measuredBytes": len(encoded),
        "compressedSize": size,
        "gas": dict(gas),
        "feePerGas": fee_per_gas,
        "feeWei": {name: part * estimated for name, part in fee_per_gas.items()},
        "transactionFee": {
            "executionFee": suggested * estimated - data_fee,
            "dataFee": data_fee,
            "priorityFee": (paid - suggested) * estimated,
            "total": paid * estimated,
        },
        "priorityFeePerGas": parts.total,
        "totalWei": suggested * estimated,
        "offeredPricePerGas": offered,
        "wallets": [
            {"wallet": wallet.name, "maxPriorityFeePerGas": max_priority_fee, "maxFeePerGas": max_fee}
            for wallet in WALLETS
            for max_priority_fee, max_fee in (wallet.fees(parts.total, form.base_fee),)
        ],
        "stages": [
            {
                "stage": verdict.check.name,
                "margin": verdict.check.margin,
                "gas": gas[verdict.check.gas],
                "requiredPricePerGas": verdict.required_price,
                "accepted": verdict.accepted,
                "outcome": "accepted" if verdict.accepted else verdict.check.refused,
            }
            for verdict in verdicts(suggested if offered is None else offered, size, gas, form=form, checks=checks)
        ],
    }


def _offered(subject: Transaction, base_fee: int) -> int | None:
    """Return the price per gas that the subject offers; `None` for a call without a price."""
    if subject.type not in (None, DYNAMIC_FEE) or (subject.type is None and subject.gas_price is not None):
        return subject.gas_price
    if subject.max_fee is None or subject.max_priority_fee is None:
        return None
    price = offered_price(max_fee=subject.max_fee, max_priority_fee=subject.max_priority_fee, base_fee=base_fee)
    return int(price)
