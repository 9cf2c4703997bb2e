"""`feemodel follow`: import blocks of state changes into a ledger, from files or from a node."""

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feemodel import ledger
from feemodel.cli._options import above_0, whole_from_0
from feemodel.cli.output import print_json
from feemodel.errors import InvalidInput, UnreadableFile

if TYPE_CHECKING:
    from feemodel.ledger.blocks import BlockChanges


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", required=True, metavar="FILE", help="ledger file")
    parser.add_argument(
        "--hashing", choices=("poseidon2", "mimc"), help="hash function of a new ledger (default: poseidon2)"
    )
    parser.add_argument("--genesis", metavar="FILE", help="geth genesis file for a new ledger")
    parser.add_argument("--chain-id", type=whole_from_0, metavar="N",
                        help="chain id of a new ledger (default: of the genesis file, or of the node)")  # fmt: skip
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--blocks", metavar="FILE", help="state changes, one JSON object per line; - for standard input"
    )
    source.add_argument("--trie-logs", metavar="FILE", help="production trie logs, one JSON object per line")
    source.add_argument(
        "--node",
        metavar="URL",
        help="node with the Shomei plug-in; new blocks are imported until the command is interrupted",
    )
    parser.add_argument("--finality", nargs="+", metavar="RULE",
                        help="immediate, depth N, or l1 URL; stored in the ledger (default: the stored rule; in a "
                        "ledger without a rule, no block becomes final)")  # fmt: skip
    parser.add_argument("--change-finality", action="store_true", help="replace the stored rule with --finality")
    parser.add_argument(
        "--contract", metavar="HEX", help="the rollup's contract on L1, for --finality l1 (default: of Linea mainnet)"
    )
    parser.add_argument("--exit-when-node-fails", action="store_true",
                        help="exit with 4 if the node fails (default: retry, with pauses that double up to one "
                        "minute; a node that has never answered always ends the command)")  # fmt: skip
    parser.add_argument(
        "--confirmations", type=whole_from_0, default=2, help="confirmations before a node's block is imported"
    )
    parser.add_argument(
        "--interval", type=above_0, default=2.0, metavar="SECONDS", help="time between two requests to the node"
    )
    parser.epilog = (
        "Without a source of blocks, this command prints the head of the ledger. Blocks that the ledger already has "
        "are compared with the ledger and skipped. After an error, the blocks before the failed block remain "
        "imported. Exit codes: 0 success or SIGTERM; 2 an option or a block that does not fit the ledger; 3 a file "
        "or a ledger that cannot be read or written, or is damaged; 4 a node failed; 130 interrupted."
    )


def run(options: argparse.Namespace) -> int:
    from feemodel.cli._finality import check_rule, finality_rule

    if options.finality is not None:
        finality_rule(options.finality, options.contract)
    path, blocks = Path(options.store), _blocks(options)
    exists = path.exists()
    given = (options.genesis, options.chain_id, options.blocks, options.trie_logs, options.node, options.finality,
             options.contract)  # fmt: skip
    if exists and not options.change_finality and given == (None,) * len(given):
        with ledger.Store(path, hashing=options.hashing, read_only=True) as store:
            return _report(store, options)
    if not exists:
        check_rule(None, options.finality, change=options.change_finality, contract=options.contract)
        _create(path, options, blocks)
    with ledger.Store(path, hashing=options.hashing, create=False) as store:
        check_rule(store.finality, options.finality, change=options.change_finality, contract=options.contract)
        if exists and options.genesis is not None:
            _import_genesis(store, options)
        if options.chain_id is not None:
            store.set_chain_id(options.chain_id)
        with _stopping():
            _import(store, options, blocks)
        return _report(store, options)


def _blocks(options: argparse.Namespace) -> "Iterator[BlockChanges]":
    if options.blocks is not None:
        return ledger.read_blocks(options.blocks)
    return ledger.read_trie_logs(options.trie_logs) if options.trie_logs is not None else iter(())


def _create(path: Path, options: argparse.Namespace, blocks: "Iterator[BlockChanges]") -> None:
    """Create a ledger with its first block. The file becomes visible only after it is complete."""
    first = None if options.genesis is not None else next(blocks, None)
    if options.genesis is None and first is None:
        raise UnreadableFile(f"{path}: no such ledger; --genesis FILE creates a ledger")
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        part = Path(folder) / path.name
        with ledger.Store(part, hashing=options.hashing) as store:
            if first is None:
                _import_genesis(store, options)
            else:
                ledger.import_block(store, first)
            if options.chain_id is not None:
                store.set_chain_id(options.chain_id)
        try:
            os.link(part, path)  # raises an error if another process has created the file
        except FileExistsError:
            raise UnreadableFile(f"{path}: another process created this ledger at the same time") from None
        except OSError:  # the file system does not support links
            part.rename(path)


def _import_genesis(store: "ledger.Store", options: argparse.Namespace) -> None:
    from feemodel.ledger.files import read_genesis_chain_id

    if (head := store.head) is not None:
        reason = f"expected only for a new ledger, but {store.path} has the head block {head.number}"
        raise InvalidInput("--genesis", reason, options.genesis)
    chain_id = read_genesis_chain_id(options.genesis)
    if chain_id is not None and options.chain_id not in (None, chain_id):
        raise InvalidInput("--chain-id", f"expected {chain_id}, the chain id in {options.genesis}", options.chain_id)
    ledger.import_genesis(store, ledger.read_genesis(options.genesis))
    if chain_id is not None:
        store.set_chain_id(chain_id)


def _import(store: "ledger.Store", options: argparse.Namespace, blocks: "Iterator[BlockChanges]") -> None:
    from feemodel.cli._finality import finality_rule, parse_finality
    from feemodel.ethereum._quantities import from_quantity
    from feemodel.io import Node
    from feemodel.ledger.follow import (
        LINEA_MAINNET_ROLLUP,
        advance,
        follow,
        import_blocks,
        never,
    )

    words: list[str] | None = options.finality
    if words is not None and (rule := finality_rule(words, options.contract)) != store.finality:
        store.set_finality(rule)
    stored, contract = store.finality, options.contract or LINEA_MAINNET_ROLLUP
    finality = parse_finality(words or stored.split(), Node, contract=contract)(store) if stored else never
    progress = _Progress()
    import_blocks(store, blocks, finality, progress)
    if options.node is not None:
        with Node(options.node) as node:
            store.set_chain_id(from_quantity(node.call("eth_chainId"), "eth_chainId"))
            on_failure = None if options.exit_when_node_fails else _say_failure
            follow(store, node, finality, confirmations=options.confirmations, interval=options.interval, wait=_wait,
                   on_failure=on_failure, progress=progress)  # fmt: skip
    advance(store, finality)


class _Progress:
    """Print the newest block and the blocks per second on standard error: one rewritten line, or one line a minute."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._every = 0.2 if self._terminal else 60.0
        self._count, self._told = 0, time.monotonic()

    def __call__(self, number: int) -> None:
        self._count += 1
        passed = time.monotonic() - self._told
        if passed >= self._every:
            start, end = ("\r", "") if self._terminal else ("feemodel: ", "\n")
            print(
                f"{start}block {number:,}, {self._count / passed:,.0f} a second ", end=end, file=sys.stderr, flush=True
            )
            self._count, self._told = 0, time.monotonic()


class _Stop(BaseException):
    """Raised by SIGTERM."""


@contextmanager
def _stopping() -> Iterator[None]:
    """On SIGTERM, end the `with` block without an error. A block that is not completely imported is rolled back."""

    def stop(*_: object) -> None:
        raise _Stop

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except _Stop:
        print("feemodel: stopped", file=sys.stderr)
    finally:
        signal.signal(signal.SIGTERM, before)


def _say_failure(error: Exception, pause: float) -> None:
    print(f"feemodel: {error}; retry in {pause:g} s", file=sys.stderr, flush=True)


def _report(store: "ledger.Store", options: argparse.Namespace) -> int:
    head, finalized, finality = store.head, store.finalized, store.finality
    answer: dict[str, Any] = {
        "store": options.store,
        "head": None if head is None else head.number,
        "stateRoot": None if head is None else "0x" + head.root.hex(),
        "finalized": finalized,
        "finality": finality,
    }
    if options.json:
        print_json(answer)
    elif head is None:
        print(f"{options.store}: empty; --genesis FILE imports the genesis block")
    else:
        newest = "none" if finalized is None else f"{finalized:,}"
        rule = f"by the rule {finality}" if finality else "no finality rule is stored; --finality RULE sets a rule"
        print(f"{options.store}: head {head.number:,}, final {newest} ({rule}), state root {answer['stateRoot']}")
    return 0


def _wait(seconds: float) -> bool:
    """Sleep. Always return `False`, so that the caller's loop continues until an interrupt ends it."""
    time.sleep(seconds)
    return False
