"""Chains with dated parameters, read from one TOML file per chain.

A file has the id, family and token of a chain, and a table `[[rows]]` in order of time. Each row has the parameters
that changed together, the source of their values, and the day on which the values were last compared with the source.
`schema.toml` in the same folder lists the parameters.

A parameter is unknown

- before the date of the first row that sets the parameter;
- if a row without a date sets the parameter to another value: between the dated rows before and after that row;
- from the date of a row that lists the parameter under `unknown`;
- if the operator of the chain sets the parameter: from the first upgrade after the last confirmed day of the value,
  unless the row of the upgrade lists the parameter under `keeps`.

The last confirmed day is the later of two dates: of the row that sets the value, and of the parameter in the table
`[confirmed]`.

Reading an unknown parameter raises `UnknownParameter`.
"""

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np

from feemodel.checks import EMPTY, choice, instance
from feemodel.errors import InvalidInput, UnknownParameter
from feemodel.quantities import Quantity

FOLDER = Path(__file__).with_name("chains")
UNKNOWN = "unknown"
UNIX_TIME = Quantity("s", "time", maximum=2**34)  # until the year 2514; larger numbers are probably milliseconds
FLAGS = {"true": True, "false": False}
UPGRADE_FIELDS = ("upgrade", "version", "own_upgrade")

#: A time: ISO 8601 text (UTC; a date means midnight), Unix seconds, `datetime`, `date` or `numpy.datetime64`.
When: TypeAlias = str | int | datetime | date | np.datetime64

Value: TypeAlias = int | float | str | bool

Status: TypeAlias = Literal["known", "carried", "assumed", "given", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a chain, with its value on a given date."""

    status: Status
    value: Any  #: `None` if the value is unknown; `last` is then the last known value
    since: str  #: date of the row that set the value; or, for an unknown value, the date since which it is unknown
    source: str = ""
    confirmed: str = ""  #: last day for which sources confirm the value
    cause: str = ""  #: for "unknown", why the value is unknown; for "carried", the newest upgrade that keeps the value
    last: "Parameter | None" = None  #: the last known value of an unknown parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Parameters of a chain that changed together, at one point in time."""

    since: str  #: ISO 8601, UTC: a time, or a day if the time is not known; or `UNKNOWN`
    values: Mapping[str, Any] = field(hash=False)  #: values by parameter name
    source: str
    checked: str  #: day on which the row was last compared with its source
    note: str = ""
    assumed: tuple[str, ...] = ()  #: parameters whose values in this row are assumptions
    unknown: tuple[str, ...] = ()  #: parameters that are unknown from the row's date on
    keeps: tuple[str, ...] = ()  #: parameters that the upgrade does not change, according to its specification
    timestamp: int | None = field(init=False)  #: start of the row in Unix seconds; `None` if the date is unknown

    def __post_init__(self) -> None:
        start = None if self.since == UNKNOWN else timestamp("since", self.since)
        object.__setattr__(self, "timestamp", start)

    @property
    def upgrade(self) -> str | None:
        """Name of the upgrade that the row introduces; `None` if the row is not an upgrade."""
        return next((self.values[name] for name in UPGRADE_FIELDS if name in self.values), None)


class Parameters(Mapping[str, Any]):
    """Values of a chain's parameters on a given date, by name.

    Reading an unknown parameter raises `UnknownParameter`, also with `get`. `get` returns the default only for
    parameters that no row has set yet. Iteration gives the names of the known parameters.

    Parameters
    ----------
    chain : the chain.
    entries : `Parameter` objects (values with their status) by parameter name.
    row : newest of the chain's rows that start on or before the given date.
    """

    def __init__(self, chain: "Chain", entries: Mapping[str, Parameter], row: Row) -> None:
        self.chain, self.entries, self.row = chain, MappingProxyType(dict(entries)), row

    @property
    def since(self) -> str:
        """Date of the chain's newest row on the given date."""
        return self.row.since

    @property
    def source(self) -> str:
        """Source of the chain's newest row on the given date."""
        return self.row.source

    def __getitem__(self, name: str) -> Any:
        return self.known(name)[name]

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __iter__(self) -> Iterator[str]:
        return (name for name, one in self.entries.items() if one.status != "unknown")

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a parameter, or `default` if no row has set the parameter yet."""
        return self[name] if name in self.entries else default

    def __repr__(self) -> str:
        return f"Parameters({self.chain.name!r}, {self.as_dict()})"

    def known(self, *names: str) -> dict[str, Any]:
        """Return the values of some parameters; raises `UnknownParameter`, which names all parameters that are unknown.

        >>> chain("op-mainnet").at("2024-06-14").known("base_fee_scalar", "blob_base_fee_scalar")
        {'base_fee_scalar': 1368, 'blob_base_fee_scalar': 810949}
        """
        start = "its start" if self.chain.rows[0].since == UNKNOWN else self.chain.rows[0].since
        never = Parameter(status="unknown", value=None, since=start, cause="no row sets it")
        found = {name: self.entries.get(name, never) for name in names}
        missing = {name: one for name, one in found.items() if one.status == "unknown"}
        if missing:
            raise _unknown_error(self.chain.name, missing)
        return {name: one.value for name, one in found.items()}

    def is_known(self, name: str) -> bool:
        """Return whether a parameter has a value.

        >>> chain("celo").at().is_known("min_base_fee"), chain("celo").at().is_known("elasticity")
        (False, True)
        """
        return name in self.entries and self.entries[name].status != "unknown"

    def given(self, values: Mapping[str, Any], assumed: Mapping[str, Any] = EMPTY) -> "Parameters":
        """Return a copy in which the given values replace the chain's own values, whether known or unknown.

        The values in `assumed` are those of parameters that no row sets and that are not given.

        >>> chain("mode").at().given({"base_fee_scalar": 20_000})["base_fee_scalar"]
        20000
        """
        checked = {
            name: check_parameter(name, value) for name, value in instance("parameters", values, Mapping).items()
        }
        entries = self.entries | {
            name: Parameter(status="given", value=value, since=self.row.since, source="given by the caller")
            for name, value in checked.items()
        }
        for name, value in assumed.items():
            assumption = Parameter(status="assumed", value=value, since=self.row.since, source="assumption")
            entries.setdefault(name, assumption)
        return Parameters(self.chain, entries, self.row)

    @property
    def token_per_eth(self) -> float | None:
        """Value of one ETH in the chain's token; `None` if the value is not known.

        >>> chain("base").at().token_per_eth, chain("mantle").at().given({"token_ratio": 3_114}).token_per_eth
        (1.0, 3114.0)
        """
        if self.chain.token == "ETH":
            return 1.0
        for name, unit in (("token_per_eth", 1), ("token_ratio", 1), ("eth_to_fri_rate", 10**18)):
            if self.is_known(name):
                return float(self[name] / unit)
        return None

    @property
    def no_set_code(self) -> str | None:
        """Reason why there are no fees for transactions of type 4 (EIP-7702); `None` if the chain supports type 4."""
        if self.get("set_code"):
            return None
        chain = self.chain
        row = next((row for row in chain.rows if row.values.get("set_code")), None)
        if row is None:
            return chain.without_set_code or f"no source says since when {chain.name} carries them"
        return f"{chain.name} carries them since {row.since}" + (f" ({row.upgrade})" if row.upgrade else "")

    def remarks(self, *names: str) -> tuple[str, ...]:
        """Return remarks on parameters whose values are assumptions, or were not confirmed since the last upgrade.

        >>> chain("base").at().remarks("base_fee_scalar")
        ('older than denim: base_fee_scalar 2,269 since 2024-07-10, shown by sources until 2026-08-20',)
        """
        found = {name: self.entries[name] for name in names if name in self.entries}
        assumed = [f"{name} {shown(one.value)}" for name, one in found.items() if one.status == "assumed"]
        carried: dict[str, list[str]] = {}
        for name, one in found.items():
            if one.status == "carried":
                carried.setdefault(one.cause, []).append(
                    f"{name} {shown(one.value)} since {one.since}, shown by sources until {one.confirmed}"
                )
        note = f" ({self.row.note})" if self.row.assumed and self.row.note else ""
        said = [f"assumed: {', '.join(assumed)}{note}"] if assumed else []
        return (*said, *(f"older than {upgrade}: {'; '.join(texts)}" for upgrade, texts in carried.items()))

    def as_dict(self) -> dict[str, Any]:
        """Return the values by parameter name; `None` for unknown parameters."""
        return {name: one.value for name, one in self.entries.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A chain, and its rows in order of time."""

    name: str
    family: str  #: family of the chain's rule: "op-stack", "arbitrum", "scroll", "zksync", "zksync-os", "taiko", …
    token: str  #: token in which fees are paid
    rows: tuple[Row, ...]
    chain_id: int | None = None  #: chain id (EIP-155); `None` if there is none (Starknet) or more than one (ZKsync OS)
    note: str = ""
    without_set_code: str = ""  #: reason why the chain has no transactions of type 4; empty if a row introduces type 4
    #: parameter name → last day for which sources confirm the values of the parameter in the rows
    confirmed: Mapping[str, str] = field(default_factory=dict, hash=False)

    def at(self, when: When | None = None) -> Parameters:
        """Return all parameters as of a time; `None`: the newest.

        Raises `InvalidInput` if `when` is not a time, or is before the chain's first row.

        >>> parameters = chain("op-mainnet").at("2024-06-14")
        >>> parameters["upgrade"], parameters["base_fee_scalar"], parameters["blob_base_fee_scalar"]
        ('ecotone', 1368, 810949)
        """
        time = None if when is None else timestamp("at", when)
        first = self.rows[0]
        if time is not None and first.timestamp is not None and time < first.timestamp:
            raise InvalidInput("at", f"expected {first.since} or later, the start of {self.name}", when)
        entries: dict[str, Parameter] = {}
        newest, undated = first, []
        for row in self.rows:
            if row.timestamp is None:
                undated.append(row)
                continue
            if time is not None and row.timestamp > time:
                cause = f"set on an unknown day before {row.since}"
                for name in dict.fromkeys(name for one in undated for name in (*one.values, *one.unknown)):
                    before = entries.get(name)
                    own = [one.values.get(name) for one in undated if name in (*one.values, *one.unknown)]
                    if before is None or any(value != before.value for value in own):
                        entries[name] = _unknown(before, newest.since, cause)
                break
            for one in (*undated, row):
                self._apply(one, entries)
            undated, newest = [], row
        return Parameters(self, entries, newest)

    def end_of(self, upgrade: str) -> int | None:
        """Return the last second before the next upgrade, or `None` if there is no upgrade after `upgrade`.

        >>> chain("scroll").end_of("curie"), chain("scroll").end_of("galileo-v2")
        (1755575999, None)
        """
        named = [row for row in self.rows if "upgrade" in row.values]
        names = [row.values["upgrade"] for row in named]
        index = names.index(choice("upgrade", upgrade, names))
        ends = (row.timestamp for row in named[index + 1 :] if row.timestamp is not None)
        return next((end - 1 for end in ends), None)

    def _apply(self, row: Row, entries: dict[str, Parameter]) -> None:
        upgrade = row.upgrade
        if upgrade is not None and row.timestamp is not None:
            for name, one in entries.items():
                if one.status not in ("known", "carried") or schema()[name]["set_by"] != "operator":
                    continue
                if timestamp("confirmed", one.confirmed) >= row.timestamp:
                    continue
                if name in row.keeps:
                    entries[name] = replace(one, status="carried", cause=upgrade)
                else:
                    entries[name] = _unknown(one, row.since, upgrade)
        for name in row.unknown:
            entries[name] = _unknown(entries.get(name), row.since, row.note or upgrade or "")
        for name, value in row.values.items():
            own = row.since if row.since != UNKNOWN else "1970-01-01"
            confirmed = max(own, self.confirmed.get(name, own), key=lambda day: timestamp("confirmed", day))
            status: Status = "assumed" if name in row.assumed else "known"
            entries[name] = Parameter(
                status=status, value=value, since=row.since, source=row.source, confirmed=confirmed
            )


def _unknown(before: Parameter | None, since: str, cause: str) -> Parameter:
    """Return a parameter whose value is unknown from a date on; if `before` was already unknown, return `before`."""
    if before is not None and before.status == "unknown":
        return before
    return Parameter(status="unknown", value=None, since=since, cause=cause, last=before)


def _unknown_error(chain_name: str, missing: Mapping[str, Parameter]) -> UnknownParameter:
    """Return the error for unknown parameters.

    The message states since when each parameter is unknown, and the last known value.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for name, one in missing.items():
        groups.setdefault((one.since, one.cause), []).append(name)
    texts = []
    for (since, cause), names in groups.items():
        text = f"no source gives {', '.join(names)} of {chain_name}" + ("" if since == UNKNOWN else f" since {since}")
        text += f" ({cause})" if cause else ""
        known = [f"{name} {shown(last.value)} of {last.since}" for name in names if (last := missing[name].last)]
        texts.append(text + (f", before: {', '.join(known)}" if known else ""))
    since = min(one.since for one in missing.values())
    return UnknownParameter("; ".join(texts), chain_name, tuple(missing), since)


def timestamp(name: str, when: When) -> int:
    """Convert a time to Unix seconds; a time without a time zone is in UTC.

    Raises `InvalidInput` if `when` is not a time.

    >>> timestamp("at", "2024-06-14"), timestamp("at", 1_718_323_200)
    (1718323200, 1718323200)
    """
    reason = "expected a time such as 2024-06-14, 2024-06-14T12:00:00 or Unix seconds"
    if isinstance(when, (np.datetime64, datetime)) and when != when:  # NaT (not a time) of NumPy or pandas
        raise InvalidInput(name, reason, when)
    if isinstance(when, np.datetime64):
        return int(when.astype("datetime64[s]").astype(np.int64))
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when)
        except ValueError:
            raise InvalidInput(name, reason, when) from None
    if isinstance(when, datetime):
        return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())
    if isinstance(when, date):
        return int(datetime(when.year, when.month, when.day, tzinfo=UTC).timestamp())
    return int(UNIX_TIME.check_one(name, when))


def shown(value: Any) -> str:
    """Return a parameter's value as text, with thousands separators.

    >>> shown(1_014_213), shown(90_000_001.0), shown("ecotone"), shown(None)
    ('1,014,213', '90,000,001', 'ecotone', 'unknown')
    """
    if value is None:
        return UNKNOWN
    return f"{value:,}".removesuffix(".0") if type(value) in (int, float) else str(value)


@cache
def schema() -> Mapping[str, Mapping[str, Any]]:
    """Return the type, unit, bounds, description and `set_by` (operator or upgrade) of each parameter.

    >>> schema()["base_fee_scalar"]["unit"]
    '10⁻⁶'
    """
    return MappingProxyType(tomllib.loads((FOLDER / "schema.toml").read_text(encoding="utf-8")))


def check_parameter(name: str, value: Any) -> Value:
    """Check a parameter against the schema and return the value; raises `InvalidInput` for a wrong name or value.

    >>> check_parameter("base_fee_scalar", 5_227)
    5227
    """
    given: Any = value
    form = schema()[choice("parameter", name, schema())]
    kinds: Mapping[str, Any] = {"integer": (int, np.integer), "number": (int, float), "text": str, "flag": bool}
    kind = form["type"]
    if not isinstance(value, kinds[kind]) or (isinstance(value, bool) and kind != "flag"):
        raise InvalidInput(name, f"expected {'an' if kind == 'integer' else 'a'} {kind}", value)
    if kind in ("integer", "number"):
        minimum, maximum = form.get("minimum", 0), form.get("maximum", np.inf)
        if isinstance(given, float) and not math.isfinite(given):
            raise InvalidInput(name, "expected a finite number", value)
        if not minimum <= value <= maximum:
            limit = f"at least {minimum:,}" if value < minimum else f"at most {maximum:,}"
            raise InvalidInput(name, f"expected {limit}", value)
    checked: Value = int(given) if kind == "integer" else given
    return checked


def parse_parameter(name: str, text: str) -> Value:
    """Parse a parameter's value from the text of a command line or a form.

    >>> parse_parameter("base_fee_scalar", "20_000"), parse_parameter("pubdata_mode", "validium")
    (20000, 'validium')
    """
    kind = schema()[choice("parameter", name, schema())]["type"]
    read: Mapping[str, Callable[[str], Any]] = {"integer": int, "number": float, "text": str, "flag": FLAGS.__getitem__}
    try:
        value = read[kind](instance("value", text, str))
    except (ValueError, KeyError):
        raise InvalidInput(name, f"expected {'an' if kind == 'integer' else 'a'} {kind}", text) from None
    return check_parameter(name, value)


class _Chains(Mapping[str, Chain]):
    """Chains by name, from a folder of TOML files; a file is read when its chain is first used."""

    def __init__(self, folder: Path) -> None:
        self._files = {path.stem: path for path in sorted(folder.glob("*.toml")) if path.stem != "schema"}
        self._read: dict[str, Chain] = {}

    def __getitem__(self, name: str) -> Chain:
        if name not in self._read:
            from feemodel.rollups._chain_files import read_chain

            self._read[name] = read_chain(self._files[name])
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


CHAINS = _Chains(FOLDER)


def chain(name: str) -> Chain:
    """Return the chain with this name; raises `InvalidInput`, which lists all names, for an unknown name.

    >>> chain("base").at("2026-01-01")["da_footprint_gas_scalar"]
    325
    """
    return CHAINS[choice("chain", name, CHAINS)]
