"""`feemodel status`: what a ledger holds, without writing to it."""

import argparse
from pathlib import Path

from feemodel import ledger


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", required=True, metavar="FILE", help="a ledger")
    parser.epilog = (
        "Accounts are counted from the genesis on, those that were destroyed too. Nothing is written; a process that "
        "imports may hold the ledger, and the disk may be read-only. Exit codes: 0 done; 3 a ledger that cannot be "
        "read, or is damaged."
    )


def run(options: argparse.Namespace) -> int:
    from feemodel.cli.ledger import describe, print_lines

    with ledger.Store(options.store, read_only=True) as store:
        answer = describe(store, Path(options.store))
    print_lines(answer, options)
    return 0
