"""`rollup_estimateGas`: a call's gas limit, then its measured size, then the fee at the current prices."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec

from feemodel.checks import choice, instance
from feemodel.errors import InvalidInput
from feemodel.estimates.json_types import CallObject, EstimateOption, Quantity, StateOverride
from feemodel.estimates.prices import Prices
from feemodel.ethereum._block_id import EIP_1898_FIELDS, BlockId, read_block
from feemodel.ethereum._transaction import FORMS, ZERO_ADDRESS, Transaction, completed, encoded
from feemodel.linea.pricing_forms import Form
from feemodel.sizes._codecs import Codec, get_codec
from feemodel.sizes._lzss import packed_size

MAX_CALL_GAS = 30_000_000  # maximum of the `gas` of a call
LONG = 8_192  # size of calldata above which it is measured in a thread; some codecs may take seconds [byte]


class Gas(NamedTuple):
    """Gas limit of a call, nonce and chain id."""

    limit: int  #: [gas]
    nonce: int  #: the sender's, for a call without a nonce
    chain_id: int


class EstimateOptions(msgspec.Struct, frozen=True):
    """Parameters of an estimate after the call object."""

    block: BlockId | None = None
    overrides: StateOverride | None = None
    intact: bool = False  #: whether every inner call must end as with ample gas


NOTHING = EstimateOptions()


class GasSource(Protocol):
    """Finds gas limits, by executing calls or by asking a node."""

    async def gas(self, call: Transaction, asked: EstimateOptions) -> Gas:
        """Return the gas limit that a call needs."""


class RollupEstimate(NamedTuple):
    """Result of `rollup_estimateGas`, with the compressed size."""

    gas_limit: int  #: [gas]
    base_fee: int  #: [wei / gas]
    priority_fee: int  #: [wei / gas]
    compressed_size: int  #: [byte]


class Estimate(msgspec.Struct, rename="camel"):
    """Result of `rollup_estimateGas` in JSON."""

    gas_limit: Quantity
    base_fee_per_gas: Quantity
    priority_fee_per_gas: Quantity


def estimate_options(*given: Any) -> EstimateOptions:
    """Parse the parameters of `rollup_estimateGas` after the call object: block, state override and options.

    The parameters are `[overrides]`, as in the rollup's own method, or `[block, overrides]`, as clients send them. The
    options may follow: an object with `search`. Raises `InvalidInput`.

    >>> estimate_options("latest", {"search": "intact"}, None).intact
    True
    """
    named, search = list(given), None
    while named and named[-1] is None:
        named.pop()
    if named and isinstance(named[-1], Mapping) and named[-1].keys() == {"search"}:
        search = named.pop()["search"]
        if search != "intact":
            raise InvalidInput("search", "expected intact", search)
    if len(named) > 2:
        raise InvalidInput("parameter 4", 'expected the options {"search": "intact"}', named[-1])
    block, overrides = (*named, None, None)[:2]
    if isinstance(block, Mapping) and not (block and block.keys() <= EIP_1898_FIELDS):
        if overrides is not None:
            raise InvalidInput("parameter 3", "expected nothing after a state override", overrides)
        block, overrides = None, block
    return EstimateOptions(
        block=None if block is None else read_block(block),
        overrides=None if overrides is None else StateOverride.read(overrides),
        intact=search is not None,
    )


class Measuring:
    """Settings for the fee transaction, which a node makes from a call to measure the size of the call.

    Raises `InvalidInput` for an unknown codec or form.

    >>> from feemodel.execution import CallState, estimate_gas
    >>> from feemodel.linea.pricing_forms import CostPerByte
    >>> call, state = Transaction(type=None, from_address=bytes(20), to=bytes(20)), CallState(accounts={})
    >>> gas = Gas(estimate_gas(call, state, search="geth").gas_limit, nonce=0, chain_id=state.chain_id)
    >>> form = CostPerByte(variable_cost=1_000_000_000, fixed_cost=30_000_000)
    >>> Measuring("zstd").priced(call, gas, form=form, margin=1.2)
    RollupEstimate(gas_limit=21000, base_fee=7, priority_fee=37428571, compressed_size=25)
    """

    def __init__(self, codec: str | Codec = "zstd", form: str = "sender_unsigned", packed: bool = False) -> None:
        self.codec, self.form = get_codec(codec), choice("form", form, FORMS)
        self.packed = instance("packed", packed, bool)

    def priced(self, call: Transaction, gas: Gas, *, form: Form, margin: float) -> RollupEstimate:
        """Return the estimate of a call whose gas limit is known; its priority fee is multiplied by `margin`."""
        transaction = completed(
            call, gas=gas.limit, nonce=gas.nonce, base_fee=form.base_fee, chain_id=gas.chain_id,
            creates=ZERO_ADDRESS if self.form == "sender_unsigned" else None,
        )  # fmt: skip
        measured = transaction.measured("signed") if self.form == "signed" else encoded(transaction)
        if self.form == "sender_unsigned":
            measured = (call.from_address or ZERO_ADDRESS) + measured
        size = self.codec.size(measured)
        size = int(packed_size(size)) if self.packed else size
        return RollupEstimate(gas.limit, form.base_fee, form.fee(size, gas.limit, margin), size)


class Estimates:
    """`rollup_estimateGas`, with gas from `source`; `prices.now` are the prices of the next block."""

    def __init__(self, source: GasSource, prices: Any, measuring: Measuring) -> None:
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
        if call.gas_limit is not None and call.gas_limit > MAX_CALL_GAS:
            raise InvalidInput("call.gas", f"expected at most {MAX_CALL_GAS:,}", call.gas_limit)
        if call.gas_price is not None and call.max_fee_per_blob_gas is not None:
            raise InvalidInput("call.gasPrice", "expected either gasPrice or maxFeePerBlobGas", call.gas_price)
        gas = await self.source.gas(call, asked)
        prices: Prices = self._prices.now
        work = partial(self._measuring.priced, call, gas, form=prices.form, margin=prices.preset.estimate_margin)
        is_long = len(call.data) > LONG or bool(call.access_list)  # some codecs may take seconds
        found = await asyncio.to_thread(work) if is_long else work()
        return Estimate(hex(found.gas_limit), hex(found.base_fee), hex(found.priority_fee))
