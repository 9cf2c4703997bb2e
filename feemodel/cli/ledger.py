"""Verbs of a ledger: `ledger` (describe, check, copy), `prove`, `check-proof` and `finalize`."""

import json
from pathlib import Path
from typing import Annotated, Any

from feemodel import ledger
from feemodel.cli import UsageError
from feemodel.cli.output import Answer, Table, print_json
from feemodel.cli.parameters import Address, Slots, Store, one_of, text, whole
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import from_typed, to_hex, to_quantity
from feemodel.ledger.database import file_size
from feemodel.ledger.maintenance import back_up, verify
from feemodel.ledger.proof import final_block
from feemodel.ledger.scheme import FIRST_FREE
from feemodel.ledger.store import FORMAT
from feemodel.progress import reporting

ACTIONS = ("info", "verify", "backup")


@verb()
def command(
    action: Annotated[str, one_of("action", ACTIONS)],
    /,
    *,
    store: Store,
    out: Annotated[str | None, text("for backup: file to create", "FILE")] = None,
) -> Answer:
    """Operate a ledger: print its contents, check every row against its hashes, or copy it during an import."""
    if out is not None and action != "backup":
        raise InvalidInput("out", "expected only with backup", out)
    if out is None and action == "backup":
        raise UsageError("--out: required with backup")
    with ledger.Store(store, read_only=True) as opened:
        if action == "verify":
            with reporting(True, None, "checking rows"):
                rows = verify(opened)
            return Answer({"store": store, "rows": rows}, notes=[f"{store}: {rows:,} rows, all match their hashes"])
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
    return Answer(answer, [_listed("", "field", answer)])


def _listed(title: str, head: str, values: dict[str, Any]) -> Table:
    return Table(title, [{head: name, "value": "none" if value is None else value} for name, value in values.items()])


@verb(out=(".json",), what="the proof")
def prove(
    *,
    store: Store,
    address: Address,
    slot: Slots = (),  # type: ignore[assignment]
    block: Annotated[str, text("block number or tag", "BLOCK")] = "finalized",
    file: Path | None = None,
) -> Answer | int:
    """Prove an account and its storage slots from a ledger. The proof is checked before it is written."""
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


@verb()
def check_proof(
    proof: Annotated[str, text("the result of rollup_getProof, or the whole JSON-RPC response", "FILE")],
    /,
    *,
    root: Annotated[str, text("state root of the block on L1", "HEX")],
    address: Address | None = None,
    slot: Slots = (),  # type: ignore[assignment]
) -> Answer:
    """Check a proof against a state root and print what it proves."""
    proven = ledger.check_proof(ledger.read_proof(proof), root=root, address=address, storage_keys=slot or None)
    account, found = proven.account, None
    if account is not None:
        found = {"nonce": account.nonce, "balance": account.balance, "storageRoot": to_hex(account.storage_root),
                 "codeHash": to_hex(account.keccak_code_hash), "codeSize": account.code_size}  # fmt: skip
    storage = {name: hex(value) for name, value in proven.storage.items()}
    title = "The proof is valid." if account is not None else "The proof is valid. The account does not exist."
    tables = [_listed(title, "account", found or {}), _listed("", "slot", storage)]
    return Answer({"holds": True, "account": found, "storage": storage}, tables[: 1 + bool(storage)])


@verb()
def finalize(*, store: Store, block: Annotated[int, whole("number of the newest final block")]) -> Answer:
    """Mark a block of a ledger final. A final block cannot become non-final again."""
    with ledger.Store(store, create=False) as opened:
        opened.finalize(block)
    return Answer({"store": store, "finalized": block}, notes=[f"{store}: block {block:,} is final"])
