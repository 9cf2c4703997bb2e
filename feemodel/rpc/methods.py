"""The methods of the server, by the names they have on the wire."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from feemodel.ledger.changes import GenesisAccount
from feemodel.ledger.genesis import import_genesis
from feemodel.ledger.method import KEY_LIMIT, get_proof
from feemodel.ledger.store import Store
from feemodel.units import WEI_PER_ETH, from_hex

# The first ten accounts of the mnemonic "test test test test test test test test test test test junk", path
# m/44'/60'/0'/0/n: the development accounts of anvil and Hardhat, whose keys everybody knows.
DEVELOPMENT_ADDRESSES = (
    "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
    "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc",
    "0x90f79bf6eb2c4f870365e785982e1f101e93b906",
    "0x15d34aaf54267db7d7c367839aaf71a00a2c6a65",
    "0x9965507d1a55bcc2695c58ba16fb37d819b0a4dc",
    "0x976ea74026e726554db657fa54763abd0c3a0aa9",
    "0x14dc79964da2c08b23698b3d3cc7ca32193d9955",
    "0x23618e81e3f5cdf7f54c3d65f7fbc0abf5b21e8f",
    "0xa0ee7a142d267c1f36714e4a8f75612f20a79720",
)
DEVELOPMENT_BALANCE = 10_000 * WEI_PER_ETH


def development_genesis() -> list[GenesisAccount]:
    """The allocation that an unconfigured server starts from."""
    return [GenesisAccount(from_hex(address), balance=DEVELOPMENT_BALANCE) for address in DEVELOPMENT_ADDRESSES]


def development_store(path: str | Path) -> Store:
    """A new ledger whose only block is the development genesis, which is final."""
    store = Store(path)
    import_genesis(store, development_genesis())
    store.finalize(0)
    return store


def proof_methods(store: Store, *, key_limit: int = KEY_LIMIT) -> dict[str, Callable[..., Any]]:
    """`rollup_getProof` on a store, under its production name too."""

    def rollup_get_proof(address: Any, storageKeys: Any, block: Any) -> dict[str, Any]:  # noqa: N803 the wire's name
        return get_proof(store, address, storageKeys, block, key_limit=key_limit)

    return {"rollup_getProof": rollup_get_proof, "linea_getProof": rollup_get_proof}
