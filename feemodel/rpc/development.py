"""The chain that an unconfigured server answers from: funded accounts and a few real contracts.

Its ledger ships with its genesis: hashing it takes longer than the rest of a server's start.
`scripts/build-ledger` makes it anew.
"""

import json
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from feemodel.io.shipped import shipped_path

GENESIS, LEDGER = "development/genesis.json", "development/ledger.db"


def development_genesis() -> dict[str, Any]:
    """The geth genesis that ships; `data/development/README.md` lists its accounts and contracts."""
    return dict(json.loads(shipped_path(GENESIS).read_bytes()))


def copy_development_ledger(path: str | Path) -> None:
    """Write the ledger of the development genesis, whose only block is final, to a new file."""
    shutil.copyfile(shipped_path(LEDGER), path)


def build_ledger(path: str | Path, genesis: dict[str, Any]) -> None:
    """Write a new ledger whose only block is a genesis, which is final."""
    from feemodel.ledger.files import genesis_chain_id, parse_genesis
    from feemodel.ledger.genesis import import_genesis
    from feemodel.ledger.store import Store

    with Store(path) as store:
        import_genesis(store, parse_genesis(genesis))
        store.finalize(0)
        if (chain_id := genesis_chain_id(genesis)) is not None:
            store.set_chain_id(chain_id)


if __name__ == "__main__":
    Path(sys.argv[1]).unlink(missing_ok=True)
    build_ledger(sys.argv[1], development_genesis())
    with closing(sqlite3.connect(sys.argv[1])) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")  # one file, without a log next to it
