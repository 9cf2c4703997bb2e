"""The methods of the rollup: estimates with their fee, proofs, and the `feemodel_` methods of the explorer."""

import asyncio
import inspect
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any

import msgspec

from feemodel.errors import InvalidInput, LedgerDamaged, LimitExceeded, UnreadableFile, UpstreamError
from feemodel.estimates.rollup import Estimator, Measuring, RollupEstimate, check_rollup_call, priced
from feemodel.ethereum.quantities import from_quantity, to_hex, to_quantity
from feemodel.execution.details import gas_details
from feemodel.execution.engines import Engine
from feemodel.execution.estimate import GasEstimate
from feemodel.execution.limits import Limits
from feemodel.io.node import NodeError
from feemodel.ledger.database import read_ahead
from feemodel.ledger.proof import STEP, proof_steps
from feemodel.ledger.store import Store
from feemodel.server.calls import Address, CallObject, EstimateOption, Quantity, estimate_options, parse
from feemodel.server.dispatch import INTERNAL_ERROR, INVALID_PARAMS, SERVER_ERROR, UNAVAILABLE, CallError, Method
from feemodel.server.eth import Executor, OverrideLimits
from feemodel.server.node import CHAIN_ID, NEWEST_BLOCK, NEXT_BASE_FEE, Upstream
from feemodel.server.prices import Head, OtherChain, Pricing

PRODUCTION_PREFIX = "linea"  # under which today's clients call the two methods
_log = logging.getLogger(__name__)


class Estimate(msgspec.Struct, rename="camel", omit_defaults=True):
    """The result of `rollup_estimateGas`."""

    gas_limit: Quantity
    base_fee_per_gas: Quantity
    priority_fee_per_gas: Quantity
    details: dict[str, Any] | None = None  #: gas by part and the access list, where the options ask for them

    @classmethod
    def of(cls, found: RollupEstimate) -> "Estimate":
        """Return the result of an estimate."""
        return cls(hex(found.gas.gas_limit), hex(found.base_fee), hex(int(found.fee.total)))


def both_names(prefix: str, name: str, method: Method) -> dict[str, Method]:
    """Return a method under the rollup's prefix and under production's.

    >>> sorted(both_names("rollup", "getProof", Method(print, typed=False)))
    ['linea_getProof', 'rollup_getProof']
    """
    return {f"{prefix}_{name}": method, f"{PRODUCTION_PREFIX}_{name}": method}


class ChainEstimates:
    """`rollup_estimateGas` on a chain of the server's own.

    Parameters
    ----------
    executor : of the chain.
    pricing : of estimates.
    tolerance : of the gas limit search; 0 is exact [1].
    measuring : of the fee transaction.
    count_estimate : called with every estimate.
    """

    def __init__(
        self,
        executor: Executor,
        pricing: Pricing,
        tolerance: float,
        measuring: Measuring,
        count_estimate: Callable[[GasEstimate], None],
    ) -> None:
        self._executor, self._pricing, self._count_estimate = executor, pricing, count_estimate
        self._estimator = Estimator(tolerance=tolerance, limits=executor.limits, measuring=measuring)

    async def estimate(
        self,
        call: CallObject,
        stateOverride: EstimateOption | None = None,  # noqa: N803 the name in JSON-RPC
        overrides: EstimateOption | None = None,
        options: EstimateOption | None = None,
    ) -> Estimate:
        """Return the gas limit, the base fee and the priority fee that pays for L1."""
        asked = estimate_options(stateOverride, overrides, options)
        request, executor = call.request(), self._executor
        call_state = executor.state(asked.block, asked.overrides)
        prices = self._pricing.current() if asked.blocks is None else self._pricing.upper_bound(asked.blocks)
        sender, chain_state = request.call.sender, executor.chain.call_state
        nonce = 0 if sender is None else chain_state.account(sender).nonce  # also where an override says another

        def task(engine: Engine) -> RollupEstimate:
            return self._estimator.rollup(
                request, call_state, engine, form=prices.form, margin=prices.preset.estimate_margin, nonce=nonce
            )

        found = await executor.run(task, request, call_state)
        self._count_estimate(found.gas)
        answer = Estimate.of(found)
        if asked.details:
            details = await executor.run(
                lambda engine: gas_details(
                    request, call_state, found.gas.gas_limit, search="besu", engine=engine, limits=executor.limits
                ),
                request,
                call_state,
            )
            answer.details = details.reply()
        return answer


class NodeEstimates:
    """`rollup_estimateGas` with a node's gas and this server's fee.

    Parameters
    ----------
    upstream : the node that estimates the gas; each estimate looks up its newest block.
    pricing, measuring, limits, override_limits : as of `ChainEstimates` and its executor.
    """

    def __init__(
        self,
        upstream: Upstream,
        pricing: Pricing,
        measuring: Measuring,
        limits: Limits,
        override_limits: OverrideLimits,
    ) -> None:
        self._upstream, self._node, self._pricing = upstream, upstream.node, pricing
        self._measuring, self._limits, self._override_limits = measuring, limits, override_limits

    async def estimate(
        self,
        call: dict[str, Any],
        stateOverride: EstimateOption | None = None,  # noqa: N803 the name in JSON-RPC
        overrides: EstimateOption | None = None,
        options: EstimateOption | None = None,
    ) -> Estimate:
        """Return the gas limit, the base fee and the priority fee that pays for L1."""
        asked = estimate_options(stateOverride, overrides, options)
        if asked.details:
            raise InvalidInput("details", "expected false: a node's estimate has no details", True)
        self._override_limits.check(asked.overrides)
        request = parse("call", call, CallObject).request()
        check_rollup_call(request.call, self._limits)
        block = "pending" if asked.block is None else _in_hex(asked.block.given)
        params = [_in_hex(call), block, *([_in_hex(asked.overrides.given)] if asked.overrides else [])]
        calls = [CHAIN_ID, ("eth_estimateGas", params), NEWEST_BLOCK, NEXT_BASE_FEE]
        sender, nonce = request.call.sender, request.call.nonce or 0
        if sender is not None and request.call.nonce is None:
            calls.append(("eth_getTransactionCount", [to_hex(sender), block]))
        await self._upstream.check()
        found, gas, head, history, *count = await self._node.outcomes(calls)
        try:
            chain_id = self._upstream.chain_id.check(self._node.own(found))
            if isinstance(gas, NodeError):
                raise gas
            self._upstream.head.note(Head.parse(self._node.own(head), history))
        except UpstreamError as error:
            if not isinstance(error, NodeError):
                self._upstream.head.fail(error)
            if isinstance(error, OtherChain):
                self._upstream.refusal = error
            raise
        if count:
            nonce = _quantity("eth_getTransactionCount", self._node.own(count[0]))
        limit = _quantity("eth_estimateGas", gas)
        prices = self._pricing.current() if asked.blocks is None else self._pricing.upper_bound(asked.blocks)
        return Estimate.of(
            priced(
                GasEstimate(limit, limit, 0, "node"), request.call, form=prices.form,
                margin=prices.preset.estimate_margin, nonce=nonce, chain_id=chain_id, measuring=self._measuring,
            )
        )  # fmt: skip


def _quantity(method: str, answer: Any) -> int:
    try:
        return from_quantity(answer, method)
    except InvalidInput as error:
        raise UpstreamError(f"the node: {error}") from None


def _in_hex(value: Any) -> Any:
    """Return a parameter with its integers as quantities: nodes do not take those of JSON."""
    if isinstance(value, int) and not isinstance(value, bool):
        return to_quantity(value)
    if isinstance(value, Mapping):
        return {name: _in_hex(part) for name, part in value.items()}
    return [_in_hex(part) for part in value] if isinstance(value, list) else value


class Ledger:
    """The ledger that proves. A file that cannot be read is opened again with each call.

    Parameters
    ----------
    path : of the file.
    key_limit : storage keys of one proof.
    """

    def __init__(self, path: str, key_limit: int) -> None:
        self.path, self._key_limit = path, key_limit
        self._store: Store | None = None
        self._one_long = asyncio.Lock()  # proof at a time: many would hold all their memory at once
        self._loading: asyncio.Task[None] | None = None

    def store(self) -> Store:
        """Return the open file; raises `CallError` while it cannot be read, with an identifier of the log's line."""
        try:
            if self._store is None:
                self._store = Store(self.path, read_only=True)
            self._store.check_file()
        except UnreadableFile as error:
            raise ledger_failed(error) from None
        return self._store

    async def load(self) -> None:
        """Wait until the hashing is loaded, and the file's pages are read ahead once."""
        scheme = self.store().scheme
        if self._loading is None or (self._loading.done() and self._loading.exception()):
            self._loading = asyncio.create_task(asyncio.to_thread(scheme.load))
        await asyncio.shield(self._loading)

    async def read_ahead(self) -> None:
        """Read the file once, so that the first proofs need not."""
        pieces = read_ahead(self.store().path)
        while await asyncio.to_thread(next, pieces, None):  # one at a time, so that a stop need not wait
            pass

    async def proof(self, address: Address, storageKeys: list[Any], block: Any) -> dict[str, Any]:  # noqa: N803
        """Return Merkle proofs of an account and its slots at a final block."""
        await self.load()
        if isinstance(block, Mapping) and block.keys() <= {"blockNumber", "requireCanonical"}:  # EIP-1898
            block = block.get("blockNumber")
        try:
            steps = proof_steps(
                self.store(), address, storageKeys, block, key_limit=self._key_limit  # type: ignore[arg-type]
            )  # fmt: skip
            proof = next(steps)
            if len(storageKeys) > STEP:
                async with self._one_long:
                    for _ in steps:  # which fill it
                        await asyncio.sleep(0)  # other calls are answered between the steps
            return proof
        except LimitExceeded as error:  # a parameter too long, not a server too busy
            raise CallError(INVALID_PARAMS, str(error)) from None
        except UnreadableFile as error:
            raise ledger_failed(error) from None

    def chain_id(self) -> Quantity:
        """Return the id of the chain that the ledger is of."""
        stored = self.store().chain_id
        if stored is None:
            raise CallError(SERVER_ERROR, "the ledger does not say its chain id: feemodel follow --chain-id stores it")
        return to_quantity(stored)

    def block_number(self) -> Quantity:
        """Return the number of the ledger's newest block."""
        head = self.store().head
        if head is None:
            raise CallError(SERVER_ERROR, "the ledger holds no block")
        return to_quantity(head.number)

    def close(self) -> None:
        """Close the file."""
        if self._store is not None:
            self._store.close()


def ledger_failed(error: UnreadableFile) -> CallError:
    """Return the error for a ledger that cannot be read; the log has the file and the reason."""
    identity = secrets.token_hex(8)
    _log.error("ledger %s: %s", identity, error)
    if isinstance(error, LedgerDamaged):
        return CallError(INTERNAL_ERROR, "the ledger is damaged", {"id": identity})
    return CallError(UNAVAILABLE, "the ledger cannot be read", {"id": identity})


def one_at_a_time(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method whose calls wait for each other; a plain function computes in a thread."""
    turn, is_async = asyncio.Lock(), inspect.iscoroutinefunction(method)

    @wraps(method)
    async def in_turn(*parameters: Any) -> Any:
        async with turn:
            return await (method(*parameters) if is_async else asyncio.to_thread(method, *parameters))

    return in_turn


def after(first: Callable[[], Awaitable[None]], method: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """Return a method that waits for something else first."""

    @wraps(method)
    async def later(*parameters: Any) -> Any:
        await first()
        return await method(*parameters)

    return later
