"""`feemodel check-proof`: whether a proof holds under a state root, and what it proves."""

import argparse
from typing import Any

from feemodel import ledger
from feemodel.cli._output import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="the object of rollup_getProof, or the whole JSON-RPC answer")
    parser.add_argument("--root", required=True, metavar="HEX", help="the state root that L1 holds for the block")
    parser.add_argument("--address", metavar="HEX", help="the account that was asked for")
    parser.epilog = (
        "Exit codes: 0 the proof holds; 1 it does not; 2 a value that cannot be read; 3 a file that cannot be read."
    )
    parser.add_argument("--slot", action="append", metavar="HEX", help="the slots that were asked for, in their order")


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
    print("The proof holds.")
    if account is None:
        print("The account does not exist.")
    for name, value in (answer["account"] or {}).items():
        print(f"  {name:15} {value}")
    for slot, value in answer["storage"].items():
        print(f"  slot {slot:10} {value}")
    return 0
