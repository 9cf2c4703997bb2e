"""The chain that an unconfigured server answers from: funded accounts and a few real contracts."""

import json
from pathlib import Path
from typing import Any

from feemodel.io.shipped import shipped_path
from feemodel.ledger.files import parse_genesis
from feemodel.ledger.genesis import import_genesis
from feemodel.ledger.store import Store


def development_genesis() -> dict[str, Any]:
    """The geth genesis that ships; `data/development/README.md` says what stands where."""
    return dict(json.loads(shipped_path("development/genesis.json").read_bytes()))


def genesis_store(path: str | Path, genesis: dict[str, Any]) -> Store:
    """A new ledger whose only block is a genesis, which is final."""
    store = Store(path)
    import_genesis(store, parse_genesis(genesis))
    store.finalize(0)
    return store
