"""`feemodel status`: what a ledger holds, without writing to it."""

import argparse
from pathlib import Path
from typing import Any

from feemodel.cli.output import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", required=True, metavar="FILE", help="a ledger")
    parser.epilog = (
        "Accounts are counted from the genesis on, those that were destroyed too. Nothing is written; a process that "
        "imports may hold the ledger, and the disk may be read-only. Exit codes: 0 done; 3 a ledger that cannot be "
        "read, or is damaged."
    )


def run(options: argparse.Namespace) -> int:
    from feemodel.ledger import Store
    from feemodel.ledger.database import file_size
    from feemodel.ledger.scheme import FIRST_FREE

    with Store(options.store, read_only=True) as store:
        head = store.head
        answer: dict[str, Any] = {
            "store": options.store,
            "format": store.format,
            "hashing": store.scheme.name,
            "chainId": store.chain_id,
            "head": None if head is None else head.number,
            "blockHash": None if head is None or head.hash is None else "0x" + head.hash.hex(),
            "stateRoot": None if head is None else "0x" + head.root.hex(),
            "finalized": store.finalized,
            "finality": store.finality,
            "accounts": 0 if head is None else store.accounts(head.number).next_free - FIRST_FREE,
            "bytes": file_size(Path(options.store)),
        }
    if options.json:
        print_json(answer)
        return 0
    for name, value in answer.items():
        print(f"{name:10} {'none' if value is None else value}")
    return 0
