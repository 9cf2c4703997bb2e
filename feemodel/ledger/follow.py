"""Import the final blocks of a node, or the blocks of a file, into the store in order."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum._quantities import from_quantity, hash_bytes, to_hex, to_quantity
from feemodel.ledger.blocks import BlockChanges, check_successor, import_block
from feemodel.ledger.files import parse_trie_log_element
from feemodel.ledger.store import Store
from feemodel.ledger.traces import traced_block

if TYPE_CHECKING:
    from feemodel.io.node import Node

LONGEST_PAUSE = 60.0  # maximum pause between two attempts to reach a failed node [s]
METHOD_NOT_FOUND = -32601  # JSON-RPC 2.0
BLOCKS_A_REQUEST = 100  # maximum number of trie logs in a request; a full block has a trie log of about 1 MB


def import_blocks(
    store: Store,
    blocks: Iterable[BlockChanges],
    *,
    final: bool,
    progress: Callable[[int], object] = lambda number: None,
) -> int:
    """Import blocks that follow the head; return the number of imported blocks.

    A block that is already in the store is compared with the stored block by its hash, and skipped. `final` is whether
    the blocks are final. `progress` is called with the number of each block.

    Raises `InvalidInput` for a block that does not follow the head, does not match the state, or does not have the
    hash of the stored block with the same number. Blocks that were imported before an error stay in the store.
    """
    count = 0
    for block in blocks:
        head = store.head
        if head is not None and block.number <= head.number:
            stored = store.block(block.number).hash
            if stored is None or block.hash != stored:
                shown = "unknown" if stored is None else to_hex(stored)
                reason = f"expected the hash of block {block.number} of the ledger, {shown}"
                raise InvalidInput("block hash", reason, block.hash and to_hex(block.hash))
        else:
            import_block(store, block, final=final)
            count += 1
        progress(block.number)
    return count


def get_blocks(node: "Node", store: Store, *, confirmations: int | None = None) -> Iterator[BlockChanges]:
    """Yield the final blocks after the head of a store, from a node.

    The changes are trie logs of the Shomei plug-in or, if the node does not have the plug-in, traces of transactions.

    A block is final after `confirmations` later blocks; `None` means the blocks that the node calls final. Blocks
    cannot be removed from the store, not even after a reorganisation.

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


def _newest(node: "Node", confirmations: int | None) -> int:
    """Return the number of the newest final block of a node, or -1 if no block is final."""
    if confirmations is not None:
        return from_quantity(node.call("eth_blockNumber"), "eth_blockNumber") - confirmations
    final = node.call("eth_getBlockByNumber", ["finalized", False])
    return -1 if final is None else from_quantity(final["number"], "number")


def follow(
    store: Store,
    node: "Node",
    *,
    confirmations: int | None,
    interval: float,
    wait: Callable[[float], bool],
    on_failure: Callable[[UpstreamError, float], object] | None = None,
    progress: Callable[[int], object] = lambda number: None,
) -> None:
    """Import the blocks of `get_blocks` again and again, until `wait` returns true; the store has a genesis block.

    `wait` is called with the pause before the next request, which is `interval` [s] unless the node fails: the pause
    then doubles with each failure, up to a minute. `on_failure` is called with the node's error and the pause; without
    it, the error is raised. Raises the errors of `get_blocks` and `import_blocks`.
    """
    after_failure = interval
    while True:
        try:
            import_blocks(store, get_blocks(node, store, confirmations=confirmations), final=True, progress=progress)
            pause = after_failure = interval
        except UpstreamError as error:
            if on_failure is None:
                raise
            pause, after_failure = after_failure, max(interval, min(2 * after_failure, LONGEST_PAUSE))
            on_failure(error, pause)
        if wait(pause):
            return


def _trie_logs(node: "Node", first: int, last: int) -> Iterator[BlockChanges]:
    elements, count = node.call("shomei_getTrieLogsByRange", [first, last]), last - first + 1
    if not isinstance(elements, list) or len(elements) != count:
        raise UpstreamError(f"shomei_getTrieLogsByRange: expected {count} trie logs from block {first} on")
    return map(parse_trie_log_element, elements)
