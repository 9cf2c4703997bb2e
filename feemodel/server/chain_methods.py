"""The `eth_`, `net_` and `web3_` methods on a chain that produces no blocks."""

from itertools import pairwise
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from feemodel import __version__
from feemodel.errors import InvalidInput
from feemodel.estimates.json_types import (
    Address,
    Block,
    BlockCount,
    CallObject,
    Hash,
    HexData,
    Overrides,
    Quantity,
)
from feemodel.estimates.prices import reward, suggested_tip
from feemodel.estimates.rollup import EstimateOptions
from feemodel.ethereum._quantities import slot_bytes, to_hex, to_quantity
from feemodel.ethereum.fee_market import MIN_BLOB_BASE_FEE
from feemodel.execution._clients import GETH_NODE
from feemodel.execution._estimate import returned
from feemodel.execution._state import blob_base_fee
from feemodel.server.dispatch import Method
from feemodel.server.execute import Executor
from feemodel.server.prices import CurrentPrices

MAX_HISTORY = 1_024  # maximum number of blocks in one eth_feeHistory, as in geth
MAX_PERCENTILES = 100

Percentiles: TypeAlias = Annotated[list[Annotated[float, Meta(ge=0, le=100)]], Meta(max_length=MAX_PERCENTILES)]


class FeeHistoryAnswer(msgspec.Struct, rename="camel", omit_defaults=True):
    """The result of `eth_feeHistory`."""

    oldest_block: Quantity
    base_fee_per_gas: list[Quantity]
    gas_used_ratio: list[float]
    base_fee_per_blob_gas: list[Quantity]
    blob_gas_used_ratio: list[float]
    reward: list[list[Quantity]] | None = None


class ChainMethods:
    """Methods that are answered from the state of one chain.

    Parameters
    ----------
    executor : object that executes calls on the chain.
    pricing : prices from which the announced gas price is computed.
    """

    def __init__(self, executor: Executor, pricing: CurrentPrices) -> None:
        self._executor, self._chain, self._pricing = executor, executor.chain, pricing
        self._block = self._chain.block()

    def methods(self) -> dict[str, Method]:
        """Return the methods by name."""
        return {name: Method(getattr(self, name)) for name in CHAIN_METHODS}

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
        return self._block if self._executor.is_newest(block) else None

    def eth_getBlockByHash(self, hash: Hash, full: bool = False) -> dict[str, Any] | None:
        """Return a block's header by its hash."""
        return self._block if hash == self._chain.hash else None

    def eth_getTransactionCount(self, address: Address, block: Block | None = None) -> Quantity:
        """Return an account's nonce."""
        self._executor.check_block(block)
        return to_quantity(self._chain.call_state.account(address).nonce)

    def eth_getBalance(self, address: Address, block: Block | None = None) -> Quantity:
        """Return an account's balance in wei."""
        self._executor.check_block(block)
        return to_quantity(self._chain.call_state.account(address).balance)

    def eth_getCode(self, address: Address, block: Block | None = None) -> HexData:
        """Return an account's code."""
        self._executor.check_block(block)
        return to_hex(self._chain.call_state.account(address).code)

    def eth_getStorageAt(self, address: Address, slot: str, block: Block | None = None) -> HexData:
        """Return the value of a storage slot, 32 bytes."""
        key = int.from_bytes(slot_bytes(slot, "slot"))
        self._executor.check_block(block)
        return f"0x{self._chain.call_state.account(address).storage.get(key, 0):064x}"

    def eth_syncing(self) -> bool:
        """Return false: the chain is not synchronized with another chain."""
        return False

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
        asked = EstimateOptions(block=block, overrides=overrides)
        return to_quantity((await self._executor.gas(call, asked, GETH_NODE)).limit)

    def eth_gasPrice(self) -> Quantity:
        """Return the rollup's announced gas price: the next base fee plus the suggested priority fee."""
        prices = self._pricing.now
        return to_quantity(prices.form.base_fee + suggested_tip(prices))

    def eth_maxPriorityFeePerGas(self) -> Quantity:
        """Return the priority fee of the announced gas price."""
        return to_quantity(suggested_tip(self._pricing.now))

    def eth_feeHistory(
        self,
        blockCount: BlockCount,
        newestBlock: Block,
        rewardPercentiles: Percentiles | None = None,
    ) -> FeeHistoryAnswer:
        """Return the base fees of the newest block, with the suggested priority fee as every reward."""
        if not 0 < blockCount <= MAX_HISTORY:
            raise InvalidInput("blockCount", f"expected 1 to {MAX_HISTORY:,}", blockCount)
        self._executor.check_block(newestBlock)
        block, prices = self._chain.call_state.block, self._pricing.now
        rewards = None
        if rewardPercentiles is not None:
            _check_rising(rewardPercentiles)
            rewards = [[to_quantity(reward(prices, self._executor.settings.typical_size))] * len(rewardPercentiles)]
        return FeeHistoryAnswer(
            oldest_block=to_quantity(block.number),
            base_fee_per_gas=[to_quantity(block.base_fee), to_quantity(prices.form.base_fee)],
            gas_used_ratio=[0.0],
            base_fee_per_blob_gas=[self.eth_blobBaseFee()] * 2,
            blob_gas_used_ratio=[0.0],
            reward=rewards,
        )

    def eth_blobBaseFee(self) -> Quantity:
        """Return the base fee of the next block's blob gas."""
        has_blobs = self._chain.call_state.fork.blob_update_fraction is not None
        return to_quantity(blob_base_fee(self._chain.call_state) if has_blobs else MIN_BLOB_BASE_FEE)


#: Names of the methods that need a chain.
CHAIN_METHODS = tuple(name for name in vars(ChainMethods) if name.startswith(("eth_", "net_")))


def accounts() -> list[Address]:
    """Return an empty list: the server signs for no accounts."""
    return []


def client_version() -> str:
    """Return name and version of the server."""
    return f"feemodel/{__version__}"


def _check_rising(percentiles: list[float]) -> None:
    for index, (lower, value) in enumerate(pairwise(percentiles), start=1):
        if value < lower:
            raise InvalidInput(f"rewardPercentiles[{index}]", f"expected a number from {lower:g} to 100", value)
