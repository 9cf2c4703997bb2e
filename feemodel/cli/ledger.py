"""Verbs of a ledger: `ledger` (describe, check, copy), `follow`, `prove`, `check-proof` and `finalize`."""

import json
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Annotated, Any

from feemodel import ledger
from feemodel.cli import STDIN, UsageError
from feemodel.cli.output import TABLES, Answer, Table, print_json
from feemodel.cli.parameters import Address, Genesis, NodeUrl, Slots, Store, flag, one_of, real, text, whole
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.estimates.chain import build_ledger, read_genesis_document
from feemodel.ethereum._quantities import from_quantity, from_typed, to_hex, to_quantity
from feemodel.io import Node
from feemodel.io.files import reading
from feemodel.ledger.database import file_size
from feemodel.ledger.follow import follow as follow_node
from feemodel.ledger.follow import import_blocks
from feemodel.ledger.maintenance import back_up, verify
from feemodel.ledger.proof import final_block
from feemodel.ledger.scheme import FIRST_FREE
from feemodel.ledger.store import FORMAT
from feemodel.progress import reporting


@verb()
def command(
    action: Annotated[str, one_of("action", ("info", "verify", "backup"))],
    /,
    *,
    store: Store,
    out: Annotated[str | None, text("for backup: file to create", "FILE")] = None,
) -> Answer:
    if out is not None and action != "backup":
        raise InvalidInput("out", "expected only with backup", out)
    if out is None and action == "backup":
        raise UsageError("--out: required with backup")
    with ledger.Store(store, read_only=True) as opened:
        if action == "verify":
            with reporting(True, None, "checking rows"):
                rows = verify(opened)
            return Answer({"store": store, "rows": rows}, notes=[f"{store}: all {rows:,} rows match their hashes"])
        if out is None:
            return described(opened, Path(store))
        back_up(opened, out)
    with ledger.Store(out, read_only=True) as copied:
        return described(copied, Path(out))


def described(store: "ledger.Store", path: Path) -> Answer:
    """Describe a ledger: its chain, blocks, accounts and size."""
    answer: dict[str, Any] = {"store": str(path), "format": FORMAT, "hashing": store.scheme.name}
    answer |= {"chainId": store.chain_id, "finalized": store.finalized, "bytes": file_size(path)}
    if (head := store.head) is not None:
        answer |= {"head": head.number, "blockHash": head.hash and to_hex(head.hash), "stateRoot": to_hex(head.root)}
        answer["accounts"] = store.accounts(head.number).next_free - FIRST_FREE
    return Answer(answer, [_listed("", "field", answer)], file=[answer])


def _listed(title: str, head: str, values: dict[str, Any]) -> Table:
    return Table(title, [{head: name, "value": "none" if value is None else value} for name, value in values.items()])


@verb(out=TABLES, what="the description")
def follow(
    *,
    store: Store,
    genesis: Genesis = None,
    blocks: Annotated[str | None, text("state changes or trie logs as JSON lines, or -", "FILE")] = None,
    node: NodeUrl | None = None,
    confirmations: Annotated[int | None, whole("later blocks that make a block final (default: the node's)")] = None,
    interval: Annotated[float, real("time between two requests to the node", "s", above=0)] = 2.0,
    final: Annotated[bool, flag("mark the blocks of files final; those of a node always are")] = False,
) -> Answer:
    """A new ledger needs --genesis.

    From a node, new blocks are imported until the command is interrupted; while the node fails, it is asked again.
    Blocks that the ledger already has are compared with the ledger and skipped.
    After an error, the blocks before the failed block remain imported.
    """
    if final and genesis is None and blocks is None:
        raise InvalidInput("--final", "expected only with --genesis or --blocks", final)
    if blocks is not None and node is not None:
        raise InvalidInput("--node", "expected either this or --blocks", node)
    path = Path(store)
    changes = iter(()) if blocks is None else ledger.read_blocks("-" if blocks == STDIN else blocks)
    if genesis is not None:
        if path.exists():
            raise InvalidInput("--genesis", f"expected only for a new ledger, but {path} exists", genesis)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder, reading(genesis):
            part = Path(folder) / path.name
            build_ledger(part, read_genesis_document(genesis), final=final)
            os.link(part, path)  # the ledger is complete when it becomes visible; an error if the file exists by now
    elif not path.exists():
        raise UnreadableFile(f"{path}: no such ledger; --genesis FILE creates a ledger")
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # a block that is not completely imported is rolled back
    with ledger.Store(path, create=False) as opened, reporting(True, None, "blocks") as report:
        import_blocks(opened, changes, final=final, progress=lambda number: report(1))
        if node is not None:
            with Node(node) as client:
                opened.set_chain_id(from_quantity(client.call("eth_chainId"), "eth_chainId"))
                follow_node(
                    opened, client, confirmations=confirmations, interval=interval, wait=threading.Event().wait,
                    progress=lambda number: report(1),
                    on_failure=lambda error, pause: print(f"feemodel: {error}; retry in {pause:g} s", file=sys.stderr),
                )  # fmt: skip
        return described(opened, path)


@verb(out=(".json",), what="the proof")
def prove(
    *,
    store: Store,
    address: Address,
    slot: Slots = (),  # type: ignore[assignment]
    block: Annotated[str, text("block number or tag", "BLOCK")] = "finalized",
    file: Path | None = None,
) -> Answer | int:
    """The proof is checked before it is written."""
    number = from_typed(block)
    wanted = block if number is None or number < 0 else to_quantity(number)
    with ledger.Store(store, read_only=True) as opened:
        proof = ledger.get_proof(opened, address, list(slot), wanted)
        proven = opened.block(final_block(opened, wanted))
    if file is None:
        print_json(proof)
        return 0
    data = {"file": str(file), "block": proven.number, "stateRoot": to_hex(proven.root)}
    said = "{file}: block {block:,}, state root {stateRoot}".format(**data)
    return Answer(data, notes=[said], file=json.dumps(proof, indent=2).encode())


@verb(out=TABLES, what="what is proven")
def check_proof(
    proof: Annotated[str, text("the result of rollup_getProof, or the whole JSON-RPC response", "FILE")],
    /,
    *,
    root: Annotated[str, text("state root of the block on L1", "HEX")],
    address: Address | None = None,
    slot: Slots = (),  # type: ignore[assignment]
) -> Answer:
    proven = ledger.check_proof(ledger.read_proof(proof), root=root, address=address, storage_keys=slot or None)
    account = proven.account
    found = account and {
        "nonce": account.nonce, "balance": account.balance, "storageRoot": to_hex(account.storage_root),
        "codeHash": to_hex(account.keccak_code_hash), "codeSize": account.code_size,
    }  # fmt: skip
    storage = {name: hex(value) for name, value in proven.storage.items()}
    title = "The proof is valid." if account is not None else "The proof is valid. The account does not exist."
    tables = [_listed(title, "account", found or {}), _listed("", "slot", storage)]
    one = {"address": address, **(found or {})}
    rows = [one | {"slot": name, "value": storage[name]} for name in storage] or [one]
    return Answer({"holds": True, "account": found, "storage": storage}, tables[: 1 + bool(storage)], file=rows)


@verb()
def finalize(*, store: Store, block: Annotated[int, whole("number of the newest final block")]) -> Answer:
    """A final block cannot become non-final again."""
    with ledger.Store(store, create=False) as opened:
        opened.finalize(block)
    return Answer({"store": store, "finalized": block}, notes=[f"{store}: block {block:,} is final"])
