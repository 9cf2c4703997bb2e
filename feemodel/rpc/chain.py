"""A chain without new blocks: its newest one, and the state after it; from a geth genesis or from replayed blocks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feemodel.checks import UINT256_MAX
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ethereum.fee_market import ELASTICITY, next_base_fee
from feemodel.ethereum.hashes import keccak256
from feemodel.ethereum.quantities import as_bytes, from_hex, from_number, to_hex, to_quantity
from feemodel.execution.forks import FORKS
from feemodel.execution.simulated_block import encode_header, header_fields, header_reply
from feemodel.execution.state import Account, Block, CallState
from feemodel.io.documents import contents, parse_json
from feemodel.ledger.blocks import GenesisAccount
from feemodel.ledger.files import parse_genesis, reading

if TYPE_CHECKING:
    from feemodel.io.replay import Replay


#: Where a geth genesis says that rules begin, newest first: the key in its `config`, and the rules.
_ACTIVATIONS = (
    ("bpo2Time", "bpo2"), ("bpo1Time", "bpo1"), ("osakaTime", "osaka"), ("pragueTime", "prague"),
    ("cancunTime", "cancun"), ("shanghaiTime", "shanghai"), ("mergeNetsplitBlock", "paris"), ("londonBlock", "london"),
    ("berlinBlock", "berlin"), ("istanbulBlock", "istanbul"), ("petersburgBlock", "constantinople"),
    ("byzantiumBlock", "byzantium"), ("eip158Block", "spurious_dragon"), ("eip150Block", "tangerine_whistle"),
    ("homesteadBlock", "homestead"),
)  # fmt: skip
INITIAL_BASE_FEE = 1_000_000_000  # EIP-1559 [wei / gas]
_WITH_BASE_FEE = frozenset(list(FORKS)[list(FORKS).index("london") :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The state that calls are executed on, and the block that it belongs to."""

    call_state: CallState
    extra_data: bytes = b""  #: of the block, where its pricing record stands
    hash: bytes | None = None  #: `None` where the source does not tell it
    parent_hash: bytes = bytes(32)
    state_root: bytes | None = None  #: of the ledger's tree, under which `rollup_getProof` proves
    gas_used: int = 0  #: by the block, or where refunds are not known the most that it can be [gas]

    @property
    def next_base_fee(self) -> int:
        """The base fee of the block that would come next, by EIP-1559 [wei / gas]."""
        block = self.call_state.block
        if block.gas_limit < ELASTICITY:  # which has no gas target
            return block.base_fee
        return int(next_base_fee(block.base_fee, min(self.gas_used, block.gas_limit), block.gas_limit))

    def block(self) -> dict[str, Any]:
        """The block as `eth_getBlockByNumber` answers; without transactions, of which this chain keeps none."""
        header = _header(self)
        return {
            **header_reply(header),
            "hash": _hex(self.hash),
            "stateRoot": _hex(self.state_root),
            "totalDifficulty": to_quantity(self.call_state.block.difficulty),
            "size": to_quantity(len(encode_header(header))),
            "transactions": [],
            "uncles": [],
            "withdrawals": [],
        }


def genesis_chain(genesis: Mapping[str, Any], *, state_root: bytes | None = None) -> Chain:
    """The chain whose only block is a geth genesis.

    Parameters
    ----------
    genesis : the document: `config` with `chainId` and when each rules begin, `alloc`, `gasLimit`, and what it has of
        `timestamp`, `baseFeePerGas`, `extraData`, `coinbase`, `mixHash`, `difficulty`, `number`. As in geth the base
        fee is 1 gwei where it is absent and London holds.
    state_root : of the ledger's tree over the same allocation. The block's hash is that of a header with this root, so
        it is not the one that geth computes, whose state tree is another.

    Raises `InvalidInput` that names the field.
    """
    config = genesis.get("config") if isinstance(genesis, Mapping) else None
    if not isinstance(config, Mapping) or "chainId" not in config:
        raise InvalidInput("genesis.config", "expected an object with chainId", config)
    block = Block(
        number=_number(genesis, "number", 0),
        timestamp=_number(genesis, "timestamp", 0),
        gas_limit=_number(genesis, "gasLimit"),
        base_fee=0,
        coinbase=_sized(genesis, "coinbase", 20),
        prev_randao=_sized(genesis, "mixHash", 32),
        difficulty=_number(genesis, "difficulty", 0),
        excess_blob_gas=_number(genesis, "excessBlobGas", 0),
    )
    fork = _fork_at(config, block)
    first = INITIAL_BASE_FEE if fork in _WITH_BASE_FEE else 0
    block = replace(block, base_fee=_number(genesis, "baseFeePerGas", first))
    call_state = CallState(
        accounts={account.address: _account(account) for account in parse_genesis(genesis)},
        block=block,
        chain_id=_number(config, "chainId"),
        fork=FORKS[fork],
    )
    extra_data = from_hex(genesis.get("extraData") or "0x", "genesis.extraData")
    parent_hash = _sized(genesis, "parentHash", 32)
    chain = Chain(call_state=call_state, extra_data=extra_data, parent_hash=parent_hash, state_root=state_root)
    found = keccak256(encode_header(_header(chain)))
    named = replace(block, hashes={block.number: found})  # to BLOCKHASH in a simulated block behind it
    return replace(chain, hash=found, call_state=replace(call_state, block=named))


def replay_chain(replay: "Replay") -> Chain:
    """The chain at the last block of a replay, after its transactions; only what they touched is there."""
    from feemodel.estimates.replay import final_state

    last = replay.blocks[-1]
    return Chain(
        call_state=final_state(replay),
        extra_data=last.extra_data,
        hash=replay.block_hashes.get(last.number),
        parent_hash=last.parent_hash,
        gas_used=sum(transaction.gas_used for transaction in last.transactions),
    )


def read_genesis_document(path: str | Path) -> dict[str, Any]:
    """A geth genesis file as it stands, which may be gzipped; raises `UnreadableFile`."""
    with reading(path):
        document = parse_json(contents(path))
    if not isinstance(document, dict):
        raise UnreadableFile(f"{path}: expected a JSON object")
    return document


def _header(chain: Chain) -> dict[str, bytes | int]:
    """The header, as since Prague whatever the rules."""
    return header_fields(
        chain.call_state.block, FORKS["prague"], parent_hash=chain.parent_hash, state_root=chain.state_root,
        extra_data=chain.extra_data,
    )  # fmt: skip


def _account(account: GenesisAccount) -> Account:
    slots = {int.from_bytes(slot): value for slot, value in account.storage.items()}
    return Account(balance=account.balance, nonce=account.nonce, code=account.code, storage=slots)


def _fork_at(config: Mapping[str, Any], block: Block) -> str:
    for key, name in _ACTIVATIONS:
        if config.get(key) is not None:
            begins = _number(config, key)
            if begins <= (block.timestamp if key.endswith("Time") else block.number):
                return name
    return "frontier"


def _number(document: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """A number of a genesis file: of JSON, decimal or hexadecimal text."""
    value = document.get(name)
    if value is None and default is not None:
        return default
    return from_number(value, f"genesis.{name}", maximum=UINT256_MAX)


def _sized(document: Mapping[str, Any], name: str, size: int) -> bytes:
    value = document.get(name)
    return bytes(size) if value is None else as_bytes(f"genesis.{name}", value, size=size)


def _hex(data: bytes | None) -> str | None:
    return None if data is None else to_hex(data)
