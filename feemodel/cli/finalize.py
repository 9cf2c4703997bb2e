"""`feemodel finalize`: marks a block of a ledger, and all before it, final."""

import argparse

from feemodel.cli.options import whole_number
from feemodel.cli.output import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", required=True, metavar="FILE", help="a ledger")
    parser.add_argument("--block", required=True, type=whole_number, help="the newest final one")


def run(options: argparse.Namespace) -> int:
    from feemodel.ledger import Store

    Store(options.store, read_only=True).close()  # a ledger that is not there is not made
    with Store(options.store) as store:
        store.finalize(options.block)
    if options.json:
        print_json({"store": options.store, "finalized": options.block})
    else:
        print(f"{options.store}: block {options.block:,} is final")
    return 0
