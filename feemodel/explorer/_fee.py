"""Compute the fees that the explorer shows: one fee, the fee along an input, and the fee over a month of L1 fees.

The formulas are those of `feemodel.linea`. Every method computes columns; a single fee is a column of one value.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

import msgspec
import numpy as np

from feemodel.checks import RealArray, choice, real, whole_scalar
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.estimates.json_types import parse
from feemodel.explorer._inputs import (
    L1_FEES,
    RATIOS,
    TRANSACTION,
    BytePoint,
    Point,
    VerificationPoint,
    expect,
    expect_none,
    names_of,
    naming,
    read_point,
    to_wire,
)
from feemodel.explorer._presets import means
from feemodel.io.shipped import L1_FEES as SHIPPED
from feemodel.io.shipped import L1Sample, shipped_l1_samples
from feemodel.linea import CostPerByte, VerificationCost, recorded_cost, variable_cost
from feemodel.linea.parameters import LineaPreset
from feemodel.linea.pricing_forms import Form
from feemodel.simulation.recovery import Revenue, break_even_margin

POSTED = "blob submission at these L1 fees"
VERIFIED = "verification at these L1 fees"
ASSUMED = "verification at the L1 price that the form assumes"
MAX_POINTS = 500  # of a curve
CURVE = ("axis", "from", "to", "points", "scale")
DOUBLE_EXACT = 2**53  # doubles represent all integers up to this value exactly


class L1Cost(NamedTuple):
    """L1 cost of a byte and of the transaction, and the basis of this cost."""

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

    >>> from feemodel.linea.pricing_forms import form_of
    >>> from feemodel.linea.parameters import linea_preset
    >>> own = {"form": form_of("cost-per-byte", linea_preset()), "preset": linea_preset()}
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
    """Return the form with the costs of a point. A variable cost from L1 fees is rounded as in a pricing record."""
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
    """Return the L1 cost of a byte for each basis. A basis is left out if the point lacks the necessary L1 fees."""
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
    posted = variable_cost(  # as in `Submission.cost_per_byte`, but every term may be an array
        point.l1_base_fee, point.l1_tip, point.blob_base_fee, execution_gas=point.execution_gas,
        blob_gas=point.blob_gas, bytes_per_submission=point.submission_bytes, margin=1.0,
    )  # fmt: skip
    return [(POSTED, posted)]


def ratio(paid: int, cost: float) -> float | None:
    """Return paid / cost; `None` if the cost is 0.

    >>> ratio(3, 2.0), ratio(3, 0.0)
    (1.5, None)
    """
    return paid / cost if cost > 0.0 else None


def ratios(paid: Sequence[int], costs: Sequence[float]) -> list[float | None]:
    """Return paid / cost for each point of a curve."""
    return [ratio(*one) for one in zip(paid, costs, strict=True)]


def quantities(values: Mapping[str, int]) -> dict[str, str]:
    """Return integers as hexadecimal quantities. Negative integers (margin below 1) have a minus sign.

    >>> quantities({"fixed": 30_000_000})
    {'fixed': '0x1c9c380'}
    """
    return {name: hex(value) for name, value in values.items()}


def recoveries(found: Columns) -> list[dict[str, Any]]:
    """Return the L1 cost and the recovered share along a curve, for each basis of the cost."""
    return [
        {
            "basis": basis,
            "cost": [hex(round(one)) for one in cost],
            "recovery": ratios(found.totals, cost),
            "sizeRecovery": ratios(found.for_size, cost),
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


def fee(given: Any, *, form: Form, preset: LineaPreset) -> dict[str, Any]:
    """Compute a fee: parts and total, and recovery of the L1 cost.

    Parameters
    ----------
    given : an object with `compressedSize` [byte], `gas` [gas] and other inputs of the pricing form.
    form : pricing form of the server.
    preset : pricing preset of the server.

    Returns
    -------
    dict : the result, with fees as hexadecimal quantities [wei], [wei / gas].

    Raises
    ------
    InvalidInput : an input is unknown or not valid; the message has its path.

    >>> from feemodel.linea.parameters import linea_preset
    >>> from feemodel.linea.pricing_forms import form_of
    >>> own = {"form": form_of("cost-per-byte", linea_preset()), "preset": linea_preset()}
    >>> answer = fee({"compressedSize": 128, "gas": "0x5208"}, **own)
    >>> int(answer["feePerGas"]["priority"], 16), int(answer["feeWei"]["total"], 16)
    (43314285, 909600132000)
    """
    point: Any = read_point(given, "point", form=form, preset=preset)
    expect(point, TRANSACTION, "point")
    with naming("point"):
        found = price(point)
        per_gas = {name: fees[0] for name, fees in found.per_gas.items()}
        priority = per_gas.pop("priority")
        paid = Revenue(**{part: one * point.gas for part, one in per_gas.items()})
        answer = {
            "pricing": found.form.name,
            "inputs": {
                "pricing": found.form.name,
                **{name: to_wire(name, getattr(point, own)) for name, own in names_of(point).items()},
            },
            "feePerGas": quantities({**per_gas, "priority": priority, "total": sum(per_gas.values())}),
            "feeWei": quantities({**paid._asdict(), "total": paid.total}),
            "shares": paid.shares(),
            "recovery": recovery_of(point, found),
        }
        if isinstance(point, BytePoint) and point.variable_cost_from == "l1":
            answer["variableCost"] = _variable_cost(point, found.form)
    return answer


def _variable_cost(point: BytePoint, form: CostPerByte) -> dict[str, Any]:
    """Return the variable cost computed from L1 fees, and the name of the bound that limits the cost."""
    cost = unrounded_variable_cost(point)
    free = unrounded_variable_cost(msgspec.structs.replace(point, lower_bound=None, upper_bound=None))
    held = None if cost == free else "lowerBound" if cost > free else "upperBound"
    return {"recorded": hex(form.variable_cost), "unrounded": cost, "unbounded": free, "heldBy": held}


def curve(given: Any, *, form: Form, preset: LineaPreset) -> dict[str, Any]:
    """Compute the fee along one input, as columns of equal length.

    Parameters
    ----------
    given : the inputs of `feemodel_fee`, and `axis`, the input that varies; `from`, `to`, `points` (at most 500;
        default 101) and `scale` ("linear" or "log"). Values of an integer input are rounded, and duplicates are
        removed.
    form : pricing form of the server.
    preset : pricing preset of the server.

    Returns
    -------
    dict : the columns, with fees as hexadecimal quantities [wei], [wei / gas].

    Raises
    ------
    InvalidInput : an input is unknown or not valid, the pricing form does not use the axis, or the range is not
        valid. The message has the path of the input.
    LimitExceeded : more than 500 points.

    >>> from feemodel.linea.parameters import linea_preset
    >>> from feemodel.linea.pricing_forms import form_of
    >>> own = {"form": form_of("cost-per-byte", linea_preset()), "preset": linea_preset()}
    >>> sweep = {"compressedSize": 1, "gas": "0x5208", "axis": "compressedSize", "from": 0, "to": 200, "points": 3}
    >>> [int(fee, 16) for fee in curve(sweep, **own)["feePerGas"]["priority"]]
    [36000000, 41714284, 47428570]
    """
    if not isinstance(given, Mapping):
        raise InvalidInput("curve", "expected an object", given)
    inputs = {name: value for name, value in given.items() if name not in CURVE}
    point = read_point(inputs, "curve", form=form, preset=preset)
    expect(point, TRANSACTION, "curve")
    axis, values = _axis(given, point)
    with naming("curve"):
        found = price(msgspec.structs.replace(point, **{names_of(point)[axis]: values}), len(values))
    return {
        "pricing": found.form.name,
        "axis": axis,
        "values": [to_wire(axis, value) for value in values.tolist()],
        "feePerGas": {name: [hex(fee) for fee in fees] for name, fees in found.per_gas.items()},
        "feeWei": [hex(total) for total in found.totals],
        "recovery": recoveries(found),
    }


def _axis(given: Mapping[str, Any], point: Point) -> tuple[str, Any]:
    """Return the name and the values of the input that varies along a curve."""
    kinds = {field.encode_name: field.type for field in msgspec.structs.fields(point)}
    axis = choice("curve.axis", given.get("axis"), [name for name in kinds if name != "variableCostFrom"])
    scale = choice("curve.scale", given.get("scale", "linear"), ("linear", "log"))
    points = whole_scalar("curve.points", given.get("points", 101), minimum=2)
    if points > MAX_POINTS:
        raise LimitExceeded(f"curve.points: at most {MAX_POINTS} a curve, got {points:,}")
    low, high = (parse(f"curve.{end}", given.get(end), kinds[axis]) for end in ("from", "to"))
    if low is None or high is None or not low < high:
        raise InvalidInput("curve.to", "expected more than curve.from", given.get("to"))
    if high > DOUBLE_EXACT:
        raise InvalidInput("curve.to", "expected at most 2**53", given["to"])
    if scale == "log" and low <= 0:
        raise InvalidInput("curve.from", "expected more than 0 on a log scale", given["from"])
    values = np.geomspace(low, high, points) if scale == "log" else np.linspace(low, high, points)
    return axis, values if axis in RATIOS else np.unique(np.rint(values).astype(np.int64))


def fee_history(given: Any, *, form: Form, preset: LineaPreset) -> dict[str, Any]:
    """Compute the fee, its recovery and the deficit for every hour of the package's month of L1 fees.

    Parameters
    ----------
    given : the inputs of `feemodel_fee` without the L1 fees. The L1 fees are those of each hour.
    form : pricing form of the server.
    preset : pricing preset of the server.

    Returns
    -------
    dict : columns with one value per hour: `times` (UTC), `l1BaseFee`, `blobBaseFee` and `priorityFeePerGas`
        [wei / gas], `feeWei` [wei]. `recovery` is a list with an object for each basis of the L1 cost: `cost` [wei],
        `recovery` (fee / cost) and `sizeRecovery` [1] of each hour; `deficit`, the cumulative cost minus the cumulative
        fee if one transaction is sent per hour [wei]; `recoveryOfAll`, the recovery over the whole month [1]; and
        `below`, the number of hours in which the fee was below the cost.

    Raises
    ------
    InvalidInput : an input is unknown, missing or not valid; the message has its path.

    >>> from feemodel.linea.parameters import linea_preset
    >>> from feemodel.linea.pricing_forms import form_of
    >>> own = {"form": form_of("cost-per-byte", linea_preset()), "preset": linea_preset()}
    >>> month = fee_history({"compressedSize": 128, "gas": "0x5208"}, **own)
    >>> len(month["times"]), month["times"][0], int(month["feeWei"][0], 16)
    (724, '2026-01-07T14:00:00Z', 909600132000)
    """
    expect_none(given, L1_FEES, "point")
    times, *fees = zip(*_hours(), strict=True)
    base_fees, blob_base_fees = (np.rint(column).astype(np.int64) for column in fees)
    any_fee = dict.fromkeys(L1_FEES, "0x0")
    point = read_point({**given, **any_fee}, "point", form=form, preset=preset)
    expect(point, TRANSACTION, "point")
    with naming("point"):
        along = msgspec.structs.replace(point, l1_base_fee=base_fees, blob_base_fee=blob_base_fees)
        found = price(along, len(times))
    return {
        "pricing": found.form.name,
        "source": f"Ethereum mainnet, means of an hour; {SHIPPED}",
        "times": [f"{time}:00:00Z" for time in times],
        "l1BaseFee": [hex(one) for one in base_fees.tolist()],
        "blobBaseFee": [hex(one) for one in blob_base_fees.tolist()],
        "priorityFeePerGas": [hex(one) for one in found.per_gas["priority"]],
        "feeWei": [hex(total) for total in found.totals],
        "recovery": [
            {**one, **_deficits(found.totals, cost.cost)}
            for one, cost in zip(recoveries(found), found.l1_costs, strict=True)
        ],
    }


def _deficits(totals: list[int], costs: list[float]) -> dict[str, Any]:
    missing = [cost - paid for paid, cost in zip(totals, costs, strict=True)]
    return {
        "deficit": [hex(round(so_far)) for so_far in accumulate(missing)],
        "recoveryOfAll": ratio(sum(totals), sum(costs)),
        "below": sum(short > 0 for short in missing),
    }


@cache
def _hours() -> list[L1Sample]:
    return means(shipped_l1_samples(), len("YYYY-MM-DDTHH"))
