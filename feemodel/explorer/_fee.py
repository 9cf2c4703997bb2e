"""Compute the fees that the explorer shows: parts and total, recovery of the L1 cost, and steps of the computation.

The formulas are those of `feemodel.linea`. For a curve, one input is an array, and all results that depend on this
input are arrays too.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from feemodel.checks import RealArray, real
from feemodel.errors import InvalidInput
from feemodel.explorer._fields import FIELDS, FROM_L1, OF_FORM, QUANTITY, Point
from feemodel.linea.coordinator import variable_cost
from feemodel.linea.extra_data import recorded_cost
from feemodel.linea.pricing_forms import CostPerByte, Form, VerificationCost
from feemodel.linea.priority import Breakdown
from feemodel.simulation.recovery import break_even_margin

POSTED = "blob submission at these L1 fees"
VERIFIED = "verification at these L1 fees"
ASSUMED = "verification at the L1 price that the form assumes"


class L1Cost(NamedTuple):
    """L1 cost of a byte, and the basis of this cost."""

    basis: str
    per_byte: Any  #: [wei / byte]


class Priced(NamedTuple):
    """A fee, or the fees along a curve."""

    form: Any  #: pricing form, with the costs from which the fee is computed
    parts: Breakdown[Any]  #: [wei / gas]
    size_alone: Any  #: part of the priority fee that pays for the size, including the margin [wei / gas]
    l1_costs: tuple[L1Cost, ...]


def price(point: Point) -> Priced:
    """Return the fee at a point, or the fees along a curve.

    >>> from feemodel.linea.pricing_forms import form_of
    >>> from feemodel.linea.parameters import linea_preset
    >>> from feemodel.explorer._fields import read_point
    >>> own = {"form": form_of("cost-per-byte", linea_preset()), "preset": linea_preset()}
    >>> price(read_point({"compressedSize": 128, "gas": "0x5208"}, "point", **own)).parts.total
    43314285
    """
    form = priced_form(point)
    parts: Any = form.parts(point["compressedSize"], point["gas"], point["margin"])
    without = form.parts(0, point["gas"], point["margin"])
    return Priced(form, parts, parts.total - without.total, l1_costs(point, form))


def priced_form(point: Point) -> Form:
    """Return the form with the costs of a point. A variable cost from L1 fees is rounded as in a pricing record."""
    costs = {own: point[name] for name, own in OF_FORM.items() if name in point.values}
    if point.pricing == VerificationCost.name:
        return VerificationCost(**costs)
    if point.costs == FROM_L1:
        costs["variable_cost"] = recorded_cost(real("variable_cost", unrounded_variable_cost(point), unit="wei"))
    return CostPerByte(**costs)


def unrounded_variable_cost(point: Point) -> float | RealArray:
    """Return the cost of one compressed byte at the point's L1 fees, limited to the point's bounds [wei / byte]."""
    cost: float | RealArray = variable_cost(
        point["l1BaseFee"],
        point["l1Tip"],
        point["blobBaseFee"],
        execution_gas=point["executionGas"],
        blob_gas=point["blobGas"],
        bytes_per_submission=point["blobGas"],  # the coordinator also divides by its setting `l1-blob-gas`
        margin=point["costMargin"],
        lower_bound=point["lowerBound"],
        upper_bound=point["upperBound"],
    )
    return cost


def l1_costs(point: Point, form: Any) -> tuple[L1Cost, ...]:
    """Return the L1 cost of a byte for each basis. A basis is left out if the point lacks the necessary L1 fees."""
    if isinstance(form, VerificationCost):
        found = (L1Cost(ASSUMED, form.cost_per_byte),)
        if point.get("l1BaseFee") is None:
            return found
        verified = variable_cost(
            point["l1BaseFee"], point["l1Tip"], 0, execution_gas=point["verificationGasCost"], blob_gas=0,
            bytes_per_submission=point["verificationCapacity"], margin=1.0,
        )  # fmt: skip
        return (L1Cost(VERIFIED, verified), *found)
    if point.get("l1BaseFee") is None or point.get("blobBaseFee") is None:
        return ()
    posted = variable_cost(  # as in `Submission.cost_per_byte`, but every term may be an array
        point["l1BaseFee"], point["l1Tip"], point["blobBaseFee"], execution_gas=point["executionGas"],
        blob_gas=point["blobGas"], bytes_per_submission=point["submissionBytes"], margin=1.0,
    )  # fmt: skip
    return (L1Cost(POSTED, posted),)


def recoveries(point: Point, priced: Priced) -> list[dict[str, Any]]:
    """Return the cost, the recovered share and the break-even margin for each basis of the L1 cost."""
    size, gas = point["compressedSize"], point["gas"]
    total = (priced.form.base_fee + priced.parts.total) * gas
    found = []
    for basis, per_byte in priced.l1_costs:
        cost = size * per_byte
        found.append(
            {
                "basis": basis,
                "costPerByte": per_byte,
                "cost": round(cost),
                "recovery": ratio(total, cost),
                "sizeRecovery": ratio(priced.size_alone * gas, cost),
                "breakEvenMargin": _break_even(point, priced.form, cost),
            }
        )
    return found


class Columns(NamedTuple):
    """Fees along a curve as lists of Python numbers, one element per point."""

    per_gas: dict[str, list[int]]  #: base fee, priority fee and its parts [wei / gas]
    gas: list[int]  #: [gas]
    totals: list[int]  #: [wei]
    l1_costs: dict[str, list[float]]  #: L1 cost of the transaction, by basis [wei]


def in_columns(point: Point, priced: Priced, count: int) -> Columns:
    """Return the fees along a curve of `count` points as lists. A constant fee is repeated."""
    fees = {"base": priced.form.base_fee, **priced.parts._asdict(), "priority": priced.parts.total}
    per_gas = {name: as_column(fee, count) for name, fee in fees.items()}
    gas, sizes = as_column(point["gas"], count), as_column(point["compressedSize"], count)
    each = zip(per_gas["base"], per_gas["priority"], gas, strict=True)
    totals = [(base + fee) * units for base, fee, units in each]
    costs = {basis: zip(sizes, as_column(per_byte, count), strict=True) for basis, per_byte in priced.l1_costs}
    return Columns(per_gas, gas, totals, {basis: [size * per for size, per in cost] for basis, cost in costs.items()})


def ratios(paid: Sequence[int], costs: Sequence[float]) -> list[float | None]:
    """Return paid / cost for each point of a curve; `None` where the cost is 0."""
    return [ratio(*point) for point in zip(paid, costs, strict=True)]


def ratio(paid: int, cost: float) -> float | None:
    """Return paid / cost; `None` if the cost is 0.

    >>> ratio(3, 2.0), ratio(3, 0.0)
    (1.5, None)
    """
    return paid / cost if cost > 0.0 else None


def _break_even(point: Point, form: Form, cost: float) -> float | None:
    size, gas = point["compressedSize"], point["gas"]

    def surplus(margin: float) -> float:
        return float((form.base_fee + form.parts(size, gas, margin).total) * gas - cost)

    try:
        return round(break_even_margin(surplus), 4)
    except InvalidInput:  # no margin covers the cost
        return None


def working(point: Point, priced: Priced) -> list[dict[str, Any]]:
    """Return the steps of the computation. Each step has the name, formula, value and unit of a result."""
    form, parts, gas, size = priced.form, priced.parts, point["gas"], point["compressedSize"]
    margin = f"{point['margin']:.10g}"
    if isinstance(form, CostPerByte):
        steps = [
            *_working_of_cost(point, form),
            ("size part", f"({form.variable_cost:,} · {size:,}) div {gas:,}", parts.size, "wei / gas"),
            ("priority fee", f"trunc({margin} · ({parts.size:,} + {parts.fixed:,}))", parts.total, "wei / gas"),
        ]
    else:
        fraction = (
            f"{form.gas_price_ratio:.10g} · {form.verification_gas_cost:,} · {size:,} · {form.min_gas_price:,}"
            f" / ({gas:,} · {form.verification_capacity:,})"
        )
        scaled = f"trunc((size part + {form.adjustment:,}) · {margin})"
        floor = f"{form.min_gas_price:,} − {form.base_fee:,}"
        steps = [
            ("size part", f"{fraction}, here without its fraction", parts.size, "wei / gas"),
            ("priority fee", f"max({scaled}, {floor})", parts.total, "wei / gas"),
        ]
    each = form.base_fee + parts.total
    steps.append(("price", f"{form.base_fee:,} + {parts.total:,}", each, "wei / gas"))
    steps.append(("fee", f"{each:,} · {gas:,}", each * gas, "wei"))
    return [{"gives": name, "how": how, "value": f"{value:,}", "unit": unit} for name, how, value, unit in steps]


def _working_of_cost(point: Point, form: CostPerByte) -> Iterator[tuple[str, str, int, str]]:
    if point.costs != FROM_L1:
        return
    execution = f"({point['l1BaseFee']:,} + {point['l1Tip']:,}) · {point['executionGas']:,}"
    blob = f"{point['blobBaseFee']:,} · {point['blobGas']:,}"
    how = f"({execution} + {blob}) · {point['costMargin']:.10g} / {point['blobGas']:,}"
    if point["lowerBound"] is not None:
        how = f"max({how}, {point['lowerBound']:,})"
    if point["upperBound"] is not None:
        how = f"min({how}, {point['upperBound']:,})"
    yield "variable cost", f"whole kwei of {how}", form.variable_cost, "wei / byte"


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Replace parameter names of formulas in errors with the JSON-RPC names of the fields."""
    names = {own: name for name, own in OF_FORM.items()} | {"upper_bound": "upperBound"}
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # values beyond the range of a double raise an error later
            yield
    except InvalidInput as error:
        name = f"{path}.{names[error.name]}" if error.name in names else f"{path}: {error.name}"
        raise type(error)(name, error.reason, error.value, error.index) from None


def along(point: Point, axis: str, values: Any) -> Point:
    """Return the point with one field replaced by an array."""
    return replace(point, values={**point.values, axis: values})


def as_column(value: Any, count: int) -> list[Any]:
    """Return a list of `count` Python numbers; a scalar is repeated.

    >>> as_column(7, 2), as_column(np.array([1, 2]), 2)
    ([7, 7], [1, 2])
    """
    column: list[Any] = np.broadcast_to(np.asarray(value), (count,)).tolist()
    return column


def to_wire(name: str, value: Any) -> Any:
    """Return a field's value in its JSON-RPC form: wei and gas as quantities, other values unchanged.

    >>> to_wire("gas", 21_000), to_wire("margin", 1.2)
    ('0x5208', 1.2)
    """
    return hex(value) if FIELDS[name].kind == QUANTITY and value is not None else value


def quantities(values: Mapping[str, int]) -> dict[str, str]:
    """Return integers as minimal hexadecimal quantities. Negative integers (margin below 1) have a minus sign.

    >>> quantities({"fixed": 30_000_000})
    {'fixed': '0x1c9c380'}
    """
    return {name: hex(value) for name, value in values.items()}
