"""Read and check the columns of a table of L1 fees, and state what is assumed for missing columns."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from feemodel.checks import RealArray, choice, require
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import SCALES, implausible
from feemodel.ethereum.fee_market import BLOB_BASE_COST, GAS_PER_BLOB, MAINNET, MIN_BLOB_BASE_FEE, blob_base_fee
from feemodel.ethereum.l1_table import check_table, l1_table
from feemodel.exact import exact
from feemodel.quantities import Quantity

FEES = ("base_fee", "blob_base_fee")
RATIOS = ("gas_used_ratio", "blob_gas_used_ratio")
TIP = "tip"
UNITS = dict.fromkeys((*FEES, TIP), "wei / gas") | dict.fromkeys(RATIOS, "1")
SLOT = 12.0  # seconds between L1 blocks
NO_GAPS = "none"
LONG_STEPS, LONG_SLOTS = 2.5, 60.0  # a gap is longer than 60 s and longer than 2.5 times the median interval
_OTHER_UNIT = re.compile(r"\s*([kmg]wei|eth(er)?)\b", re.IGNORECASE)
LATEST_SECOND = 9_223_372_036  # a time in 2262; later times in nanoseconds exceed a signed 64-bit integer [s]


class HasTable(Protocol):
    """Object that can be converted to a table, such as `feemodel.io.FeeHistory`."""

    def as_table(self) -> Mapping[str, Any]:
        """Return the columns by name."""


class L1Columns(NamedTuple):
    """Columns of a table of L1 fees, one element per row."""

    fees: dict[str, RealArray]  #: column name → fees and tips [wei / gas] or usage ratios [1]
    seconds: RealArray  #: time of each block [s]
    timed: bool  #: whether the table has times; if `False`, `seconds` is slot · 12
    assumed: tuple[str, ...]  #: assumptions about missing data
    units_given: tuple[str, ...]  #: fee columns whose unit the caller gave; the range of their values is not checked
    gaps: str  #: description of the gaps between rows, or "none"


def l1_columns(table: Any, unit: str | None = None) -> L1Columns:
    """Return the columns of a table of L1 fees; `feemodel.simulation.scenarios.replay` describes the table.

    Raises `InvalidInput` for missing or invalid columns.

    >>> l1_columns({"timestamp": [0, 12], "base_fee": [7e7, 8e7], "gas_used": [9, 5], "gas_limit": [10, 10]}).fees[
    ...     "gas_used_ratio"
    ... ].tolist()
    [0.9, 0.5]
    """
    scale = 1 if unit is None else SCALES[choice("unit", unit, SCALES)]
    # Tables from a node have fees in wei.
    given_in_wei = hasattr(table, "as_table") or unit == "wei"
    units_given = (*FEES, TIP) if given_in_wei else getattr(table, "attrs", {}).get("units_given", ())
    known = l1_table("table", table)
    check_units("table", known)
    if "base_fee" not in known:
        raise InvalidInput("table", "expected a column base_fee", [*known])
    fees = {name: _column(name, known[name]) for name in ("base_fee", *RATIOS, TIP) if name in known}
    fees |= {name: in_wei(fees[name], scale) for name in ("base_fee", TIP) if name in fees}
    for name in RATIOS:
        if name in fees:
            require(name, "expected at most 1, a share of the limit", fees[name], fees[name] <= 1.0)
    seconds, timed = _seconds(known)
    if any(len(values) != len(seconds) for values in fees.values()):
        raise InvalidInput("table", "expected columns of equal length", {name: len(v) for name, v in fees.items()})
    assumed: tuple[str, ...] = () if timed else (f"blocks {SLOT:g} s apart",)
    if "blob_base_fee" in known or "excess_blob_gas" in known:
        fees["blob_base_fee"] = _blob_base_fee(known, seconds, scale)
    else:
        fees["blob_base_fee"] = np.maximum(fees["base_fee"] * BLOB_BASE_COST / GAS_PER_BLOB, MIN_BLOB_BASE_FEE)
        assumed += ("blob base fees of base fee / 16, the minimum by EIP-7918",)
    for name in (*FEES, TIP):
        if name in fees and name not in units_given:
            check_unit(name, name, fees[name])
    if (gaps := gaps_of(seconds)) != NO_GAPS:
        assumed += (f"fees held constant over gaps: {gaps}",)
    return L1Columns(fees | _usage(known, seconds, fees), seconds, timed, assumed, tuple(units_given), gaps)


def in_wei(fees: RealArray, scale: int) -> RealArray:
    """Return fees · scale, the fees in wei, rounded to a millionth of a wei.

    >>> in_wei(np.array([0.07]), 10**9).tolist()
    [70000000.0]
    """
    return fees if scale == 1 else np.asarray(np.round(fees * scale, 6))


def check_unit(name: str, column: str, fees: RealArray) -> None:
    """Raise `InvalidInput` if fees are probably not in wei; the message explains the argument `unit`.

    >>> check_unit("table.base_fee", "base_fee", np.array([7e7]))
    """
    if (found := implausible(column, fees)) is not None:
        say = 'unit="gwei" converts fees from gwei, unit="wei" accepts these fees in wei'
        index = tuple(int(i) for i in np.unravel_index(found.position, fees.shape))
        raise InvalidInput(name, f"expected {found.expected} on L1: {say}", found.value, index)


def gaps_of(seconds: RealArray) -> str:
    """Describe the gaps between rows.

    The interval between two rows is a gap if it is longer than 60 s and longer than 2.5 times the median interval. A
    few missed slots do not make a gap.

    >>> gaps_of(np.array([0.0, 12.0, 24.0, 3_624.0, 3_636.0]))
    '1 of more than 60 s, the longest of 3,600 s, in total 99.01% of the time'
    """
    steps = np.diff(seconds)
    if not steps.size:
        return NO_GAPS
    maximum = max(LONG_STEPS * float(np.median(steps)), LONG_SLOTS)
    long = steps[steps > maximum]
    if not long.size:
        return NO_GAPS
    share = long.sum() / (seconds[-1] - seconds[0])
    longest = f"the longest of {long.max():,.12g} s, in total {share:.2%} of the time"
    return f"{long.size:,} of more than {maximum:,.6g} s, {longest}"


def check_units(name: str, table: Any) -> None:
    """Raise `InvalidInput` if the xarray attribute `units` of a column of fees is a unit other than wei.

    >>> check_units("table", {"base_fee": [7e7]})  # a list has no units
    """
    check_table(name, table)
    for column in (*FEES, TIP):
        units = getattr(table[column], "attrs", {}).get("units") if column in table else None
        if isinstance(units, str) and _OTHER_UNIT.match(units):
            raise InvalidInput(f"{name}.{column}", f"expected {UNITS[column]} in the attribute units", units)


def _blob_base_fee(known: Mapping[str, Any], seconds: RealArray, scale: int) -> RealArray:
    if "blob_base_fee" in known:
        return in_wei(_column("blob_base_fee", known["blob_base_fee"]), scale)
    excess = _column("excess_blob_gas", known["excess_blob_gas"])
    require("excess_blob_gas", "expected whole numbers", excess, excess % 1.0 == 0.0)
    return np.asarray(blob_base_fee(excess.astype(np.int64), seconds.astype(np.int64)), np.float64)


def _usage(known: Mapping[str, Any], seconds: RealArray, fees: Mapping[str, RealArray]) -> dict[str, RealArray]:
    """Compute the usage ratios (gas used / gas limit) that the table does not have."""
    ratios = {}
    if "gas_used_ratio" not in fees and "gas_used" in known and "gas_limit" in known:
        used, limit = (_column(name, known[name]) for name in ("gas_used", "gas_limit"))
        if used.shape != limit.shape:
            raise InvalidInput("gas_used, gas_limit", "expected columns of equal length", (len(used), len(limit)))
        reason = "expected at most the gas limit, and a gas limit above 0"
        require("gas_used", reason, used, (limit > 0) & (used <= limit))
        ratios["gas_used_ratio"] = used / limit
    if "blob_gas_used_ratio" not in fees and "blob_gas_used" in known and seconds[0] >= MAINNET.rows[0].timestamp:
        maximum = MAINNET.parameters(exact(seconds.astype(np.int64))).maximum.word
        blob_gas = _column("blob_gas_used", known["blob_gas_used"])
        require("blob_gas_used", "expected at most the blob gas of a full block", blob_gas, blob_gas <= maximum)
        ratios["blob_gas_used_ratio"] = blob_gas / maximum
    return ratios


def _column(name: str, values: Any) -> RealArray:
    missing = values.isna().to_numpy() if hasattr(values, "isna") else np.zeros(0, bool)
    if missing.any():
        raise InvalidInput(
            f"row {int(missing.argmax()) + 1}: {name}", f"expected a value, {missing.sum():,} are missing"
        )
    try:
        given = np.asarray(values)
        if given.dtype.kind in "bSUmMc" or _has_text(given):  # NumPy would convert text, bools and times to numbers
            raise TypeError(f"not {'text' if given.dtype.kind == 'O' else given.dtype}")
        doubles = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(name, f"expected a column of numbers ({error})", values) from None
    array = Quantity(UNITS.get(name, "gas"), double=True).check(name, doubles)
    if not isinstance(array, np.ndarray) or array.ndim != 1 or not array.size:
        raise InvalidInput(name, "expected a column of numbers", values)
    if name in FEES:  # a fee of 0 is not possible on L1
        require(name, "expected fees above 0", array, array > 0.0)
    return array


def _has_text(given: NDArray[Any]) -> bool:
    return given.dtype == object and any(isinstance(one, (str, bytes, bool, np.bool_)) for one in given.flat)


def _seconds(known: Mapping[str, Any]) -> tuple[RealArray, bool]:
    """Return the time of each row [s], and whether the table has times instead of slot numbers."""
    name = next((name for name in ("timestamp", "slot") if name in known), None)
    if name is None:
        reason = "expected a column timestamp of seconds or datetimes, or an index of datetimes"
        raise InvalidInput("table", reason, list(known))
    seconds = np.asarray(Quantity("s", minimum=None, double=True).check(name, known[name]))
    if seconds.ndim != 1 or not seconds.size:
        raise InvalidInput(name, "expected a column of times", f"an array of shape {seconds.shape}")
    if name == "slot":
        seconds = seconds * SLOT
    reason = f"expected seconds since 1970, at most {LATEST_SECOND:,} (not milliseconds)"
    require(name, reason, seconds, np.abs(seconds) <= LATEST_SECOND)
    if (falls := np.append(False, np.diff(seconds) <= 0)).any():
        previous = seconds[np.argmax(falls) - 1]
        reason = f"expected increasing times without duplicates; the previous row is at {previous:.12g}"
        require(name, reason, seconds, ~falls)
    return seconds, name != "slot"
