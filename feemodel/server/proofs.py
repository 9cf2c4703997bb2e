"""Proofs of the rollup's state from a ledger."""

import asyncio
from typing import Any

from feemodel.errors import LimitExceeded
from feemodel.estimates.json_types import Address, Block
from feemodel.ethereum._quantities import to_quantity
from feemodel.io.polled import Head, Polled
from feemodel.ledger.proof import HEAD_TAGS, STEP, proof_steps
from feemodel.ledger.store import Store
from feemodel.server.errors import INVALID_PARAMS, CallError


class Ledger:
    """Ledger from which proofs are created.

    Each call for a proof tries to open the ledger file until an attempt succeeds; the file then stays open.

    Parameters
    ----------
    path : path of the ledger file.
    head : newest block of the node, which the tags of its newest blocks name; `None` without a node.
    """

    def __init__(self, path: str, head: Polled[Head] | None = None) -> None:
        self.path, self._head = path, head
        self._store: Store | None = None
        self._one_long = asyncio.Lock()  # only one long proof at a time, to limit memory

    def store(self) -> Store:
        """Return the open store; raises `UnreadableFile` if the file cannot be read."""
        if self._store is None:
            self._store = Store(self.path, read_only=True)
        return self._store

    async def proof(self, address: Address, storageKeys: list[Any], block: Block) -> dict[str, Any]:  # noqa: N803
        """Return Merkle proofs of an account and its slots at a final block."""
        number = self._head.value.number if self._head is not None and block.tag in HEAD_TAGS else block.number
        named = block.hash or (block.tag if number is None else to_quantity(number)) or "0x0"
        try:
            steps = proof_steps(self.store(), address, storageKeys, named)
            if len(storageKeys) <= STEP:
                return next(steps)
            async with self._one_long:
                proof = next(steps)
                for _ in steps:  # each step proves more slots
                    await asyncio.sleep(0)  # let other calls run between the steps
            return proof
        except LimitExceeded as error:  # too many storage keys, not a busy server
            raise CallError(INVALID_PARAMS, str(error)) from None

    def close(self) -> None:
        """Close the file."""
        if self._store is not None:
            self._store.close()
