"""Common form of the fee rules of all chains.

A rule computes the data fee and the execution fee of a transaction at given L1 fees.

Every rule computes the data fee as units · price // divisor, where the units depend on the transaction, and the price
on the L1 fees. A rule is defined by its `Factors`. `evaluate` computes exact fees from the factors.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from feemodel.checks import UINT64_MAX, instance, require
from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.exact import double, minimum, truncated
from feemodel.formula import computed
from feemodel.quantities import BaseFee, Quantity, Whole, quantity_of
from feemodel.rollups.chains import Parameters

TYPE_COLUMN = "transaction_type"
BLOB_TRANSACTION = 3  # EIP-4844
SET_CODE_TRANSACTION = 4  # EIP-7702
DOUBLE_EXACT = 2**53  # doubles represent all integers up to this number
COLUMN, FEE_PER_GAS = Quantity("1"), quantity_of(BaseFee) or Quantity("wei / gas")

Columns: TypeAlias = Mapping[str, Whole]


class Fees(NamedTuple):
    """The data fee and the execution fee [wei]."""

    l1: Any  #: fee for L1 data
    l2: Any  #: fee for L2 gas


class Factors(NamedTuple):
    """Factors from which the fees of a rule are computed.

    A factor is an int or an array (`feemodel.exact.Exact`): a constant, or one value for each transaction or for each
    sample of L1 fees. The fees are

    l1 = step · (trunc(margin · (q + fixed)) − trunc(margin · fixed))
    q  = (units · price + offset) // divisor
    l2 = gas · gas_price + extra

    If `margin` is `None`, l1 is step · q.
    """

    units: Whole  #: one value per transaction
    price: Whole  #: one value per sample of L1 fees
    divisor: Whole  #: one value per transaction, or a constant
    gas: Whole  #: one value per transaction [gas]
    gas_price: Whole  #: one value per sample of L1 fees, or a constant [wei / gas]
    step: Whole = 1  #: one value per transaction, or a constant
    offset: Whole = 0  #: one value per sample of L1 fees, or a constant
    fixed: Whole = 0  #: one value per sample of L1 fees, or a constant
    margin: float | None = None  #: factor that a node applies in doubles, even a factor of 1; `None`: no factor
    extra: Whole = 0  #: one value per transaction, or a constant [wei]
    saturates: bool = False  #: whether a quotient q above 2**64 − 1 becomes 2**64 − 1


@dataclass(frozen=True, slots=True)
class Rule:
    """A chain's rule at one of its upgrades, with its parameters."""

    parameters: Parameters
    columns: tuple[str, ...]  #: names of the columns of transactions that the rule uses
    read: tuple[str, ...]  #: names of the parameters that the rule uses
    #: function of (columns, base fee, blob base fee), which are ints and `Exact` arrays, and are not checked
    factors: Callable[[Columns, Whole, Whole], Factors]
    upgrade: str = ""  #: upgrade of the chain that selects the rule; empty if the chain's rule has no upgrades

    @property
    def name(self) -> str:
        """Name of the chain, and the upgrade."""
        return self.parameters.chain.name + (f"/{self.upgrade}" if self.upgrade else "")

    @property
    def no_set_code(self) -> str | None:
        """Reason why transactions of type 4 (EIP-7702) have no fee, or `None`."""
        return self.parameters.no_set_code

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes on parameters that are assumed, or not confirmed since an upgrade."""
        return self.parameters.remarks(*self.read)

    def fees(self, transactions: Mapping[str, Any], *, base_fee: Whole, blob_base_fee: Whole) -> Fees:
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
        quantities = {**dict.fromkeys(columns, COLUMN), "base_fee": FEE_PER_GAS, "blob_base_fee": FEE_PER_GAS}
        fees: Fees = computed(self._fees, quantities, {**columns, "base_fee": base_fee, "blob_base_fee": blob_base_fee})
        return fees

    def _fees(self, *, base_fee: Whole, blob_base_fee: Whole, **columns: Whole) -> Fees:
        if missing := [name for name in self.columns if name not in columns]:
            raise InvalidInput("transactions", f"missing the columns {', '.join(missing)} for {self.name}", [*columns])
        if (types := columns.get(TYPE_COLUMN)) is not None:
            require(TYPE_COLUMN, f"{self.name} has no fee rule for blob transactions", types, types != BLOB_TRANSACTION)
            if self.no_set_code is not None:
                reason = f"{self.name} has no fee rule for transactions of type 4 (EIP-7702): {self.no_set_code}"
                require(TYPE_COLUMN, reason, types, types != SET_CODE_TRANSACTION)
        return evaluate(self.factors(columns, base_fee, blob_base_fee))


def evaluate(factors: Factors) -> Fees:
    """Return the fees computed from the factors of a rule.

    >>> evaluate(Factors(units=7, price=10, divisor=4, gas=3, gas_price=5, step=2, extra=1))
    Fees(l1=34, l2=16)
    """
    f = instance("factors", factors, Factors)
    quotient = (f.units * f.price + f.offset) // f.divisor
    if f.saturates:
        quotient = minimum(quotient, UINT64_MAX)
    if f.margin is not None:
        quotient = _with_margin(quotient + f.fixed, f.margin) - _with_margin(f.fixed, f.margin)
    return Fees(f.step * quotient, f.gas * f.gas_price + f.extra)


def _with_margin(price: Whole, margin: float) -> Whole:
    """Return trunc(margin · price); raises `Int64Overflow` if the price or the product is 2**53 or more.

    >>> _with_margin(36_095_238, 1.2)
    43314285
    """
    require("price", "expected a price below 2**53", price, price < DOUBLE_EXACT, Int64Overflow)
    product = margin * double(price)
    reason = "expected a price whose product with the margin is below 2**53"
    require("price", reason, product, product < DOUBLE_EXACT, Int64Overflow)
    return truncated("price", product)
