"""Inputs of a fee: structs that parse JSON objects, with units, defaults and the sources of the defaults.

In JSON-RPC, wei and gas are hexadecimal quantities; bytes and ratios are plain numbers.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, TypeAlias

import msgspec
import numpy as np

from feemodel.checks import INT64_MAX, choice
from feemodel.errors import InvalidInput
from feemodel.estimates.json_types import Uint64, parse
from feemodel.ethereum._quantities import known_fields
from feemodel.ethereum.fee_market import GAS_PER_BLOB, USABLE_BLOB_BYTES
from feemodel.linea.parameters import ASSUMED_L1_TIP, COORDINATOR, NODE, VERIFICATION, LineaPreset
from feemodel.linea.pricing_forms import CostPerByte, Form, VerificationCost, form_of

Bytes: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=INT64_MAX)]
Ratio: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0)]

FORMS = (CostPerByte.name, VerificationCost.name)
L1_FEES = ("l1BaseFee", "blobBaseFee")
IN_BYTES = ("compressedSize", "verificationCapacity", "submissionBytes")
RATIOS = ("margin", "gasPriceRatio")


class Point(msgspec.Struct, rename="camel", kw_only=True):
    """Inputs that both pricing forms have; for a curve, one input is an array."""

    compressed_size: Bytes | None = None  #: [byte]
    gas: Uint64 | None = None  #: [gas]
    margin: Ratio
    base_fee: Uint64  #: [wei / gas]
    l1_base_fee: Uint64 | None = None  #: [wei / gas]
    blob_base_fee: Uint64 | None = None  #: [wei / gas]
    l1_tip: Uint64 = ASSUMED_L1_TIP  #: [wei / gas]


class BytePoint(Point, kw_only=True):
    """Inputs of the cost-per-byte form."""

    variable_cost: Uint64  #: [wei / byte]
    fixed_cost: Uint64  #: [wei / gas]
    execution_gas: Uint64 = COORDINATOR.execution_gas  #: execution gas of a submission [gas]
    blob_gas: Uint64 = COORDINATOR.blob_gas  #: blob gas of a submission [gas]
    submission_bytes: Bytes = USABLE_BLOB_BYTES  #: [byte]


class VerificationPoint(Point, kw_only=True):
    """Inputs of the verification-cost form."""

    min_gas_price: Uint64  #: [wei / gas]
    verification_gas_cost: Uint64  #: [gas]
    verification_capacity: Bytes  #: [byte]
    gas_price_ratio: Ratio
    adjustment: Uint64  #: [wei / gas]


POINTS: Mapping[str, type[Point]] = {CostPerByte.name: BytePoint, VerificationCost.name: VerificationPoint}


#: Sources of the defaults of all inputs.
SOURCES: Mapping[str, str] = {
    "compressedSize": "a plain transfer, as mainnet measured it in January 2026",
    "gas": "a plain transfer",
    "margin": f"{NODE.source} ({NODE.date}): {NODE.estimate_margin} on an estimate",
    **dict.fromkeys(("baseFee", "variableCost", "fixedCost", "minGasPrice", "adjustment"), "the server's own pricing"),
    **dict.fromkeys(L1_FEES, "the day that is chosen"),
    "l1Tip": "assumed, because the L1 series has no tips",
    "executionGas": f"{COORDINATOR.source} ({COORDINATOR.date})",
    "blobGas": f"{COORDINATOR.blob_gas // GAS_PER_BLOB} blob, EIP-4844",
    "submissionBytes": "a filled blob: 4,096 elements of 254 bits",
    **dict.fromkeys(
        ("verificationGasCost", "verificationCapacity", "gasPriceRatio"), f"{VERIFICATION.source} ({VERIFICATION.date})"
    ),
}
EXAMPLE = {"compressedSize": 128, "gas": "0x5208"}  # a plain transfer


def names_of(kind: type[msgspec.Struct] | msgspec.Struct) -> dict[str, str]:
    """Return the attributes of a struct by their JSON-RPC names."""
    return {field.encode_name: field.name for field in msgspec.structs.fields(kind)}


def defaults_of(pricing: str, form: Form, preset: LineaPreset) -> dict[str, Any]:
    """Return the default of each input of a form: the server's cost, if any, or else the struct's default."""
    costs = form if form.name == pricing else form_of(pricing, replace(preset, base_fee=form.base_fee))
    found = {}
    for field in msgspec.structs.fields(POINTS[pricing]):
        own = preset.estimate_margin if field.name == "margin" else getattr(costs, field.name, field.default)
        found[field.encode_name] = own
    return found


def read_point(
    given: Any, path: str, *, form: Callable[[], Form], preset: LineaPreset, without: tuple[str, ...] = ()
) -> Point:  # fmt: skip
    """Parse the inputs of a fee; missing inputs are taken from the server's pricing.

    Parameters
    ----------
    given : an object with any of `pricing` and the fields of the form's struct, in camel case.
    path : path of the object, for error messages.
    form : function that returns the pricing form of the server; it is called only for inputs that are missing.
    preset : pricing preset of the server.
    without : fields of the object that are ignored, because they are not inputs of a fee.

    Returns
    -------
    BytePoint or VerificationPoint : the inputs.

    Raises
    ------
    InvalidInput : a name is unknown, or a value is not valid; the message has the path.

    >>> from feemodel.linea.parameters import linea_preset
    >>> own = {"form": lambda: form_of("cost-per-byte", linea_preset()), "preset": linea_preset()}
    >>> read_point({"compressedSize": 128, "gas": "0x5208"}, "point", **own).variable_cost
    1000000000
    """
    if not isinstance(given, Mapping):
        raise InvalidInput(path, "expected an object", given)
    form = cache(form)  # one moment
    pricing = choice(f"{path}.pricing", given["pricing"] if "pricing" in given else form().name, FORMS)
    inputs = {name: value for name, value in given.items() if name not in without}
    known_fields(path, inputs, sorted({"pricing", *names_of(POINTS[pricing])}))
    required = {field.encode_name for field in msgspec.structs.fields(POINTS[pricing]) if field.required}
    defaults = {} if required <= {*inputs} else defaults_of(pricing, form(), preset)
    return parse(path, {**defaults, **inputs}, POINTS[pricing])  # type: ignore[no-any-return]


def to_wire(name: str, value: Any) -> Any:
    """Return an input in its JSON-RPC form: wei and gas as quantities, other values unchanged.

    >>> to_wire("gas", 21_000), to_wire("margin", 1.2)
    ('0x5208', 1.2)
    """
    return value if value is None or isinstance(value, str) or name in (*IN_BYTES, *RATIOS) else hex(value)


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Replace parameter names of formulas in errors with the JSON-RPC names of the inputs."""
    names = {own: name for kind in POINTS.values() for name, own in names_of(kind).items()}
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # values beyond the range of a double raise an error later
            yield
    except InvalidInput as error:
        name = f"{path}.{names[error.name]}" if error.name in names else f"{path}: {error.name}"
        raise type(error)(name, error.reason, error.value, error.index) from None
