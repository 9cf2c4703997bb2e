"""Polygon zkEVM: the effective gas price, at which the fee of a transaction equals its cost.

The node software is archived. The node computed products of integers as unsigned 64-bit integers, and products with a
configured factor as doubles. The product in `effective_gas_price` was computed with Go's big.Float, whose mantissa has
as many bits as the longest operand, but at least 64. The functions of this module give exactly the results of the node,
except for products of more than 64 bits: the node's result wrapped around, and this module raises `Int64Overflow`.

Source: 0xPolygonHermez/zkevm-node at 7b80367 (2024-03-28): pool/effectivegasprice.go, gasprice/follower.go.
"""

from dataclasses import dataclass
from typing import overload

import numpy as np

from feemodel.checks import (
    INT64_MAX,
    UINT64_MAX,
    ArrayLike,
    Numbers,
    Wholes,
    check_fields,
    instance,
    whole,
)
from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.formula import formula
from feemodel.integers import Whole, add, maximum, multiply, truncated, where

EFFECTIVE_PERCENTAGE_BYTES = 1  # number of non-zero bytes that a batch adds to every transaction
TRANSFER_GAS = 21_000
MAX_PERCENTAGE = 255
MANTISSA_BITS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class GasPricing:
    """Configuration of the effective gas price; the defaults are those of the node."""

    l1_gas_price_factor: float = 0.25  #: minimum L2 gas price / L1 gas price [1]
    byte_gas_cost: int = 16  #: L1 gas of a non-zero byte [gas]
    zero_byte_gas_cost: int = 4  #: L1 gas of a zero byte [gas]
    net_profit: float = 1.0  #: factor by which the break-even price is multiplied [1]
    transfer_gas_price: int = 0  #: fixed price of a plain transfer; 0: no fixed price [wei / gas]
    transfer_l1_factor: float = 0.0  #: price of a plain transfer / L1 gas price; 0: no separate price [1]

    def __post_init__(self) -> None:
        check_fields(self)
        if self.transfer_gas_price and self.transfer_l1_factor:
            reason = "expected 0 if transfer_l1_factor is not 0, because a node accepts only one of them"
            raise InvalidInput("transfer_gas_price", reason, self.transfer_gas_price)


NODE_DEFAULTS = GasPricing()


@overload
def min_l2_gas_price(l1_gas_price: int, *, pricing: GasPricing = ...) -> int: ...
@overload
def min_l2_gas_price(l1_gas_price: Numbers[Wholes], *, pricing: GasPricing = ...) -> Wholes: ...
@formula
def min_l2_gas_price(l1_gas_price: ArrayLike, *, pricing: GasPricing = NODE_DEFAULTS) -> Whole:
    """Return the minimum L2 gas price: trunc(l1_gas_price · factor) [wei / gas].

    >>> min_l2_gas_price(10**9 + 1)
    250000000
    """
    price = whole("l1_gas_price", l1_gas_price, minimum=1)
    return _min_l2_gas_price(price, instance("pricing", pricing, GasPricing))


def _min_l2_gas_price(l1_gas_price: Whole, pricing: GasPricing) -> Whole:
    return _times("l1_gas_price", l1_gas_price, pricing.l1_gas_price_factor)


@overload
def byte_gas(zero_bytes: int, nonzero_bytes: int, *, pricing: GasPricing = ...) -> int: ...
@overload
def byte_gas(zero_bytes: Numbers[Wholes], nonzero_bytes: Numbers[Wholes], *, pricing: GasPricing = ...) -> Wholes: ...
@formula
def byte_gas(zero_bytes: ArrayLike, nonzero_bytes: ArrayLike, *, pricing: GasPricing = NODE_DEFAULTS) -> Whole:
    """Return the L1 gas for the bytes of a transaction: 16 · (nonzero + 1) + 4 · zero [gas].

    >>> byte_gas(5, 5)
    116
    """
    instance("pricing", pricing, GasPricing)
    nonzero = whole("nonzero_bytes", nonzero_bytes, unit="bytes")
    return _byte_gas(whole("zero_bytes", zero_bytes, unit="bytes"), nonzero, pricing)


def _byte_gas(zero_bytes: Whole, nonzero_bytes: Whole, pricing: GasPricing) -> Whole:
    nonzero = add("nonzero_bytes", nonzero_bytes, EFFECTIVE_PERCENTAGE_BYTES)
    zero_gas = multiply("zero_bytes", zero_bytes, pricing.zero_byte_gas_cost)
    return add("byte_gas", multiply("nonzero_bytes", nonzero, pricing.byte_gas_cost), zero_gas)


@overload
def break_even_gas_price(
    zero_bytes: int,
    nonzero_bytes: int,
    gas_used: int,
    *,
    tx_gas_price: int,
    l1_gas_price: int,
    pricing: GasPricing = ...,
) -> int: ...
@overload
def break_even_gas_price(
    zero_bytes: Numbers[Wholes], nonzero_bytes: Numbers[Wholes], gas_used: Numbers[Wholes], *,
    tx_gas_price: Numbers[Wholes], l1_gas_price: Numbers[Wholes], pricing: GasPricing = ...
) -> Wholes: ...  # fmt: skip
@formula
def break_even_gas_price(
    zero_bytes: ArrayLike,
    nonzero_bytes: ArrayLike,
    gas_used: ArrayLike,
    *,
    tx_gas_price: ArrayLike,
    l1_gas_price: ArrayLike,
    pricing: GasPricing = NODE_DEFAULTS,
) -> Whole:
    """Return the gas price at which the fee of a transaction equals the cost of its gas and its bytes [wei / gas].

    total = gas_used · min_l2_gas_price + (16 · (nonzero + 1) + 4 · zero) · l1_gas_price;
    price = max(1, trunc((total // gas_used) · net_profit)).

    Parameters
    ----------
    zero_bytes, nonzero_bytes : number of zero and non-zero bytes in the raw transaction [byte].
    gas_used : gas used; for 0 the result is `tx_gas_price` [gas].
    tx_gas_price : gas price of the transaction [wei / gas].
    l1_gas_price : gas price of L1, at least 1 [wei / gas].
    pricing : configuration of the node. The configuration can set a separate price for plain transfers (21,000 gas):
        `transfer_gas_price`, or max(1, trunc(l1_gas_price · transfer_l1_factor)).

    Returns
    -------
    int, or int64 array of the broadcast shape : the gas price [wei / gas].

    Raises
    ------
    InvalidInput : an argument that is not an integer in its range.
    Int64Overflow : a product exceeds 64 bits.

    The price is (200 gas · 25 wei + 16 gas · 100 wei) // 200 gas = 33 wei per gas:

    >>> break_even_gas_price(0, 0, 200, tx_gas_price=1_000, l1_gas_price=100)
    33
    """
    gas, own_price = whole("gas_used", gas_used, unit="gas"), whole("tx_gas_price", tx_gas_price, unit="wei")
    l1_price = whole("l1_gas_price", l1_gas_price, minimum=1, unit="wei")
    of_bytes = byte_gas(zero_bytes, nonzero_bytes, pricing=pricing)
    return _break_even_gas_price(of_bytes, gas, own_price, l1_price, pricing)


def _break_even_gas_price(
    of_bytes: Whole, gas: Whole, own_price: Whole, l1_price: Whole, pricing: GasPricing
) -> Whole:  # fmt: skip
    transfer = (gas == TRANSFER_GAS) & bool(pricing.transfer_gas_price or pricing.transfer_l1_factor)
    # The total price is not needed for plain transfers that have a separate price, nor for transactions with 0 gas. Set
    # the total price of these transactions to 0 to avoid an overflow error.
    apart = transfer | (gas == 0)
    min_price = where(apart, 0, _min_l2_gas_price(l1_price, pricing))
    per_gas: Whole = _total_price(where(apart, 0, of_bytes), l1_price, gas, min_price) // maximum(gas, 1)
    price = _at_least_one("total_price", per_gas, pricing.net_profit)
    if pricing.transfer_gas_price:
        price = where(transfer, pricing.transfer_gas_price, price)
    elif pricing.transfer_l1_factor:
        price = where(transfer, _at_least_one("l1_gas_price", l1_price, pricing.transfer_l1_factor), price)
    return where(gas == 0, own_price, price)


def _total_price(of_bytes: Whole, l1_price: Whole, gas: Whole, min_price: Whole) -> Whole:
    """Return of_bytes · l1_price + gas · min_price; raises `Int64Overflow` if the sum would wrap in the node [wei]."""
    execution = multiply("total_price", gas, min_price)
    total = add("total_price", execution, multiply("total_price", of_bytes, l1_price))
    if isinstance(total, int) and total > UINT64_MAX:
        raise Int64Overflow("total_price", "expected an unsigned 64-bit integer", total)
    return total


@overload
def effective_gas_price(
    zero_bytes: int, nonzero_bytes: int, gas_used: int, *, tx_gas_price: int, l1_gas_price: int, l2_gas_price: int,
    pricing: GasPricing = ...
) -> int: ...  # fmt: skip
@overload
def effective_gas_price(
    zero_bytes: Numbers[Wholes], nonzero_bytes: Numbers[Wholes], gas_used: Numbers[Wholes], *,
    tx_gas_price: Numbers[Wholes], l1_gas_price: Numbers[Wholes], l2_gas_price: Numbers[Wholes],
    pricing: GasPricing = ...,
) -> Wholes: ...  # fmt: skip
@formula
def effective_gas_price(
    zero_bytes: ArrayLike,
    nonzero_bytes: ArrayLike,
    gas_used: ArrayLike,
    *,
    tx_gas_price: ArrayLike,
    l1_gas_price: ArrayLike,
    l2_gas_price: ArrayLike,
    pricing: GasPricing = NODE_DEFAULTS,
) -> Whole:
    """Return the gas price charged: break-even price · max(1, tx_gas_price / l2_gas_price), rounded down [wei / gas].

    Parameters
    ----------
    zero_bytes, nonzero_bytes : number of zero and non-zero bytes in the raw transaction [byte].
    gas_used : gas used by the transaction [gas].
    tx_gas_price : gas price of the transaction [wei / gas].
    l1_gas_price : gas price of L1, at least 1 [wei / gas].
    l2_gas_price : gas price suggested by the network, 1 to 2**64 − 1 [wei / gas].
    pricing : configuration of the node.

    Returns
    -------
    int, or int64 array of the broadcast shape : the gas price [wei / gas].

    Raises
    ------
    InvalidInput : an argument that is not an integer in its range.
    Int64Overflow : a product exceeds 64 bits.

    The break-even price is 83 wei. The transaction offers 1,000 wei instead of the suggested 250 wei, so the price is
    83 · 1,000 / 250 wei:

    >>> effective_gas_price(5, 5, 200, tx_gas_price=1_000, l1_gas_price=100, l2_gas_price=250)
    332
    """
    gas, own_price = whole("gas_used", gas_used, unit="gas"), whole("tx_gas_price", tx_gas_price, unit="wei")
    l1_price = whole("l1_gas_price", l1_gas_price, minimum=1, unit="wei")
    of_bytes = byte_gas(zero_bytes, nonzero_bytes, pricing=pricing)
    break_even = _break_even_gas_price(of_bytes, gas, own_price, l1_price, pricing)
    suggested = whole("l2_gas_price", l2_gas_price, minimum=1, unit="wei")
    if isinstance(suggested, int) and suggested > UINT64_MAX:
        raise Int64Overflow("l2_gas_price", "expected an unsigned 64-bit integer", suggested)
    if isinstance(break_even, int) and isinstance(own_price, int) and isinstance(suggested, int):
        return _prioritized(break_even, own_price, suggested)
    prices, offers, suggestions = np.broadcast_arrays(break_even, own_price, suggested)
    effective = prices.copy()
    for index in zip(*np.nonzero(offers > suggestions), strict=True):
        value = _prioritized(int(prices[index]), int(offers[index]), int(suggestions[index]))
        if value > INT64_MAX:
            raise Int64Overflow("effective_gas_price", "expected a price that fits into an int64 array", value)
        effective[index] = value
    return effective


@overload
def effective_percentage(gas_price: int, effective_gas_price: int) -> int: ...
@overload
def effective_percentage(gas_price: Numbers[Wholes], effective_gas_price: Numbers[Wholes]) -> Wholes: ...
@formula
def effective_percentage(gas_price: ArrayLike, effective_gas_price: ArrayLike) -> Whole:
    """Return a transaction's effective percentage: min(⌈effective_gas_price · 256 / gas_price⌉ − 1, 255).

    A batch stores the effective percentage of each transaction in one byte. Raises `InvalidInput` if a price is 0.

    >>> effective_percentage(1_000, 157)
    40
    """
    offered = whole("gas_price", gas_price, minimum=1, unit="wei")
    effective = whole("effective_gas_price", effective_gas_price, minimum=1, unit="wei")
    ceiling: Whole = (
        add("effective_gas_price", multiply("effective_gas_price", effective, 256), offered - 1)
    ) // offered
    return where(offered <= effective, MAX_PERCENTAGE, ceiling - 1)


def _times(name: str, value: Whole, factor: float) -> Whole:
    if isinstance(value, int) and value > UINT64_MAX:
        raise Int64Overflow(name, "expected an unsigned 64-bit integer", value)
    double = float(value) if isinstance(value, int) else value.astype(float)
    product = double * factor
    if isinstance(product, float) and product >= 2.0**64:
        raise Int64Overflow(name, "expected a value whose product with the factor fits 64 bits", value)
    return truncated(name, product)


def _at_least_one(name: str, value: Whole, factor: float) -> Whole:
    return maximum(_times(name, value, factor), 1)


def _prioritized(break_even: int, own_price: int, suggested: int) -> int:
    if own_price <= suggested:
        return break_even
    bits = max(MANTISSA_BITS, own_price.bit_length(), suggested.bit_length())
    ratio, shift = _rounded(own_price << 2 * bits, suggested, bits)
    product, more = _rounded(break_even * ratio, 1, max(bits, break_even.bit_length()))
    shift += more - 2 * bits
    return product << shift if shift >= 0 else product >> -shift


def _rounded(numerator: int, denominator: int, bits: int) -> tuple[int, int]:
    """Return numerator / denominator as a mantissa of `bits` bits and a shift, rounded half to even."""
    shift = max(0, (numerator // denominator).bit_length() - bits)
    quotient, remainder = divmod(numerator, denominator << shift)
    twice = 2 * remainder
    half = denominator << shift
    return quotient + (twice > half or (twice == half and quotient % 2 == 1)), shift
