"""Compute the fee history: the fee of a transaction in every hour of the package's month of L1 fees."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate, groupby
from statistics import fmean
from typing import Any

import numpy as np

from feemodel.errors import InvalidInput
from feemodel.explorer._fee import along, as_column, in_columns, naming, price, ratio, ratios
from feemodel.explorer._fields import L1_FEES, Point, read_point
from feemodel.io.shipped import L1_FEES as SHIPPED
from feemodel.io.shipped import L1Sample, shipped_l1_samples
from feemodel.linea.parameters import LineaPreset
from feemodel.linea.pricing_forms import Form


def means(samples: Iterable[L1Sample], length: int, minimum: int = 1) -> list[L1Sample]:
    """Return the mean of each group of consecutive samples whose times begin with the same `length` characters.

    Groups of fewer than `minimum` samples are left out.

    >>> quiet = [L1Sample("2026-01-10T00:00:00", 1e8, 1.0), L1Sample("2026-01-10T00:10:00", 3e8, 2.0)]
    >>> means(quiet, len("YYYY-MM-DD"))
    [L1Sample(time='2026-01-10', base_fee=200000000.0, blob_base_fee=1.5)]
    """
    grouped = ((time, list(group)) for time, group in groupby(samples, key=lambda sample: sample.time[:length]))
    return [
        L1Sample(time, fmean(one.base_fee for one in group), fmean(one.blob_base_fee for one in group))
        for time, group in grouped
        if len(group) >= minimum
    ]


def fee_history(point: Any, *, form: Form, preset: LineaPreset) -> dict[str, Any]:
    """Compute the fee, its recovery and the deficit for every hour of the package's month of L1 fees.

    Parameters
    ----------
    point : the inputs of `feemodel_fee` without the L1 fees. The L1 fees are those of each hour.
    form : pricing form of the server.
    preset : pricing preset of the server.

    Returns
    -------
    dict : columns with one value per hour: `times` (UTC), `l1BaseFee`, `blobBaseFee` and `priorityFeePerGas`
        [wei / gas], `feeWei` [wei]. `recovery` is a list with an object for each basis of the L1 cost: `cost` [wei] and
        `recovery` (fee / cost) [1] of each hour; `deficit`, the cumulative cost minus the cumulative fee if one
        transaction is sent per hour [wei]; `recoveryOfAll`, the recovery over the whole month [1]; and
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
    if not isinstance(point, Mapping):
        raise InvalidInput("point", "expected an object", point)
    read = read_point(point, "point", form=form, preset=preset, without=L1_FEES)
    hours = _hours()
    for name, column in zip(L1_FEES, zip(*(hour[1:] for hour in hours), strict=True), strict=True):
        read = along(read, name, np.rint(column).astype(np.int64))
    with naming("point"):
        columns = _columns(read, len(hours))
    return {
        "pricing": read.pricing,
        "source": f"Ethereum mainnet, means of an hour; {SHIPPED}",
        "times": [f"{hour.time}:00:00Z" for hour in hours],
        **columns,
    }


@cache
def _hours() -> list[L1Sample]:
    return means(shipped_l1_samples(), len("YYYY-MM-DDTHH"))


def _columns(point: Point, count: int) -> dict[str, Any]:
    columns = in_columns(point, price(point), count)
    totals, found = columns.totals, []
    for basis, costs in columns.l1_costs.items():
        missing = [cost - paid for paid, cost in zip(totals, costs, strict=True)]
        found.append(
            {
                "basis": basis,
                "cost": [hex(round(cost)) for cost in costs],
                "recovery": ratios(totals, costs),
                "deficit": [hex(round(so_far)) for so_far in accumulate(missing)],
                "recoveryOfAll": ratio(sum(totals), sum(costs)),
                "below": sum(short > 0 for short in missing),
            }
        )
    return {
        **{name: _fees(point.get(name), count) for name in L1_FEES},
        "priorityFeePerGas": [hex(fee) for fee in columns.per_gas["priority"]],
        "feeWei": [hex(total) for total in totals],
        "recovery": found,
    }


def _fees(values: Any, count: int) -> Sequence[str] | None:
    return None if values is None else [hex(value) for value in as_column(values, count)]
