"""Import blocks into the store in order, and mark final blocks.

Blocks come from a file or from a node; only blocks that are final on the node are imported. Depending on the finality
rule, a block becomes final in the store as soon as it is imported, or when the rollup's contract on L1 has finalized
the block.

Source of the contract: `LineaRollup` of Consensys/linea-monorepo at cb180134. `LINEA_MAINNET_ROLLUP` is the address of
the contract's mainnet proxy.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import WORD_SIZE, address_bytes, from_quantity, hash_bytes, to_hex, to_quantity
from feemodel.ledger.blocks import AccountFields, BlockChanges, check_successor, import_block
from feemodel.ledger.files import parse_trie_log_element
from feemodel.ledger.store import Store, StoredBlock
from feemodel.ledger.traces import traced_block

LINEA_MAINNET_ROLLUP = "0xd19d4B5d358258f05D7B411E21A1460D11B0876F"
CURRENT_BLOCK = keccak256(b"currentL2BlockNumber()")[:4]
STATE_ROOT = keccak256(b"stateRootHashes(uint256)")[:4]
LONGEST_PAUSE = 60.0  # maximum pause between two attempts to reach a failed node [s]
DOUBLINGS = 30
METHOD_NOT_FOUND = -32601  # JSON-RPC 2.0
BLOCKS_A_REQUEST = 100  # maximum number of trie logs in a request; a full block has a trie log of about 1 MB

#: Function that takes the head and returns the number of the newest final block, or `None` if no block is final.
Finality: TypeAlias = Callable[[StoredBlock], int | None]


class Caller(Protocol):
    """Node that answers JSON-RPC calls, such as `feemodel.io.Node`."""

    def call(self, method: str, params: Sequence[Any] = ()) -> Any:
        """Call a JSON-RPC method of the node, and return the result."""


def import_blocks(
    store: Store,
    blocks: Iterable[BlockChanges],
    finality: Finality,
    progress: Callable[[int], object] = lambda number: None,
) -> int:
    """Import blocks that follow the head, and mark blocks that become final; return the number of imported blocks.

    A block that is already in the store is compared with the stored block and skipped. `progress` is called with the
    number of each block.

    Raises `InvalidInput` for a block that does not follow the head, does not match the state, or differs from the
    stored block with the same number. Blocks that were imported before an error stay in the store.
    """
    count = 0
    for block in blocks:
        head = store.head
        if head is not None and block.number <= head.number:
            _check_repeated(store, block)
        else:
            import_block(store, block)
            advance(store, finality)
            count += 1
        progress(block.number)
    return count


def _check_repeated(store: Store, block: BlockChanges) -> None:
    """Raise `InvalidInput` if a block differs from the stored block with the same number.

    Blocks are compared by hash if both hashes are known, and otherwise by the accounts and slots after the block.
    """
    held = store.block(block.number)
    if held.hash is not None and block.hash is not None:
        if block.hash != held.hash:
            reason = f"expected {to_hex(held.hash)}, the hash of block {block.number} of the ledger"
            raise InvalidInput("block hash", reason, to_hex(block.hash))
        return
    for change in block.accounts:
        name = f"block {block.number}: {to_hex(change.address)}"
        fields = AccountFields.of(store.account(block.number, change.address))
        if not change.same and change.after != fields:
            raise InvalidInput(name, f"expected the fields in the ledger, {fields}", change.after)
        for slot, _, after in change.storage:
            value = store.slot(block.number, change.address, slot)
            if value != after:
                where = f"{name} slot {to_hex(slot)}"
                raise InvalidInput(where, f"expected the value in the ledger, {value:#x}", hex(after))


def get_blocks(node: Caller, store: Store, *, confirmations: int | None = None) -> Iterator[BlockChanges]:
    """Yield the final blocks after the head of a store, from a node.

    The changes are trie logs of the Shomei plug-in or, if the node does not have the plug-in, traces of transactions.

    Parameters
    ----------
    confirmations : number of later blocks that make a block final; `None` means the blocks that the node calls final.
        Blocks cannot be removed from the store, not even after a reorganisation.

    Raises `InvalidInput` if the node's block with the number of the head is another block, and `UpstreamError` for an
    invalid response.
    """
    head = store.head
    if head is None:
        raise InvalidInput("store", "expected a store with a genesis block", str(store.path))
    same = node.call("eth_getBlockByNumber", [to_quantity(head.number), False])
    if same is not None:
        check_successor(head, head.number + 1, hash_bytes(same["hash"], "hash"))
    first, newest = head.number + 1, _newest(node, confirmations)
    while first <= newest:
        last = min(newest, first + BLOCKS_A_REQUEST - 1)
        try:
            yield from _trie_logs(node, first, last)
        except UpstreamError as error:
            if getattr(error, "code", None) != METHOD_NOT_FOUND:
                raise
            for number in range(first, last + 1):
                yield traced_block(node, store, number)
        first = last + 1


def _newest(node: Caller, confirmations: int | None) -> int:
    """Return the number of the newest final block of a node, or -1 if no block is final."""
    if confirmations is not None:
        return from_quantity(node.call("eth_blockNumber"), "eth_blockNumber") - confirmations
    final = node.call("eth_getBlockByNumber", ["finalized", False])
    return -1 if final is None else from_quantity(final["number"], "number")


def follow(
    store: Store,
    node: Caller,
    finality: Finality,
    *,
    confirmations: int | None,
    interval: float,
    wait: Callable[[float], bool],
    on_failure: Callable[[UpstreamError, float], object] | None = None,
    progress: Callable[[int], object] = lambda number: None,
) -> None:
    """Import new blocks from a node repeatedly, until `wait` returns true.

    Parameters
    ----------
    store : ledger, open for writing.
    node : node with the Shomei plug-in, or with the `debug` methods.
    finality : rule that returns the newest final block.
    confirmations : number of later blocks that make a block final; `None` means the blocks that the node calls final.
    interval : pause between two requests for new blocks [s].
    wait : function that waits for the given time [s], and returns true to stop.
    on_failure : function that is called if the node fails, with the error and the pause before the next attempt [s].
        The pause doubles with each failure, up to a minute. If `on_failure` is `None`, the node's error is raised.
    progress : function that is called with the number of each block.

    Raises the errors of `get_blocks` and `import_blocks`; the store must have a genesis block.
    """
    failures = 0
    while True:
        try:
            import_blocks(store, get_blocks(node, store, confirmations=confirmations), finality, progress)
            advance(store, finality)
            failures, pause = 0, interval
        except UpstreamError as error:
            if on_failure is None:
                raise
            pause = max(interval, min(interval * 2**failures, LONGEST_PAUSE))
            failures = min(failures + 1, DOUBLINGS)
            on_failure(error, pause)
        if wait(pause):
            return


def _trie_logs(node: Caller, first: int, last: int) -> Iterator[BlockChanges]:
    elements, count = node.call("shomei_getTrieLogsByRange", [first, last]), last - first + 1
    if not isinstance(elements, list) or len(elements) != count:
        raise UpstreamError(f"shomei_getTrieLogsByRange: expected {count} trie logs from block {first} on")
    return map(parse_trie_log_element, elements)


def advance(store: Store, finality: Finality) -> None:
    """Mark all blocks of the store that are final according to a rule."""
    head = store.head
    final = finality(head) if head else None
    if head is None or final is None:
        return
    held = min(final, head.number)  # the newest final block may not be imported yet
    if store.finalized is None or held > store.finalized:
        store.finalize(held)


def immediate(head: StoredBlock) -> int | None:
    """Return the head: every block is final as soon as it is imported."""
    return head.number


def never(head: StoredBlock) -> int | None:
    """Return `None`: no block becomes final automatically."""
    return None


class L1Finality:
    """Finality rule: a block is final when the rollup's contract has finalized the block in L1's `finalized` state.

    If the contract has a state root for the block, the store must have the same state root.

    Parameters
    ----------
    store : store whose blocks are marked as final.
    node : node of L1.
    contract : address of the rollup's contract.
    interval : minimum time between two readings of the contract [s]; 6 s in production.
    """

    def __init__(
        self, store: Store, node: Caller, *, contract: str = LINEA_MAINNET_ROLLUP, interval: float = 6.0
    ) -> None:
        self._store, self._node, self._interval = store, node, interval
        self._contract = to_hex(address_bytes(contract, "contract"))
        self._final: int | None = None
        self._next = -math.inf

    def __call__(self, head: StoredBlock) -> int | None:
        """Return the number of the newest final block; read the contract at most once per interval."""
        if time.monotonic() >= self._next:
            final = int.from_bytes(self._word(CURRENT_BLOCK))
            if final <= head.number:
                self._check_root(final)
            self._final, self._next = final, time.monotonic() + self._interval
        return self._final

    def _check_root(self, number: int) -> None:
        expected, root = self._word(STATE_ROOT + number.to_bytes(WORD_SIZE)), self._store.block(number).root
        if any(expected) and root != expected:
            raise InvalidInput(f"block {number} state root", f"expected {to_hex(expected)} as on L1", to_hex(root))

    def _word(self, data: bytes) -> bytes:
        answer = self._node.call("eth_call", [{"to": self._contract, "data": to_hex(data)}, "finalized"])
        return hash_bytes(answer, "eth_call")
