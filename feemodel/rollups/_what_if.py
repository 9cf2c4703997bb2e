"""User-defined rules: dated rows of a TOML file, added to the package's chains and to Ethereum's blob schedule.

The file has one table of rows for each chain, in the format of `feemodel.rollups._chain_files`. Rows of Ethereum's blob
schedule are in the table `ethereum`:

    checked = 2026-11-24
    note = "…"                       # optional

    [[ethereum.rows]]
    since = 2027-01-01
    source = "EIP-8138, a draft"
    upgrade = "BPO3"
    blob_target = 21                 # parameters that are not listed keep their values
    blob_maximum = 32
    blob_update_fraction = 17_805_213

    [[linea.rows]]
    since = 2027-01-01
    source = "…"
    execution_gas = 59_250

A value applies from the date of its row until a later row, in the file or in the package, sets the same parameter.
In a rule, the values that come from the file are marked as assumptions. `data/rules/` has examples.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from feemodel.checks import instance, mapping
from feemodel.checks import text as checked_text
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import MAINNET, BlobRules, Schedule
from feemodel.rollups._chain_files import ChainFile, read_text
from feemodel.rollups.chains import CHAINS, Chain, Row, When, timestamp
from feemodel.rollups.rules import FAMILIES

ETHEREUM = "ethereum"
BLOB_PARAMETERS = ("upgrade", "blob_target", "blob_maximum", "blob_update_fraction", "blob_reserve")
FIELDS = {"checked": object, "note": str}


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """Chains and Ethereum's blob schedule, with the rows of a user's file added."""

    name: str  #: name of the file
    chains: Mapping[str, Chain]  #: chains by name, with the rows of the file added
    schedule: Schedule  #: blob schedule of Ethereum
    changed: Mapping[str, tuple[str, ...]]  #: parameters that the file sets, by chain (or "ethereum")
    note: str = ""


def read_rules(path: str | Path, *, chains: Mapping[str, Chain] = CHAINS) -> WhatIf:
    """Read user-defined rules from a file.

    Parameters
    ----------
    path : path of a TOML file.
    chains : chains to which the rows of the file are added, by default the chains of the package.

    Returns
    -------
    WhatIf : the chains (an argument of `rule`, `rules_at`, `max_send` and `padding_table`) and the blob schedule (an
        argument of `max_send` and `padding_table`).

    Raises
    ------
    UnreadableFile : the file is not valid; the error names the file and the line.
    """
    return parse_rules(Path(path).stem, read_text(Path(path)), str(path), chains=chains)


def parse_rules(name: str, text: str, path: str, *, chains: Mapping[str, Chain] = CHAINS) -> WhatIf:
    """Parse the text of a file of rules; `path` is used in error messages.

    >>> text = '''checked = 2026-11-24
    ... [[linea.rows]]
    ... since = 2027-01-01
    ... source = "a guess"
    ... execution_gas = 59_250'''
    >>> found = parse_rules("guess", text, "guess.toml")
    >>> found.chains["linea"].at("2027-01-01")["execution_gas"], found.chains["linea"].at("2026-12-31")["execution_gas"]
    (59250, 65250)
    """
    checked_text("name", name)
    for one in mapping("chains", chains).values():
        instance("chains", one, Chain)
    file = ChainFile(checked_text("path", path), checked_text("text", text))
    tables = {one: table for one, table in file.found.items() if one not in FIELDS}
    for one, table in tables.items():
        if one != ETHEREUM and one not in chains:
            expected = f"expected {ETHEREUM}, {', '.join(FIELDS)} or a chain that `feemodel chains` lists"
            file.fail(one, expected, "", 0)
        if not isinstance(table, dict) or [*table] != ["rows"] or not isinstance(table["rows"], list):
            file.fail(one, f"expected only tables [[{one}.rows]]", "", 0)
    if not tables:
        file.fail("rows", f"expected tables such as [[{ETHEREUM}.rows]]", "", 0)
    note = file.found.get("note", "")
    if not isinstance(note, str):
        file.fail("note", f"expected text, got {note!r}", "", 0)
    found, schedule, changed = dict(chains), MAINNET, {}
    for one, table in tables.items():
        rows = file.rows(f"{one}.rows", table["rows"])
        for index, row in enumerate(rows):
            if row.timestamp is None:
                file.fail("since", "expected a date", f"{one}.rows", index)
        changed[one] = tuple(dict.fromkeys(parameter for row in rows for parameter in row.values))
        if one == ETHEREUM:
            schedule = _schedule(file, rows)
        else:
            found[one] = _chain(file, chains[one], rows)
    return WhatIf(name=name, chains=found, schedule=schedule, changed=changed, note=note)


def blobs_at(schedule: Schedule, at: When | None = None) -> BlobRules:
    """Return the blob rules at a date; `None`: the newest. For a date before the first row, return the first row.

    >>> blobs_at(MAINNET).name, blobs_at(MAINNET, "2025-06-01").name, blobs_at(MAINNET, "2023-11-01").name
    ('BPO2', 'Prague', 'Cancun')
    """
    instance("schedule", schedule, Schedule)
    if at is None:
        return schedule.rows[-1]
    index = bisect_right([row.timestamp for row in schedule.rows], timestamp("at", at)) - 1
    return schedule.rows[max(index, 0)]


def _schedule(file: ChainFile, rows: tuple[Row, ...]) -> Schedule:
    schedule = MAINNET
    for index, row in enumerate(rows):
        table = f"{ETHEREUM}.rows"
        for parameter in row.values:
            if parameter not in BLOB_PARAMETERS:
                file.fail(parameter, f"expected one of {', '.join(BLOB_PARAMETERS)}", table, index)
        if "upgrade" not in row.values:
            file.fail("upgrade", "missing", table, index)
        before = blobs_at(schedule, row.timestamp)
        given: dict[str, Any] = {"name": row.values["upgrade"], "timestamp": row.timestamp, "source": row.source}
        given |= {name.removeprefix("blob_"): value for name, value in row.values.items() if name != "upgrade"}
        try:
            own = replace(before, **given)
            schedule = schedule.with_row(own)
        except InvalidInput as error:
            names = {"rows": "since", "maximum": "blob_maximum", "target": "blob_target"}
            file.fail(names.get(error.name, error.name), f"{error.reason}, got {error.value}", table, index)
    return schedule


def _chain(file: ChainFile, chain: Chain, rows: tuple[Row, ...]) -> Chain:
    known = _parameters_of_family(chain)
    found = [*chain.rows]
    for index, row in enumerate(rows):
        table = f"{chain.name}.rows"
        for parameter in (*row.values, *row.unknown, *row.keeps):
            if parameter not in known:
                file.fail(parameter, f"expected a parameter of {chain.family}: {', '.join(known)}", table, index)
        time = row.timestamp or 0
        start = chain.rows[0].timestamp
        if start is not None and time < start:
            file.fail("since", f"expected {chain.rows[0].since} or later, the start of {chain.name}", table, index)
        before = [i for i, one in enumerate(found) if one.timestamp is not None and one.timestamp <= time]
        found.insert(1 + max(before, default=-1), replace(row, assumed=tuple(row.values)))
    return replace(chain, rows=tuple(found))


def _parameters_of_family(chain: Chain) -> dict[str, None]:
    """Return the names of parameters with an assumed value, and of all parameters that chains of the family set."""
    relatives = [chain, *(one for one in CHAINS.values() if one.family == chain.family)]
    names = (name for one in relatives for row in one.rows for name in (*row.values, *row.unknown))
    assumed = FAMILIES[chain.family].assumed if chain.family in FAMILIES else {}
    return dict.fromkeys([*names, *assumed, "token_per_eth"])
