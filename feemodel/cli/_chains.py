"""`feemodel chains`: known chains, the rows of one chain, and rows that have not been checked for a long time."""

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from feemodel.cli._options import count
from feemodel.cli._output import print_json, print_table
from feemodel.errors import InvalidInput

if TYPE_CHECKING:
    from feemodel.rollups.chains import Chain

ROW = ("since", "values", "assumed", "unknown", "keeps", "source", "checked", "note")  # fields of a row


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("chain", nargs="?", help="print every dated row of this chain")
    parser.add_argument(
        "--chains", metavar="FOLDER", help="read a folder of TOML files instead of those in the package"
    )
    parser.add_argument(
        "--stale",
        type=count,
        metavar="DAYS",
        help="list rows whose source was not checked for more than DAYS days",
    )
    parser.epilog = (
        "Exit codes: 0 success; 1 --stale found rows; 2 invalid input; 3 a file cannot be read; 70 unexpected error."
    )


def run(options: argparse.Namespace) -> int:
    from feemodel.rollups._chain_files import read_chains
    from feemodel.rollups.chains import CHAINS

    chains = CHAINS if options.chains is None else read_chains(options.chains)
    if options.chain is not None and options.chain not in chains:
        raise InvalidInput("chain", f"expected one of {', '.join(chains)}", options.chain)
    if options.stale is not None:
        return _stale(options, {options.chain: chains[options.chain]} if options.chain else chains)
    if options.chain is not None:
        return _timeline(options, chains[options.chain])
    found = [(chain, chain.at()) for chain in chains.values()]
    if options.json:
        print_json([
            {"chain": chain.name, "id": chain.chain_id, "family": chain.family, "token": chain.token,
             "since": parameters.since, "unknown": parameters.unknown, "archived": chain.archived}
            for chain, parameters in found
        ])  # fmt: skip
        return 0
    cells = [
        (chain.name, chain.chain_id or "", chain.family, chain.token, parameters.since, len(parameters.unknown) or "")
        for chain, parameters in found
    ]
    columns = ("chain", "id", "family", "token", "last row", "unknown parameters")
    print_table(f"{len(cells)} chains", columns, cells, right_from=5)
    return 0


def _timeline(options: argparse.Namespace, chain: "Chain") -> int:
    from feemodel.rollups.chains import shown

    parameters = chain.at()
    if options.json:
        now = {
            name: {"value": one.value, "status": one.status, "since": one.since, "confirmed": one.confirmed}
            for name, one in parameters.entries.items()
        }
        rows = [{name: getattr(row, name) for name in ROW if name != "values"} | {"values": dict(row.values)}
                for row in chain.rows]  # fmt: skip
        print_json({"chain": chain.name, "id": chain.chain_id, "family": chain.family, "token": chain.token,
                    "note": chain.note, "rows": rows, "now": now})  # fmt: skip
        return 0
    for row in chain.rows:
        print(f"{row.since}  {', '.join(f'{name} {shown(value)}' for name, value in row.values.items())}")
        for name in ("assumed", "unknown", "keeps"):
            if names := getattr(row, name):
                print(f"    {name}: {', '.join(names)}")
        print(f"    {row.source}, checked on {row.checked}" + (f"; {row.note}" if row.note else ""))
    cells = []
    for name, one in parameters.entries.items():
        before = f"before: {shown(one.last.value)}" if one.last is not None else ""
        status = "" if one.status == "known" else one.status
        cells.append((name, shown(one.value), status, one.since, before or one.confirmed))
    print_table(f"After the last row ({chain.token})", ("parameter", "value", "", "since", "shown until"), cells)
    if chain.note:
        print(chain.note)
    return 0


def _stale(options: argparse.Namespace, chains: "Mapping[str, Chain]") -> int:
    from datetime import UTC, datetime

    from feemodel.rollups.chains import rows_older_than

    old = rows_older_than(options.stale, datetime.now(UTC).date(), chains)
    if options.json:
        print_json([{"chain": chain.name, "since": row.since, "checked": row.checked, "source": row.source}
                    for chain, row in old])  # fmt: skip
    else:
        for chain, row in old:
            print(f"{chain.name}  since {row.since}  checked on {row.checked}  {row.source}")
        print(f"{len(old)} rows were last checked more than {options.stale} days ago")
    return 1 if old else 0
