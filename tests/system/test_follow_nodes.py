"""`follow` on ordinary nodes: the state of a real anvil and a real geth, proven after each block."""

import json
import time

from eth_hash.auto import keccak
from ethereum_rlp import rlp

from benchmarks.peer_anvil import built_geth, running_geth
from feemodel.ethereum._quantities import from_hex, to_hex
from feemodel.io.node import NodeError
from feemodel.ledger import Store, check_proof, get_proof, import_genesis, parse_genesis
from feemodel.ledger.follow import follow
from feemodel.ledger.maintenance import verify
from feemodel.ledger.scheme import EMPTY_KECCAK
from feemodel.ledger.traces import BEACON_ROOTS, HISTORY, QUEUES, ROOTS
from tests.helpers import anvil
from tests.helpers.development import GENESIS, HOLDERS
from tests.helpers.geth_differences import with_system_contracts
from tests.system.clients import require

SENDER, RECIPIENTS = HOLDERS[0], [bytes([9]) * 19 + bytes([number]) for number in range(3)]
STORES = "602035600035550000"[:16]  # sets slot calldata[0:32] to calldata[32:64]
CREATION = f"6007600155600860025567{STORES}60005260086018f3"  # sets slots 1 and 2, and leaves that code
DESTRUCTION = "33ff"  # a creation that destroys its account


class Peer:
    """A node as `follow` calls it, which also sends transactions."""

    def __init__(self, node, mines):
        self.node, self.mines = node, mines

    def call(self, method, params=()):
        answer = self.node.ask(method, *params)
        if "error" in answer:
            raise NodeError(method, answer["error"]["code"], answer["error"]["message"])
        return answer["result"]

    def receipt(self, transaction):
        """The receipt; `None` while the transaction waits, or while geth, which just started, indexes its blocks."""
        try:
            return self.call("eth_getTransactionReceipt", [transaction])
        except NodeError as error:
            if "indexing is in progress" in str(error):
                return None
            raise

    def send(self, *transactions):
        """Put transactions into blocks; return the number of the newest block."""
        nonce = int(self.call("eth_getTransactionCount", [to_hex(SENDER), "latest"]), 16)
        own = [{"from": to_hex(SENDER), "gas": "0x100000", "nonce": hex(nonce + n)} for n in range(len(transactions))]
        hashes = [self.call("eth_sendTransaction", [base | one]) for base, one in zip(own, transactions, strict=True)]
        if self.mines:
            self.call("evm_mine")
        end = time.monotonic() + 30
        while not all(receipts := [self.receipt(one) for one in hashes]):
            assert time.monotonic() < end
            time.sleep(0.05)
        assert all(receipt["status"] == "0x1" for receipt in receipts), receipts
        return max(int(receipt["blockNumber"], 16) for receipt in receipts)


def created(nonce):
    return keccak(rlp.encode([SENDER, nonce.to_bytes(8).lstrip(b"\0")]))[12:]


def stores(contract, slot, value):
    return {"to": to_hex(contract), "data": to_hex(slot.to_bytes(32) + value.to_bytes(32))}


def state_of(peer, address, block):
    """Nonce, balance and hash of the code; `None` of what is not there."""
    ask = [to_hex(address), hex(block)]
    nonce, balance = (int(peer.call(f"eth_get{name}", ask), 16) for name in ("TransactionCount", "Balance"))
    code = from_hex(peer.call("eth_getCode", ask))
    return (nonce, balance, keccak(code) if code else EMPTY_KECCAK) if nonce or balance or code else None


def follows(peer, genesis, path, blocks):
    """Import the blocks that the node calls final, and prove what the node says of every account after each."""
    listed = {account.address: account for account in parse_genesis(json.loads(genesis.read_bytes()))}
    nonce = int(peer.call("eth_getTransactionCount", [to_hex(SENDER), "latest"]), 16)
    contract, lost, made = created(nonce), created(nonce + 3), created(nonce + 7)
    peer.send({"data": f"0x{CREATION}"})
    peer.send(stores(contract, 1, 0), {"to": to_hex(lost), "value": "0x5"})
    peer.send({"data": f"0x{DESTRUCTION}", "value": "0x7"}, stores(contract, 3, 9), stores(contract, 1, 4))
    peer.send({"to": to_hex(RECIPIENTS[0]), "value": "0x1"})
    peer.send({"data": f"0x{CREATION}"}, stores(contract, 2, 0), stores(contract, 3, 0))
    newest = peer.send({"to": to_hex(RECIPIENTS[1]), "value": "0x2"})
    blocks()
    miner = from_hex(peer.call("eth_getBlockByNumber", ["0x1", False])["miner"])
    with Store(path) as store:
        first = peer.call("eth_getBlockByNumber", ["0x0", False])
        import_genesis(store, listed.values(), block_hash=from_hex(first["hash"]))
        follow(store, peer, confirmations=None, interval=0, wait=lambda seconds: True)
        assert store.head.number >= newest
        verify(store)
        addresses = {*listed, SENDER, miner, contract, lost, made, *RECIPIENTS}
        for number in range(newest + 1):
            header = peer.call("eth_getBlockByNumber", [hex(number), False])
            moment = int(header["timestamp"], 16) % ROOTS
            rings = {BEACON_ROOTS: [moment, moment + ROOTS], HISTORY: [(number - 1) % ROOTS]}
            slots = {contract: [1, 2, 3], made: [1, 2, 3]} | {queue: range(4) for queue in QUEUES} | rings
            if number == 0:
                slots = {one.address: [int.from_bytes(slot) for slot, *_ in one.storage] for one in listed.values()}
            for address in addresses:
                keys = [hex(slot) for slot in slots.get(address, [1, 2, 3])]
                proof = get_proof(store, to_hex(address), keys, hex(number))
                proven = check_proof(proof, root=store.block(number).root, address=address, storage_keys=keys)
                account = proven.account
                found = account and (account.nonce, account.balance, account.keccak_code_hash)
                assert found == state_of(peer, address, number)
                for slot, value in proven.storage.items():
                    assert value == int(peer.call("eth_getStorageAt", [to_hex(address), slot, hex(number)]), 16)


def test_the_final_blocks_of_a_real_anvil(tmp_path):
    require(anvil.binary())
    genesis = json.loads(GENESIS.read_bytes())
    small = tmp_path / "genesis.json"
    kept = {where: account for where, account in genesis["alloc"].items() if not account.get("code")}
    small.write_text(json.dumps(genesis | {"alloc": kept}))
    with anvil.running(small) as node:
        peer = Peer(node, mines=True)
        peer.call("anvil_impersonateAccount", [to_hex(SENDER)])
        peer.call("evm_setAutomine", [False])
        follows(peer, small, tmp_path / "ledger.db", lambda: peer.call("anvil_mine", [hex(70)]))


def test_the_final_blocks_of_a_real_geth(tmp_path):
    program = built_geth()
    require(program)
    genesis = with_system_contracts(program, tmp_path)
    with anvil.asking() as pool, running_geth(program, tmp_path, pool, genesis, develops=True) as node:
        peer = Peer(node, mines=False)

        def finish():  # geth's development mode calls the blocks of whole epochs of 32 blocks final
            newest = int(peer.call("eth_blockNumber"), 16)
            while (final := peer.call("eth_getBlockByNumber", ["finalized", False])) is None or (
                int(final["number"], 16) < newest
            ):
                peer.send({"to": to_hex(RECIPIENTS[1]), "value": "0x1"})

        follows(peer, genesis, tmp_path / "ledger.db", finish)
