"""Chains without new blocks: a latest block and the state after it, read from a geth genesis.

A server without configuration uses the development genesis, which has funded accounts and a few real contracts. The
package includes the ledger of the development genesis, which `scripts/build-ledger` writes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from feemodel.checks import UINT256_MAX
from feemodel.errors import ExecutionFailed, InvalidInput, UnreadableFile
from feemodel.ethereum._block_id import BlockId
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import as_bytes, from_hex, from_number, to_hex, to_quantity
from feemodel.ethereum._transaction import rlp_encoded
from feemodel.ethereum.fee_market import ELASTICITY, next_base_fee
from feemodel.execution._forks import FORKS, Fork
from feemodel.execution._state import Account, Block, CallState
from feemodel.io.files import opened, parse_json, reading
from feemodel.io.shipped import shipped_path
from feemodel.ledger.blocks import AccountChange, import_genesis
from feemodel.ledger.files import genesis_chain_id, parse_genesis
from feemodel.ledger.store import Store

GENESIS, LEDGER = "development/genesis.json", "development/ledger.db"
#: (key, fork), newest first: the key in the `config` of a geth genesis that gives the fork's activation time or block.
_ACTIVATIONS = (
    ("bpo2Time", "bpo2"), ("bpo1Time", "bpo1"), ("osakaTime", "osaka"), ("pragueTime", "prague"),
    ("cancunTime", "cancun"), ("shanghaiTime", "shanghai"), ("mergeNetsplitBlock", "paris"), ("londonBlock", "london"),
)  # fmt: skip
INITIAL_BASE_FEE = 1_000_000_000  # EIP-1559 [wei / gas]
EMPTY_TRIE, EMPTY_UNCLES, EMPTY_REQUESTS = keccak256(rlp_encoded(b"")), keccak256(rlp_encoded([])), sha256(b"").digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainState:
    """A block, and the state after the block; calls are executed on this state."""

    call_state: CallState
    extra_data: bytes = b""  #: extra data of the block, which contains the pricing record
    hash: bytes | None = None  #: hash of the block; `None` if unknown
    state_root: bytes | None = None  #: root of the ledger's Merkle tree and of `rollup_getProof` proofs

    @property
    def next_base_fee(self) -> int:
        """Base fee of the next block, by EIP-1559, if this block is empty [wei / gas]."""
        block = self.call_state.block
        if block.gas_limit < ELASTICITY:  # avoid a division by a gas target of 0
            return block.base_fee
        return int(next_base_fee(block.base_fee, 0, block.gas_limit))

    def is_newest(self, block: BlockId) -> bool:
        """Return whether a block parameter names the block."""
        number = self.call_state.block.number
        if block.hash is not None:
            return block.hash == self.hash
        return block.number == number if block.tag is None else block.tag != "earliest" or number == 0

    def check(self, block: BlockId | None) -> None:
        """Raise the same error as a node for a block whose state is not available; `None` means the newest block."""
        if block is not None and not self.is_newest(block):
            number = self.call_state.block.number
            named = block.tag or (to_quantity(block.number or 0) if block.hash is None else to_hex(block.hash))
            raise ExecutionFailed(f"header not found: {named:.100}, the newest block is {number:#x}")

    def block(self) -> dict[str, Any]:
        """Return the block as `eth_getBlockByNumber` does, with an empty list of transactions."""
        header = _header(self)
        shown = {
            name: to_hex(value) if isinstance(value, bytes) else to_quantity(value) for name, value in header.items()
        }
        return {
            **shown,
            "hash": self.hash and to_hex(self.hash),
            "stateRoot": self.state_root and to_hex(self.state_root),
            "totalDifficulty": to_quantity(self.call_state.block.difficulty),
            "size": to_quantity(len(rlp_encoded(header.values()))),
            "transactions": [],
            "uncles": [],
            "withdrawals": [],
        }


def genesis_chain(genesis: Mapping[str, Any], *, state_root: bytes | None = None) -> ChainState:
    """Return the chain whose only block is a geth genesis, in which London must be active.

    `state_root` is the root of the ledger's Merkle tree for the allocation. Geth uses another kind of state tree, so
    its block hash of the same genesis is different. Raises `InvalidInput`, naming the field.
    """
    config = genesis.get("config") if isinstance(genesis, Mapping) else None
    if not isinstance(config, Mapping) or "chainId" not in config:
        raise InvalidInput("genesis.config", "expected an object with chainId", config)
    block = Block(
        number=_number(genesis, "number", 0),
        timestamp=_number(genesis, "timestamp", 0),
        gas_limit=_number(genesis, "gasLimit"),
        base_fee=_number(genesis, "baseFeePerGas", INITIAL_BASE_FEE),
        coinbase=_sized(genesis, "coinbase", 20),
        prev_randao=_sized(genesis, "mixHash", 32),
        difficulty=_number(genesis, "difficulty", 0),
        excess_blob_gas=_number(genesis, "excessBlobGas", 0),
    )
    call_state = CallState(
        accounts={account.address: _account(account) for account in parse_genesis(genesis)},
        block=block,
        chain_id=_number(config, "chainId"),
        fork=_fork_at(config, block),
    )
    extra_data = from_hex(genesis.get("extraData") or "0x", "genesis.extraData")
    chain = ChainState(call_state=call_state, extra_data=extra_data, state_root=state_root)
    own_hash = keccak256(rlp_encoded(_header(chain).values()))
    named = replace(block, hashes={block.number: own_hash})  # what BLOCKHASH returns in later simulated blocks
    return replace(chain, hash=own_hash, call_state=replace(call_state, block=named))


def read_genesis_document(path: str | Path) -> dict[str, Any]:
    """Return the JSON object of a geth genesis file, which may be gzipped; raises `UnreadableFile`."""
    with reading(path), opened(path) as file:
        document = parse_json(file.read())
    if not isinstance(document, dict):
        raise UnreadableFile(f"{path}: expected a JSON object")
    return document


def _header(chain: ChainState) -> dict[str, bytes | int]:
    """Return the header's fields in the order of RLP. All fields of a Prague header are always included."""
    block = chain.call_state.block
    return {
        "parentHash": bytes(32),
        "sha3Uncles": EMPTY_UNCLES,
        "miner": block.coinbase,
        "stateRoot": chain.state_root or bytes(32),
        "transactionsRoot": EMPTY_TRIE,
        "receiptsRoot": EMPTY_TRIE,
        "logsBloom": bytes(256),
        "difficulty": block.difficulty,
        "number": block.number,
        "gasLimit": block.gas_limit,
        "gasUsed": 0,
        "timestamp": block.timestamp,
        "extraData": chain.extra_data,
        "mixHash": block.prev_randao,
        "nonce": bytes(8),
        "baseFeePerGas": block.base_fee,
        "withdrawalsRoot": EMPTY_TRIE,
        "blobGasUsed": 0,
        "excessBlobGas": block.excess_blob_gas,
        "parentBeaconBlockRoot": bytes(32),
        "requestsHash": EMPTY_REQUESTS,
    }


def _account(allocated: AccountChange) -> Account:
    slots = {int.from_bytes(slot): value for slot, _, value in allocated.storage}
    nonce, balance, _ = allocated.after or (0, 0, b"")
    return Account(balance=balance, nonce=nonce, code=allocated.code or b"", storage=slots)


def _fork_at(config: Mapping[str, Any], block: Block) -> Fork:
    for key, name in _ACTIVATIONS:
        active = block.timestamp if key.endswith("Time") else block.number
        if config.get(key) is not None and _number(config, key) <= active:
            return FORKS[name]
    raise InvalidInput("genesis.config", "expected the rules of London or of a later upgrade", config)


def _number(document: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """Return a number of a genesis file, written as a JSON number, decimal text or hexadecimal text."""
    if (value := document.get(name)) is None and default is not None:
        return default
    return from_number(value, f"genesis.{name}", maximum=UINT256_MAX)


def _sized(document: Mapping[str, Any], name: str, size: int) -> bytes:
    value = document.get(name)
    return bytes(size) if value is None else as_bytes(f"genesis.{name}", value, size=size)


def development_genesis() -> dict[str, Any]:
    """Return the development genesis; `data/development/README.md` lists its accounts and contracts."""
    return read_genesis_document(shipped_path(GENESIS))


def copy_development_ledger(path: str | Path) -> None:
    """Write the ledger of the development genesis to a new file; the ledger's only block is finalized."""
    Path(path).write_bytes(shipped_path(LEDGER).read_bytes())


def build_ledger(path: str | Path, genesis: dict[str, Any], *, final: bool = True) -> None:
    """Write a new ledger whose only block is a genesis block, by default final."""
    with Store(path) as store:
        import_genesis(store, parse_genesis(genesis), final=final)
        if (chain_id := genesis_chain_id(genesis)) is not None:
            store.set_chain_id(chain_id)
