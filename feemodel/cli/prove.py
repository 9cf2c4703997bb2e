"""`feemodel prove`: prove an account and its storage slots from a ledger."""

import json
from pathlib import Path
from typing import Annotated

from feemodel import ledger
from feemodel.cli.output import Answer, print_json
from feemodel.cli.parameters import Store, text
from feemodel.cli.verb import verb
from feemodel.ethereum._quantities import from_typed, to_quantity


@verb(out=(".json",), what="the proof")
def command(
    *,
    store: Store,
    address: Annotated[str, text("address of the account", "HEX")],
    slot: Annotated[list[str], text("storage slot; may be repeated", "HEX")] = (),  # type: ignore[assignment]
    block: Annotated[str, text("block number or tag", "BLOCK")] = "finalized",
    file: Path | None = None,
    overwrite: bool = False,
) -> Answer | int:
    """Prove an account and its storage slots from a ledger. The proof is checked before it is written."""
    from feemodel.io.files import written_whole
    from feemodel.ledger.proof import final_block

    number = from_typed(block)
    wanted = block if number is None or number < 0 else to_quantity(number)
    with ledger.Store(store, read_only=True) as opened:
        proof = ledger.get_proof(opened, address, list(slot), wanted)
        proven = opened.block(final_block(opened, wanted))
    if file is None:
        print_json(proof)
        return 0
    with written_whole(file, overwrite=overwrite) as stream:
        stream.write(json.dumps(proof, indent=2).encode())
    root = "0x" + proven.root.hex()
    data = {"file": str(file), "block": proven.number, "stateRoot": root}
    return Answer(data, notes=[f"{file}: block {proven.number:,}, state root {root}"])
