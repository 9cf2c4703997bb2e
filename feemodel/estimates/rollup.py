"""`rollup_estimateGas`: the gas of one source, then the measured size, then the fee at the current prices.

The source is a chain whose calls this process executes, or a node that is asked.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

import msgspec

from feemodel.checks import choice, flag, real_scalar
from feemodel.errors import InvalidInput
from feemodel.estimates.chain import ChainState
from feemodel.estimates.json_types import (
    MAX_BLOCKS,
    CallObject,
    EstimateOption,
    Quantity,
    StateOverride,
    read_overrides,
)
from feemodel.estimates.prices import Prices
from feemodel.ethereum._block_id import EIP_1898_FIELDS, BlockId, read_block
from feemodel.ethereum._call import as_integer, parse_call
from feemodel.ethereum._transaction import FORMS, ZERO_ADDRESS, Transaction, completed, encoded
from feemodel.execution._clients import NodeClient, node_named
from feemodel.execution._engines import Engine, engine_of
from feemodel.execution._estimate import check_tolerance
from feemodel.execution._limits import Limits
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome
from feemodel.execution._search import TOLERANCE, GasEstimate, Unproven
from feemodel.execution._state import SLOT_BYTES, CallState
from feemodel.execution.native import Native
from feemodel.linea.pricing_forms import Form
from feemodel.sizes._codecs import Codec, get_codec
from feemodel.sizes._lzss import packed_size

LONG = 8_192  # size of calldata above which it is measured in a thread; some codecs may take seconds [byte]
INLINE_GAS = 80_000  # maximum gas of a call in the event loop: 6 ms of ECRECOVER, the slowest operation
INLINE_BYTES = 65_536  # maximum size of calldata and overrides of a call in the event loop [byte]

_INTACT = node_named("intact")


class Gas(NamedTuple):
    """What a source of gas knows of a call."""

    limit: int  #: [gas]
    nonce: int  #: of the sender, for a call without a nonce
    chain_id: int


class EstimateOptions(msgspec.Struct, frozen=True):
    """Parameters of an estimate after the call object."""

    block: BlockId | None = None
    overrides: StateOverride | None = None
    blocks: int | None = None  #: number of blocks for which the fee must suffice
    intact: bool = False  #: whether every inner call must end as with ample gas


NOTHING = EstimateOptions()


class GasSource(Protocol):
    """A chain that executes calls, or a node that is asked."""

    limits: Limits  #: limits on the gas of a call

    async def gas(self, call: Transaction, asked: EstimateOptions) -> Gas:
        """Return the gas limit that a call needs."""


class OwnChain:
    """Estimates gas by executing calls on the state of one chain.

    Parameters
    ----------
    chain : chain on whose state calls are executed.
    engine : engine that executes them.
    limits, tolerance : limits on gas and time, and precision of the search, see `feemodel.execution.estimate_gas`.
    node : the node whose search is used.
    """

    def __init__(
        self, chain: ChainState, engine: Engine, limits: Limits, *, tolerance: float, node: NodeClient
    ) -> None:
        self.chain, self.engine, self.limits, self.tolerance, self.node = chain, engine, limits, tolerance, node

    def state(self, asked: EstimateOptions) -> CallState:
        """Return the state on which a call is executed."""
        call_state = self.chain.call_state
        return call_state if asked.overrides is None else call_state.with_overrides(asked.overrides.accounts)

    async def gas(self, call: Transaction, asked: EstimateOptions, node: NodeClient | None = None) -> Gas:
        """Return the gas limit that a call needs; `node` selects the search (default: `self.node`).

        Raises `ExecutionFailed` for a call that fails with the maximum gas limit, and `LimitExceeded`.
        """
        base = self.chain.call_state
        call_state = base if asked is NOTHING else self.state(asked)
        node = _INTACT if asked.intact or self.node is _INTACT else node or self.node
        prepared = node.prepare(call, call_state, tolerance=self.tolerance, limits=self.limits)
        found: GasEstimate | Outcome = await self.run("search", call_state, prepared.message, prepared.search)
        if isinstance(found, Outcome):
            raise prepared.failure(found)
        # An override of the nonce is ignored.
        nonce = 0 if call.from_address is None else base.account(call.from_address).nonce
        return Gas(limit=found.gas_limit, nonce=nonce, chain_id=base.chain_id)

    async def run(self, method: str, call_state: CallState, message: Message, how: Any) -> Any:
        """Return the result of a method of the engine, `execute` or `search`, which may be called twice.

        The native engine first executes a small call with a small amount of gas, whatever the gas limit of the call.
        For most calls, this is enough, and the trace shows that a larger limit gives the same result.
        """
        keys = sum(len(keys) for _, keys in message.access_list) if message.access_list else 0
        overridden = sum(map(attrgetter("size"), call_state.overrides.values()))
        if isinstance(self.engine, Native) and overridden + len(message.data) + SLOT_BYTES * keys <= INLINE_BYTES:
            try:
                return getattr(self.engine, method)(call_state, message, how, inline_gas=INLINE_GAS)
            except Unproven:
                pass
        return await self.run_whole(method, call_state, message, how)

    async def run_whole(self, method: str, call_state: CallState, message: Message, how: Any) -> Any:
        """Return the result of a method of the engine, which may take long."""
        return getattr(self.engine, method)(call_state, message, how)


class PriceSource(Protocol):
    """Current prices."""

    @property
    def now(self) -> Prices:
        """Prices of the next block."""

    def upper_bound(self, blocks: int) -> Prices:
        """Return an upper bound of the prices of the next blocks."""


class Estimate(msgspec.Struct, rename="camel"):
    """The result of `rollup_estimateGas`."""

    gas_limit: Quantity
    base_fee_per_gas: Quantity
    priority_fee_per_gas: Quantity


def estimate_options(*given: Any) -> EstimateOptions:
    """Parse the parameters of `rollup_estimateGas` after the call object: block, state override and options.

    The parameters are `[overrides]`, as in the rollup's own method, or `[block, overrides]`, as clients send them. The
    options may follow: an object with `blocks`, `search` or both. Raises `InvalidInput`.

    >>> estimate_options("latest", {"blocks": 5}, None).blocks
    5
    """
    named, options = list(given), {}
    while named and named[-1] is None:
        named.pop()
    if named and isinstance(named[-1], Mapping) and named[-1] and named[-1].keys() <= {"blocks", "search"}:
        options = named.pop()
    blocks, search = options.get("blocks"), options.get("search")
    if "blocks" in options:
        blocks = as_integer("blocks", blocks)
        if not 1 <= blocks <= MAX_BLOCKS:
            raise InvalidInput("blocks", f"expected 1 to {MAX_BLOCKS}", blocks)
    if search not in (None, "intact"):
        raise InvalidInput("search", "expected intact", search)
    if len(named) > 2:
        raise InvalidInput("parameter 4", 'expected options such as {"blocks": k}', named[-1])
    block, overrides = (*named, None, None)[:2]
    if isinstance(block, Mapping) and not (block and block.keys() <= EIP_1898_FIELDS):
        if overrides is not None:
            raise InvalidInput("parameter 3", "expected nothing after a state override", overrides)
        block, overrides = None, block
    return EstimateOptions(
        block=None if block is None else read_block(block),
        overrides=None if overrides is None else read_overrides(overrides),
        blocks=blocks,
        intact=search is not None,
    )


class Measuring:
    """Settings for the fee transaction, which a node makes from a call to measure the size of the call.

    Raises `InvalidInput` for an unknown codec or form.

    >>> Measuring("brotli").codec.name
    'brotli'
    """

    def __init__(self, codec: str | Codec = "zstd", form: str = "sender_unsigned", packed: bool = False) -> None:
        self.codec, self.form, self.packed = get_codec(codec), choice("form", form, FORMS), flag("packed", packed)

    def priced(self, call: Transaction, gas: Gas, *, form: Form, margin: float) -> "RollupEstimate":
        """Return the estimate of a call whose gas limit is known: its measured size, and the fee for this size.

        Parameters
        ----------
        call, gas : the call, and what the source of gas knows of it; not checked.
        form : pricing form with its costs and the base fee.
        margin : factor by which the priority fee of an estimate is multiplied; not checked [1].
        """
        transaction = completed(
            call, gas=gas.limit, nonce=gas.nonce, base_fee=form.base_fee, chain_id=gas.chain_id,
            creates=ZERO_ADDRESS if self.form == "sender_unsigned" else None,
        )  # fmt: skip
        measured = transaction.measured("signed") if self.form == "signed" else encoded(transaction)
        if self.form == "sender_unsigned":
            measured = (call.from_address or ZERO_ADDRESS) + measured
        size = self.codec.size(measured)
        size = int(packed_size(size)) if self.packed else size
        return RollupEstimate(
            gas_limit=gas.limit, base_fee=form.base_fee, priority_fee=form.fee(size, gas.limit, margin),
            compressed_size=size,
        )  # fmt: skip


class RollupEstimate(NamedTuple):
    """Result of `rollup_estimateGas`, with the compressed size."""

    gas_limit: int  #: [gas]
    base_fee: int  #: [wei / gas]
    priority_fee: int  #: [wei / gas]
    compressed_size: int  #: [byte]


class Estimates:
    """`rollup_estimateGas` with the gas of one source."""

    def __init__(self, source: GasSource, prices: PriceSource, measuring: Measuring) -> None:
        self.source, self._prices, self._measuring = source, prices, measuring

    async def estimate(
        self,
        call: CallObject,
        stateOverride: EstimateOption | None = None,  # noqa: N803 the name in JSON-RPC
        overrides: EstimateOption | None = None,
        options: EstimateOption | None = None,
    ) -> Estimate:
        """Return the gas limit, the base fee and the priority fee that pays for L1."""
        given = stateOverride, overrides, options
        asked = NOTHING if given == (None, None, None) else estimate_options(*given)
        check_rollup_call(call, self.source.limits)
        gas = await self.source.gas(call, asked)
        prices = self._prices.now if asked.blocks is None else self._prices.upper_bound(asked.blocks)
        work = partial(self._measuring.priced, call, gas, form=prices.form, margin=prices.preset.estimate_margin)
        is_long = len(call.data) > LONG or bool(call.access_list)  # some codecs may take seconds
        found = await asyncio.to_thread(work) if is_long else work()
        return Estimate(hex(found.gas_limit), hex(found.base_fee), hex(found.priority_fee))


def rollup_estimate(
    call: Transaction | Mapping[str, Any],
    call_state: CallState,
    *,
    form: Form,
    margin: float,
    codec: str | Codec = "zstd",
    measured: str = "sender_unsigned",
    packed: bool = False,
    overrides: Mapping[Any, Any] | None = None,
    search: str = "besu",
    tolerance: float = TOLERANCE,
    engine: str | Engine = "auto",
    limits: Limits | None = None,
) -> RollupEstimate:
    """Compute the result of `rollup_estimateGas`: gas limit, base fee, and the priority fee for the compressed size.

    Parameters
    ----------
    call : a JSON-RPC call object, or a parsed call. The call's `gas` may be at most `limits.max_call_gas`; the search
        ignores this `gas`.
    call_state : the accounts and the block on which the call is executed; not modified.
    form : pricing form with its costs and the base fee, see `feemodel.linea.pricing_forms`.
    margin : factor by which the priority fee of an estimate is multiplied [1].
    codec, measured, packed : codec, encoding and rounding for measuring the transaction that the call would become, see
        `feemodel.linea.fee_size`. The measured transaction has the sender's nonce from before the state override.
    overrides : state override for this call, see `feemodel.execution.parse_overrides`.
    search : the node whose search, gas price, upper bound and error messages are used, "besu" or "geth".
    tolerance : precision of the search, see `feemodel.execution.estimate_gas` [1].
    engine : "auto", "native", "reference", or an engine object.
    limits : limits on gas and time of all executions together; `None` for the engine's, see `estimate_gas`.

    Returns
    -------
    RollupEstimate : the gas limit [gas], the base fee and the priority fee [wei / gas], and the compressed size [byte].

    Raises
    ------
    ExecutionFailed : the call reverts, halts, or needs more gas than allowed, or the sender cannot pay for the call.
    LimitExceeded : the executions together took more gas or time than `limits` allows.
    InvalidInput : the call, an override or an option is not valid, or the call has both `gasPrice` and
        `maxFeePerBlobGas`.

    >>> from feemodel.linea.pricing_forms import CostPerByte
    >>> sender, form = "0x" + "11" * 20, CostPerByte(variable_cost=1_000_000_000, fixed_cost=30_000_000)
    >>> fund = {sender: {"balance": 10**18}}
    >>> estimate = rollup_estimate(
    ...     {"from": sender, "to": sender}, CallState(accounts={}), form=form, margin=1.2, overrides=fund
    ... )
    >>> estimate.compressed_size, estimate.priority_fee, estimate.gas_limit
    (25, 37428571, 21000)
    """
    measuring, checked = Measuring(codec, measured, packed), check_tolerance(tolerance)
    parsed, runner = call if isinstance(call, Transaction) else parse_call(call), engine_of(engine)
    source = OwnChain(
        ChainState(call_state=call_state), runner, limits or runner.limits, tolerance=checked, node=node_named(search)
    )
    check_rollup_call(parsed, source.limits)
    margin, changed = real_scalar("margin", margin), None if overrides is None else read_overrides(overrides)
    try:
        source.gas(parsed, EstimateOptions(overrides=changed)).send(None)  # never waits, unlike in a server
    except StopIteration as ended:
        gas = ended.value
    return measuring.priced(parsed, gas, form=form, margin=margin)


def check_rollup_call(call: Transaction, limits: Limits) -> None:
    """Raise `InvalidInput` if `gas` exceeds `max_call_gas`, or if a call has both `gasPrice` and `maxFeePerBlobGas`."""
    if call.gas_limit is not None and call.gas_limit > limits.max_call_gas:
        raise InvalidInput("call.gas", f"expected at most {limits.max_call_gas:,}", call.gas_limit)
    if call.gas_price is not None and call.max_fee_per_blob_gas is not None:
        raise InvalidInput("call.gasPrice", "expected either gasPrice or maxFeePerBlobGas", call.gas_price)
