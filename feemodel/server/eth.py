"""The `eth_`, `net_` and `web3_` methods on a chain that produces no blocks."""

from collections import ChainMap
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

import feemodel
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.estimates.chain import Chain
from feemodel.estimates.prices import reward, suggested_tip
from feemodel.ethereum.call import Call
from feemodel.ethereum.fee_market import MIN_BLOB_BASE_FEE
from feemodel.ethereum.quantities import slot_bytes, to_hex, to_quantity
from feemodel.execution.engines import Engine
from feemodel.execution.estimate import GasEstimate, estimate_gas, execute_call
from feemodel.execution.limits import Limits
from feemodel.execution.message import Request
from feemodel.execution.state import EMPTY, CallState, blob_base_fee
from feemodel.server.calls import (
    Address,
    Block,
    BlockId,
    CallObject,
    Hash,
    HexData,
    Overrides,
    Quantity,
    StateOverride,
    Uint64,
)
from feemodel.server.dispatch import SERVER_ERROR, CallError, Method
from feemodel.server.execute import Runner, Work
from feemodel.server.prices import Pricing

Found = TypeVar("Found")

MAX_HISTORY = 1_024  # blocks of one eth_feeHistory, as in geth
MAX_PERCENTILES = 100
FEW_BYTES = 8_192  # of calldata; a contract can do much work with more
SLOT_BYTES = 64
LAST_PRECOMPILE = 0x1FF  # EIP-7587: addresses above are no precompiles of Ethereum
SHOWN = 100  # characters of an unknown block in an error


class FeeHistory(msgspec.Struct, rename="camel", omit_defaults=True):
    """The result of `eth_feeHistory`."""

    oldest_block: Quantity
    base_fee_per_gas: list[Quantity]
    gas_used_ratio: list[float]
    base_fee_per_blob_gas: list[Quantity]
    blob_gas_used_ratio: list[float]
    reward: list[list[Quantity]] | None = None


class OverrideLimits(msgspec.Struct, frozen=True):
    """Limits on the size of a state override."""

    accounts: int
    slots: int

    def check(self, overrides: StateOverride | None) -> None:
        """Raise `LimitExceeded` for an override that is larger."""
        if overrides is None:
            return
        if len(overrides.accounts) > self.accounts:
            raise LimitExceeded(f"overrides: at most {self.accounts:,} accounts, got {len(overrides.accounts):,}")
        count = sum(len(one.state or ()) + len(one.state_diff or ()) for one in overrides.accounts.values())
        if count > self.slots:
            raise LimitExceeded(f"overrides: at most {self.slots:,} slots, got {count:,}")


class Executor:
    """Execute calls on the chain: checks of block and override, the state, the place of execution.

    Parameters
    ----------
    chain : whose newest block answers for "latest", "pending", "safe" and "finalized".
    runner : that executes.
    limits : of one call.
    override_limits : on the size of a state override.
    """

    def __init__(self, chain: Chain, runner: Runner, limits: Limits, override_limits: OverrideLimits) -> None:
        self.chain, self.limits, self._runner, self._override_limits = chain, limits, runner, override_limits

    def state(self, block: BlockId | None, overrides: StateOverride | None) -> CallState:
        """Return the state of a block with an override; raises an error like a node's for an unknown block."""
        self.check_block(block)
        call_state = self.chain.call_state
        if overrides is None or not overrides.accounts:
            return call_state
        self._override_limits.check(overrides)
        changes = {at: one.applied_to(call_state.account(at)) for at, one in overrides.accounts.items()}
        return replace(call_state, changes=changes)

    def check_block(self, block: BlockId | None) -> None:
        """Raise the error of a node for a block whose state is not there; `None` is the newest block."""
        if block is not None and not self.is_newest(block):
            text = str(block.given)
            shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
            known = "" if self.chain.hash is None else f" ({to_hex(self.chain.hash)})"
            newest = f"{self.chain.call_state.block.number:#x}{known}"
            raise CallError(SERVER_ERROR, f"header not found: {shown}, the newest block is {newest}")

    def is_newest(self, block: BlockId) -> bool:
        """Return whether a parameter names the newest block."""
        if block.hash is not None:
            return block.hash == self.chain.hash
        number = self.chain.call_state.block.number
        if block.tag is not None:
            return block.tag != "earliest" or number == 0
        return block.number == number

    async def run(self, task: Callable[[Engine], Found], request: Request, call_state: CallState) -> Found:
        """Return what a task that executes a call returns."""
        return await self._runner.run(task, work_of(request, call_state))


def work_of(request: Request, call_state: CallState) -> Work:
    """Return what is known of a call before it is executed."""
    call = request.call
    size = overridden = _overridden_bytes(call_state) if call_state.changes else 0
    size += len(call.data)
    if call.access_list:
        size += SLOT_BYTES * sum(len(slots) for _, slots in call.access_list)
    code = call.data if call.to is None else call_state.account(call.to).code
    return Work(code, size, not (overridden or request.authorizations) and _is_known(call))


def _is_known(call: Call) -> bool:
    """Return whether a call executes code of the chain only, no precompile at length, and has little data."""
    if call.to is None or len(call.data) > FEW_BYTES:
        return False
    return not (call.data and int.from_bytes(call.to) <= LAST_PRECOMPILE)


def _overridden_bytes(call_state: CallState) -> int:
    """Return the bytes of code and of slots that a state override has."""
    size = 0
    for address, account in call_state.changes.items():
        before, storage = call_state.accounts.get(address, EMPTY), account.storage
        if account.code != before.code:
            size += len(account.code)
        if storage is not before.storage:
            written = storage.maps[0] if isinstance(storage, ChainMap) else storage
            size += SLOT_BYTES * max(len(written), 1)
    return size


class ChainMethods:
    """The methods that are answered from one chain.

    Parameters
    ----------
    executor : of the chain.
    pricing : of the gas price that is announced.
    tolerance : of the gas limit search; 0 is exact [1].
    count_estimate : called with every estimate.
    """

    def __init__(
        self,
        executor: Executor,
        pricing: Pricing,
        tolerance: float,
        count_estimate: Callable[[GasEstimate], None],
    ) -> None:
        self._executor, self._chain, self._pricing = executor, executor.chain, pricing
        self._tolerance, self._count_estimate = tolerance, count_estimate
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
        request, limits = call.request(), self._executor.limits

        def task(engine: Engine) -> bytes:
            return execute_call(request, call_state, engine=engine, limits=limits)

        return to_hex(await self._executor.run(task, request, call_state))

    async def estimate_gas(
        self,
        call: CallObject,
        block: Block | None = None,
        overrides: Overrides | None = None,
        blockOverrides: dict[str, Any] | None = None,  # noqa: N803 the name in JSON-RPC
    ) -> Quantity:
        """Return the gas limit that a call needs."""
        call_state = self._executor.state(block, overrides).in_block(blockOverrides)
        request, limits = call.request(), self._executor.limits

        def task(engine: Engine) -> GasEstimate:
            return estimate_gas(
                request, call_state, search="geth", tolerance=self._tolerance, engine=engine, limits=limits
            )

        found = await self._executor.run(task, request, call_state)
        self._count_estimate(found)
        return to_quantity(found.gas_limit)

    def gas_price(self) -> Quantity:
        """Return the gas price that the rollup announces: the next base fee and the suggested priority fee."""
        prices = self._pricing.current()
        return to_quantity(prices.form.base_fee + suggested_tip(prices))

    def max_priority_fee(self) -> Quantity:
        """Return the priority fee of the announced gas price."""
        return to_quantity(suggested_tip(self._pricing.current()))

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
        block, prices = self._chain.call_state.block, self._pricing.current()
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
