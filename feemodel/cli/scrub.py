"""`feemodel scrub`: every row of a ledger checked against its hashes."""

import argparse
import sys

from feemodel import ledger
from feemodel.cli.output import print_json
from feemodel.errors import LedgerDamaged

SHOWN = 20  # findings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", required=True, metavar="FILE", help="a ledger; it is only read")
    parser.epilog = "Exit codes: 0 every row is as its hash says; 3 a ledger that cannot be read, or is damaged."


def run(options: argparse.Namespace) -> int:
    from feemodel.ledger.maintenance import scrub

    def progress(table: str, rows: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{table:8} {rows:>14,}", end="", file=sys.stderr, flush=True)

    with ledger.Store(options.store, read_only=True) as store:
        found = scrub(store, progress)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if options.json:
        print_json({"store": options.store, "rows": found.rows, "findings": found.findings})
    else:
        for finding in found.findings[:SHOWN]:
            print(finding)
    if found.findings:
        raise LedgerDamaged(f"{options.store}: damaged, {len(found.findings):,} findings")
    if not options.json:
        print(f"{options.store}: {found.rows:,} rows, each as its hash says")
    return 0
