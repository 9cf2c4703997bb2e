"""`feemodel check-proof`: check a proof against a state root."""

import argparse
from typing import Any

from feemodel import ledger
from feemodel.cli.output import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="the result of rollup_getProof, or the whole JSON-RPC response")
    parser.add_argument("--root", required=True, metavar="HEX", help="state root of the block on L1")
    parser.add_argument("--address", metavar="HEX", help="the requested account")
    parser.epilog = (
        "Exit codes: 0 the proof is valid; 1 the proof is not valid; 2 invalid input; 3 a file cannot be read."
    )
    parser.add_argument(
        "--slot",
        action="append",
        metavar="HEX",
        help="a requested storage slot, in the order of the request; may be repeated",
    )


def run(options: argparse.Namespace) -> int:
    proven = ledger.check_proof(
        ledger.read_proof(options.file), root=options.root, address=options.address, storage_keys=options.slot
    )
    account = proven.account
    answer: dict[str, Any] = {"holds": True, "account": None}
    if account is not None:
        answer["account"] = {
            "nonce": account.nonce,
            "balance": account.balance,
            "storageRoot": "0x" + account.storage_root.hex(),
            "keccakCodeHash": "0x" + account.keccak_code_hash.hex(),
            "codeSize": account.code_size,
        }
    answer["storage"] = {slot: hex(value) for slot, value in proven.storage.items()}
    if options.json:
        print_json(answer)
        return 0
    print("The proof is valid.")
    if account is None:
        print("The account does not exist.")
    for name, value in (answer["account"] or {}).items():
        print(f"  {name:15} {value}")
    for slot, value in answer["storage"].items():
        print(f"  slot {slot:10} {value}")
    return 0
