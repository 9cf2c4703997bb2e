"""The methods of the rollup: estimates of gas and fees, and proofs."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from threading import Thread
from typing import Any

import msgspec

from feemodel.errors import InvalidInput, LimitExceeded, UpstreamError
from feemodel.estimates._rollup import Measuring, check_rollup_call
from feemodel.estimates.json_types import (
    MAX_BLOCKS,
    Address,
    Block,
    CallObject,
    EstimateOption,
    Quantity,
    StateOverride,
    parse,
    read_overrides,
)
from feemodel.ethereum._block_id import EIP_1898_FIELDS, BlockId, read_block
from feemodel.ethereum._call import as_integer
from feemodel.ethereum._quantities import to_hex, to_quantity
from feemodel.execution._clients import node_named
from feemodel.io._async_node import Call as NodeCall
from feemodel.io._async_node import NodeError
from feemodel.io._polled import Head, Polled, quantity_in
from feemodel.ledger.proof import HEAD_TAGS, STEP, proof_steps
from feemodel.ledger.store import Store
from feemodel.server.errors import INVALID_PARAMS, CallError
from feemodel.server.execute import Executor, check_overrides, limits_of
from feemodel.server.node import Upstream
from feemodel.server.prices import CurrentPrices
from feemodel.server.settings import Settings

LONG = 8_192  # size of calldata above which it is measured in a thread; some codecs may take seconds [byte]
_BESU = node_named("besu")


class Estimate(msgspec.Struct, rename="camel"):
    """The result of `rollup_estimateGas`."""

    gas_limit: Quantity
    base_fee_per_gas: Quantity
    priority_fee_per_gas: Quantity


def both_names(name: str) -> tuple[str, str]:
    """Return the names of a method of the rollup; existing clients of Linea use the prefix `linea_`.

    >>> both_names("getProof")
    ('rollup_getProof', 'linea_getProof')
    """
    return f"rollup_{name}", f"linea_{name}"


class EstimateOptions(msgspec.Struct, frozen=True):
    """Parameters of `rollup_estimateGas` after the call object."""

    block: BlockId | None = None
    overrides: StateOverride | None = None
    blocks: int | None = None  #: number of blocks for which the fee must suffice


def estimate_options(*given: Any) -> EstimateOptions:
    """Parse the parameters of `rollup_estimateGas` after the call object: block, state override and options.

    The parameters are `[overrides]`, as in the rollup's own method, or `[block, overrides]`, as clients send them. The
    options may follow: an object with `blocks`. Raises `InvalidInput`.

    >>> estimate_options("latest", {"blocks": 5}, None).blocks
    5
    """
    named = list(given)
    while named and named[-1] is None:
        named.pop()
    blocks = None
    if named and isinstance(named[-1], Mapping) and named[-1].keys() == {"blocks"}:
        blocks = as_integer("blocks", named.pop()["blocks"])
        if not 1 <= blocks <= MAX_BLOCKS:
            raise InvalidInput("blocks", f"expected 1 to {MAX_BLOCKS}", blocks)
    if len(named) > 2:
        raise InvalidInput("parameter 4", 'expected options such as {"blocks": k}', named[-1])
    block, overrides = (*named, None, None)[:2]
    if isinstance(block, Mapping) and not (block and block.keys() <= EIP_1898_FIELDS):
        if overrides is not None:
            raise InvalidInput("parameter 3", "expected nothing after a state override", overrides)
        block, overrides = None, block
    return EstimateOptions(
        None if block is None else read_block(block), None if overrides is None else read_overrides(overrides), blocks
    )


class ChainEstimates:
    """`rollup_estimateGas` on the server's own chain, whose calls `executor` executes."""

    def __init__(self, executor: Executor, pricing: CurrentPrices, measuring: Measuring) -> None:
        self._executor, self._pricing, self._measuring = executor, pricing, measuring

    async def estimate(
        self,
        call: CallObject,
        stateOverride: EstimateOption | None = None,  # noqa: N803 the name in JSON-RPC
        overrides: EstimateOption | None = None,
        options: EstimateOption | None = None,
    ) -> Estimate:
        """Return the gas limit, the base fee and the priority fee that pays for L1."""
        asked = estimate_options(stateOverride, overrides, options)
        parsed, chain_state, executor = call.call(), self._executor.chain.call_state, self._executor
        check_rollup_call(parsed, executor.limits)
        call_state, tolerance = executor.state(asked.block, asked.overrides), executor.settings.tolerance
        prepared = _BESU.prepare(parsed, call_state, tolerance=tolerance, limits=executor.limits)
        gas_limit = await executor.gas_limit(prepared)
        # An override of the nonce is ignored.
        nonce = 0 if parsed.sender is None else chain_state.account(parsed.sender).nonce
        prices = self._pricing.now if asked.blocks is None else self._pricing.upper_bound(asked.blocks)
        work = partial(self._measuring.priced, parsed, gas_limit, form=prices.form, nonce=nonce,
                       margin=prices.preset.estimate_margin, chain_id=chain_state.chain_id)  # fmt: skip
        is_long = len(parsed.data) > LONG or bool(parsed.access_list)  # some codecs may take seconds
        found = await asyncio.to_thread(work) if is_long else work()
        return Estimate(hex(found.gas_limit), hex(found.base_fee), hex(found.priority_fee))


class NodeEstimates:
    """`rollup_estimateGas` with the gas estimated by a node, and the fee computed by this server.

    Each estimate also requests the newest block of the node, `upstream`.
    """

    def __init__(self, upstream: Upstream, pricing: CurrentPrices, measuring: Measuring, settings: Settings) -> None:
        self._upstream, self._pricing, self._measuring = upstream, pricing, measuring
        self._limits = limits_of(settings)

    async def estimate(
        self,
        call: dict[str, Any],
        stateOverride: EstimateOption | None = None,  # noqa: N803 the name in JSON-RPC
        overrides: EstimateOption | None = None,
        options: EstimateOption | None = None,
    ) -> Estimate:
        """Return the gas limit, the base fee and the priority fee that pays for L1."""
        asked = estimate_options(stateOverride, overrides, options)
        if asked.overrides is not None:
            check_overrides(asked.overrides)
        parsed = parse("call", call, CallObject).call()
        check_rollup_call(parsed, self._limits)
        block = "pending" if asked.block is None else _in_hex(asked.block.given)
        params = [_in_hex(call), block, *([_in_hex(asked.overrides.given)] if asked.overrides else [])]
        calls: list[NodeCall] = [("eth_estimateGas", params)]
        if parsed.sender is not None and parsed.nonce is None:
            calls.append(("eth_getTransactionCount", [to_hex(parsed.sender), block]))
        chain_id, (gas, *count) = await self._upstream.ask_with_head(calls)
        if isinstance(gas, NodeError):
            raise gas
        nonce = quantity_in("eth_getTransactionCount", self._upstream.node.own(count[0])) if count else 0
        gas_limit = quantity_in("eth_estimateGas", gas)
        if not gas_limit:
            raise UpstreamError("the node: eth_estimateGas: expected a gas limit of at least 1, got 0x0")
        prices = self._pricing.now if asked.blocks is None else self._pricing.upper_bound(asked.blocks)
        work = partial(self._measuring.priced, parsed, gas_limit, form=prices.form, nonce=nonce,
                       margin=prices.preset.estimate_margin, chain_id=chain_id)  # fmt: skip
        is_long = len(parsed.data) > LONG or bool(parsed.access_list)  # some codecs may take seconds
        found = await asyncio.to_thread(work) if is_long else work()
        return Estimate(hex(found.gas_limit), hex(found.base_fee), hex(found.priority_fee))


def _in_hex(value: Any) -> Any:
    """Return a parameter with integers as hexadecimal quantities, because nodes do not accept JSON integers."""
    if isinstance(value, int) and not isinstance(value, bool):
        return to_quantity(value)
    if isinstance(value, Mapping):
        return {name: _in_hex(part) for name, part in value.items()}
    return [_in_hex(part) for part in value] if isinstance(value, list) else value


def _in_daemon(task: Callable[[], object]) -> asyncio.Future[None]:
    """Run a task in a thread for which a process that ends does not wait, as for one that compiles."""
    done: Future[None] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            task()
        except BaseException as error:
            done.set_exception(error)
        else:
            done.set_result(None)

    Thread(target=run, name="load", daemon=True).start()
    return asyncio.wrap_future(done)


class Ledger:
    """Ledger from which proofs are created.

    Each call for a proof tries to open the ledger file until an attempt succeeds; the file then stays open.

    Parameters
    ----------
    path : path of the ledger file.
    head : newest block of the node, which the tags of its newest blocks name; `None` without a node.
    """

    def __init__(self, path: str, head: Polled[Head] | None = None) -> None:
        self.path, self._head = path, head
        self._store: Store | None = None
        self._one_long = asyncio.Lock()  # only one long proof at a time, to limit memory
        self._is_loaded = False

    def store(self) -> Store:
        """Return the open store; raises `UnreadableFile` if the file cannot be read."""
        if self._store is None:
            self._store = Store(self.path, read_only=True)
        self._store.check_file()
        return self._store

    async def load(self) -> None:
        """Load or compile the hash function in a thread, unless it is loaded already."""
        if not self._is_loaded:
            await _in_daemon(self.store().scheme.load)
            self._is_loaded = True

    async def proof(self, address: Address, storageKeys: list[Any], block: Block) -> dict[str, Any]:  # noqa: N803
        """Return Merkle proofs of an account and its slots at a final block."""
        await self.load()
        number = self._head.value.number if self._head is not None and block.tag in HEAD_TAGS else block.number
        named = block.hash or (block.tag if number is None else to_quantity(number)) or "0x0"
        try:
            steps = proof_steps(self.store(), address, storageKeys, named)
            if len(storageKeys) <= STEP:
                return next(steps)
            async with self._one_long:
                proof = next(steps)
                for _ in steps:  # each step proves more slots
                    await asyncio.sleep(0)  # let other calls run between the steps
            return proof
        except LimitExceeded as error:  # too many storage keys, not a busy server
            raise CallError(INVALID_PARAMS, str(error)) from None

    def close(self) -> None:
        """Close the file."""
        if self._store is not None:
            self._store.close()
