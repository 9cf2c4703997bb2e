"""The result of `rollup_estimateGas`: the gas limit, the compressed size of the call, and the fee that pays for L1."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from feemodel.checks import choice, flag, real_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum._call import parse_call
from feemodel.ethereum._transaction import FORMS, ZERO_ADDRESS, Transaction, completed, encoded
from feemodel.execution._clients import node_named
from feemodel.execution._engines import Engine, engine_of
from feemodel.execution._estimate import check_tolerance, gas_estimate
from feemodel.execution._limits import Limits
from feemodel.execution._search import TOLERANCE
from feemodel.execution._state import CallState
from feemodel.linea._measure import fee_transaction
from feemodel.linea.pricing_forms import Form
from feemodel.sizes._codecs import Codec, get_codec
from feemodel.sizes._lzss import packed_size


@dataclass(frozen=True)
class Measuring:
    """Settings for the fee transaction, which a node makes from a call to measure the size of the call.

    Raises `InvalidInput` for an unknown codec or form.

    >>> Measuring("brotli").codec.name
    'brotli'
    """

    codec: Codec
    form: str
    packed: bool

    def __init__(self, codec: str | Codec = "zstd", form: str = "sender_unsigned", packed: bool = False) -> None:
        object.__setattr__(self, "codec", get_codec(codec))
        object.__setattr__(self, "form", choice("form", form, FORMS))
        object.__setattr__(self, "packed", flag("packed", packed))

    def priced(
        self, call: Transaction, gas_limit: int, *, form: Form, margin: float, nonce: int, chain_id: int
    ) -> "RollupEstimate":
        """Return the estimate of a call whose gas limit is known: its measured size, and the fee for this size.

        Parameters
        ----------
        call, gas_limit : the call, and the gas over which the fee for its bytes is spread [gas]; not checked.
        form : pricing form with its costs and the base fee.
        margin : factor by which the priority fee of an estimate is multiplied; not checked [1].
        nonce, chain_id : values for a call without a nonce or a chain id.
        """
        named = {"gas": gas_limit, "nonce": nonce, "base_fee": form.base_fee, "chain_id": chain_id}
        if self.form == "signed":
            measured = fee_transaction(call, **named, form=self.form)
        else:
            transaction = completed(call, **named)
            if self.form == "unsigned":
                measured = encoded(transaction)
            else:
                transaction = transaction if call.to is not None else replace(transaction, to=ZERO_ADDRESS)
                measured = (call.from_address or ZERO_ADDRESS) + encoded(transaction)
        size = self.codec.size(measured)
        size = int(packed_size(size)) if self.packed else size
        return RollupEstimate(
            gas_limit=gas_limit, base_fee=form.base_fee, priority_fee=form.fee(size, gas_limit, margin),
            compressed_size=size,
        )  # fmt: skip


class RollupEstimate(NamedTuple):
    """Result of `rollup_estimateGas`, with the compressed size."""

    gas_limit: int  #: [gas]
    base_fee: int  #: [wei / gas]
    priority_fee: int  #: [wei / gas]
    compressed_size: int  #: [byte]


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
    parsed = call if isinstance(call, Transaction) else parse_call(call)
    runner, sender = engine_of(engine), parsed.from_address
    check_rollup_call(parsed, limits := limits or runner.limits)
    margin = real_scalar("margin", margin)
    prepared = node_named(search).prepare(parsed, call_state.overridden(overrides), tolerance=checked, limits=limits)
    return measuring.priced(
        parsed, gas_estimate(prepared, runner).gas_limit, form=form, margin=margin,
        nonce=0 if sender is None else call_state.account(sender).nonce, chain_id=call_state.chain_id,
    )  # fmt: skip


def check_rollup_call(call: Transaction, limits: Limits) -> None:
    """Raise `InvalidInput` if `gas` exceeds `max_call_gas`, or if a call has both `gasPrice` and `maxFeePerBlobGas`."""
    if call.gas_limit is not None and call.gas_limit > limits.max_call_gas:
        raise InvalidInput("call.gas", f"expected at most {limits.max_call_gas:,}", call.gas_limit)
    if call.gas_price is not None and call.max_fee_per_blob_gas is not None:
        raise InvalidInput("call.gasPrice", "expected either gasPrice or maxFeePerBlobGas", call.gas_price)
