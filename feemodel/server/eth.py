"""The `eth_`, `net_` and `web3_` methods on a chain that produces no blocks."""

from collections.abc import Callable
from typing import Any

import msgspec

import feemodel
from feemodel.errors import InvalidInput
from feemodel.estimates.prices import reward, suggested_tip
from feemodel.ethereum.fee_market import MIN_BLOB_BASE_FEE
from feemodel.ethereum.quantities import slot_bytes, to_hex, to_quantity
from feemodel.execution.clients import node_named
from feemodel.execution.estimate import check_tolerance, prepare_call, returned
from feemodel.execution.state import blob_base_fee
from feemodel.server.calls import Address, Block, CallObject, Hash, HexData, Overrides, Quantity, Uint64
from feemodel.server.dispatch import Method
from feemodel.server.execute import Executor
from feemodel.server.prices import Pricing

MAX_HISTORY = 1_024  # blocks of one eth_feeHistory, as in geth
MAX_PERCENTILES = 100
_GETH = node_named("geth")


class FeeHistory(msgspec.Struct, rename="camel", omit_defaults=True):
    """The result of `eth_feeHistory`."""

    oldest_block: Quantity
    base_fee_per_gas: list[Quantity]
    gas_used_ratio: list[float]
    base_fee_per_blob_gas: list[Quantity]
    blob_gas_used_ratio: list[float]
    reward: list[list[Quantity]] | None = None


class ChainMethods:
    """The methods that are answered from one chain.

    Parameters
    ----------
    executor : of the chain.
    pricing : of the gas price that is announced.
    tolerance : of the gas limit search; 0 is exact [1].
    """

    def __init__(self, executor: Executor, pricing: Pricing, tolerance: float) -> None:
        self._executor, self._chain, self._pricing = executor, executor.chain, pricing
        self._tolerance = check_tolerance(tolerance)
        self._block = self._chain.block()

    def methods(self) -> dict[str, Method]:
        """Return the methods by name."""
        functions: dict[str, Callable[..., Any]] = {
            "eth_accounts": accounts,
            "eth_blobBaseFee": self.blob_base_fee,
            "eth_blockNumber": self.block_number,
            "eth_call": self.call,
            "eth_chainId": self.chain_id,
            "eth_estimateGas": self.estimate_gas,
            "eth_feeHistory": self.fee_history,
            "eth_gasPrice": self.gas_price,
            "eth_getBalance": self.balance,
            "eth_getBlockByHash": self.block_by_hash,
            "eth_getBlockByNumber": self.block_by_number,
            "eth_getCode": self.code,
            "eth_getStorageAt": self.storage_at,
            "eth_getTransactionCount": self.transaction_count,
            "eth_maxPriorityFeePerGas": self.max_priority_fee,
            "eth_syncing": syncing,
            "net_version": self.network,
            "web3_clientVersion": client_version,
        }
        return {name: Method(function) for name, function in functions.items()}

    def chain_id(self) -> Quantity:
        """Return the chain's id."""
        return to_quantity(self._chain.call_state.chain_id)

    def network(self) -> str:
        """Return the chain's id in decimal digits."""
        return str(self._chain.call_state.chain_id)

    def block_number(self) -> Quantity:
        """Return the number of the newest block."""
        return to_quantity(self._chain.call_state.block.number)

    def block_by_number(self, block: Block, full: bool = False) -> dict[str, Any] | None:
        """Return a block's header; the chain keeps no transactions."""
        return self._block if self._executor.is_newest(block) else None

    def block_by_hash(self, hash: Hash, full: bool = False) -> dict[str, Any] | None:
        """Return a block's header by its hash."""
        return self._block if hash == self._chain.hash else None

    def transaction_count(self, address: Address, block: Block | None = None) -> Quantity:
        """Return an account's nonce."""
        self._executor.check_block(block)
        return to_quantity(self._chain.call_state.account(address).nonce)

    def balance(self, address: Address, block: Block | None = None) -> Quantity:
        """Return an account's balance in wei."""
        self._executor.check_block(block)
        return to_quantity(self._chain.call_state.account(address).balance)

    def code(self, address: Address, block: Block | None = None) -> HexData:
        """Return an account's code."""
        self._executor.check_block(block)
        return to_hex(self._chain.call_state.account(address).code)

    def storage_at(self, address: Address, slot: str, block: Block | None = None) -> HexData:
        """Return the value of a storage slot, 32 bytes."""
        place = int.from_bytes(slot_bytes(slot, "slot"))
        self._executor.check_block(block)
        return f"0x{self._chain.call_state.account(address).storage.get(place, 0):064x}"

    async def call(
        self,
        call: CallObject,
        block: Block | None = None,
        overrides: Overrides | None = None,
        blockOverrides: dict[str, Any] | None = None,  # noqa: N803 the name in JSON-RPC
    ) -> HexData:
        """Return what a call returns."""
        call_state = self._executor.state(block, overrides).in_block(blockOverrides)
        request = call.request()
        message, gas = prepare_call(request, call_state, self._executor.limits)
        outcome = await self._executor.execute(message, gas, request, call_state)
        return to_hex(returned(message, outcome, gas, call_state.fork))

    async def estimate_gas(
        self,
        call: CallObject,
        block: Block | None = None,
        overrides: Overrides | None = None,
        blockOverrides: dict[str, Any] | None = None,  # noqa: N803 the name in JSON-RPC
    ) -> Quantity:
        """Return the gas limit that a call needs."""
        call_state = self._executor.state(block, overrides).in_block(blockOverrides)
        prepared = _GETH.prepare(call.request(), call_state, tolerance=self._tolerance, limits=self._executor.limits)
        return to_quantity(await self._executor.gas_limit(prepared))

    def gas_price(self) -> Quantity:
        """Return the gas price that the rollup announces: the next base fee and the suggested priority fee."""
        prices = self._pricing.now
        return to_quantity(prices.form.base_fee + suggested_tip(prices))

    def max_priority_fee(self) -> Quantity:
        """Return the priority fee of the announced gas price."""
        return to_quantity(suggested_tip(self._pricing.now))

    def fee_history(
        self,
        blockCount: Uint64,  # noqa: N803 the name in JSON-RPC
        newestBlock: Block,  # noqa: N803
        rewardPercentiles: list[Any] | None = None,  # noqa: N803
    ) -> FeeHistory:
        """Return the base fees of the newest block; rewards are the priority fee that the prices ask."""
        if not 0 < blockCount <= MAX_HISTORY:
            raise InvalidInput("blockCount", f"expected 1 to {MAX_HISTORY:,}", blockCount)
        self._executor.check_block(newestBlock)
        block, prices = self._chain.call_state.block, self._pricing.now
        rewards = None
        if rewardPercentiles is not None:
            _check_percentiles(rewardPercentiles)
            rewards = [[to_quantity(reward(prices))] * len(rewardPercentiles)]
        return FeeHistory(
            oldest_block=to_quantity(block.number),
            base_fee_per_gas=[to_quantity(block.base_fee), to_quantity(prices.form.base_fee)],
            gas_used_ratio=[0.0],
            base_fee_per_blob_gas=[self.blob_base_fee()] * 2,
            blob_gas_used_ratio=[0.0],
            reward=rewards,
        )

    def blob_base_fee(self) -> Quantity:
        """Return the base fee of the next block's blob gas."""
        has_blobs = self._chain.call_state.fork.blob_update_fraction is not None
        return to_quantity(blob_base_fee(self._chain.call_state) if has_blobs else MIN_BLOB_BASE_FEE)


def accounts() -> list[Address]:
    """Return the accounts that the server signs for: none."""
    return []


def syncing() -> bool:
    """Return false: the chain is not synchronized with another one."""
    return False


def client_version() -> str:
    """Return name and version of the server."""
    return f"feemodel/{feemodel.__version__}"


def _check_percentiles(values: list[Any]) -> None:
    if len(values) > MAX_PERCENTILES:
        raise InvalidInput("rewardPercentiles", f"expected at most {MAX_PERCENTILES} numbers", values)
    for index, value in enumerate(values):
        low = values[index - 1] if index else 0
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= 100:
            raise InvalidInput(f"rewardPercentiles[{index}]", f"expected a number from {low} to 100", value)
