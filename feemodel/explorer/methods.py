"""JSON-RPC methods of the explorer: fees, curves, explanations of transactions, fees on other rollups.

The page at `GET /` uses these methods; other clients may call them too. Integers of wei and gas are hexadecimal
quantities; negative integers have a minus sign. Bytes and ratios are plain numbers.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from feemodel.checks import choice, whole_scalar
from feemodel.errors import FeeModelError, InvalidInput, LimitExceeded
from feemodel.estimates.json_types import parse
from feemodel.ethereum._transaction import LINEA_CHAIN_ID
from feemodel.explorer.fee import bounded_cost, price, recoveries, recovery_of
from feemodel.explorer.inputs import (
    FORMS,
    RATIOS,
    TRANSACTION,
    BytePoint,
    Point,
    expect,
    names_of,
    naming,
    read_point,
    to_wire,
)
from feemodel.explorer.presets import presets
from feemodel.explorer.subject import AskNode, Estimate, Subjects
from feemodel.linea.parameters import DEFAULT_PRESET, LineaPreset, linea_preset
from feemodel.linea.pricing_forms import Form, form_of
from feemodel.simulation.recovery import Revenue
from feemodel.sizes import Codec, get_codec

STATIC = Path(__file__).with_name("static")
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


MAX_POINTS = 500  # of a curve
CURVE = ("axis", "from", "to", "points", "scale", "at")
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
    ask_node : function that takes a JSON-RPC method and its parameters, and returns the result of a node; used to find
        a transaction by its hash.

    Returns
    -------
    dict : JSON-RPC name → function.

    Raises
    ------
    InvalidInput : the codec or the form of measurement is unknown.

    >>> sorted(explorer_methods())
    ['feemodel_compare', 'feemodel_curve', 'feemodel_explain', 'feemodel_fee', 'feemodel_presets']
    """
    chosen = preset or linea_preset(DEFAULT_PRESET)
    own = form or (lambda: form_of(FORMS[0], chosen))
    explorer = Explorer(own, chosen, estimate, get_codec(codec), measured, packed, chain_id, ask_node)
    names = ("presets", "fee", "curve", "explain", "compare")
    return {f"feemodel_{name}": getattr(explorer, name) for name in names}


class Explorer(Subjects):
    """All JSON-RPC methods: those of `Subjects`, and those that take only numbers."""

    def presets(self) -> dict[str, Any]:
        """Presets of chains and days, the server's own pricing, and examples of transactions.

        While the server has no prices, `server` is null and `reason` says why.
        """
        try:
            form, reason = self.form(), None
        except FeeModelError as error:
            form, reason = None, str(error)
        return presets(form=form, reason=reason, preset=self.preset, chain_id=self.chain_id())

    def fee(self, point: Any) -> dict[str, Any]:
        """Compute a fee: parts and total, and recovery of the L1 cost.

        Parameters
        ----------
        point : an object with `compressedSize` [byte], `gas` [gas] and other inputs of the pricing form.

        Returns
        -------
        dict : the result, with fees as hexadecimal quantities [wei], [wei / gas].

        Raises
        ------
        InvalidInput : an input is unknown or not valid; the error message contains its path.

        >>> answer = explorer_methods()["feemodel_fee"]({"compressedSize": 128, "gas": "0x5208"})
        >>> int(answer["feePerGas"]["priority"], 16), int(answer["feeWei"]["total"], 16)
        (43314285, 909600132000)
        """
        read = self._read(point, "point")
        with naming("point"):
            found = price(read)
            per_gas = {name: fees[0] for name, fees in found.per_gas.items()}
            priority = per_gas.pop("priority")
            paid = Revenue(**{part: one * read.gas for part, one in per_gas.items()})
            fees = {"feePerGas": per_gas | {"priority": priority, "total": sum(per_gas.values())},
                    "feeWei": paid._asdict() | {"total": paid.total}}  # fmt: skip
            inputs = {name: to_wire(name, getattr(read, own)) for name, own in names_of(read).items()}
            answer = {
                "pricing": found.form.name,
                "inputs": {"pricing": found.form.name, **inputs},
                **{name: {part: hex(fee) for part, fee in each.items()} for name, each in fees.items()},
                "shares": paid.shares(),
                "recovery": recovery_of(read, found),
            }
            if isinstance(read, BytePoint) and read.variable_cost_from == "l1":
                answer["variableCost"] = bounded_cost(read, found.form)
        return answer

    def curve(self, curve: Any) -> dict[str, Any]:
        """Compute the fee for a range of values of one input, as columns of equal length.

        Parameters
        ----------
        curve : the inputs of `feemodel_fee`, and `axis`, the input that varies; `from`, `to`, `points` (at most 500;
            default 101), `scale` ("linear" or "log") and `at`, a value that is one of the points. Values of an integer
            input are rounded, and duplicates are removed.

        Returns
        -------
        dict : columns of the varied input and of the fees; fees are hexadecimal quantities [wei], [wei / gas].

        Raises
        ------
        InvalidInput : an input is unknown or not valid, the pricing form does not use the axis, or the range is not
            valid. The error message contains the path of the input.
        LimitExceeded : more than 500 points.

        >>> sweep = {"compressedSize": 1, "gas": "0x5208", "axis": "compressedSize", "from": 0, "to": 200, "points": 3}
        >>> [int(fee, 16) for fee in explorer_methods()["feemodel_curve"](sweep)["feePerGas"]["priority"]]
        [36000000, 41714284, 47428570]
        """
        read = self._read(curve, "curve", also=CURVE)
        axis, values = _axis(curve, read)
        with naming("curve"):
            found = price(msgspec.structs.replace(read, **{names_of(read)[axis]: values}), len(values))
        return {
            "pricing": found.form.name,
            "axis": axis,
            "values": [to_wire(axis, value) for value in values.tolist()],
            "feePerGas": {name: [hex(fee) for fee in fees] for name, fees in found.per_gas.items()},
            "feeWei": [hex(total) for total in found.totals],
            "recovery": recoveries(found),
        }

    def _read(self, given: Any, path: str, also: tuple[str, ...] = ()) -> Any:
        """Return the inputs of a transaction's fee, without the fields that the method reads itself."""
        read = read_point(given, path, form=self.form, preset=self.preset, without=also)
        expect(read, TRANSACTION, path)
        return read


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
    values = values if axis in RATIOS else np.rint(values).astype(np.int64)
    if "at" in given:
        values = np.append(values, parse("curve.at", given["at"], kinds[axis])).astype(values.dtype)
    return axis, values if axis in RATIOS and "at" not in given else np.unique(values)
