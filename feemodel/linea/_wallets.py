"""The fees that wallets set from an estimate.

Source: Linea mainnet blocks 28,279,135 to 28,279,249 (January 2026), whose fees these factors reproduce exactly;
MetaMask/core, gas-fee-controller for Linea; wevm/viem, estimateFeesPerGas.
"""

from decimal import Decimal
from typing import NamedTuple

from feemodel._records import printed_as_table
from feemodel.checks import whole_scalar
from feemodel.linea.parameters import NODE


class Wallet(NamedTuple):
    """Factors by which a wallet multiplies the priority fee and the base fee of an estimate."""

    name: str
    priority_multiplier: Decimal
    base_fee_multiplier: Decimal


@printed_as_table
class WalletFees(NamedTuple):
    """Fees that a wallet sets in a transaction [wei / gas]."""

    wallet: Wallet
    max_priority_fee: int
    max_fee: int


WALLETS = (
    Wallet("viem", Decimal("1"), Decimal("1.2")),
    Wallet("MetaMask, low", Decimal("1"), Decimal("1")),
    Wallet("MetaMask, medium", Decimal("1.05"), Decimal("1.35")),
    Wallet("MetaMask, high", Decimal("1.1"), Decimal("1.7")),
)


def wallet_fees(priority_fee: int, *, base_fee: int = NODE.base_fee, wallet: Wallet = WALLETS[0]) -> WalletFees:
    """Return the fees that a wallet sets.

    The priority fee and the base fee are each multiplied by a factor of the wallet and truncated; the maximum fee is
    the sum of the two products.

    Parameters
    ----------
    priority_fee : estimated priority fee [wei / gas].
    base_fee : base fee of the block [wei / gas].
    wallet : multipliers of the wallet, one of `WALLETS` or your own.

    Returns
    -------
    WalletFees of ints [wei / gas].

    Raises
    ------
    InvalidInput : a fee that is negative or not an integer.

    The products are 1.05 · 37,594,352 = 39,474,069.6 for the priority fee and 1.35 · 7 = 9.45 for the base fee:

    >>> fees = wallet_fees(37_594_352, wallet=WALLETS[2])  # Linea mainnet block 28,279,135, transaction 2
    >>> fees.max_priority_fee, fees.max_fee
    (39474069, 39474078)
    """
    return _wallet_fees(whole_scalar("priority_fee", priority_fee), whole_scalar("base_fee", base_fee), wallet)


def _wallet_fees(priority_fee: int, base_fee: int, wallet: Wallet) -> WalletFees:
    priority = int(priority_fee * wallet.priority_multiplier)
    return WalletFees(wallet, priority, priority + int(base_fee * wallet.base_fee_multiplier))
