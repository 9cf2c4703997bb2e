"""`feemodel check-proof`: check a proof against a state root."""

from typing import Annotated, Any

from feemodel import ledger
from feemodel.cli.output import Answer, Table
from feemodel.cli.parameters import text
from feemodel.cli.verb import verb


@verb()
def command(
    proof: Annotated[str, text("the result of rollup_getProof, or the whole JSON-RPC response", "FILE")],
    /,
    *,
    root: Annotated[str, text("state root of the block on L1", "HEX")],
    address: Annotated[str | None, text("the requested account", "HEX")] = None,
    slot: Annotated[list[str] | None, text("a requested storage slot, in the order of the request", "HEX")] = None,
) -> Answer:
    """Check a proof against a state root and print what it proves."""
    proven = ledger.check_proof(ledger.read_proof(proof), root=root, address=address, storage_keys=slot)
    account, found = proven.account, None
    if account is not None:
        found = {
            "nonce": account.nonce,
            "balance": account.balance,
            "storageRoot": "0x" + account.storage_root.hex(),
            "keccakCodeHash": "0x" + account.keccak_code_hash.hex(),
            "codeSize": account.code_size,
        }
    storage = {name: hex(value) for name, value in proven.storage.items()}
    rows: list[tuple[str, Any]] = [
        *(found or {}).items(),
        *((f"slot {name}", value) for name, value in storage.items()),
    ]
    title = "The proof is valid." if account is not None else "The proof is valid. The account does not exist."
    return Answer({"holds": True, "account": found, "storage": storage}, [Table(title, ("", "value"), rows, left=2)])
