"""Compute fees and the recovery of their L1 cost as columns; a single fee is a column of one value.

The formulas are those of `feemodel.linea`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from feemodel.checks import RealArray, real
from feemodel.errors import InvalidInput
from feemodel.explorer.inputs import BytePoint, Point, VerificationPoint
from feemodel.linea import CostPerByte, VerificationCost, recorded_cost, variable_cost
from feemodel.linea.pricing_forms import Form
from feemodel.simulation.recovery import break_even_margin

POSTED = "blob submission at these L1 fees"
VERIFIED = "verification at these L1 fees"
ASSUMED = "verification at the L1 price that the form assumes"


class L1Cost(NamedTuple):
    """L1 cost of a byte, L1 cost of the transaction, and the basis on which both costs are computed."""

    basis: str
    per_byte: list[float]  #: [wei / byte]
    cost: list[float]  #: [wei]


class Columns(NamedTuple):
    """Fees as lists of Python numbers of equal length."""

    form: Any  #: pricing form, with the costs from which the fee is computed
    per_gas: dict[str, list[int]]  #: base fee, priority fee and its parts [wei / gas]
    totals: list[int]  #: [wei]
    for_size: list[int]  #: the part of the fee that pays for the size, including the margin [wei]
    l1_costs: list[L1Cost]


def price(point: Point, count: int = 1) -> Columns:
    """Return the fees along a curve of `count` points; inputs that are not arrays are repeated.

    >>> from feemodel.explorer.inputs import read_point
    >>> from feemodel.linea.pricing_forms import form_of
    >>> from feemodel.linea.parameters import linea_preset
    >>> own = {"form": lambda: form_of("cost-per-byte", linea_preset()), "preset": linea_preset()}
    >>> price(read_point({"compressedSize": 128, "gas": "0x5208"}, "point", **own)).totals
    [909600132000]
    """
    form: Any = priced_form(point)
    parts = form.parts(point.compressed_size, point.gas, point.margin)
    without = form.parts(0, point.gas, point.margin)
    fees = {
        "base": form.base_fee,
        **parts._asdict(),
        "priority": parts.total,
        "size alone": parts.total - without.total,
    }
    per_gas = {name: column(fee, count) for name, fee in fees.items()}
    gas, sizes = column(point.gas, count), column(point.compressed_size, count)
    each = zip(per_gas["base"], per_gas["priority"], gas, strict=True)
    for_size = [fee * units for fee, units in zip(per_gas.pop("size alone"), gas, strict=True)]
    costs = []
    for basis, cost in l1_costs(point, form):
        per_byte = column(cost, count)
        costs.append(L1Cost(basis, per_byte, [size * one for size, one in zip(sizes, per_byte, strict=True)]))
    return Columns(form, per_gas, [(base + fee) * units for base, fee, units in each], for_size, costs)


def column(value: Any, count: int) -> list[Any]:
    """Return a list of `count` Python numbers; a scalar is repeated.

    >>> column(7, 2), column(np.array([1, 2]), 2)
    ([7, 7], [1, 2])
    """
    found: list[Any] = np.broadcast_to(np.asarray(value), (count,)).tolist()
    return found


def priced_form(point: Any) -> Form:
    """Return the pricing form with the costs that `point` contains or implies.

    A variable cost from L1 fees is rounded as in a pricing record.
    """
    if isinstance(point, VerificationPoint):
        return VerificationCost(
            point.min_gas_price, point.verification_gas_cost, point.verification_capacity, point.gas_price_ratio,
            point.adjustment, point.base_fee,
        )  # fmt: skip
    cost: Any = point.variable_cost
    if point.variable_cost_from == "l1":
        cost = recorded_cost(real("variable_cost", unrounded_variable_cost(point), unit="wei"))
    return CostPerByte(cost, point.fixed_cost, point.base_fee)


def unrounded_variable_cost(point: Any) -> float | RealArray:
    """Return the cost of one compressed byte at the point's L1 fees, limited to the point's bounds [wei / byte]."""
    cost: float | RealArray = variable_cost(
        point.l1_base_fee,
        point.l1_tip,
        point.blob_base_fee,
        execution_gas=point.execution_gas,
        blob_gas=point.blob_gas,
        bytes_per_submission=point.blob_gas,  # the coordinator also divides by its setting `l1-blob-gas`
        margin=point.cost_margin,
        lower_bound=point.lower_bound,
        upper_bound=point.upper_bound,
    )
    return cost


def l1_costs(point: Any, form: Any) -> list[tuple[str, Any]]:
    """Return the L1 cost of a byte on each basis, such as `POSTED`; a basis whose L1 fees are missing is left out."""
    if isinstance(point, VerificationPoint):
        found = [(ASSUMED, form.cost_per_byte)]
        if point.l1_base_fee is None:
            return found
        verified = variable_cost(
            point.l1_base_fee, point.l1_tip, 0, execution_gas=point.verification_gas_cost, blob_gas=0,
            bytes_per_submission=point.verification_capacity, margin=1.0,
        )  # fmt: skip
        return [(VERIFIED, verified), *found]
    if point.l1_base_fee is None or point.blob_base_fee is None:
        return []
    posted = variable_cost(  # the formula of `Submission.cost_per_byte`, but every term may be an array
        point.l1_base_fee, point.l1_tip, point.blob_base_fee, execution_gas=point.execution_gas,
        blob_gas=point.blob_gas, bytes_per_submission=point.submission_bytes, margin=1.0,
    )  # fmt: skip
    return [(POSTED, posted)]


def recoveries(found: Columns) -> list[dict[str, Any]]:
    """Return the L1 cost and the recovered share along a curve, for each basis of the cost; `None` for a cost of 0."""

    def ratios(paid: Sequence[int], costs: Sequence[float]) -> list[float | None]:
        return [one / cost if cost > 0.0 else None for one, cost in zip(paid, costs, strict=True)]

    return [
        {
            "basis": basis,
            "cost": [hex(round(one)) for one in cost],
            "recovery": ratios(found.for_size, cost),
            "totalRecovery": ratios(found.totals, cost),
        }
        for basis, _, cost in found.l1_costs
    ]


def recovery_of(point: Point, found: Columns) -> list[dict[str, Any]]:
    """Return the L1 cost, the recovered share and the break-even margin of one fee, for each basis of the cost."""
    return [
        {
            **{name: value if name == "basis" else value[0] for name, value in one.items()},
            "costPerByte": per_byte[0],
            "breakEvenMargin": _break_even(point, found.form, cost[0]),
        }
        for one, (_, per_byte, cost) in zip(recoveries(found), found.l1_costs, strict=True)
    ]


def _break_even(point: Any, form: Form, cost: float) -> float | None:
    def surplus(margin: float) -> float:
        parts = form.parts(point.compressed_size, point.gas, margin)
        return float((form.base_fee + parts.total) * point.gas - cost)

    try:
        return round(break_even_margin(surplus), 4)
    except InvalidInput:  # no margin covers the cost
        return None


def bounded_cost(point: BytePoint, form: CostPerByte) -> dict[str, Any]:
    """Return the variable cost computed from L1 fees, and the name of the bound that limits the cost."""
    cost = unrounded_variable_cost(point)
    free = unrounded_variable_cost(msgspec.structs.replace(point, lower_bound=None, upper_bound=None))
    held = None if cost == free else "lowerBound" if cost > free else "upperBound"
    return {"recorded": hex(form.variable_cost), "unrounded": cost, "unbounded": free, "heldBy": held}
