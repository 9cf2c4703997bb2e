"""The methods that the server answers itself: of its own chain, gas prices with a node, and proofs."""

import asyncio
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from feemodel import __version__
from feemodel.errors import InvalidInput, LimitExceeded, UpstreamError
from feemodel.estimates.json_types import Address, Block, BlockCount, CallObject, HexData, Overrides, Quantity
from feemodel.estimates.prices import reward, suggested_tip
from feemodel.estimates.rollup import EstimateOptions
from feemodel.ethereum._quantities import from_quantity, to_hex, to_quantity
from feemodel.ethereum.fee_market import MIN_BLOB_BASE_FEE
from feemodel.execution._clients import GETH_NODE
from feemodel.execution._estimate import returned
from feemodel.execution._state import blob_base_fee
from feemodel.io.node import NodeError
from feemodel.io.polled import Head, Polled, quantity_in
from feemodel.ledger.proof import HEAD_TAGS, KEY_LIMIT, STEP, proof_steps
from feemodel.ledger.store import Store
from feemodel.server.dispatch import INVALID_PARAMS, METHOD_NOT_FOUND, CallError
from feemodel.server.execute import Executor
from feemodel.server.node import Upstream
from feemodel.server.prices import CurrentPrices

_KEYS = {"items": {"type": "string", "pattern": "^0x[0-9a-fA-F]{1,64}$"}, "maxItems": KEY_LIMIT}
StorageKeys: TypeAlias = Annotated[list[Any], Meta(extra_json_schema=_KEYS)]
Percentiles: TypeAlias = Annotated[list[Annotated[float, Meta(ge=0, le=100)]], Meta(max_length=100)]


class ChainMethods:
    """Methods that are answered from the state of one chain; every public function is a JSON-RPC method."""

    def __init__(self, executor: Executor, pricing: CurrentPrices) -> None:
        self._executor, self._chain, self._pricing = executor, executor.chain, pricing
        self._block = self._chain.block()

    def eth_chainId(self) -> Quantity:
        """Return the chain's id."""
        return to_quantity(self._chain.call_state.chain_id)

    def net_version(self) -> str:
        """Return the chain's id in decimal digits."""
        return str(self._chain.call_state.chain_id)

    def eth_blockNumber(self) -> Quantity:
        """Return the number of the newest block."""
        return to_quantity(self._chain.call_state.block.number)

    def eth_getBlockByNumber(self, block: Block, full: bool = False) -> dict[str, Any] | None:
        """Return a block's header; the chain stores no transactions."""
        return self._block if self._chain.is_newest(block) else None

    def eth_getTransactionCount(self, address: Address, block: Block | None = None) -> Quantity:
        """Return an account's nonce."""
        self._chain.check(block)
        return to_quantity(self._chain.call_state.account(address).nonce)

    def eth_getBalance(self, address: Address, block: Block | None = None) -> Quantity:
        """Return an account's balance in wei."""
        self._chain.check(block)
        return to_quantity(self._chain.call_state.account(address).balance)

    def eth_getCode(self, address: Address, block: Block | None = None) -> HexData:
        """Return an account's code."""
        self._chain.check(block)
        return to_hex(self._chain.call_state.account(address).code)

    async def eth_call(
        self, call: CallObject, block: Block | None = None, overrides: Overrides | None = None
    ) -> HexData:
        """Return the data that a call returns."""
        call_state = self._executor.state(EstimateOptions(block=block, overrides=overrides))
        message, gas = GETH_NODE.call(call, call_state, self._executor.limits)
        outcome = await self._executor.run("execute", call_state, message, gas)
        return to_hex(returned(message, outcome, gas, call_state.fork))

    async def eth_estimateGas(
        self, call: CallObject, block: Block | None = None, overrides: Overrides | None = None
    ) -> Quantity:
        """Return the gas limit that a call needs."""
        found = await self._executor.gas(call, EstimateOptions(block=block, overrides=overrides), GETH_NODE)
        return to_quantity(found.limit)

    def eth_gasPrice(self) -> Quantity:
        """Return the rollup's announced gas price: the next base fee plus the suggested priority fee."""
        prices = self._pricing.now
        return to_quantity(prices.form.base_fee + suggested_tip(prices))

    def eth_maxPriorityFeePerGas(self) -> Quantity:
        """Return the priority fee of the announced gas price."""
        return to_quantity(suggested_tip(self._pricing.now))

    def eth_feeHistory(
        self, blockCount: BlockCount, newestBlock: Block, rewardPercentiles: Percentiles | None = None
    ) -> dict[str, Any]:
        """Return the base fees of the newest block, with the suggested priority fee as every reward."""
        if not 0 < blockCount <= 1_024:  # as in geth
            raise InvalidInput("blockCount", "expected 1 to 1,024", blockCount)
        self._chain.check(newestBlock)
        call_state, prices = self._chain.call_state, self._pricing.now
        blob_fee = to_quantity(blob_base_fee(call_state) if call_state.fork.blob_update_fraction else MIN_BLOB_BASE_FEE)
        history = {
            "oldestBlock": to_quantity(call_state.block.number),
            "baseFeePerGas": [to_quantity(call_state.block.base_fee), to_quantity(prices.form.base_fee)],
            "gasUsedRatio": [0.0],
            "baseFeePerBlobGas": [blob_fee, blob_fee],
            "blobGasUsedRatio": [0.0],
        }
        if rewardPercentiles is not None:
            tip = to_quantity(reward(prices, self._pricing.settings.typical_size))
            history["reward"] = [[tip] * len(rewardPercentiles)]
        return history


class NodeMethods:
    """Gas prices for wallets that do not use an estimate: the node's, but at least what the rollup requires."""

    def __init__(self, upstream: Upstream, pricing: CurrentPrices) -> None:
        self._upstream, self._pricing, self._size = upstream, pricing, pricing.settings.typical_size

    async def eth_gasPrice(self) -> Quantity:
        """Return the node's gas price, but at least the rollup's for a typical transaction."""
        price = quantity_in("eth_gasPrice", await self._upstream.ask("eth_gasPrice", []))
        prices = self._pricing.now
        return to_quantity(max(price, prices.form.base_fee + reward(prices, self._size)))

    async def eth_maxPriorityFeePerGas(self) -> Quantity:
        """Return the node's priority fee, but at least the rollup's for a typical transaction."""
        try:
            tip = quantity_in("eth_maxPriorityFeePerGas", await self._upstream.ask("eth_maxPriorityFeePerGas", []))
        except NodeError as error:
            if error.code != METHOD_NOT_FOUND:  # without an answer, a wallet would take a tip of its own
                raise
            tip = 0
        return to_quantity(max(tip, reward(self._pricing.now, self._size)))

    async def eth_feeHistory(
        self, blockCount: Any, newestBlock: Any, rewardPercentiles: list[float] | None = None
    ) -> dict[str, Any]:
        """Return the node's fee history, in which rewards and next base fee are at least the rollup's."""
        history = await self._upstream.ask("eth_feeHistory", [blockCount, newestBlock, rewardPercentiles or []])
        if not isinstance(history, dict):
            raise UpstreamError("the node: eth_feeHistory: expected an object")
        least, base_fee = reward(self._pricing.now, self._size), self._pricing.now.form.base_fee

        def raised(name: str, fee: Any, least: int) -> Quantity:
            return to_quantity(max(from_quantity(fee, name), least))

        try:
            if history.get("reward"):
                history["reward"] = [[raised("reward", fee, least) for fee in row or ()] for row in history["reward"]]
            if history.get("baseFeePerGas"):
                history["baseFeePerGas"][-1] = raised("baseFeePerGas", history["baseFeePerGas"][-1], base_fee)
        except (InvalidInput, TypeError) as error:
            raise UpstreamError(self._upstream.node.anonymous(f"the node: eth_feeHistory: {error}")) from None
        return history


class Ledger:
    """Ledger from which proofs are created; with a node, `HEAD_TAGS` such as "latest" name its newest block.

    Raises `UnreadableFile` if the file cannot be read.
    """

    def __init__(self, path: Path, head: Polled[Head] | None = None) -> None:
        self.store, self._head = Store(path, read_only=True), head
        self._one_long = asyncio.Lock()  # only one long proof at a time, to limit memory

    async def proof(self, address: Address, storageKeys: StorageKeys, block: Block) -> dict[str, Any]:
        """Return Merkle proofs of an account and its slots at a final block."""
        number = self._head.value.number if self._head is not None and block.tag in HEAD_TAGS else block.number
        named = block.hash or (block.tag if number is None else to_quantity(number)) or "0x0"
        try:
            steps = proof_steps(self.store, address, storageKeys, named)
            if len(storageKeys) <= STEP:
                return next(steps)
            async with self._one_long:
                proof = next(steps)
                for _ in steps:  # each step proves more slots
                    await asyncio.sleep(0)  # let other calls run between the steps
            return proof
        except LimitExceeded as error:  # too many storage keys, not a busy server
            raise CallError(INVALID_PARAMS, str(error)) from None


def accounts() -> list[Address]:
    """Return an empty list: the server signs for no accounts."""
    return []


def client_version() -> str:
    """Return name and version of the server."""
    return f"feemodel/{__version__}"
