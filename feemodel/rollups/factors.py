"""Common form of the fee rules of all chains.

A rule computes the data fee and the execution fee of a transaction at given L1 fees.

Every rule computes the data fee as units · price // divisor, where the units depend on the transaction, and the price
on the L1 fees. A rule is defined by its `Factors`. `evaluate` computes exact fees from the factors.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from feemodel._records import compared_by_value, printed_as_table
from feemodel.checks import ArrayLike, instance, whole
from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.formula import formula
from feemodel.integers import (
    NOTHING,
    FixedPoint,
    Whole,
    add,
    multiply,
    multiply_divide_parts,
    require,
    saturated,
    truncated,
)
from feemodel.rollups.chains import Parameters

TYPE_COLUMN = "transaction_type"
BLOB_TRANSACTION = 3  # EIP-4844
SET_CODE_TRANSACTION = 4  # EIP-7702
DOUBLE_EXACT = 2**53  # doubles represent all integers up to this number

Columns: TypeAlias = Mapping[str, Whole]


@compared_by_value
@printed_as_table
class Fees(NamedTuple):
    """The data fee and the execution fee [wei]."""

    l1: Any  #: fee for L1 data
    l2: Any  #: fee for L2 gas


class Factors(NamedTuple):
    """Factors from which the fees of a rule are computed.

    A factor is a constant, or has one value for each transaction or for each sample of L1 fees. The fees are

    l1 = step · (trunc(margin · (q + fixed)) − trunc(margin · fixed))
    q  = (units · price + offset) // divisor
    l2 = gas · gas_price + extra

    If `margin` is `None`, l1 is step · q.
    """

    units: Whole  #: one value per transaction
    price: FixedPoint  #: one value per sample of L1 fees
    divisor: Whole  #: one value per transaction, or a constant
    gas: Whole  #: one value per transaction [gas]
    gas_price: Whole  #: one value per sample of L1 fees, or a constant [wei / gas]
    step: Whole = 1  #: one value per transaction, or a constant
    offset: FixedPoint = NOTHING  #: one value per sample of L1 fees, or a constant
    fixed: Whole = 0  #: one value per sample of L1 fees, or a constant
    margin: float | None = None  #: factor that a node applies in doubles, even a factor of 1; `None`: no factor
    extra: Whole = 0  #: one value per transaction, or a constant [wei]
    saturates: bool = False  #: whether a quotient q above 2**64 − 1 becomes 2**64 − 1
    #: function of (units, price, divisor, fixed) that raises `Int64Overflow` if an integer would wrap in a node; only
    #: for rules whose price is a whole number
    check: Callable[[Whole, Whole, Whole, Whole], object] | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A chain's rule at one of its upgrades, with its parameters."""

    name: str
    columns: tuple[str, ...]  #: names of the columns of transactions that the rule uses
    parameters: Parameters
    #: function that computes factors from (columns, base fee, blob base fee)
    taken_apart: Callable[[Columns, Whole, Whole], Factors]
    no_set_code: str | None = None  #: reason why transactions of type 4 (EIP-7702) have no fee, or `None`
    remarks: tuple[str, ...] = ()  #: notes on parameters that are assumed, or not confirmed since an upgrade

    @classmethod
    def of(
        cls, parameters: Parameters, columns: tuple[str, ...], read: Collection[str],
        taken_apart: Callable[[Columns, Whole, Whole], Factors], upgrade: str = "",
    ) -> "Rule":  # fmt: skip
        """Return a rule named after its chain and upgrade; `read` names the parameters that the rule uses."""
        name = parameters.chain.name + (f"/{upgrade}" if upgrade else "")
        return cls(name, columns, parameters, taken_apart, parameters.no_set_code, parameters.remarks(*read))

    @property
    def chain(self) -> str:
        """Name of the chain."""
        return self.parameters.chain.name

    @property
    def upgrade(self) -> str:
        """Upgrade of the chain that selects the rule; empty if the chain's rule has no upgrades."""
        return self.name.partition("/")[2]

    @property
    def token(self) -> str:
        """Token in which fees are paid."""
        return self.parameters.chain.token

    @property
    def token_per_eth(self) -> float | None:
        """Value of one ETH in the token; `None` if the value is not known."""
        return token_per_eth(self.parameters)

    def factors(self, transactions: Mapping[str, Any], *, base_fee: ArrayLike, blob_base_fee: ArrayLike) -> Factors:
        """Return the factors of the fees; arguments and errors are those of the method `fees`.

        >>> from feemodel.rollups.rules import rule
        >>> rule("op-mainnet/jovian").factors({"fastlz_size": 150, "gas": 21_000}, base_fee=10, blob_base_fee=1)[:3]
        (100000000, FixedPoint(whole=1, millionths=850533), 1000000)
        """
        known = [name for name in (*self.columns, TYPE_COLUMN) if name in transactions]
        columns = {name: whole(name, transactions[name]) for name in known}
        fees = whole("base_fee", base_fee, unit="wei"), whole("blob_base_fee", blob_base_fee, unit="wei")
        return self.factors_of_checked(columns, *fees)

    def factors_of_checked(self, columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        """Return the factors of the fees; the arguments are ints and int64 arrays of at least 0, which is not checked.

        Raises `InvalidInput` for a missing column, and for a type of transaction that the rule does not price.
        """
        if missing := [name for name in self.columns if name not in columns]:
            given = [name for name in (*self.columns, TYPE_COLUMN) if name in columns]
            raise InvalidInput("transactions", f"missing the columns {', '.join(missing)} for {self.name}", given)
        if (types := columns.get(TYPE_COLUMN)) is not None:
            require(TYPE_COLUMN, f"{self.name} has no fee rule for blob transactions", types, types != BLOB_TRANSACTION)
            if self.no_set_code is not None:
                reason = f"{self.name} has no fee rule for transactions of type 4 (EIP-7702): {self.no_set_code}"
                require(TYPE_COLUMN, reason, types, types != SET_CODE_TRANSACTION)
        with np.errstate(over="ignore", invalid="ignore"):  # the results are checked, so NumPy need not warn
            return self.taken_apart(columns, base_fee, blob_base_fee)

    def fees(self, transactions: Mapping[str, Any], *, base_fee: ArrayLike, blob_base_fee: ArrayLike) -> Fees:
        """Compute the exact fees of transactions at samples of L1 fees.

        Parameters
        ----------
        transactions : table or mapping with the rule's columns; the columns broadcast against the L1 fees.
        base_fee, blob_base_fee : base fee and blob base fee of L1 [wei / gas].

        Returns
        -------
        Fees : ints if all arguments are scalars, Series for a DataFrame, DataArrays for a Dataset, and otherwise int64
            arrays of the broadcast shape [wei].

        Raises
        ------
        InvalidInput : a missing column, a value out of range, a blob transaction, or a transaction of type 4 on a chain
            that does not support type 4.
        Int64Overflow : a fee does not fit into an int64 array, an integer would wrap in a node of the chain, or a price
            is too large for a node's doubles.

        >>> from feemodel.rollups.rules import rule
        >>> rule("op-mainnet/jovian").fees({"fastlz_size": 150, "gas": 21_000},
        ...                                base_fee=40_583_973_580, blob_base_fee=111_685_752)
        Fees(l1=350739202003, l2=21000000000)
        """
        columns = {name: transactions[name] for name in (*self.columns, TYPE_COLUMN) if name in transactions}
        fees: Fees = _fees(self, **columns, base_fee=base_fee, blob_base_fee=blob_base_fee)
        return fees

    @formula
    def fees_of_checked(self, columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Fees:
        """Return the fees; arguments and errors are those of `factors_of_checked`. Also raises `Int64Overflow`."""
        return _evaluate(self.factors_of_checked(columns, base_fee, blob_base_fee))


def token_per_eth(parameters: Parameters) -> float | None:
    """Return the value of one ETH in a chain's token; `None` if the value is not known.

    >>> from feemodel.rollups.chains import chain
    >>> token_per_eth(chain("base").at()), token_per_eth(chain("mantle").at().given({"token_ratio": 3_114}))
    (1.0, 3114.0)
    """
    if instance("parameters", parameters, Parameters).chain.token == "ETH":
        return 1.0
    for name, unit in (("token_per_eth", 1), ("token_ratio", 1), ("eth_to_fri_rate", 10**18)):
        if parameters.is_known(name):
            return float(parameters[name] / unit)
    return None


@formula
def _fees(rule: Rule, *, base_fee: ArrayLike, blob_base_fee: ArrayLike, **transactions: ArrayLike) -> Fees:
    return _evaluate(rule.factors(transactions, base_fee=base_fee, blob_base_fee=blob_base_fee))


def evaluate(factors: Factors) -> Fees:
    """Return the fees computed from the factors of a rule.

    >>> evaluate(Factors(units=7, price=FixedPoint(10, 0), divisor=4, gas=3, gas_price=5, step=2, extra=1))
    Fees(l1=34, l2=16)
    """
    return _evaluate(instance("factors", factors, Factors))


def _evaluate(factors: Factors) -> Fees:
    f = factors
    if f.check is not None:
        f.check(f.units, f.price.whole, f.divisor, f.fixed)
    quotient = multiply_divide_parts("l1_fee", f.price, f.units, f.divisor, f.offset)
    if f.saturates:
        quotient = saturated(quotient)
    total = _with_margin(add("l1_fee", quotient, f.fixed), f.margin)
    l1_fee = multiply("l1_fee", f.step, total - _with_margin(f.fixed, f.margin))
    return Fees(l1_fee, add("l2_fee", multiply("l2_fee", f.gas, f.gas_price), f.extra))


def _with_margin(price: Whole, margin: float | None) -> Whole:
    """Return trunc(margin · price); raises `Int64Overflow` if the price or the product is 2**53 or more.

    If the margin is `None`, the function returns the price, of any size. The function does not check that the arguments
    are numbers of at least 0.

    >>> _with_margin(36_095_238, 1.2)
    43314285
    """
    if margin is None:
        return price
    require("price", "expected a price below 2**53", price, price < DOUBLE_EXACT, Int64Overflow)
    double = margin * (float(price) if isinstance(price, int) else price.astype(float))
    result = truncated("price", double)
    require(
        "price",
        "expected a price whose product with the margin is below 2**53",
        result,
        result < DOUBLE_EXACT,
        Int64Overflow,
    )
    return result
