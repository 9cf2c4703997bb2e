"""Fields of the explorer's requests, with their units, defaults, sources and ranges; and parsers of the fields.

In JSON-RPC, wei and gas are hexadecimal quantities; bytes and ratios are plain numbers.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from feemodel.checks import INT64_MAX, choice, known_fields, real_scalar, whole_scalar
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.ethereum._quantities import from_quantity
from feemodel.ethereum.fee_market import GAS_PER_BLOB, USABLE_BLOB_BYTES
from feemodel.linea.parameters import ASSUMED_L1_TIP, COORDINATOR, NODE, VERIFICATION, LineaPreset
from feemodel.linea.pricing_forms import CostPerByte, Form, VerificationCost, form_of

QUANTITY, BYTES, REAL = "quantity", "bytes", "real"
ANNOUNCED, FROM_L1 = "announced", "l1"
FORMS = (CostPerByte.name, VerificationCost.name)
Subject = TypeVar("Subject")
SUBJECT_BYTES = 131_072  # largest transaction that geth's pool accepts [byte]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """An input of a fee computation."""

    name: str  #: name in JSON-RPC
    label: str
    kind: str  #: QUANTITY, BYTES or REAL
    unit: str
    group: str  #: group of inputs on the page
    source: str  #: source of the default
    low: float  #: minimum of the slider; values outside the slider's range are allowed
    high: float
    scale: str = "log"
    decimals: int = 0  #: the page shows the value divided by 10**decimals, in the unit `shown`
    shown: str = ""  #: unit on the page
    default: int | float | None = None  #: `None` if the default is the value of the server, or if there is no default
    forms: tuple[str, ...] = FORMS
    costs: tuple[str, ...] = (ANNOUNCED, FROM_L1)  #: sources of the variable cost that use the field
    nullable: bool = False


_BYTE, _VERIFICATION = (CostPerByte.name,), (VerificationCost.name,)
_GWEI: dict[str, Any] = {"decimals": 9, "shown": "gwei / gas"}
_SERVER = "the server's own pricing"
_COORDINATOR = f"{COORDINATOR.source} ({COORDINATOR.date})"
_SEQUENCER = f"{VERIFICATION.source} ({VERIFICATION.date})"

FIELDS: Mapping[str, Field] = {
    field.name: field
    for field in (
        Field(
            name="compressedSize", label="Compressed size", kind=BYTES, unit="byte", shown="bytes", group="transaction",
            low=1, high=100_000, default=128, source="a plain transfer, as mainnet measured it in January 2026",
        ),
        Field(
            name="gas", label="Gas", kind=QUANTITY, unit="gas", group="transaction", low=21_000, high=30_000_000,
            default=21_000, source="a plain transfer",
        ),
        Field(
            name="variableCost", label="Variable cost", kind=QUANTITY, unit="wei / byte", group="cost", forms=_BYTE,
            costs=(ANNOUNCED,), low=1e6, high=1e12, decimals=9, shown="gwei / byte", source=_SERVER,
        ),
        Field(
            name="fixedCost", label="Fixed cost", kind=QUANTITY, unit="wei / gas", group="cost", forms=_BYTE,
            low=1e5, high=1e10, source=_SERVER, **_GWEI,
        ),
        Field(
            name="minGasPrice", label="Minimum gas price", kind=QUANTITY, unit="wei / gas", group="cost",
            forms=_VERIFICATION, low=1e6, high=1e11, source=_SERVER, **_GWEI,
        ),
        Field(
            name="verificationGasCost", label="Verification cost", kind=QUANTITY, unit="gas", group="cost",
            forms=_VERIFICATION, low=1e5, high=1e7, shown="L1 gas", source=_SEQUENCER,
        ),
        Field(
            name="verificationCapacity", label="Capacity", kind=BYTES, unit="byte", shown="bytes", group="cost",
            forms=_VERIFICATION, low=1e3, high=1e6, source=_SEQUENCER,
        ),
        Field(
            name="gasPriceRatio", label="Price ratio, L1 / L2", kind=REAL, unit="1", group="cost",
            forms=_VERIFICATION, low=0.1, high=1_000, source=_SEQUENCER,
        ),
        Field(
            name="margin", label="Margin", kind=REAL, unit="1", group="cost", low=0, high=3, scale="linear",
            source=f"{NODE.source} ({NODE.date}): {NODE.estimate_margin} on an estimate",
        ),
        Field(
            name="l1BaseFee", label="L1 base fee", kind=QUANTITY, unit="wei / gas", group="l1", low=1e6, high=1e12,
            source="the day that is chosen", **_GWEI,
        ),
        Field(
            name="blobBaseFee", label="Blob base fee", kind=QUANTITY, unit="wei / gas", group="l1", low=1, high=1e11,
            source="the day that is chosen", **_GWEI,
        ),
        Field(
            name="costMargin", label="Margin on L1 cost", kind=REAL, unit="1", group="cost", forms=_BYTE,
            costs=(FROM_L1,), low=0, high=3, scale="linear", default=COORDINATOR.margin, source=_COORDINATOR,
        ),
        Field(
            name="lowerBound", label="Lower bound", kind=QUANTITY, unit="wei / byte", group="cost", forms=_BYTE,
            costs=(FROM_L1,), low=1e6, high=1e12, decimals=9, shown="gwei / byte", nullable=True,
            default=int(COORDINATOR.lower_bound), source=_COORDINATOR,
        ),
        Field(
            name="upperBound", label="Upper bound", kind=QUANTITY, unit="wei / byte", group="cost", forms=_BYTE,
            costs=(FROM_L1,), low=1e6, high=1e12, decimals=9, shown="gwei / byte", nullable=True,
            default=int(COORDINATOR.upper_bound), source=_COORDINATOR,
        ),
        Field(
            name="l1Tip", label="L1 tip", kind=QUANTITY, unit="wei / gas", group="fine", low=1e6, high=1e11,
            default=ASSUMED_L1_TIP, source="a choice: the L1 series has no tips", **_GWEI,
        ),
        Field(
            name="executionGas", label="Execution gas of a submission", kind=QUANTITY, unit="gas", group="fine",
            forms=_BYTE, low=21_000, high=1e6, shown="L1 gas", default=COORDINATOR.execution_gas, source=_COORDINATOR,
        ),
        Field(
            name="blobGas", label="Blob gas of a submission", kind=QUANTITY, unit="gas", group="fine", forms=_BYTE,
            low=GAS_PER_BLOB, high=9 * GAS_PER_BLOB, default=COORDINATOR.blob_gas, source="one blob, EIP-4844",
        ),
        Field(
            name="submissionBytes", label="Bytes that a submission carries", kind=BYTES, unit="byte", shown="bytes",
            group="fine", forms=_BYTE, low=1e3, high=9 * USABLE_BLOB_BYTES, default=USABLE_BLOB_BYTES,
            source="a filled blob: 4,096 elements of 254 bits",
        ),
        Field(
            name="adjustment", label="Adjustment", kind=QUANTITY, unit="wei / gas", group="fine",
            forms=_VERIFICATION, low=1e5, high=1e10, source=_SERVER, **_GWEI,
        ),
        Field(
            name="baseFee", label="Base fee on L2", kind=QUANTITY, unit="wei / gas", group="fine", low=1, high=1e9,
            source=_SERVER,
        ),
    )
}  # fmt: skip

#: JSON-RPC name → attribute of a pricing form
OF_FORM = {
    "variableCost": "variable_cost", "fixedCost": "fixed_cost", "baseFee": "base_fee",
    "minGasPrice": "min_gas_price", "verificationGasCost": "verification_gas_cost",
    "verificationCapacity": "verification_capacity", "gasPriceRatio": "gas_price_ratio", "adjustment": "adjustment",
}  # fmt: skip
TRANSACTION = ("compressedSize", "gas")
L1_FEES = ("l1BaseFee", "blobBaseFee")  #: fields that the computation of the recovery needs
AT_LEAST_ONE = ("gas", "verificationCapacity", "submissionBytes")  #: fields used as divisors


@dataclass(frozen=True, slots=True)
class Point:
    """All inputs of a fee computation; for a curve, one input is an array."""

    pricing: str
    costs: str  #: ANNOUNCED or FROM_L1
    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def get(self, name: str) -> Any:
        """Return the value of a field, or `None` if it was not given."""
        return self.values.get(name)


def read_point(
    given: Any, path: str, *, form: Form, preset: LineaPreset, without: Collection[str] = (), also: Collection[str] = ()
) -> Point:
    """Parse and check the inputs of an options object; missing inputs are taken from the server's pricing.

    Parameters
    ----------
    given : an object with any of `pricing`, `variableCostFrom` and the fields of `FIELDS` that the chosen form uses.
    path : path of the object, for error messages.
    form : pricing form of the server.
    preset : pricing preset of the server.
    without : fields that the calling method does not accept.
    also : further names in `given` that the calling method parses itself.

    Returns
    -------
    Point : the inputs.

    Raises
    ------
    InvalidInput : a name is unknown, or a value is missing or not valid; the message has the path.

    >>> from feemodel.linea.parameters import linea_preset
    >>> own = {"form": form_of("cost-per-byte", linea_preset()), "preset": linea_preset()}
    >>> read_point({"compressedSize": 128, "gas": "0x5208"}, "point", **own)["variableCost"]
    1000000000
    """
    if not isinstance(given, Mapping):
        raise InvalidInput(path, "expected an object", given)
    pricing = choice(f"{path}.pricing", given.get("pricing", form.name), FORMS)
    fields = {name: field for name, field in FIELDS.items() if pricing in field.forms and name not in without}
    costs = ANNOUNCED
    if pricing == CostPerByte.name:
        costs = choice(f"{path}.variableCostFrom", given.get("variableCostFrom", ANNOUNCED), (ANNOUNCED, FROM_L1))
        fields = {name: field for name, field in fields.items() if costs in field.costs}
    known = {"pricing", *fields, *also} | ({"variableCostFrom"} if pricing == CostPerByte.name else set())
    known_fields(path, given, sorted(known))
    source = form if form.name == pricing else form_of(pricing, replace(preset, base_fee=form.base_fee))
    defaults = {name: getattr(source, own) for name, own in OF_FORM.items() if hasattr(source, own)}
    defaults["margin"] = preset.estimate_margin
    required = set() if costs == ANNOUNCED else set(L1_FEES)
    required |= {name for name in TRANSACTION if name not in without}
    values = {}
    for name, field in fields.items():
        if name in given or name in required:
            values[name] = read_value(field, given.get(name), f"{path}.{name}")
        else:
            values[name] = defaults.get(name, field.default)
    return Point(pricing, costs, values)


def read_value(field: Field, value: Any, path: str) -> Any:
    """Parse a field's JSON value to an int, or to a float for a ratio; `None` is allowed if the field is nullable.

    >>> read_value(FIELDS["gas"], "0x5208", "point.gas")
    21000
    """
    if value is None and field.nullable:
        return None
    if field.kind == REAL:
        return real_scalar(path, value)
    number = from_quantity(value, path) if field.kind == QUANTITY else whole_scalar(path, value, unit="bytes")
    minimum = 1 if field.name in AT_LEAST_ONE else 0
    if not minimum <= number <= INT64_MAX:
        raise InvalidInput(path, f"expected {minimum} to 2**63 - 1", value)
    return number


def check_subject_size(subject: Subject) -> Subject:
    """Return the subject unchanged; raises `LimitExceeded` if it has more than 131,072 bytes.

    >>> check_subject_size("0x00")
    '0x00'
    """
    data = (subject.get("data") or subject.get("input")) if isinstance(subject, Mapping) else subject
    if isinstance(data, str) and len(data) > 2 + 2 * SUBJECT_BYTES:
        raise LimitExceeded(f"subject: at most {SUBJECT_BYTES:,} bytes, got {len(data) // 2 - 1:,}")
    return subject
