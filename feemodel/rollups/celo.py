"""Celo: an OP Stack chain without an L1 fee. Fees may be paid in currencies other than CELO (CIP-64).

Sources: celo-org/celo-kona at 34985c4 (2026-08-21): crates/celo-reth/src/lib.rs; celo-org/op-geth at ffa1224
(2024-10-24): common/exchange/rates.go, core/state_transition.go.
"""

from typing import NamedTuple

from feemodel.checks import flag, instance, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum import fee_market

BASE_FEE_FLOOR = 25 * 10**9  # minimum base fee before Jovian [wei of CELO / gas]


class CurrencyFee(NamedTuple):
    """The fee of a transaction in a fee currency."""

    base_fee: int  #: base fee of the block, converted to the currency [unit / gas]
    gas_price: int  #: [unit / gas]
    fee: int  #: [unit]


class Rate(NamedTuple):
    """Exchange rate of a fee currency: numerator / denominator units of the currency for one unit of CELO."""

    numerator: int
    denominator: int


def next_base_fee(
    base_fee: int, gas_used: int, gas_limit: int, *, jovian: bool, elasticity: int = 5, denominator: int = 400,
    min_base_fee: int = 0, floor: int = BASE_FEE_FLOOR,
) -> int:  # fmt: skip
    """Return the L2 base fee of the next block [wei / gas].

    Parameters
    ----------
    base_fee : base fee of the current block [wei / gas].
    gas_used, gas_limit : gas used and gas limit of the current block [gas].
    jovian : whether the next block is in Jovian or later. The minimum base fee is `min_base_fee` if `jovian` is `True`,
        and `floor` if `jovian` is `False`.
    elasticity : gas limit divided by gas target [1].
    denominator : base fee change denominator of EIP-1559 [1].
    min_base_fee : minimum base fee in the header's extra data, since Jovian [wei / gas].
    floor : minimum base fee before Jovian [wei / gas].

    Raises `InvalidInput` for an argument that is not an integer of at least 0.

    After an empty block with a base fee of 25 gwei, the base fee of the next block is 25 gwei before Jovian, because of
    the minimum, and lower than 25 gwei since Jovian:

    >>> next_base_fee(25 * 10**9, 0, 30_000_000, jovian=False), next_base_fee(25 * 10**9, 0, 30_000_000, jovian=True)
    (25000000000, 24937500000)
    """
    fee = fee_market.next_base_fee(
        whole_scalar("base_fee", base_fee, unit="wei"), whole_scalar("gas_used", gas_used, unit="gas"),
        whole_scalar("gas_limit", gas_limit, minimum=1, unit="gas"),
        elasticity=whole_scalar("elasticity", elasticity, minimum=1),
        denominator=whole_scalar("denominator", denominator, minimum=1),
    )  # fmt: skip
    name, bound = ("min_base_fee", min_base_fee) if flag("jovian", jovian) else ("floor", floor)
    return max(int(fee), whole_scalar(name, bound, unit="wei"))


def to_currency(celo: int, rate: Rate) -> int:
    """Convert an amount of CELO to a currency, rounded down: celo · numerator // denominator.

    >>> to_currency(25 * 10**9, Rate(47, 100))
    11750000000
    """
    numerator = whole_scalar("rate.numerator", instance("rate", rate, Rate).numerator, minimum=1)
    return whole_scalar("celo", celo) * numerator // whole_scalar("rate.denominator", rate.denominator, minimum=1)


def fee_in_currency(
    gas_used: int, *, base_fee: int, rate: Rate, max_priority_fee: int, max_fee_per_gas: int
) -> CurrencyFee:
    """Return the fee of a transaction of type 0x7b in the transaction's fee currency.

    Parameters
    ----------
    gas_used : gas used, including the gas for debiting and crediting the currency [gas].
    base_fee : base fee of the block [wei of CELO / gas].
    rate : exchange rate of the currency.
    max_priority_fee, max_fee_per_gas : priority fee and max fee of the transaction, in the currency [unit / gas].

    Raises `InvalidInput` if the max fee is below the converted base fee.

    >>> fee_in_currency(21_000, base_fee=25 * 10**9, rate=Rate(47, 100), max_priority_fee=0, max_fee_per_gas=10**11)
    CurrencyFee(base_fee=11750000000, gas_price=11750000000, fee=246750000000000)
    """
    converted = to_currency(whole_scalar("base_fee", base_fee, unit="wei"), rate)
    maximum = whole_scalar("max_fee_per_gas", max_fee_per_gas)
    if maximum < converted:
        raise InvalidInput("max_fee_per_gas", f"expected at least the converted base fee, {converted:,}", maximum)
    price = min(converted + whole_scalar("max_priority_fee", max_priority_fee), maximum)
    return CurrencyFee(converted, price, whole_scalar("gas_used", gas_used, unit="gas") * price)


CELO = Rate(1, 1)


def compare_fees(one: int, other: int, *, rate: Rate = CELO, other_rate: Rate = CELO) -> int:
    """Compare two amounts in different currencies without rounding.

    Return −1 if `one` is worth less than `other`, 0 if both are worth the same, and 1 if `one` is worth more.

    >>> compare_fees(47, 45, rate=Rate(47, 100), other_rate=Rate(45, 100))
    0
    """
    for name, value in (("rate", rate), ("other_rate", other_rate)):
        for part in instance(name, value, Rate):
            whole_scalar(name, part, minimum=1)
    one, other = whole_scalar("one", one), whole_scalar("other", other)
    left = one * rate.denominator * other_rate.numerator
    right = other * other_rate.denominator * rate.numerator
    return (left > right) - (left < right)
