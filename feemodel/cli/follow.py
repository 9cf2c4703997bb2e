"""`feemodel follow`: import blocks of state changes into a ledger, from files or from a node."""

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from feemodel import ledger
from feemodel.cli import STDIN
from feemodel.cli.ledger import described
from feemodel.cli.output import Answer
from feemodel.cli.parameters import FLAT, Genesis, Store, flag, one_of, real, text, whole
from feemodel.cli.parameters import Node as NodeUrl
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ethereum._quantities import address_bytes, from_quantity, to_hex
from feemodel.io.address import check_address, without_secrets
from feemodel.ledger.follow import (
    LINEA_MAINNET_ROLLUP,
    Caller,
    Finality,
    L1Finality,
    advance,
    follow,
    immediate,
    import_blocks,
    never,
)
from feemodel.progress import reporting

if TYPE_CHECKING:
    from feemodel.ledger.blocks import BlockChanges


@dataclass(frozen=True)
class Options:
    """Options of the command, without the ledger."""

    hashing: Annotated[
        str | None, one_of("hash function of a new ledger (default: poseidon2)", ("poseidon2", "mimc"))
    ] = None
    genesis: Genesis = None
    chain_id: Annotated[int | None, whole("chain id of a new ledger (default: of the genesis file or the node)")] = None
    blocks: Annotated[str | None, text("state changes, one JSON object per line; - for standard input", "FILE")] = None
    trie_logs: Annotated[str | None, text("production trie logs, one JSON object per line", "FILE")] = None
    node: NodeUrl | None = None
    finality: Annotated[
        list[str] | None, text("immediate, or l1 URL (default: the ledger's)", "RULE", consume_multiple=True)
    ] = None
    change_finality: Annotated[bool, flag("replace the stored rule with --finality")] = False
    contract: Annotated[str | None, text("the rollup's contract on L1, for l1 (default: of Linea mainnet)", "HEX")] = (
        None
    )
    exit_when_node_fails: Annotated[bool, flag("exit with 4 if the node fails (default: retry, with pauses)")] = False
    confirmations: Annotated[
        int | None, whole("later blocks that make a node's block final (default: what the node calls final)", "block")
    ] = None
    interval: Annotated[float, real("time between two requests to the node", "s", above=0)] = 2.0


@verb()
def command(*, store: Store, source: Annotated[Options, FLAT] = Options()) -> Answer:
    """Import blocks of state changes into a ledger, from files or a node.

    A new ledger needs --genesis. From a node, new blocks are imported until the command is interrupted.
    Without a source of blocks, this command prints the head of the ledger. Blocks that the ledger already has are
    compared with the ledger and skipped. After an error, the blocks before the failed block remain imported.
    """
    options = source
    sources = {"blocks": options.blocks, "trie_logs": options.trie_logs, "node": options.node}
    given = {name: value for name, value in sources.items() if value is not None}
    if len(given) > 1:
        raise InvalidInput(
            [*given][1], f"expected either this or --{next(iter(given)).replace('_', '-')}", [*given.values()][1]
        )
    path, blocks = Path(store), _blocks(options)
    exists = path.exists()
    asked = (options.genesis, options.chain_id, *sources.values(), options.finality, options.contract)
    if exists and not options.change_finality and asked == (None,) * len(asked):
        with ledger.Store(path, hashing=options.hashing, read_only=True) as opened:
            return described(opened, path)
    if not exists:
        check_rule(None, options.finality, change=options.change_finality, contract=options.contract)
        _create(path, options, blocks)
    with ledger.Store(path, hashing=options.hashing, create=False) as opened:
        check_rule(opened.finality, options.finality, change=options.change_finality, contract=options.contract)
        if exists and options.genesis is not None:
            _import_genesis(opened, options)
        if options.chain_id is not None:
            opened.set_chain_id(options.chain_id)
        with _stopping():
            _import(opened, options, blocks)
        return described(opened, path)


def _blocks(options: Options) -> "Iterator[BlockChanges]":
    if options.blocks is not None:
        return ledger.read_blocks("-" if options.blocks == STDIN else options.blocks)
    return ledger.read_trie_logs(options.trie_logs) if options.trie_logs is not None else iter(())


def _create(path: Path, options: Options, blocks: "Iterator[BlockChanges]") -> None:
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


def _import_genesis(store: "ledger.Store", options: Options) -> None:
    from feemodel.ledger.files import read_genesis_chain_id

    assert options.genesis is not None  # the caller has checked it
    if (head := store.head) is not None:
        reason = f"expected only for a new ledger, but {store.path} has the head block {head.number}"
        raise InvalidInput("--genesis", reason, options.genesis)
    chain_id = read_genesis_chain_id(options.genesis)
    if chain_id is not None and options.chain_id not in (None, chain_id):
        raise InvalidInput("--chain-id", f"expected {chain_id}, the chain id in {options.genesis}", options.chain_id)
    ledger.import_genesis(store, ledger.read_genesis(options.genesis))
    if chain_id is not None:
        store.set_chain_id(chain_id)


def _import(store: "ledger.Store", options: Options, blocks: "Iterator[BlockChanges]") -> None:
    from feemodel.io import Node

    if options.finality is not None:
        store.set_finality(finality_rule(options.finality, options.contract))
    finality = finality_of(store, options.finality, options.contract, Node)
    with reporting(True, None, "blocks") as report:
        import_blocks(store, blocks, finality, lambda number: report(1))
        if options.node is not None:
            with Node(options.node) as node:
                store.set_chain_id(from_quantity(node.call("eth_chainId"), "eth_chainId"))
                on_failure = None if options.exit_when_node_fails else _say_failure
                follow(
                    store, node, finality, confirmations=options.confirmations, interval=options.interval,
                    wait=threading.Event().wait, on_failure=on_failure, progress=lambda number: report(1),
                )  # fmt: skip
    advance(store, finality)


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


def finality_rule(words: Sequence[str], contract: str | None = None) -> str:
    """Return a finality rule as stored in a ledger: "immediate", "l1", or "l1" with a contract address.

    The URL of the node is left out, because it may contain a password.

    Raises `InvalidInput` for an unknown rule, and for a contract if the rule is not l1.

    >>> finality_rule(["l1", "https://user:password@l1.example"])
    'l1'
    """
    if contract is not None and list(words[:1]) != ["l1"]:
        raise InvalidInput("--contract", "expected only with --finality l1 URL", contract)
    match words:
        case ["immediate"]:
            return "immediate"
        case ["l1", url]:
            check_address("--finality", url)
            return "l1" if contract is None else f"l1 {to_hex(address_bytes(contract, '--contract'))}"
    raise InvalidInput("--finality", "expected immediate or l1 URL", " ".join(map(without_secrets, words)))


def check_rule(stored: str | None, words: Sequence[str] | None, *, change: bool, contract: str | None = None) -> None:
    """Raise `InvalidInput` if the options conflict with the rule stored in the ledger.

    Parameters
    ----------
    stored : rule of the ledger, or `None` if the ledger has no rule.
    words : words after `--finality`, or `None` if this option is not given.
    change : whether the user gave `--change-finality`, so that `words` may replace the stored rule.
    contract : address of the rollup's contract on L1, or `None` if it is not given.
    """
    if words is None:
        if contract is not None:
            raise InvalidInput("--contract", "expected only with --finality l1 URL", contract)
        if change:
            raise InvalidInput("--change-finality", "expected only with --finality RULE", change)
        if stored is not None and stored.startswith("l1"):
            reason = f"expected l1 URL: the ledger's rule is {stored}, and no address of a node is stored"
            raise InvalidInput("--finality", reason, words)
    elif (rule := finality_rule(words, contract)) != stored and stored is not None and not change:
        reason = f"expected {stored}, the rule of this ledger; --change-finality replaces it"
        raise InvalidInput("--finality", reason, rule)


def finality_of(
    store: "ledger.Store", words: Sequence[str] | None, contract: str | None, connect: Callable[[str], Caller]
) -> Finality:
    """Return the rule that is stored in a ledger; for l1, `words` have the URL of the node that `connect` returns."""
    if store.finality is None:
        return never
    if store.finality == "immediate":
        return immediate
    assert words is not None  # `check_rule` has seen to it
    return L1Finality(store, connect(words[1]), contract=contract or LINEA_MAINNET_ROLLUP)
