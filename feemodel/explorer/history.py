"""A fee over time: along the L1 fees that ship, or along the prices that this server has had."""

import csv
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import accumulate, groupby
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from feemodel.checks import choice
from feemodel.errors import FeeModelError, InvalidInput
from feemodel.explorer.fee import along, as_column, in_columns, naming, price, ratio, ratios
from feemodel.explorer.fields import ANNOUNCED, L1_FEES, OF_FORM, Point, read_point
from feemodel.io.shipped import L1_FEES as SHIPPED
from feemodel.io.shipped import shipped_path
from feemodel.linea.parameters import LineaPreset
from feemodel.linea.pricing_forms import Form
from feemodel.simulation.surfaces import Submission

OVER_L1, OVER_PRICES = "l1", "server"
KEPT, EVERY = 720, 60.0  # samples of the server's prices, and seconds between two


class L1Sample(NamedTuple):
    """What L1 charged at a time."""

    time: str  #: UTC, ISO 8601
    base_fee: float  #: [wei / gas]
    blob_base_fee: float  #: [wei / gas]

    @property
    def cost(self) -> float:
        """What a byte costs to post then [wei / byte]."""
        return float(Submission().cost_per_byte(self.base_fee, self.blob_base_fee))


@cache
def shipped_samples() -> tuple[L1Sample, ...]:
    """The L1 fees that ship with the package, means of ten minutes; reading them the first time takes 0.1 s."""
    # Not as a table: nothing else that a slider asks for needs pandas, which is most of a process's memory.
    with shipped_path(SHIPPED).open(encoding="utf-8", newline="") as file:
        return tuple(
            L1Sample(row["time"], float(row["base_fee"]), float(row["blob_base_fee"])) for row in csv.DictReader(file)
        )


def means(samples: Iterable[L1Sample], length: int, least: int = 1) -> list[L1Sample]:
    """Means over samples in a row whose times begin with the same `length` characters, where there are enough."""
    grouped = ((time, list(group)) for time, group in groupby(samples, key=lambda sample: sample.time[:length]))
    return [
        L1Sample(time, fmean(one.base_fee for one in group), fmean(one.blob_base_fee for one in group))
        for time, group in grouped
        if len(group) >= least
    ]


class PriceHistory:
    """The prices of one server process, as they were at some times.

    Parameters
    ----------
    form : the prices now; raises `FeeModelError` while they cannot be known.
    clock : Unix time [s].

    >>> from feemodel.linea.pricing_forms import CostPerByte
    >>> history = PriceHistory(lambda: CostPerByte(5), clock=lambda: 60.0)
    >>> history.note()
    >>> history.samples
    [(60.0, CostPerByte(variable_cost=5, fixed_cost=0, base_fee=7))]
    """

    def __init__(self, form: Callable[[], Form], clock: Callable[[], float] = time.time) -> None:
        self._form, self.clock = form, clock
        self._kept: deque[tuple[float, Form]] = deque(maxlen=KEPT)

    def note(self) -> None:
        """Keep the prices of now; nothing where they cannot be known."""
        try:
            self._kept.append((self.clock(), self._form()))
        except FeeModelError:
            return

    @property
    def samples(self) -> list[tuple[float, Form]]:
        """Unix times [s] and prices, oldest first."""
        return list(self._kept)


@dataclass(frozen=True, eq=False)
class OverTime:
    """The method that follows a fee over time."""

    form: Callable[[], Form]
    preset: LineaPreset
    prices: PriceHistory

    def history(self, history: Any) -> dict[str, Any]:
        """The fee, its recovery and the deficit over time: columns of equal length.

        Parameters
        ----------
        history : a point as `feemodel_fee` takes it, and `over`: "l1", hour by hour along the L1 fees that ship, which
            then are no fields of the point; or "server", along this server's own prices, minute by minute since its
            process began, at most twelve hours, to now. These are announced costs of the server's own form.

        Returns
        -------
        `times` in UTC; `l1BaseFee` and `blobBaseFee`; `priorityFeePerGas`; `feeWei`; for each reckoning of the L1 cost
        `cost`, `recovery` and `deficit`: cost less fee, summed up from the first sample on, for one such transaction
        at each [wei], below zero a surplus; `recoveryOfAll`, and at how many samples the fee was `below` its cost.

        Raises
        ------
        InvalidInput : as `feemodel_fee`; costs that are not the server's own, along its prices.

        >>> from feemodel.linea.parameters import linea_preset
        >>> from feemodel.linea.pricing_forms import form_of
        >>> own = form_of("cost-per-byte", linea_preset())
        >>> over = OverTime(lambda: own, linea_preset(), PriceHistory(lambda: own))
        >>> month = over.history({"compressedSize": 128, "gas": "0x5208", "over": "l1"})
        >>> len(month["times"]), month["times"][0], int(month["feeWei"][0], 16)
        (724, '2026-01-07T14:00:00Z', 909600132000)
        """
        if not isinstance(history, Mapping):
            raise InvalidInput("history", "expected an object", history)
        over = choice("history.over", history.get("over"), (OVER_L1, OVER_PRICES))
        own = self.form()
        point = read_point(
            history, "history", form=own, preset=self.preset, also=("over",), without=L1_FEES if over == OVER_L1 else ()
        )
        times, point = _over_l1(point) if over == OVER_L1 else self._over_prices(point, own)
        with naming("history"):
            columns = _columns(point, len(times))
        return {
            "pricing": point.pricing,
            "over": over,
            "source": f"Ethereum mainnet, means of an hour; {SHIPPED}" if over == OVER_L1 else "prices of this server",
            "times": times,
            **columns,
        }

    def _over_prices(self, point: Point, own: Form) -> tuple[list[str], Point]:
        if point.pricing != own.name:
            raise InvalidInput("history.pricing", f"expected {own.name}, which the server prices with", point.pricing)
        if point.costs != ANNOUNCED:
            raise InvalidInput("history.variableCostFrom", f"expected {ANNOUNCED}: the server's own", point.costs)
        samples = [*self.prices.samples, (self.prices.clock(), own)]
        for name, field in OF_FORM.items():
            if name in point.values and hasattr(own, field):
                point = along(point, name, np.array([getattr(form, field) for _, form in samples]))
        return [f"{datetime.fromtimestamp(int(when), UTC):%Y-%m-%dT%H:%M:%SZ}" for when, _ in samples], point


def _over_l1(point: Point) -> tuple[list[str], Point]:
    hours = _hours()
    for name, column in zip(L1_FEES, zip(*(hour[1:] for hour in hours), strict=True), strict=True):
        point = along(point, name, np.rint(column).astype(np.int64))
    return [f"{hour.time}:00:00Z" for hour in hours], point


@cache
def _hours() -> list[L1Sample]:
    return means(shipped_samples(), len("YYYY-MM-DDTHH"))


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
