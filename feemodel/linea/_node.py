"""Checks of a Linea node that a transaction offers the required price: estimate, pool, block selection.

Source: Consensys/linea-monorepo at cb180134 (2026-06-12), linea-besu/plugins/linea-sequencer: LineaEstimateGas,
ProfitabilityValidator, ProfitableTransactionSelector.
"""

from __future__ import annotations  # so that `help` shows the names of quantities

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from feemodel.arguments import checked
from feemodel.errors import InvalidInput
from feemodel.exact import minimum
from feemodel.formula import formula
from feemodel.linea.parameters import NODE, LineaPreset
from feemodel.linea.pricing_forms import Form
from feemodel.quantities import BaseFee, CompressedSize, GasAboveZero, Margin, MaxFee, OfferedPrice, WeiPerGas


class Check(NamedTuple):
    """One check of a node: the gas over which the fee is spread, and the margin that multiplies the fee."""

    name: str
    gas: str  #: "estimated", "limit" or "used"
    margin: Margin
    refused: str  #: what happens to a transaction that offers less than the required price


class Verdict(NamedTuple):
    """The price that one check requires of a transaction, and whether the transaction offers this price [wei / gas]."""

    check: Check
    priority_fee: int
    required_price: int
    offered_price: int
    accepted: bool


def node_checks(preset: LineaPreset) -> tuple[Check, ...]:
    """Return the four checks of a node with this preset, in the node's order.

    Parameters
    ----------
    preset : pricing parameters of the node, see `feemodel.linea.linea_preset`.

    Returns
    -------
    tuple of four `Check`: estimate, pool, and block selection before and after execution.

    >>> from feemodel.linea.parameters import linea_preset
    >>> [(check.name, check.gas, check.margin) for check in node_checks(linea_preset())][1]
    ('pool', 'limit', 0.8)
    """
    return (
        Check("estimate", "estimated", preset.estimate_margin, "less than the node suggests"),
        Check("pool", "limit", preset.pool_margin, "refused: Gas price too low"),
        Check("selection, before execution", "limit", preset.selection_margin, "stays pending"),
        Check("selection, after execution", "used", preset.selection_margin, "stays pending"),
    )


def pool_checks(*, local: bool, api_check: bool = True, p2p_check: bool = False, has_priority: bool = False) -> bool:
    """Return whether the pool checks the price of a transaction from the node's own JSON-RPC (`local`) or from a peer.

    A node is configured to check either kind; some senders are exempt from every check (`has_priority`).

    >>> pool_checks(local=False)
    False
    """
    return not has_priority and (api_check if local else p2p_check)


@formula
def offered_price(
    *,
    gas_price: OfferedPrice | None = None,
    max_fee: MaxFee | None = None,
    max_priority_fee: MaxFee | None = None,
    base_fee: BaseFee = NODE.base_fee,
) -> WeiPerGas:
    """Price per gas that a transaction offers: its gas price, or `min(max_fee, base_fee + max_priority_fee)`.

    A legacy or access-list transaction has a gas price; `max_fee` and `max_priority_fee` are those of a dynamic-fee
    transaction.

    The base fee plus the priority fee, 7 + 45,479,999, is less than the maximum fee, 45,479,999 + 9:

    >>> offered_price(max_fee=45_479_999 + 9, max_priority_fee=45_479_999)
    45480006
    """
    if gas_price is not None:
        if max_fee is not None or max_priority_fee is not None:
            raise InvalidInput("gas_price", "expected either gas_price, or max_fee and max_priority_fee", gas_price)
        return gas_price
    if max_fee is None or max_priority_fee is None:
        raise InvalidInput("max_fee", "expected max_fee and max_priority_fee together", (max_fee, max_priority_fee))
    return minimum(max_fee, base_fee + max_priority_fee)


@checked
def verdicts(
    price: OfferedPrice,
    compressed_size: CompressedSize,
    gas: Mapping[str, GasAboveZero],
    *,
    form: Form,
    checks: Sequence[Check],
) -> tuple[Verdict, ...]:
    """Return the results of a node's checks on one transaction.

    Parameters
    ----------
    price : price that the transaction offers, see `offered_price` [wei / gas].
    compressed_size : measured size [byte].
    gas : mapping with the keys "estimated", "limit" and "used" to the amounts of gas [gas]. A check whose amount of gas
        is not in `gas` is skipped.
    form : pricing form with the node's costs.
    checks : checks of the node, see `node_checks`.

    Returns
    -------
    tuple of `Verdict`, one for each check that was made; prices in [wei / gas].

    Raises
    ------
    InvalidInput : zero gas, or a value that is negative or not an integer.
    Int64Overflow : a product that overflows in a node.

    >>> from feemodel.linea import CostPerByte, linea_preset
    >>> form, gas = CostPerByte(10**9, fixed_cost=30_000_000), {"estimated": 21_000, "limit": 21_000, "used": 21_000}
    >>> answers = verdicts(30_000_000, 128, gas, form=form, checks=node_checks(linea_preset()))
    >>> [(answer.required_price, answer.accepted) for answer in answers]
    [(43314292, False), (28876197, True), (36095245, False), (36095245, False)]
    """
    found = []
    for check in checks:
        if check.gas in gas:
            fee = form.fee(compressed_size, gas[check.gas], check.margin)
            required = form.required_price(fee)
            found.append(Verdict(check, fee, required, price, price >= required))
    return tuple(found)
