"""`feemodel finalize`: mark a block of a ledger, and all blocks before it, as final."""

import argparse

from feemodel import ledger
from feemodel.cli._options import add_store, whole_from_0
from feemodel.cli.output import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    parser.add_argument("--block", required=True, type=whole_from_0, help="number of the newest final block")
    parser.epilog = (
        "A final block cannot become non-final again. Exit codes: 0 success; 2 a block that the ledger does not "
        "have, or a block below the newest final block; 3 a ledger that cannot be read or written, or is damaged."
    )


def run(options: argparse.Namespace) -> int:
    with ledger.Store(options.store, create=False) as store:
        store.finalize(options.block)
    if options.json:
        print_json({"store": options.store, "finalized": options.block})
    else:
        print(f"{options.store}: block {options.block:,} is final")
    return 0
