"""`feemodel follow`: blocks of state changes into a ledger, from files or from a node."""

import argparse
import time
from typing import Any

from feemodel.cli.options import whole_number
from feemodel.cli.output import print_json
from feemodel.errors import InvalidInput


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", required=True, metavar="FILE", help="the ledger, made where it is missing")
    parser.add_argument("--hashing", choices=("poseidon2", "mimc"), help="of a new ledger (poseidon2)")
    parser.add_argument("--genesis", metavar="FILE", help="a geth genesis file, for a new ledger")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--blocks", metavar="FILE", help="state changes, a JSON object a line")
    source.add_argument("--trie-logs", metavar="FILE", help="production trie logs, a JSON object a line")
    source.add_argument("--node", metavar="URL", help="a node with the Shomei plug-in; follows until interrupted")
    parser.add_argument("--finality", nargs="+", default=["immediate"], metavar="RULE",
                        help="immediate, depth N, or l1 URL (immediate)")  # fmt: skip
    parser.add_argument("--confirmations", type=whole_number, default=2, help="of a node's blocks (%(default)s)")
    parser.add_argument("--interval", type=float, default=2.0, metavar="SECONDS", help="of asking (%(default)s)")


def run(options: argparse.Namespace) -> int:
    from feemodel.io import Node
    from feemodel.ledger import Store, import_genesis, read_blocks, read_genesis, read_trie_logs
    from feemodel.ledger.follow import advance, follow, import_blocks, parse_finality

    rule = parse_finality(options.finality, Node)
    with Store(options.store, hashing=options.hashing) as store:
        finality = rule(store)
        if options.genesis is not None:
            if store.head is not None:
                raise InvalidInput("--genesis", f"expected a new ledger, this one stands at block {store.head.number}",
                                   options.genesis)  # fmt: skip
            import_genesis(store, read_genesis(options.genesis))
        if options.blocks is not None:
            import_blocks(store, read_blocks(options.blocks), finality)
        elif options.trie_logs is not None:
            import_blocks(store, read_trie_logs(options.trie_logs), finality)
        elif options.node is not None:
            with Node(options.node) as node:
                follow(
                    store, node, finality, confirmations=options.confirmations, interval=options.interval, wait=_wait
                )
        advance(store, finality)
        return _report(store, options)


def _report(store: Any, options: argparse.Namespace) -> int:
    head = store.head
    answer = {
        "store": options.store,
        "head": None if head is None else head.number,
        "stateRoot": None if head is None else "0x" + head.root.hex(),
        "finalized": store.finalized,
    }
    if options.json:
        print_json(answer)
    elif head is None:
        print(f"{options.store}: empty; --genesis FILE starts it")
    else:
        newest = "none" if store.finalized is None else f"{store.finalized:,}"
        print(f"{options.store}: head {head.number:,}, final {newest}, state root {answer['stateRoot']}")
    return 0


def _wait(seconds: float) -> bool:
    """Sleep; never the end, which an interrupt brings."""
    time.sleep(seconds)
    return False
