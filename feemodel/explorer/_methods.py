"""JSON-RPC methods of the explorer: fees, curves, fee histories, explanations of transactions, fees on other rollups.

The page at `GET /` uses these methods; other clients may call them too. Integers of wei and gas are hexadecimal
quantities; negative integers (margin below 1) have a minus sign. Bytes and ratios are plain numbers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from feemodel.checks import choice, whole_scalar
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.ethereum._quantities import to_quantity
from feemodel.ethereum._transaction import LINEA_CHAIN_ID
from feemodel.explorer._fee import (
    along,
    as_column,
    in_columns,
    naming,
    price,
    quantities,
    ratios,
    recoveries,
    to_wire,
    unrounded_variable_cost,
    working,
)
from feemodel.explorer._fields import (
    FIELDS,
    FORMS,
    FROM_L1,
    OF_FORM,
    REAL,
    SUBJECT_BYTES,
    Point,
    read_point,
    read_value,
)
from feemodel.explorer._history import fee_history, means
from feemodel.explorer._month import CHOICES, DEFAULTS, simulate_month
from feemodel.explorer._rollups import max_send
from feemodel.explorer._subject import AskNode, Estimate, Subjects
from feemodel.explorer._texts import ASSUMPTIONS, FORMULAS, example_subjects
from feemodel.io.shipped import L1_FEES, L1Sample, shipped_l1_samples
from feemodel.linea.parameters import DEFAULT_PRESET, LINEA_PRESETS, LineaPreset, linea_preset
from feemodel.linea.pricing_forms import Form, form_of
from feemodel.simulation.recovery import Revenue
from feemodel.simulation.surfaces import Submission
from feemodel.sizes._codecs import Codec, get_codec

POINTS = 500  # maximum number of points of a curve
DAY = 144  # number of ten-minute means per day
CURVE = ("axis", "from", "to", "points", "scale")
SCALES = ("linear", "log")
DOUBLE_EXACT = 2**53  # doubles represent all integers up to this value exactly


def explorer_methods(
    *,
    estimate: Estimate | None = None,
    form: Callable[[], Form] | None = None,
    preset: LineaPreset | None = None,
    codec: str | Codec = "zstd",
    measured: str = "sender_unsigned",
    packed: bool = False,
    chain_id: Callable[[], int] = lambda: LINEA_CHAIN_ID,
    ask_node: AskNode | None = None,
) -> dict[str, Callable[..., Any]]:
    """Return the explorer's methods by their JSON-RPC names.

    Parameters
    ----------
    estimate : function that takes a call object and overrides (or `None`), and returns a gas estimate [gas]. If
        `estimate` is `None`, a call that executes code must have a `gas` field.
    form : function that returns the server's current pricing form; `None` uses the cost-per-byte form of the preset.
    preset : preset of the margins, and of the costs that `form` lacks; `None` uses the newest preset of Linea mainnet.
    codec, measured, packed : options for measuring sizes, as in `feemodel.fee_size`.
    chain_id : function that returns the chain id for calls without a chain id.
    ask_node : function that takes a JSON-RPC method and its parameters, and returns the result of a node. Transaction
        hashes are looked up with this function.

    Returns
    -------
    dict : JSON-RPC name → function.

    Raises
    ------
    InvalidInput : the codec or the form of measurement is unknown.

    >>> sorted(explorer_methods())
    ['feemodel_compare', 'feemodel_curve', 'feemodel_explain', 'feemodel_fee', 'feemodel_feeHistory', \
'feemodel_maxSend', 'feemodel_presets', 'feemodel_simulateMonth']
    """
    chosen = preset or linea_preset(DEFAULT_PRESET)
    own = form or (lambda: form_of(FORMS[0], chosen))
    explorer = Explorer(own, chosen, chain_id)
    subjects = Subjects(own, chosen, estimate, get_codec(codec), measured, packed, chain_id, ask_node)
    return {
        "feemodel_presets": explorer.presets,
        "feemodel_fee": explorer.fee,
        "feemodel_curve": explorer.curve,
        "feemodel_feeHistory": explorer.history,
        "feemodel_simulateMonth": simulate_month,
        "feemodel_explain": subjects.explain,
        "feemodel_compare": subjects.compare,
        "feemodel_maxSend": max_send,
    }


@dataclass(frozen=True, eq=False)
class Explorer:
    """JSON-RPC methods whose inputs are numbers only."""

    form: Callable[[], Form]
    preset: LineaPreset
    chain_id: Callable[[], int]

    def presets(self) -> dict[str, Any]:
        """Presets of chains and days, the server's own pricing, and the fields, formulas and assumptions."""
        return {
            "server": self._server(),
            "chains": [_chain(preset) for preset in LINEA_PRESETS.values()],
            "days": shipped_days(),
            "fields": [_field(name) for name in FIELDS],
            "formulas": {
                form: [{"gives": name, "how": how} for name, how in lines] for form, lines in FORMULAS.items()
            },
            "assumptions": list(ASSUMPTIONS),
            "chainId": to_quantity(self.chain_id()),
            "examples": example_subjects(self.chain_id()),
            "month": {"choices": {name: list(values) for name, values in CHOICES.items()}, "defaults": dict(DEFAULTS)},
            "limits": {"points": POINTS, "subjectBytes": SUBJECT_BYTES},
        }

    def fee(self, point: Any) -> dict[str, Any]:
        """Compute a fee: parts and total, recovery of the L1 cost, and the steps of the computation.

        Parameters
        ----------
        point : an object with `compressedSize` [byte], `gas` [gas] and other fields of `feemodel_presets` that the
            pricing form uses.

        Returns
        -------
        dict : the result, with fees as hexadecimal quantities [wei], [wei / gas].

        Raises
        ------
        InvalidInput : a field is unknown or not valid; the message has its path.

        >>> answer = explorer_methods()["feemodel_fee"]({"compressedSize": 128, "gas": "0x5208"})
        >>> int(answer["feePerGas"]["priority"], 16), int(answer["feeWei"]["total"], 16)
        (43314285, 909600132000)
        """
        read = read_point(point, "point", form=self.form(), preset=self.preset)
        with naming("point"):
            priced = price(read)
            each = {"base": priced.form.base_fee, **priced.parts._asdict()}
            paid = Revenue(**{part: fee * read["gas"] for part, fee in each.items()})
            answer = {
                "pricing": read.pricing,
                "inputs": _inputs(read),
                "feePerGas": quantities({**each, "priority": priced.parts.total, "total": sum(each.values())}),
                "feeWei": quantities({**paid._asdict(), "total": paid.total}),
                "shares": paid.shares(),
                "recovery": [{**found, "cost": to_quantity(found["cost"])} for found in recoveries(read, priced)],
                "working": working(read, priced),
            }
            if read.costs == FROM_L1:
                answer["variableCost"] = _variable_cost(read, priced.form)
        return answer

    def curve(self, curve: Any) -> dict[str, Any]:
        """Compute the fee along one field, as columns of equal length.

        Parameters
        ----------
        curve : the inputs of `feemodel_fee`, and `axis`, the field that varies; `from`, `to`, `points` (at most 500;
            default 101) and `scale` ("linear" or "log"). Values of an integer field are rounded, and duplicates are
            removed.

        Returns
        -------
        dict : the columns, with fees as hexadecimal quantities [wei], [wei / gas].

        Raises
        ------
        InvalidInput : a field is unknown or not valid, the pricing form does not use the axis, or the range is not
            valid. The message has the path of the field.
        LimitExceeded : more than 500 points.

        >>> sweep = {"compressedSize": 1, "gas": "0x5208", "axis": "compressedSize", "from": 0, "to": 200, "points": 3}
        >>> [int(fee, 16) for fee in explorer_methods()["feemodel_curve"](sweep)["feePerGas"]["priority"]]
        [36000000, 41714284, 47428570]
        """
        read = read_point(curve, "curve", form=self.form(), preset=self.preset, also=CURVE)
        axis, values = _axis(curve, read)
        with naming("curve"):
            swept = along(read, axis, values)
            priced = price(swept)
            columns = in_columns(swept, priced, len(values))
            alone = zip(as_column(priced.size_alone, len(values)), columns.gas, strict=True)
            for_size = [fee * units for fee, units in alone]
            found = [
                {
                    "basis": basis,
                    "cost": [to_quantity(round(cost)) for cost in costs],
                    "recovery": ratios(columns.totals, costs),
                    "sizeRecovery": ratios(for_size, costs),
                }
                for basis, costs in columns.l1_costs.items()
            ]
        return {
            "pricing": read.pricing,
            "axis": axis,
            "unit": FIELDS[axis].unit,
            "values": [to_wire(axis, value) for value in values.tolist()],
            "feePerGas": {name: [hex(fee) for fee in column] for name, column in columns.per_gas.items()},
            "feeWei": [hex(total) for total in columns.totals],
            "recovery": found,
        }

    def history(self, point: Any) -> dict[str, Any]:
        """Compute the fee over a month of L1 fees, see `feemodel.explorer._history.fee_history`."""
        return fee_history(point, form=self.form(), preset=self.preset)

    def _server(self) -> dict[str, Any]:
        own = self.form()
        costs: dict[str, Any] = {}
        for name in FORMS:
            form = own if own.name == name else form_of(name, self.preset)
            costs |= {
                field: to_wire(field, getattr(form, cost)) for field, cost in OF_FORM.items() if hasattr(form, cost)
            }
        return {"pricing": own.name, **_margins(self.preset), **costs, "baseFee": to_quantity(own.base_fee)}


def l1_days(samples: Iterable[L1Sample]) -> list[dict[str, Any]]:
    """Return the days with the minimum, median and maximum posting cost, and the ten minutes with the maximum cost.

    Parameters
    ----------
    samples : ten-minute means in order of time; incomplete days are left out.

    >>> quiet = [L1Sample(f"2026-01-10T{i // 6:02}:{i % 6}0:00", 1e8, 1e6) for i in range(DAY)]
    >>> [day["date"] for day in l1_days([*quiet, L1Sample("2026-01-11T00:00:00", 1e9, 1e6)])][2:]
    ['2026-01-10', '2026-01-11 00:00 UTC']
    """
    samples = list(samples)
    days = sorted(means(samples, len("YYYY-MM-DD"), minimum=DAY), key=_cost)
    peak = max(samples, key=_cost)
    chosen = [
        ("calm-day", "Calm day", days[0]),
        ("median-day", "Median day", days[len(days) // 2]),
        ("most-expensive-day", "Most expensive day", days[-1]),
        (
            "most-expensive-minutes",
            "Most expensive ten minutes",
            peak._replace(time=f"{peak.time[:16].replace('T', ' ')} UTC"),
        ),
    ]
    return [
        {
            "name": name,
            "label": label,
            "date": sample.time,
            "l1BaseFee": to_quantity(_four_digits(sample.base_fee)),
            "blobBaseFee": to_quantity(_four_digits(sample.blob_base_fee)),
            "source": f"Ethereum mainnet, means over every tenth block, to four digits; {L1_FEES}",
        }
        for name, label, sample in chosen
    ]


@cache
def shipped_days() -> list[dict[str, Any]]:
    """Return `l1_days` of the L1 fees that are part of the package."""
    return l1_days(shipped_l1_samples())


def _cost(sample: L1Sample) -> float:
    return float(Submission().cost_per_byte(sample.base_fee, sample.blob_base_fee))


def _four_digits(mean: float) -> int:
    return int(float(f"{mean:.4g}"))


def _chain(preset: LineaPreset) -> dict[str, Any]:
    costs = {"fixedCost": preset.fixed_cost, "variableCost": preset.variable_cost, "minGasPrice": preset.eth_gas_price}
    return {
        "name": preset.name,
        **quantities({**costs, "baseFee": preset.base_fee}),
        **_margins(preset),
        "date": preset.date.isoformat(),
        "source": preset.source,
    }


def _margins(preset: LineaPreset) -> dict[str, float]:
    return {
        "margin": preset.estimate_margin,
        "poolMargin": preset.pool_margin,
        "selectionMargin": preset.selection_margin,
    }


def _field(name: str) -> dict[str, Any]:
    field = FIELDS[name]
    found = asdict(field) | {"shown": field.shown or field.unit, "default": to_wire(name, field.default)}
    found |= {"forms": list(field.forms), "costs": list(field.costs)}
    slider = {part: found.pop(part) for part in ("low", "high", "scale")}
    return found | {"slider": slider}


def _variable_cost(point: Point, form: Any) -> dict[str, Any]:
    """Return the variable cost computed from L1 fees, and the name of the bound that limits the cost."""
    cost = unrounded_variable_cost(point)
    free = unrounded_variable_cost(along(along(point, "lowerBound", None), "upperBound", None))
    held = None if cost == free else "lowerBound" if cost > free else "upperBound"
    return {"recorded": to_quantity(form.variable_cost), "unrounded": cost, "unbounded": free, "heldBy": held}


def _inputs(point: Point) -> dict[str, Any]:
    """Return all inputs of a result in the format of a request."""
    values = {name: to_wire(name, value) for name, value in point.values.items()}
    given = {name: value for name, value in values.items() if value is not None or FIELDS[name].nullable}
    return {"pricing": point.pricing} | ({"variableCostFrom": point.costs} if "fixedCost" in given else {}) | given


def _axis(curve: Mapping[str, Any], point: Point) -> tuple[str, Any]:
    """Return the name and the values of the field that varies along a curve."""
    axis = choice("curve.axis", curve.get("axis"), point.values)
    scale = choice("curve.scale", curve.get("scale", "linear"), SCALES)
    points = whole_scalar("curve.points", curve.get("points", 101), minimum=2)
    if points > POINTS:
        raise LimitExceeded(f"curve.points: at most {POINTS} a curve, got {points:,}")
    field = replace(FIELDS[axis], nullable=False)
    low, high = (read_value(field, curve.get(end), f"curve.{end}") for end in ("from", "to"))
    if not low < high:
        raise InvalidInput("curve.to", "expected more than curve.from", curve.get("to"))
    if high > DOUBLE_EXACT:
        raise InvalidInput("curve.to", "expected at most 2**53", curve["to"])
    if scale == "log" and low <= 0:
        raise InvalidInput("curve.from", "expected more than 0 on a log scale", curve.get("from"))
    values = np.geomspace(low, high, points) if scale == "log" else np.linspace(low, high, points)
    return axis, values if field.kind == REAL else np.unique(np.rint(values).astype(np.int64))
