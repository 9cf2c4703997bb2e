"""Blocks from a node one after the other."""

import json
import signal
import subprocess
import sys
import time

import pytest
from ethereum_rlp import rlp

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, import_genesis
from feemodel.ledger.follow import follow, get_blocks, import_blocks
from feemodel.ledger.scheme import EMPTY_KECCAK
from tests.helpers.ledger_blocks import address, allocated, block, block_hash, change, fields


def trie_log(number):
    """Block `number` of the chain of these tests: account 1 has as many wei as blocks have passed."""

    def side(balance):
        return [b"", balance.to_bytes(1).lstrip(b"\0"), bytes(32), EMPTY_KECCAK]

    entry = [address(1), b"", [side(number - 1) if number > 1 else b"", side(number), b""], b""]
    return rlp.encode([block_hash(number), number.to_bytes(2).lstrip(b"\0"), entry])


class FakeNode:
    """A node with the plug-in whose chain has `blocks` blocks."""

    def __init__(self, blocks=0):
        self.blocks, self.calls, self.changes = blocks, [], {}
        self.final, self.hashes = None, {}

    def call(self, method, params=()):
        self.calls.append((method, *params))
        if method == "eth_blockNumber":
            return hex(self.blocks)
        if method == "eth_getBlockByNumber":
            number = self.final if params[0] == "finalized" else int(params[0], 16)
            if number is None or number > self.blocks:
                return None
            return {"number": hex(number), "hash": self.hashes.get(number, to_hex(block_hash(number)))}
        first, last = params
        logs = {number: to_hex(trie_log(number)) for number in range(first, min(last, self.blocks) + 1)}
        return [{"trieLog": log} for log in (logs | self.changes).values()]


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "ledger.db") as store:
        import_genesis(store, [allocated(address(2))])
        yield store


def test_a_store_follows_a_node_and_goes_on_where_it_stopped(store):
    node = FakeNode(blocks=5)
    rounds = iter([False, True])

    def wait(interval):
        assert interval == 2.0
        node.blocks = 230
        return next(rounds)

    follow(store, node, confirmations=0, interval=2.0, wait=wait)
    assert store.head.number == 230
    assert store.finalized == 230
    assert [store.account(number, address(1)).balance for number in (1, 5, 230)] == [1, 5, 230]
    ranges = [call[1:] for call in node.calls if call[0] == "shomei_getTrieLogsByRange"]
    assert ranges == [(1, 5), (6, 105), (106, 205), (206, 230)]


def test_blocks_are_taken_when_they_are_confirmed(store):
    node = FakeNode(blocks=6)
    assert import_blocks(store, get_blocks(node, store, confirmations=4), final=True) == 2
    node.blocks = 3
    assert import_blocks(store, get_blocks(node, store, confirmations=4), final=True) == 0


def test_only_blocks_that_the_node_calls_final_are_taken(store):
    node = FakeNode(blocks=6)
    assert import_blocks(store, get_blocks(node, store), final=True) == 0
    node.final = 3
    assert import_blocks(store, get_blocks(node, store), final=True) == 3
    assert store.head.number == 3


def test_a_wrong_answer_of_the_node_is_refused(store):
    node = FakeNode(blocks=3)
    node.changes = {2: to_hex(trie_log(3))}
    with pytest.raises(InvalidInput, match="block number: expected 2, the successor of the head 1"):
        import_blocks(store, get_blocks(node, store, confirmations=0), final=True)
    node = FakeNode(blocks=3)
    others = {"eth_blockNumber": "0x3", "eth_getBlockByNumber": None}
    node.call = lambda method, params=(): others.get(method, [])
    with pytest.raises(UpstreamError, match="expected 2 trie logs from block 2 on"):
        list(get_blocks(node, store, confirmations=0))


def test_following_needs_a_genesis(tmp_path):
    with Store(tmp_path / "empty.db") as store, pytest.raises(InvalidInput, match="a store with a genesis block"):
        follow(store, FakeNode(), confirmations=0, interval=1, wait=lambda _: True)


def test_the_blocks_before_a_wrong_one_stay_imported(store):
    blocks = [block(1, parent_hash=None), block(2), block(4), block(5)]
    with pytest.raises(InvalidInput, match="expected 3, the successor of the head 2"):
        import_blocks(store, blocks, final=True)
    assert (store.head.number, store.finalized) == (2, 2)


def test_a_node_that_was_rolled_back_below_the_head_is_told_from_a_slow_one(store):
    node = FakeNode(blocks=5)
    follow(store, node, confirmations=0, interval=0, wait=lambda interval: True)
    node.blocks = 3
    follow(store, node, confirmations=0, interval=0, wait=lambda interval: True)
    assert store.head.number == 5
    node.blocks, node.hashes = 6, {5: to_hex(bytes(32))}
    with pytest.raises(InvalidInput, match=r"the hash of head 5 of the ledger \(the chain was reorganised"):
        follow(store, node, confirmations=0, interval=0, wait=lambda interval: True)


def test_a_node_that_goes_away_is_asked_again_later_and_later(store):
    node, pauses, told = FakeNode(blocks=2), [], []

    def wait(seconds):
        pauses.append(seconds)
        node.blocks = 3
        node.call = answer if len(pauses) == 8 else fail
        return len(pauses) == 9

    def fail(method, params=()):
        raise UpstreamError("refused")

    answer = node.call
    follow(
        store, node, confirmations=0, interval=2.0, wait=wait,
        on_failure=lambda error, pause: told.append((str(error), pause)),
    )  # fmt: skip

    assert pauses == [2.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 2.0]
    assert told == [("refused", pause) for pause in pauses[1:8]]
    assert store.head.number == 3


def test_a_node_that_goes_away_ends_the_following_by_choice(store):
    def fail(method, params=()):
        raise UpstreamError("refused")

    node = FakeNode()
    node.call = fail
    with pytest.raises(UpstreamError, match="refused"):
        follow(store, node, confirmations=0, interval=2.0, wait=lambda seconds: True)


def test_blocks_that_are_there_are_compared_and_skipped(store):
    blocks = [block(1, change(1, None, fields(0, 1), storage=[(1, 0, 5)]), parent_hash=None), block(2)]
    numbers = []
    assert import_blocks(store, blocks, final=True) == 2
    assert import_blocks(store, [*blocks, block(3)], final=True, progress=numbers.append) == 1
    assert numbers == [1, 2, 3]
    for wrong in (block(2, hash=bytes(32)), block(1, hash=None)):
        with pytest.raises(InvalidInput, match=f"hash of block {wrong.number} of the ledger"):
            import_blocks(store, [wrong], final=True)


def test_a_signal_to_stop_is_no_error(tmp_path):
    genesis, ledger = tmp_path / "genesis.json", tmp_path / "ledger.db"
    genesis.write_text(json.dumps({"alloc": {}}))
    command = [sys.executable, "-m", "feemodel", "follow", "--store", str(ledger)]
    subprocess.run([*command, "--genesis", str(genesis)], check=True, capture_output=True)
    with subprocess.Popen([*command, "--blocks", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b'{"number": "0x1", "accounts": {}}\n')
        process.stdin.flush()
        with Store(ledger, read_only=True) as reader:
            for _ in range(600):
                if reader.head.number == 1:
                    break
                time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0
