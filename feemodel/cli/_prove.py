"""`feemodel prove`: prove an account and its storage slots from a ledger."""

import argparse
import json

from feemodel import ledger
from feemodel.cli._options import add_out, add_store, block, checked_out
from feemodel.cli.output import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    parser.add_argument("--address", required=True, metavar="HEX", help="address of the account")
    parser.add_argument("--slot", action="append", default=[], metavar="HEX", help="storage slot; may be repeated")
    parser.add_argument("--block", type=block, default="finalized", help="block number or tag")
    add_out(parser, "FILE.json", "file to write (default: standard output)")
    parser.epilog = (
        "The proof is checked before it is written. Exit codes: 0 success; 2 invalid input, or a block that is "
        "not final; 3 a ledger that cannot be read, or is damaged, or a file that cannot be written."
    )


def run(options: argparse.Namespace) -> int:
    from feemodel.io._files import written_whole
    from feemodel.ledger.proof import final_block

    out = checked_out(options, (".json",))
    with ledger.Store(options.store, read_only=True) as store:
        proof = ledger.get_proof(store, options.address, options.slot, options.block)
        proven = store.block(final_block(store, options.block))
    if out is None:
        print_json(proof)
        return 0
    with written_whole(out, overwrite=options.overwrite) as file:
        file.write(json.dumps(proof, indent=2).encode())
    answer = {"file": options.out, "block": proven.number, "stateRoot": "0x" + proven.root.hex()}
    if options.json:
        print_json(answer)
    else:
        print(f"{options.out}: block {proven.number:,}, state root {answer['stateRoot']}")
    return 0
