"""Use of Linea's surplus: costs are paid first; then 20 % of the rest is burned as ETH and 80 % buys LINEA.

Source: Consensys/linea-monorepo at cb180134 (2026-06-12), contracts/src/operational/RollupRevenueVault.sol:
`submitInvoice` and `burnAndBridge`. The integer arithmetic is the same as in the contract;
`scripts/check-revenue-vault` compares this module with an execution of the contract.
"""

from typing import NamedTuple

from feemodel._records import printed_as_table
from feemodel.checks import instance, whole_scalar

ETH_BURNT_PERCENTAGE = 20


@printed_as_table
class RevenueVault(NamedTuple):
    """State of the vault."""

    balance: int = 0  #: [wei]
    invoice_arrears: int = 0  #: unpaid part of past invoices [wei]


@printed_as_table
class InvoicePaid(NamedTuple):
    """The vault after an invoice, and the amount paid."""

    vault: RevenueVault
    paid: int  #: [wei]


@printed_as_table
class Surplus(NamedTuple):
    """The vault after a burn, and how the balance was spent."""

    vault: RevenueVault
    arrears_paid: int  #: [wei]
    eth_burned: int  #: [wei]
    spent_on_linea: int  #: ETH that buys LINEA tokens, which are burned on L1 [wei]
    message_fee: int  #: fee of the message to L1 [wei]


def submit_invoice(vault: RevenueVault, amount: int) -> InvoicePaid:
    """Pay an invoice and the arrears, as far as the balance allows.

    Parameters
    ----------
    vault : state before the invoice.
    amount : amount of the invoice, above 0 [wei].

    Returns
    -------
    InvoicePaid [wei].

    Raises
    ------
    InvalidInput : an amount that is not a whole number above 0; the contract also rejects such an amount.

    >>> submit_invoice(RevenueVault(balance=100), 130)
    InvoicePaid(vault=RevenueVault(balance=0, invoice_arrears=30), paid=100)
    """
    vault = _checked(vault)
    owed = vault.invoice_arrears + whole_scalar("amount", amount, minimum=1, unit="wei")
    paid = min(vault.balance, owed)
    return InvoicePaid(RevenueVault(vault.balance - paid, owed - paid), paid)


def burn_and_bridge(vault: RevenueVault, *, minimum_fee: int = 0) -> Surplus:
    """Pay the arrears and the message fee, burn 20 % of the balance that is left, and buy LINEA with the other 80 %.

    The burned amount is rounded down.

    Parameters
    ----------
    vault : state before the burn.
    minimum_fee : fee of the message to L1; nothing is burned if the balance does not exceed this fee [wei].

    Returns
    -------
    Surplus [wei].

    Raises
    ------
    InvalidInput : a value that is negative or not an integer.

    >>> burn_and_bridge(RevenueVault(balance=1_014, invoice_arrears=10), minimum_fee=1)
    Surplus(vault=RevenueVault(balance=0, invoice_arrears=0), arrears_paid=10, eth_burned=200, spent_on_linea=803, \
message_fee=1)
    """
    vault = _checked(vault)
    fee = whole_scalar("minimum_fee", minimum_fee, unit="wei")
    paid = min(vault.balance, vault.invoice_arrears)
    left = RevenueVault(vault.balance - paid, vault.invoice_arrears - paid)
    if left.balance <= fee:
        return Surplus(left, paid, 0, 0, 0)
    available = left.balance - fee
    burned = available * ETH_BURNT_PERCENTAGE // 100
    return Surplus(RevenueVault(0, left.invoice_arrears), paid, burned, available - burned, fee)


def _checked(vault: RevenueVault) -> RevenueVault:
    """Return the vault with Python ints, which do not wrap as NumPy's integers do."""
    fields = instance("vault", vault, RevenueVault)._asdict().items()
    return RevenueVault(**{name: whole_scalar(name, value, unit="wei") for name, value in fields})
