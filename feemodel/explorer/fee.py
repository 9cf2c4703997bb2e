"""Compute a fee and the recovery of its L1 cost, for one point or along a curve.

The formulas are those of `feemodel.linea`.
"""

from typing import Any, NamedTuple

import numpy as np

from feemodel.explorer.inputs import BytePoint, Point, VerificationPoint
from feemodel.linea import CostPerByte, VerificationCost, variable_cost
from feemodel.linea.pricing_forms import Form

POSTED = "blob submission at these L1 fees"
VERIFIED = "verification at these L1 fees"


class Columns(NamedTuple):
    """Fees as lists of Python numbers of equal length."""

    form: Any  #: pricing form, with the costs from which the fee is computed
    per_gas: dict[str, list[int]]  #: base fee, priority fee and its parts [wei / gas]
    totals: list[int]  #: [wei]
    for_size: list[int]  #: the part of the fee that pays for the size, including the margin [wei]
    l1_costs: list[float] | None  #: L1 cost of the transaction; `None` without L1 fees [wei]


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

    def column(value: Any) -> list[Any]:
        found: list[Any] = np.broadcast_to(np.asarray(value), (count,)).tolist()
        return found

    fees = {"base": form.base_fee, **parts._asdict(), "priority": parts.total}
    per_gas = {name: column(fee) for name, fee in fees.items()}
    gas, per_byte = column(point.gas), l1_cost_per_byte(point)
    totals = [(base + fee) * units for base, fee, units in zip(per_gas["base"], per_gas["priority"], gas, strict=True)]
    for_size = [fee * units for fee, units in zip(column(parts.total - without.total), gas, strict=True)]
    costs = None
    if per_byte is not None:
        costs = [size * cost for size, cost in zip(column(point.compressed_size), column(per_byte), strict=True)]
    return Columns(form, per_gas, totals, for_size, costs)


def priced_form(point: Any) -> Form:
    """Return the pricing form with a point's costs."""
    if isinstance(point, BytePoint):
        return CostPerByte(point.variable_cost, point.fixed_cost, point.base_fee)
    return VerificationCost(
        point.min_gas_price, point.verification_gas_cost, point.verification_capacity, point.gas_price_ratio,
        point.adjustment, point.base_fee,
    )  # fmt: skip


def l1_cost_per_byte(point: Any) -> Any:
    """Return the L1 cost of a compressed byte, of posting or of verification; `None` without L1 fees [wei / byte]."""
    if isinstance(point, VerificationPoint):
        gas, blob_gas, blob_base_fee, size = point.verification_gas_cost, 0, 0, point.verification_capacity
    else:
        gas, blob_gas, blob_base_fee = point.execution_gas, point.blob_gas, point.blob_base_fee
        size = point.submission_bytes
    if point.l1_base_fee is None or blob_base_fee is None:
        return None
    # the formula of `Submission.cost_per_byte`, but every term may be an array
    return variable_cost(
        point.l1_base_fee, point.l1_tip, blob_base_fee, execution_gas=gas, blob_gas=blob_gas, bytes_per_submission=size,
        margin=1.0,
    )  # fmt: skip


def recovery(point: Point, found: Columns) -> dict[str, Any] | None:
    """Return the L1 cost and the recovered shares along a curve; `None` without L1 fees. A cost of 0 has no share."""
    if found.l1_costs is None:
        return None

    def ratios(paid: list[int]) -> list[float | None]:
        return [one / cost if cost > 0.0 else None for one, cost in zip(paid, found.l1_costs or [], strict=True)]

    return {
        "basis": VERIFIED if isinstance(point, VerificationPoint) else POSTED,
        "cost": [hex(round(cost)) for cost in found.l1_costs],
        "recovery": ratios(found.for_size),
        "totalRecovery": ratios(found.totals),
    }


def recovery_of(point: Any, found: Columns) -> dict[str, Any] | None:
    """Return the L1 cost and the recovered shares of one fee; `None` without L1 fees."""
    columns = recovery(point, found)
    if columns is None:
        return None
    one = {name: value if name == "basis" else value[0] for name, value in columns.items()}
    return one | {"costPerByte": float(l1_cost_per_byte(point))}
