"""`feemodel ledger`: describe, check, copy, export or change the file of a ledger."""

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from feemodel import ledger
from feemodel.cli._options import MissingOption, add_store, count, whole_from_0
from feemodel.cli._output import print_json
from feemodel.errors import InvalidInput, LedgerDamaged

SHOWN = 20  # maximum number of findings that are printed
#: Options of each action, and whether each option is required. The option `--store` belongs to every action.
OPTIONS = {
    "info": {},
    "verify": {},
    "backup": {"out": True},
    "prune": {"keep": True},
    "export": {"out": True, "first": False, "last": False},
    "rollback": {"to": True},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=OPTIONS, metavar="ACTION", help=", ".join(OPTIONS))
    add_store(parser)
    parser.add_argument(
        "--out", metavar="FILE", help="for backup and export: file to create (export: - for standard output)"
    )
    parser.add_argument("--keep", type=count, metavar="N", help="for prune: number of blocks that keep their state")
    parser.add_argument("--to", type=whole_from_0, metavar="N", help="for rollback: the block that becomes the head")
    parser.add_argument(
        "--first", type=whole_from_0, metavar="N", help="for export: the first block (default: the oldest stored block)"
    )
    parser.add_argument("--last", type=whole_from_0, metavar="N", help="for export: the last block (default: the head)")
    parser.epilog = (
        "info: print the contents of the ledger; the number of accounts includes accounts that were destroyed. "
        "verify: check every row against its hashes. "
        "backup: copy the ledger, even while another process imports blocks. "
        "prune: delete the state of all but the newest N blocks; the state from the newest final block on, and the "
        "hashes and state roots of all blocks, are kept. "
        "export: write the blocks as state changes, one JSON object per line, for feemodel follow --blocks. "
        "rollback: remove the blocks after N, if none of them is final. prune needs as much free disk space as the "
        "ledger uses. A process that imports blocks waits up to 30 seconds for prune and rollback, then exits with 3. "
        "Exit codes: 0 success; 2 an option or a block that does not fit the ledger; 3 a file or a ledger that cannot "
        "be read or written, or is damaged."
    )


def run(options: argparse.Namespace) -> int:
    for name in ("out", "keep", "to", "first", "last"):
        value, allowed = getattr(options, name), OPTIONS[options.action]
        if value is not None and name not in allowed:
            takers = " or ".join(action for action, taken in OPTIONS.items() if name in taken)
            raise InvalidInput(f"--{name}", f"expected only with {takers}", value)
        if value is None and allowed.get(name):
            raise MissingOption(f"--{name}", f"required with {options.action}")
    actions: dict[str, Callable[[argparse.Namespace], int]] = {
        "info": _info, "verify": _verify, "backup": _backup, "prune": _prune, "export": _export,
        "rollback": _rollback,
    }  # fmt: skip
    return actions[options.action](options)


def describe(store: "ledger.Store", path: Path) -> dict[str, Any]:
    """Describe a ledger: its chain, blocks, accounts and size."""
    from feemodel.ledger._database import file_size
    from feemodel.ledger._scheme import FIRST_FREE
    from feemodel.ledger._store import FORMAT

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
        held = None if store.head is None else store.head.number - store.oldest + 1
        with store.database.read_whole():
            rows = {
                table: store.database.one(f"SELECT count(*) FROM {table}")[0]
                for table in ("node", "leaf", "key", "branch", "tree", "code")
            }
        answer |= {"oldestState": store.oldest if held else None, "statesHeld": held or 0, "rows": rows}
        pages, free = (store.database.one(f"PRAGMA {name}")[0] for name in ("page_count", "freelist_count"))
        log = Path(f"{path}-wal")
        answer |= {"freeBytes": answer["bytes"] * free // max(pages, 1)}
        answer |= {"logBytes": log.stat().st_size if log.exists() else 0}
    print_lines(answer, options)
    return 0


def _verify(options: argparse.Namespace) -> int:
    from feemodel.ledger._maintenance import verify

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
    from feemodel.ledger._database import file_size
    from feemodel.ledger._maintenance import back_up

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


def _prune(options: argparse.Namespace) -> int:
    from feemodel.ledger._database import file_size
    from feemodel.ledger._maintenance import prune

    with ledger.Store(options.store, create=False) as store:
        before = file_size(Path(options.store))
        pruned = prune(store, options.keep)
        after = file_size(Path(options.store))
    answer = {"store": options.store, "oldestState": pruned.oldest, "rowsDeleted": pruned.rows}
    print_lines(answer | {"bytesBefore": before, "bytes": after}, options)
    return 0


def _rollback(options: argparse.Namespace) -> int:
    with ledger.Store(options.store, create=False) as store:
        removed = store.rollback(options.to)
    print_lines({"store": options.store, "head": options.to, "blocksRemoved": removed}, options)
    return 0


def _export(options: argparse.Namespace) -> int:
    from feemodel.io._files import written_whole
    from feemodel.ledger._files import show_block
    from feemodel.ledger.blocks import get_stored_blocks

    to_output = options.out == "-"
    if to_output and options.json:
        raise InvalidInput("--json", "expected only if --out names a file", options.out)
    written = 0
    with (
        ledger.Store(options.store, read_only=True) as store,
        nullcontext(sys.stdout.buffer) if to_output else written_whole(options.out) as file,
    ):
        for block in get_stored_blocks(store, options.first, options.last):
            file.write(json.dumps(show_block(block)).encode() + b"\n")
            written += 1
        file.flush()
    if not to_output:
        print_lines({"store": options.store, "file": options.out, "blocks": written}, options)
    return 0
