"""Quantities: the name, unit and bounds of every number that a formula takes or returns.

A parameter of a formula is annotated with a quantity, such as `CompressedSize`. Checks, units of Datasets, help and the
page "quantities" read the annotation; a unit is written nowhere else.
"""

from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, get_args

import numpy as np

from feemodel.checks import numbers, require
from feemodel.errors import InvalidInput

#: A Python int, an array of integers, a Series or a DataArray. `Real`: the same for doubles.
Whole: TypeAlias = Any
Real: TypeAlias = Any
Truth: TypeAlias = Any

#: Singular and plural of units, for errors.
COUNTED = {"byte": "bytes", "blob": "blobs", "block": "blocks", "token": "tokens", "s": "seconds", "1": ""}


@dataclass(frozen=True, slots=True, repr=False)
class Quantity:
    """Unit, meaning and bounds of a number.

    >>> Quantity("wei / gas", "price of gas")
    [wei / gas]
    """

    unit: str
    words: str = ""  #: what the number is, for help and the page "quantities"
    minimum: int | None = 0
    maximum: float | None = None
    double: bool = False  #: whether the number is a double
    above_zero: bool = False  #: whether a double must be above 0
    below: int | None = None  #: number that a double must be below
    lowest: float = 0.0  #: lowest plausible number other than 0: a number below it is probably in another unit
    hint: str = ""  #: for the error: the expected unit, with an example

    def __repr__(self) -> str:
        return f"[{self.unit}]"  # the signatures of functions show it

    def check(self, name: str, value: Any) -> Any:
        """Return a Python number for a scalar, an int64 or float64 array for anything array-like.

        Raises `InvalidInput` for the first element that is not a number of this quantity, or is out of its bounds.

        >>> Quantity("gas", minimum=1).check("gas", [21_000, 0])
        Traceback (most recent call last):
        feemodel.errors.InvalidInput: gas[1]: expected whole gas of at least 1, got 0
        """
        bounded = self.double or self.lowest or self.maximum is not None
        if type(value) is int and not bounded and value >= (self.minimum or 0):
            return value
        unit = self.unit.partition(" / ")[0]  # "wei" for a price in wei per gas
        unit = COUNTED.get(unit, unit)
        kind = "a finite number" if self.double else "whole" if unit else "an integer"
        expected = f"expected {kind}{' of' * bool(self.double and unit)} {unit}".rstrip()
        checked = numbers(name, value, expected, np.float64 if self.double else np.int64)
        hint = f" ({self.hint})" if self.hint else ""
        if self.double:
            require(name, expected, checked, np.isfinite(checked))
        if self.minimum is not None:
            joined = ", at" if self.double else " of at"
            require(name, f"{expected}{joined} least {self.minimum:,}", checked, checked >= self.minimum)
        if self.above_zero:
            require(name, f"expected a number above 0{hint}", checked, checked > 0.0)
        if self.below is not None:
            require(name, f"expected a number below {self.below}{hint}", checked, checked < self.below)
        if self.lowest:
            plausible = (checked >= self.lowest) | (checked == 0)
            require(name, f"expected at least {self.lowest:,.16g}{hint}", checked, plausible)
        if self.maximum is not None:
            require(name, f"expected at most {self.maximum:,}{hint}", checked, checked <= self.maximum)
        return checked

    def check_one(self, name: str, value: Any) -> Any:
        """Return a Python number, like `check`; an array is not valid."""
        number = self.check(name, value)
        if isinstance(number, np.ndarray):
            raise InvalidInput(name, "expected one number, not an array", value)
        return number


WHOLE, ANY_WHOLE = Quantity("1", "number"), Quantity("1", "number, which may be negative", minimum=None)
REAL = Quantity("1", "number", double=True)
ANY_REAL = Quantity("1", "number, which may be negative", double=True, minimum=None)

#: Meaning of each parameter that is no number, for commands and for settings of the server.
MEANINGS = {
    "pricing": "form of the fee",
    "preset": "preset of costs and margins",
    "codec": "codec that measures the size of a transaction",
    "dictionary": "dictionary, required for lzss and optional for zstd",
    "packed": "round the size up to whole 32-byte field elements of a blob",
    "genesis": "geth genesis file",
    "store": "ledger file",
    "intact": "use a gas limit that changes no inner call; needs the native engine",
    "l1_node": "URL of an L1 node",
    "node": "URL of a node",
}


def quantity_of(annotation: Any) -> Quantity | None:
    """Return the quantity of an annotation such as `Gas` or `Gas | None`; `None` if it has none.

    >>> quantity_of(Gas | None).unit, quantity_of(str)
    ('gas', None)
    """
    for part in (annotation, *get_args(annotation)):
        for found in getattr(part, "__metadata__", ()):
            if isinstance(found, Quantity):
                return found
    return None


Byte = Annotated[Whole, Quantity("byte", "bytes")]
BytesAboveZero = Annotated[Whole, Quantity("byte", "bytes", minimum=1)]
CompressedSize = Annotated[Whole, Quantity("byte", "compressed size of the transaction, as the chain measures it")]
SizeAdjustment = Annotated[Whole, Quantity("byte", "bytes that are added to the size", minimum=-(2**63))]
ZeroBytes = Annotated[Whole, Quantity("byte", "zero bytes of the calldata")]
NonzeroBytes = Annotated[Whole, Quantity("byte", "other bytes of the calldata")]

Gas = Annotated[Whole, Quantity("gas", "gas")]
GasAboveZero = Annotated[Whole, Quantity("gas", "gas of the transaction", minimum=1)]
GasUsed = Annotated[Whole, Quantity("gas", "gas used by the block")]
GasLimit = Annotated[Whole, Quantity("gas", "gas limit of the block", minimum=1)]
ExcessBlobGas = Annotated[Whole, Quantity("gas", "excess blob gas in the header")]
BlobGasUsed = Annotated[Whole, Quantity("gas", "blob gas used by the block")]
GasPerSecond = Annotated[Whole, Quantity("gas / s", "gas target per second")]

Wei = Annotated[Whole, Quantity("wei", "amount")]
PriorityFee = Annotated[Whole, Quantity("wei / gas", "priority fee per gas")]
WeiPerGas = Annotated[Whole, Quantity("wei / gas", "price of gas")]
BaseFee = Annotated[Whole, Quantity("wei / gas", "base fee of the block")]
BlobBaseFee = Annotated[Whole, Quantity("wei / gas", "price of blob gas")]
WeiPerNative = Annotated[Whole, Quantity("wei / native unit", "price of a native unit")]
WeiPerByte = Annotated[Whole, Quantity("wei / byte", "price of a byte")]
MinGasPrice = Annotated[Whole, Quantity("wei / gas", "minimum L2 gas price")]
GasPrice = Annotated[Whole, Quantity("wei / gas", "price of gas, above 0", minimum=1)]
VariableCost = Annotated[Whole, Quantity("wei / byte", "cost of one compressed byte")]
FixedCost = Annotated[Whole, Quantity("wei / gas", "cost of every unit of gas")]

Timestamp = Annotated[Whole, Quantity("s", "time of the block", maximum=2**40, hint="in seconds, not in milliseconds")]
WholeNumber = Annotated[Whole, WHOLE]
Seconds = Annotated[Whole, Quantity("s", "time")]
Divisor = Annotated[Whole, Quantity("1", "divisor", minimum=1)]
Millionths = Annotated[Whole, Quantity("1e-6", "factor in millionths")]

Margin = Annotated[Real, Quantity("1", "safety factor", double=True)]
Ratio = Annotated[Real, Quantity("1", "ratio", double=True)]
Probability = Annotated[Real, Quantity("1", "probability", double=True, above_zero=True, below=1)]
DivisorAboveZero = Annotated[Real, Quantity("1", "divisor", double=True, above_zero=True)]
RealWei = Annotated[Real, Quantity("wei", "amount", double=True)]
RealWeiPerGas = Annotated[Real, Quantity("wei / gas", "price of gas", double=True)]
RealWeiPerByte = Annotated[Real, Quantity("wei / byte", "price of a byte", double=True)]
RealGasAboveZero = Annotated[Real, Quantity("gas", "gas", double=True, above_zero=True)]
RealByte = Annotated[Real, Quantity("byte", "bytes", double=True)]
BlobFee = Annotated[Real, Quantity("wei / gas", "blob base fee of L1", double=True)]
L1BaseFee = Annotated[Real, Quantity("wei / gas", "base fee of L1", double=True)]
Tip = Annotated[Real, Quantity("wei / gas", "priority fee of a submission on L1", double=True)]
ExecutionGas = Annotated[Real, Quantity("gas", "L1 gas of a submission", double=True)]
BlobGas = Annotated[Real, Quantity("gas", "blob gas of a submission", double=True)]
SubmissionBytes = Annotated[Real, Quantity("byte", "divisor of a submission's cost", double=True, above_zero=True)]
Calldata = Annotated[Real, Quantity("byte", "calldata of the last blocks", double=True)]
BlockCalldata = Annotated[Real, Quantity("byte", "maximum calldata of a block", double=True, above_zero=True)]
Adjustment = Annotated[Whole, Quantity("wei / gas", "amount that is added to the fee per gas")]
OfferedPrice = Annotated[Whole, Quantity("wei / gas", "price that the transaction offers")]
MaxFee = Annotated[Whole, Quantity("wei / gas", "max fee or max priority fee of a dynamic-fee transaction")]
VerificationGas = Annotated[Whole, Quantity("gas", "L1 gas of the verification of a submission")]
VerifiedBytes = Annotated[Whole, Quantity("byte", "bytes that one submission verifies", minimum=1)]
GasPriceRatio = Annotated[Real, Quantity("1", "L1 gas price / L2 gas price", double=True)]
