"""Chains as dated rows, read from one TOML file per chain.

A file states a chain's id, family and token, and `[[rows]]` in order of time. A row holds what changed at one time, its
source, and the day on which somebody last compared it with that source. `schema.toml` in the same folder lists
the parameters that rows may set.

A parameter has no value where no source gives one:

- before the first row that sets it, and between a row of an unknown date and the dated row before it;
- from a row that lists it under `unknown`;
- for a parameter that an operator sets: from the first upgrade after the day up to which sources show the value. That
  day is the row's own, or the one that the file states under `[confirmed]`.

Reading such a parameter raises `UnknownParameter`. A value is never carried over in silence.
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

from feemodel.checks import choice, instance, mapping, whole_scalar
from feemodel.checks import text as checked_text
from feemodel.errors import InvalidInput, UnknownParameter

FOLDER = Path(__file__).with_name("chains")
UNKNOWN = "unknown"
LATEST = 2**34  # seconds: the year 2514; a larger number counts milliseconds
FLAGS = {"true": True, "false": False}
UPGRADE_FIELDS = ("upgrade", "version", "own_upgrade")

#: A time: ISO 8601 text (UTC, a bare date is its midnight), Unix seconds, `datetime`, `date`, `numpy.datetime64`.
When: TypeAlias = str | int | datetime | date | np.datetime64

Value: TypeAlias = int | float | str | bool

Status: TypeAlias = Literal["known", "carried", "assumed", "given", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a chain at one time."""

    status: Status
    value: Any  #: `None` where it is unknown: see `last`
    since: str  #: the row that set it, or from when on it is unknown
    source: str = ""
    confirmed: str = ""  #: the day up to which sources show the value
    cause: str = ""  #: why it is unknown, or which upgrade it was carried over
    last: "Parameter | None" = None  #: of an unknown parameter: the value that was known before


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Parameters that changed on a chain at one time."""

    since: str  #: ISO 8601, UTC: a time where it is exact, a day where only that is known, `UNKNOWN`
    values: Mapping[str, Any] = field(hash=False)  #: parameter → value from then on
    source: str
    checked: str  #: the day on which somebody last compared the row with its source
    note: str = ""
    assumed: tuple[str, ...] = ()  #: parameters of the row whose values are assumptions
    unknown: tuple[str, ...] = ()  #: parameters that are unknown from then on
    keeps: tuple[str, ...] = ()  #: of an upgrade: parameters that its specification leaves as they are

    @property
    def timestamp(self) -> int | None:
        """Unix seconds, or `None` where the date is unknown."""
        return None if self.since == UNKNOWN else timestamp("since", self.since)

    @property
    def upgrade(self) -> str | None:
        """Name of the upgrade that the row is, if it is one."""
        return next((self.values[name] for name in UPGRADE_FIELDS if name in self.values), None)


class Parameters:
    """The parameters of a chain at one time, by name.

    Reading one that is unknown raises `UnknownParameter`; `get` returns its default only for a parameter that no row
    has set yet.

    Parameters
    ----------
    chain : the chain.
    entries : parameter → value with its status.
    row : the newest row in force.
    """

    def __init__(self, chain: "Chain", entries: Mapping[str, Parameter], row: Row) -> None:
        self.chain, self.entries, self.row = chain, MappingProxyType(dict(entries)), row

    @property
    def since(self) -> str:
        """Date of the newest row in force."""
        return self.row.since

    @property
    def source(self) -> str:
        """Source of the newest row in force."""
        return self.row.source

    def __getitem__(self, name: str) -> Any:
        return self.known(name)[name]

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a parameter, or the default where no row has set it yet."""
        return self[name] if name in self.entries else default

    def __repr__(self) -> str:
        return f"Parameters({self.chain.name!r}, {self.as_dict()})"

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of the parameters that are unknown."""
        return tuple(name for name, one in self.entries.items() if one.status == "unknown")

    def known(self, *names: str) -> dict[str, Any]:
        """The values of these parameters; raises one `UnknownParameter` for all of them that are unknown.

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

    def given(self, values: Mapping[str, Any]) -> "Parameters":
        """The same with other values, which replace known and unknown ones.

        >>> chain("mode").at().given({"base_fee_scalar": 20_000})["base_fee_scalar"]
        20000
        """
        checked = {name: check_parameter(name, value) for name, value in mapping("parameters", values).items()}
        entries = {
            name: Parameter(status="given", value=value, since=self.since, source="given by the caller")
            for name, value in checked.items()
        }
        return Parameters(self.chain, self.entries | entries, self.row)

    def assuming(self, values: Mapping[str, Any], source: str) -> "Parameters":
        """The same with assumptions in place of the parameters that no row sets."""
        entries = {
            name: Parameter(status="assumed", value=value, since=self.since, source=source)
            for name, value in values.items()
            if name not in self.entries
        }
        return Parameters(self.chain, self.entries | entries, self.row)

    @property
    def no_set_code(self) -> str | None:
        """Why there are no fees for transactions of type 4 (EIP-7702); `None` where the chain carries them."""
        if self.get("set_code"):
            return None
        chain = self.chain
        row = next((row for row in chain.rows if row.values.get("set_code")), None)
        if row is None:
            return chain.without_set_code or f"no source says since when {chain.name} carries them"
        return f"{chain.name} carries them since {row.since}" + (f" ({row.upgrade})" if row.upgrade else "")

    def remarks(self, *names: str) -> tuple[str, ...]:
        """Return remarks on these values: which are assumptions, and which are older than an upgrade.

        >>> chain("base").at().remarks("base_fee_scalar")
        ('older than denim: base_fee_scalar 2,269 since 2024-07-10, shown by sources until 2026-08-20',)
        """
        assumed: list[str] = []
        carried: dict[str, list[str]] = {}
        for name in names:
            one = self.entries.get(name)
            if one is not None and one.status == "assumed":
                assumed.append(f"{name} {shown(one.value)}")
            elif one is not None and one.status == "carried":
                carried.setdefault(one.cause, []).append(
                    f"{name} {shown(one.value)} since {one.since}, shown by sources until {one.confirmed}"
                )
        said = [f"assumed: {', '.join(assumed)}"] if assumed else []
        return (*said, *(f"older than {upgrade}: {'; '.join(texts)}" for upgrade, texts in carried.items()))

    def as_dict(self) -> dict[str, Any]:
        """Parameter → value, `None` where it is unknown."""
        return {name: one.value for name, one in self.entries.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A chain, and its rows in order of time."""

    name: str
    family: str  #: whose rule it follows: "op-stack", "arbitrum", "scroll", "zksync", "zksync-os", "taiko", …
    token: str  #: that fees are paid in
    rows: tuple[Row, ...]
    chain_id: int | None = None  #: as EIP-155 has it; `None` for ZKsync OS, which many chains run, and for Starknet
    archived: str | None = None  #: the day of its end, or `UNKNOWN`; `None` while it lives
    note: str = ""
    without_set_code: str = ""  #: why it carries no transactions of type 4, where no row says since when it does
    #: parameter → day up to which its rows are complete
    confirmed: Mapping[str, str] = field(default_factory=dict, hash=False)

    def at(self, when: When | None = None) -> Parameters:
        """Every parameter at a time; `None`: after the last row.

        Raises `InvalidInput` for a time before the chain's first row, and for a value that is not a time.

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
                since = UNKNOWN if newest.since == UNKNOWN else newest.since
                cause = f"set on an unknown day before {row.since}"
                for name in dict.fromkeys(name for one in undated for name in (*one.values, *one.unknown)):
                    entries[name] = _unknown(entries.get(name), since, cause)
                break
            for one in (*undated, row):
                self._apply(one, entries)
            undated, newest = [], row
        return Parameters(self, entries, newest)

    def no_set_code(self, when: When | None = None) -> str | None:
        """Why there are no fees for transactions of type 4 (EIP-7702) at a time; `None` where the chain carries them.

        >>> chain("scroll").no_set_code("2025-01-01"), chain("scroll").no_set_code("2025-06-01")
        ('scroll carries them since 2025-04-22T07:00:00 (euclid)', None)
        """
        return self.at(when).no_set_code

    def end_of(self, upgrade: str) -> int | None:
        """The last second of an upgrade; `None`: it has not ended.

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
    """An unknown parameter; one that was unknown already stays so since its own time."""
    if before is not None and before.status == "unknown":
        return before
    return Parameter(status="unknown", value=None, since=since, cause=cause, last=before)


def _unknown_error(chain_name: str, missing: Mapping[str, Parameter]) -> UnknownParameter:
    """The error for parameters that no source gives: which, since when, the last known values, how to pass them."""
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
    """A time in Unix seconds; a time without a zone is UTC. Raises `InvalidInput` for a value that is not a time.

    >>> timestamp("at", "2024-06-14"), timestamp("at", 1_718_323_200)
    (1718323200, 1718323200)
    """
    reason = "expected a time such as 2024-06-14, 2024-06-14T12:00:00 or Unix seconds"
    if isinstance(when, (np.datetime64, datetime)) and when != when:  # NaT, of NumPy or of pandas
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
    return whole_scalar(name, when, unit="seconds", maximum=LATEST)


def shown(value: Any) -> str:
    """A parameter's value as text, with thousands separated.

    >>> shown(1_014_213), shown("ecotone"), shown(None)
    ('1,014,213', 'ecotone', 'unknown')
    """
    if value is None:
        return UNKNOWN
    return f"{value:,}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


@cache
def schema() -> Mapping[str, Mapping[str, Any]]:
    """The parameters that rows may set: type, unit, bounds, who sets them, meaning.

    >>> schema()["base_fee_scalar"]["unit"]
    '10⁻⁶'
    """
    return MappingProxyType(tomllib.loads((FOLDER / "schema.toml").read_text(encoding="utf-8")))


def check_parameter(name: str, value: Any) -> Value:
    """The value of a parameter; raises `InvalidInput` for a name or a value that the schema does not allow.

    >>> check_parameter("base_fee_scalar", 5_227)
    5227
    """
    given: Any = value
    form = schema()[choice("parameter", name, schema())]
    kinds: Mapping[str, tuple[type, ...]] = {
        "integer": (int, np.integer), "number": (int, float), "text": (str,), "flag": (bool,),
    }  # fmt: skip
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
    """A parameter's value from text, as a command line or a form has it.

    >>> parse_parameter("base_fee_scalar", "20_000"), parse_parameter("pubdata_mode", "validium")
    (20000, 'validium')
    """
    kind = schema()[choice("parameter", name, schema())]["type"]
    read: Mapping[str, Callable[[str], Any]] = {
        "integer": int, "number": float, "text": str, "flag": FLAGS.__getitem__
    }  # fmt: skip
    try:
        value = read[kind](checked_text("value", text))
    except (ValueError, KeyError):
        raise InvalidInput(name, f"expected {'an' if kind == 'integer' else 'a'} {kind}", text) from None
    return check_parameter(name, value)


class Chains(Mapping[str, Chain]):
    """The chains of a folder of TOML files by name; a file is read when its chain is first used."""

    def __init__(self, folder: Path) -> None:
        self._files = {path.stem: path for path in sorted(folder.glob("*.toml")) if path.stem != "schema"}
        self._read: dict[str, Chain] = {}

    def __getitem__(self, name: str) -> Chain:
        if name not in self._read:
            from feemodel.rollups.chain_files import read_chain

            self._read[name] = read_chain(self._files[name])
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


CHAINS = Chains(FOLDER)


def chain(name: str) -> Chain:
    """A chain by its name; raises `InvalidInput` that lists the names there are.

    >>> chain("base").at("2026-01-01")["da_footprint_gas_scalar"]
    325
    """
    return CHAINS[choice("chain", name, CHAINS)]


def rows_older_than(days: int, today: When, chains: Mapping[str, Chain] = CHAINS) -> list[tuple[Chain, Row]]:
    """The rows that were last compared with their source more than so many days before `today`.

    >>> rows_older_than(90, "2026-11-26")
    []
    """
    limit = timestamp("today", today) - whole_scalar("days", days) * 86_400
    for one in mapping("chains", chains).values():
        instance("chains", one, Chain)
    return [(one, row) for one in chains.values() for row in one.rows if timestamp("checked", row.checked) < limit]
