"""`feemodel ledger`: describe, check or copy the file of a ledger."""

import argparse
import sys
from pathlib import Path
from typing import Any

from feemodel import ledger
from feemodel.cli._options import add_store
from feemodel.cli.output import print_json
from feemodel.cli.parameters import MissingOption
from feemodel.errors import InvalidInput, LedgerDamaged

SHOWN = 20  # maximum number of findings that are printed
#: Options of each action, and whether each option is required. The option `--store` belongs to every action.
OPTIONS = {
    "info": {},
    "verify": {},
    "backup": {"out": True},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=OPTIONS, metavar="ACTION", help=", ".join(OPTIONS))
    add_store(parser)
    parser.add_argument("--out", metavar="FILE", help="for backup: file to create")
    parser.epilog = (
        "info: print the contents of the ledger; the number of accounts includes accounts that were destroyed. "
        "verify: check every row against its hashes. "
        "backup: copy the ledger, even while another process imports blocks. "
        "Exit codes: 0 success; 2 an option or a block that does not fit the ledger; 3 a file or a ledger that cannot "
        "be read or written, or is damaged."
    )


def run(options: argparse.Namespace) -> int:
    for name in ("out",):
        value, allowed = getattr(options, name), OPTIONS[options.action]
        if value is not None and name not in allowed:
            takers = " or ".join(action for action, taken in OPTIONS.items() if name in taken)
            raise InvalidInput(f"--{name}", f"expected only with {takers}", value)
        if value is None and allowed.get(name):
            raise MissingOption(f"--{name}", f"required with {options.action}")
    actions = {"info": _info, "verify": _verify, "backup": _backup}
    return actions[options.action](options)


def describe(store: "ledger.Store", path: Path) -> dict[str, Any]:
    """Describe a ledger: its chain, blocks, accounts and size."""
    from feemodel.ledger.database import file_size
    from feemodel.ledger.scheme import FIRST_FREE
    from feemodel.ledger.store import FORMAT

    head = store.head
    return {
        "store": str(path),
        "format": FORMAT,
        "hashing": store.scheme.name,
        "chainId": store.chain_id,
        "head": None if head is None else head.number,
        "blockHash": None if head is None or head.hash is None else "0x" + head.hash.hex(),
        "stateRoot": None if head is None else "0x" + head.root.hex(),
        "finalized": store.finalized,
        "finality": store.finality,
        "accounts": 0 if head is None else store.accounts(head.number).next_free - FIRST_FREE,
        "bytes": file_size(path),
    }


def print_lines(answer: dict[str, Any], options: argparse.Namespace) -> None:
    """Print one JSON object, or one line for each field."""
    if options.json:
        print_json(answer)
        return
    width = max(map(len, answer))
    for name, value in answer.items():
        print(f"{name:{width}} {'none' if value is None else value}")


def _info(options: argparse.Namespace) -> int:
    path = Path(options.store)
    with ledger.Store(path, read_only=True) as store:
        answer = describe(store, path)
        tables = ("node", "leaf", "page", "tree", "code")
        answer |= {"rows": {table: store.database.one(f"SELECT count(*) FROM {table}")[0] for table in tables}}
        pages, free = (store.database.one(f"PRAGMA {name}")[0] for name in ("page_count", "freelist_count"))
        log = Path(f"{path}-wal")
        answer |= {"freeBytes": answer["bytes"] * free // max(pages, 1)}
        answer |= {"logBytes": log.stat().st_size if log.exists() else 0}
    print_lines(answer, options)
    return 0


def _verify(options: argparse.Namespace) -> int:
    from feemodel.ledger.maintenance import verify

    def progress(table: str, rows: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{table:8} {rows:>14,}", end="", file=sys.stderr, flush=True)

    with ledger.Store(options.store, read_only=True) as store:
        found = verify(store, progress)
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
        print(f"{options.store}: {found.rows:,} rows, all match their hashes")
    return 0


def _backup(options: argparse.Namespace) -> int:
    from feemodel.ledger.database import file_size
    from feemodel.ledger.maintenance import back_up

    with ledger.Store(options.store, read_only=True) as store:
        head = back_up(store, options.out)
    answer = {
        "store": options.store,
        "file": options.out,
        "head": None if head is None else head.number,
        "stateRoot": None if head is None else "0x" + head.root.hex(),
        "bytes": file_size(Path(options.out)),
    }
    print_lines(answer, options)
    return 0
