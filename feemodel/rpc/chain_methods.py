"""The `eth_` methods on a chain that produces no blocks, as unmodified clients call them next to the rollup's."""

from collections import ChainMap
from collections.abc import Callable
from functools import partial
from typing import Any

from feemodel.errors import InvalidInput
from feemodel.estimates.rollup import RollupEstimate, rollup_estimate
from feemodel.ethereum.call import Call, as_integer
from feemodel.ethereum.fee_market import MIN_BLOB_BASE_FEE
from feemodel.ethereum.quantities import address_bytes, to_hex, to_quantity
from feemodel.execution.access_list import AccessListFound, create_access_list
from feemodel.execution.details import gas_details
from feemodel.execution.engines import Engine, Metered
from feemodel.execution.estimate import GasEstimate, estimate_gas, execute_call
from feemodel.execution.limits import Limits
from feemodel.execution.message import Request, parse_request
from feemodel.execution.next_block import Simulation, in_order, parse_simulation, simulate
from feemodel.execution.simulated_block import simulated_blocks
from feemodel.execution.state import EMPTY, CallState, blob_base_fee
from feemodel.rpc.begun import Begun, following, once
from feemodel.rpc.chain import Chain
from feemodel.rpc.keys import CALLER, Caller
from feemodel.rpc.parameters import check_block, check_size, estimate_options, is_block, no_accounts
from feemodel.rpc.pricing import Pricing, reward, suggested_tip
from feemodel.rpc.runner import Found, Runner

MAX_HISTORY = 1_024  # blocks of one eth_feeHistory, as geth has it
FEW_BYTES = 8_192  # of calldata; a contract can make much work of more
SLOT_BYTES = 64
BLOCK_BYTES = 8_192  # of data count for each simulated block: without a call it takes 0.3 ms
LAST_PRECOMPILE = 0x1FF  # EIP-7587: what lies above is no precompile of Ethereum


class ChainMethods:
    """What is answered from one chain.

    Parameters
    ----------
    chain : whose newest block answers for "latest", "pending", "safe" and "finalized".
    runner : that executes.
    pricing : of estimates, and of the gas price that is announced.
    limits : of one call.
    tolerance : of the gas limit search, 0 is exact [1].
    count_estimate : called with every estimate.
    override_accounts, override_slots : the most of a state override.
    measuring : `codec`, `measured` and `packed`, see `feemodel.estimates.rollup_estimate`.
    """

    def __init__(
        self,
        chain: Chain,
        runner: Runner,
        pricing: Pricing,
        limits: Limits,
        tolerance: float,
        count_estimate: Callable[[GasEstimate], None] = lambda estimate: None,
        *,
        override_accounts: int,
        override_slots: int,
        **measuring: Any,
    ) -> None:
        self._chain, self._runner, self._pricing, self._count_estimate = chain, runner, pricing, count_estimate
        self._block = chain.block()  # which stays: to make it for a request takes as long as two calls
        self._check_size = partial(check_size, accounts=override_accounts, slots=override_slots)
        self._limits, self._tolerance, self._measuring = limits, tolerance, measuring

    def methods(self) -> dict[str, Callable[..., Any]]:
        """The `eth_` and `net_` functions by their names on the wire."""
        return {
            "eth_chainId": self._chain_id,
            "eth_blockNumber": lambda: to_quantity(self._chain.call_state.block.number),
            "eth_getBlockByNumber": self._get_block,
            "eth_getTransactionCount": self._get_transaction_count,
            "eth_getBalance": self._get_balance,
            "eth_getCode": self._get_code,
            "eth_call": self._call,
            "eth_estimateGas": self._eth_estimate_gas,
            "eth_blobBaseFee": lambda: to_quantity(self._blob_base_fee()),
            "eth_createAccessList": self._create_access_list,
            "eth_simulateV1": self._simulate,
            "eth_gasPrice": lambda: to_quantity(self._gas_price()),
            "eth_maxPriorityFeePerGas": lambda: to_quantity(self._priority_fee()),
            "eth_feeHistory": self._fee_history,
            "eth_accounts": no_accounts,
            "eth_syncing": lambda: False,
            "net_version": lambda: str(self._chain.call_state.chain_id),
        }

    def estimate(self, call: Any, second: Any = None, third: Any = None, fourth: Any = None) -> Begun[dict[str, Any]]:
        """What `rollup_estimateGas` answers, with the prices now or their upper bound for some blocks."""
        block, overrides, blocks, wants_details = estimate_options(second, third, fourth)
        self._check(block, overrides)
        request, call_state = parse_request(call), self._chain.call_state
        prices = self._pricing.current() if blocks is None else self._pricing.upper_bound(blocks)
        measured = request
        if overrides:
            sender = request.call.sender
            if sender is not None and request.call.nonce is None:  # what is measured has the nonce of the chain
                nonced = request.call._replace(nonce=call_state.account(sender).nonce)
                measured = request._replace(call=nonced)
            call_state = call_state.overridden(overrides)

        def task(engine: Engine) -> RollupEstimate:
            return rollup_estimate(
                measured, call_state, form=prices.form, margin=prices.preset.estimate_margin, tolerance=self._tolerance,
                engine=engine, limits=self._limits, **self._measuring,
            )  # fmt: skip

        begun = self._run(task, measured, call_state)
        return self._detailed(begun, request, call_state) if wants_details else following(begun, self._counted)

    def _counted(self, found: RollupEstimate) -> dict[str, Any]:
        self._count_estimate(found.gas)
        return found.reply()

    async def _detailed(self, begun: Begun[RollupEstimate], request: Request, call_state: CallState) -> dict[str, Any]:
        """The estimate with its gas by part and the access list."""
        found = await once(begun)
        answer, limit = self._counted(found), found.gas.gas_limit
        details = self._run(
            lambda engine: gas_details(request, call_state, limit, search="besu", engine=engine, limits=self._limits),
            request,
            call_state,
        )
        return {**answer, "details": (await once(details)).reply()}

    def _run(self, task: Callable[[Engine], Found], request: Request, call_state: CallState) -> Begun[Found]:
        call, brought = request.call, _brought(call_state) if call_state.changes else 0
        known = not (brought or request.authorizations) and _is_known(call)
        size = len(call.data) + brought
        if call.access_list:
            size += SLOT_BYTES * sum(len(slots) for _, slots in call.access_list)
        code, caller = _code(call, call_state), CALLER.get()
        if caller is None:
            return self._runner.begin(task, code=code, size=size, known=known)
        return self._metered(caller, task, code=code, size=size, known=known)

    async def _metered(self, caller: Caller, task: Callable[[Engine], Found], **place: Any) -> Found:
        """What a task answers; the gas that it executed counts against the key of the caller."""
        metered = Metered()
        try:
            return await self._runner.run(lambda engine: task(metered.on(engine)), **place)
        finally:
            caller.charge(metered.gas)

    def _chain_id(self) -> str:
        return to_quantity(self._chain.call_state.chain_id)

    def _get_block(self, block: Any, full: Any = False) -> dict[str, Any] | None:
        return self._block if is_block(block, self._chain) else None

    def _get_transaction_count(self, account: Any, block: Any = "latest") -> str:
        check_block(block, self._chain)
        return to_quantity(self._chain.call_state.account(address_bytes(account)).nonce)

    def _get_balance(self, account: Any, block: Any = "latest") -> str:
        check_block(block, self._chain)
        return to_quantity(self._chain.call_state.account(address_bytes(account)).balance)

    def _get_code(self, account: Any, block: Any = "latest") -> str:
        check_block(block, self._chain)
        return to_hex(self._chain.call_state.account(address_bytes(account)).code)

    def _call(
        self, call: Any, block: Any = "latest", overrides: Any = None, blockOverrides: Any = None  # noqa: N803 the wire's name
    ) -> Begun[str]:  # fmt: skip
        self._check(block, overrides)
        call_state = self._chain.call_state.overridden(overrides).in_block(blockOverrides)
        request = parse_request(call)

        def task(engine: Engine) -> bytes:
            return execute_call(request, call_state, engine=engine, limits=self._limits)

        return following(self._run(task, request, call_state), to_hex)

    def _eth_estimate_gas(
        self, call: Any, block: Any = "latest", overrides: Any = None, blockOverrides: Any = None  # noqa: N803 the wire's name
    ) -> Begun[str]:  # fmt: skip
        self._check(block, overrides)
        request, call_state = parse_request(call), self._chain.call_state.overridden(overrides).in_block(blockOverrides)

        def task(engine: Engine) -> GasEstimate:
            return estimate_gas(
                request, call_state, search="geth", tolerance=self._tolerance, engine=engine, limits=self._limits
            )  # fmt: skip

        def counted(found: GasEstimate) -> str:
            self._count_estimate(found)
            return to_quantity(found.gas_limit)

        return following(self._run(task, request, call_state), counted)

    def _create_access_list(self, call: Any, block: Any = "latest", overrides: Any = None) -> Begun[dict[str, Any]]:
        self._check(block, overrides)
        request, call_state = parse_request(call), self._chain.call_state.overridden(overrides)
        tip = self._priority_fee()

        def task(engine: Engine) -> AccessListFound:
            return create_access_list(request, call_state, tip=tip, engine=engine, limits=self._limits)

        return following(self._run(task, request, call_state), AccessListFound.reply)

    def _simulate(self, simulation: Any, block: Any = "latest") -> Begun[list[dict[str, Any]]]:
        asked = parse_simulation(simulation)
        check_block(block, self._chain)
        for one in asked.blocks:
            self._check_size(one.state_overrides)
        chain = self._chain

        def task(engine: Engine) -> list[dict[str, Any]]:
            found = simulate(
                asked, chain.call_state, parent_hash=chain.hash, next_base_fee=chain.next_base_fee, engine=engine,
                limits=self._limits,
            )  # fmt: skip
            return simulated_blocks(found)  # which may have a hundred thousand logs: not in the serving thread

        place, caller = _place(asked, chain.call_state), CALLER.get()
        return self._runner.begin(task, **place) if caller is None else self._metered(caller, task, **place)

    def _check(self, block: Any, overrides: Any) -> None:
        check_block(block, self._chain)
        self._check_size(overrides)

    def _gas_price(self) -> int:
        """What the rollup announces for wallets that know one price only: the next base fee and the suggested tip."""
        prices = self._pricing.current()
        return prices.form.base_fee + suggested_tip(prices)

    def _priority_fee(self) -> int:
        return suggested_tip(self._pricing.current())

    def _fee_history(self, blockCount: Any, newestBlock: Any, rewardPercentiles: Any = None) -> dict[str, Any]:  # noqa: N803 the wire's names
        """Of the one block there is; its rewards are what the prices ask, for some wallets sign them as tips."""
        count = as_integer("blockCount", blockCount)
        if not 0 < count <= MAX_HISTORY:
            raise InvalidInput("blockCount", f"expected 1 to {MAX_HISTORY:,}", blockCount)
        check_block(newestBlock, self._chain)
        block = self._chain.call_state.block
        history: dict[str, Any] = {
            "oldestBlock": to_quantity(block.number),
            "baseFeePerGas": [to_quantity(block.base_fee), to_quantity(self._pricing.current().form.base_fee)],
            "gasUsedRatio": [0.0],
            "baseFeePerBlobGas": [to_quantity(self._blob_base_fee())] * 2,
            "blobGasUsedRatio": [0.0],
        }
        if rewardPercentiles is not None:
            tip = to_quantity(reward(self._pricing.current()))
            history["reward"] = [[tip] * len(_percentiles(rewardPercentiles))]
        return history

    def _blob_base_fee(self) -> int:
        has_blobs = self._chain.call_state.fork.blob_update_fraction is not None
        return blob_base_fee(self._chain.call_state) if has_blobs else MIN_BLOB_BASE_FEE


def _code(call: Call, call_state: CallState) -> bytes:
    """What a call executes first: the code at its target, or the code that creates a contract."""
    return call.data if call.to is None else call_state.account(call.to).code


def _place(asked: Simulation, call_state: CallState) -> dict[str, Any]:
    """What the runner must know of blocks: they are as heavy as their calls together, and start with the first."""
    brought, code = 0, b""
    requests: list[Request] = []
    for block in asked.blocks:
        begun = call_state.overridden(block.state_overrides)
        brought += _brought(begun)
        if block.calls and not requests:
            code = _code(block.calls[0].call, begun)
        requests += block.calls
    size = brought + BLOCK_BYTES * len(in_order(asked.blocks, call_state))
    keys = sum(len(slots) for request in requests for _, slots in request.call.access_list or ())
    return {
        "code": code,
        "size": size + sum(len(request.call.data) for request in requests) + SLOT_BYTES * keys,
        "known": not brought and all(not request.authorizations and _is_known(request.call) for request in requests),
    }


def _is_known(call: Call) -> bool:
    """Whether a call executes the chain's code only, no precompile at length, and has little data."""
    if call.to is None or len(call.data) > FEW_BYTES:
        return False
    return not (call.data and int.from_bytes(call.to) <= LAST_PRECOMPILE)


def _brought(call_state: CallState) -> int:
    """Bytes of code and of slots that an override brings along."""
    brought = 0
    for where, account in call_state.changes.items():
        before, storage = call_state.accounts.get(where, EMPTY), account.storage
        if account.code != before.code:
            brought += len(account.code)
        if storage is not before.storage:
            written = storage.maps[0] if isinstance(storage, ChainMap) else storage
            brought += SLOT_BYTES * max(len(written), 1)
    return brought


def _percentiles(values: Any) -> list[float]:
    if not isinstance(values, list) or len(values) > 100:
        raise InvalidInput("rewardPercentiles", "expected a list of at most 100 numbers", values)
    for place, value in enumerate(values):
        low = values[place - 1] if place else 0
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= 100:
            raise InvalidInput(f"rewardPercentiles[{place}]", f"expected a number from {low} to 100", value)
    return values
