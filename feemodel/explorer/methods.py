"""JSON-RPC methods of the explorer: fees and curves, explanations of transactions, fees on other rollups.

The page at `GET /` uses these methods; other clients may call them too. Integers of wei and gas are hexadecimal
quantities; negative integers have a minus sign. Bytes and ratios are plain numbers.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from feemodel.checks import choice, sequence
from feemodel.errors import FeeModelError, InvalidInput, LimitExceeded
from feemodel.estimates.json_types import parse
from feemodel.explorer.fee import price, recovery, recovery_of
from feemodel.explorer.inputs import Point, names_of, naming, read_point, to_wire
from feemodel.explorer.presets import presets
from feemodel.explorer.subject import Subjects
from feemodel.simulation.recovery import Revenue

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


def explorer_methods(**options: Any) -> dict[str, Callable[..., Any]]:
    """Return the explorer's methods by their JSON-RPC names; the options are the fields of `Explorer`.

    >>> sorted(explorer_methods())
    ['feemodel_compare', 'feemodel_explain', 'feemodel_fee', 'feemodel_presets']
    """
    explorer = Explorer(**options)
    return {f"feemodel_{name}": getattr(explorer, name) for name in ("presets", "fee", "explain", "compare")}


class Explorer(Subjects):
    """The JSON-RPC methods of the explorer. The fields say where prices and gas come from."""

    def presets(self) -> dict[str, Any]:
        """Presets of chains and days, the server's own pricing, and examples of transactions.

        While the server has no prices, `server` is null and `reason` says why.
        """
        try:
            form, reason = self.form(), None
        except FeeModelError as error:
            form, reason = None, str(error)
        return presets(form=form, reason=reason, preset=self.preset, chain_id=self.chain_id())

    def fee(self, point: Any, axis: str | None = None, values: Any = None) -> dict[str, Any]:
        """Compute a fee (parts, total, recovery of the L1 cost), or the fee along a curve.

        Parameters
        ----------
        point : an object with `compressedSize` [byte], `gas` [gas] and other inputs of the pricing form.
        axis : for a curve, the input that varies.
        values : for a curve, at most 500 values of this input.

        Returns
        -------
        dict : the result, with fees as hexadecimal quantities [wei], [wei / gas]; for a curve, columns of them.

        Raises
        ------
        InvalidInput : an input is unknown or not valid; the error message contains its path.
        LimitExceeded : more than 500 values.

        >>> fee = explorer_methods()["feemodel_fee"]
        >>> answer = fee({"compressedSize": 128, "gas": "0x5208"})
        >>> int(answer["feePerGas"]["priority"], 16), int(answer["feeWei"]["total"], 16)
        (43314285, 909600132000)
        >>> curve = fee({"compressedSize": 1, "gas": "0x5208"}, "compressedSize", [0, 100, 200])
        >>> [int(fee, 16) for fee in curve["feePerGas"]["priority"]]
        [36000000, 41714284, 47428570]
        """
        read = read_point(point, "point", form=self.form, preset=self.preset)
        for name in ("compressedSize", "gas"):
            if name not in point:
                raise InvalidInput(f"point.{name}", "expected a value", None)
        return self._fee(read) if axis is None else self._curve(read, axis, values)

    def _fee(self, read: Any) -> dict[str, Any]:
        with naming("point"):
            found = price(read)
            recovered = recovery_of(read, found)
        per_gas = {name: fees[0] for name, fees in found.per_gas.items()}
        priority = per_gas.pop("priority")
        paid = Revenue(**{part: one * read.gas for part, one in per_gas.items()})
        fees = {"feePerGas": per_gas | {"priority": priority, "total": sum(per_gas.values())},
                "feeWei": paid._asdict() | {"total": paid.total}}  # fmt: skip
        inputs = {name: to_wire(name, getattr(read, own)) for name, own in names_of(read).items()}
        return {
            "pricing": found.form.name,
            "inputs": {"pricing": found.form.name, **inputs},
            **{name: {part: hex(fee) for part, fee in each.items()} for name, each in fees.items()},
            "shares": paid.shares(),
            "recovery": recovered,
        }

    def _curve(self, read: Point, axis: str, values: Any) -> dict[str, Any]:
        kinds = {field.encode_name: field.type for field in msgspec.structs.fields(read)}
        kind = kinds[choice("axis", axis, kinds)]
        along = [parse(f"values[{place}]", value, kind) for place, value in enumerate(sequence("values", values))]
        if not 1 <= len(along) <= MAX_POINTS:
            raise LimitExceeded(f"values: expected 1 to {MAX_POINTS} values, got {len(along)}")
        with naming("point"):
            found = price(msgspec.structs.replace(read, **{names_of(read)[axis]: np.array(along)}), len(along))
        return {
            "pricing": found.form.name,
            "axis": axis,
            "values": [to_wire(axis, value) for value in along],
            "feePerGas": {name: [hex(fee) for fee in fees] for name, fees in found.per_gas.items()},
            "feeWei": [hex(total) for total in found.totals],
            "recovery": recovery(read, found),
        }
