"""The answer of `rollup_estimateGas`: gas, then the measured size of the call and the fee that pays for it on L1."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from feemodel.checks import choice, flag
from feemodel.errors import InvalidInput
from feemodel.ethereum.call import Call
from feemodel.ethereum.quantities import to_quantity
from feemodel.ethereum.transaction import FORMS
from feemodel.execution.clients import Node, node_named
from feemodel.execution.engines import Engine, engine_of
from feemodel.execution.estimate import GasEstimate, check_tolerance, estimated
from feemodel.execution.limits import DEFAULT_LIMITS, Limits
from feemodel.execution.message import Request, parse_request
from feemodel.execution.search import TOLERANCE
from feemodel.execution.state import CallState
from feemodel.linea.measure import call_size
from feemodel.linea.pricing_forms import Form
from feemodel.linea.priority import Breakdown
from feemodel.records import printed_as_table
from feemodel.sizes.codecs import Codec, get_codec


@dataclass(frozen=True)
class Measuring:
    """How the size of a fee transaction is measured, see `feemodel.linea.measure.fee_size`.

    Raises `InvalidInput` for a codec or a form that is not known.

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


@printed_as_table
class RollupEstimate(NamedTuple):
    """What `rollup_estimateGas` answers, and from what."""

    gas: GasEstimate
    base_fee: int  #: [wei / gas]
    fee: Breakdown  #: the priority fee in its parts [wei / gas]
    compressed_size: int  #: [byte]

    def reply(self) -> dict[str, Any]:
        """The three quantities on the wire, in the order in which a node has them."""
        return {
            "gasLimit": to_quantity(self.gas.gas_limit),
            "baseFeePerGas": to_quantity(self.base_fee),
            "priorityFeePerGas": to_quantity(int(self.fee.total)),
        }


class Estimator:
    """Estimates with settings that are checked once.

    Parameters
    ----------
    search, tolerance, limits : as in `feemodel.execution.estimate_gas`.
    measuring : of the fee transaction.

    Raises `InvalidInput` for a search or a tolerance that is none.

    >>> from feemodel.execution.engines import engine_named
    >>> request = parse_request({"to": "0x" + "22" * 20})
    >>> Estimator(search="geth").gas(request, CallState(accounts={}), engine_named("auto")).gas_limit
    21000
    """

    def __init__(
        self,
        *,
        search: str = "besu",
        tolerance: float = TOLERANCE,
        limits: Limits = DEFAULT_LIMITS,
        measuring: Measuring | None = None,
    ) -> None:
        self._node: Node = node_named(search)
        self._tolerance, self.limits = check_tolerance(tolerance), limits
        self.measuring = measuring or Measuring()

    def gas(self, request: Request, call_state: CallState, engine: Engine) -> GasEstimate:
        """The gas limit that a request needs on a state; raises as `feemodel.execution.estimate_gas`."""
        return estimated(
            self._node, request, call_state, engine, tolerance=self._tolerance, limits=self.limits
        )  # fmt: skip

    def rollup(
        self,
        request: Request,
        call_state: CallState,
        engine: Engine,
        *,
        form: Form,
        margin: float,
        nonce: int | None = None,
    ) -> RollupEstimate:
        """The gas limit, the base fee, and the priority fee on the measured size.

        Parameters
        ----------
        form : of the fee, with its costs and the base fee.
        margin : of an estimate [1].
        nonce : that is measured of a call that names none; without one it is the sender's on the state.
        """
        call = request.call
        check_rollup_call(call, self.limits)
        gas = self.gas(request, call_state, engine)
        if nonce is None:
            nonce = 0 if call.sender is None or call.nonce is not None else call_state.account(call.sender).nonce
        return priced(
            gas, call, form=form, margin=margin, nonce=nonce, chain_id=call_state.chain_id, measuring=self.measuring
        )


def rollup_estimate(
    call: Request | Call | Mapping[str, Any],
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
    limits: Limits = DEFAULT_LIMITS,
) -> RollupEstimate:
    """The answer of `rollup_estimateGas`: the gas limit, the base fee, and the priority fee on the measured size.

    Parameters
    ----------
    form : of the fee, with its costs and the base fee, see `feemodel.linea.pricing_forms`.
    margin : of an estimate [1].
    codec, measured, packed : how the fee transaction is measured, see `feemodel.linea.measure.fee_size`. It has the
        sender's nonce before the override.
    call, call_state, overrides, search, tolerance, engine, limits : as in `feemodel.execution.estimate_gas`; and `gas`
        of the call may be at most `limits.max_call_gas`. It is no bound of the search.

    >>> from feemodel.linea.pricing_forms import CostPerByte
    >>> sender, form = "0x" + "11" * 20, CostPerByte(variable_cost=1_000_000_000, fixed_cost=30_000_000)
    >>> fund = {sender: {"balance": 10**18}}
    >>> estimate = rollup_estimate(
    ...     {"from": sender, "to": sender}, CallState(accounts={}), form=form, margin=1.2, overrides=fund
    ... )
    >>> estimate.compressed_size, estimate.fee.total, estimate.reply()["gasLimit"]
    (25, 37428571, '0x5208')
    """
    estimator = Estimator(
        search=search, tolerance=tolerance, limits=limits, measuring=Measuring(codec, measured, packed)
    )  # fmt: skip
    request = parse_request(call)
    sender = request.call.sender
    return estimator.rollup(
        request, call_state.overridden(overrides), engine_of(engine), form=form, margin=margin,
        nonce=0 if sender is None else call_state.account(sender).nonce,
    )  # fmt: skip


def priced(
    gas: GasEstimate, call: Call, *, form: Form, margin: float, nonce: int, chain_id: int, measuring: Measuring
) -> RollupEstimate:
    """The priority fee of a call whose gas is known.

    Parameters
    ----------
    gas : the estimate that the fee is spread over.
    form, margin : as in `rollup_estimate`.
    nonce, chain_id : of a call that names none.
    measuring : of the fee transaction.
    """
    size = call_size(
        call, codec=measuring.codec, form=measuring.form, packed=measuring.packed, gas=gas.gas_limit, nonce=nonce,
        base_fee=form.base_fee, chain_id=chain_id,
    )  # fmt: skip
    return RollupEstimate(gas, form.base_fee, form.parts(size, gas.gas_limit, margin), size)


def check_rollup_call(call: Call, limits: Limits) -> None:
    """Refuse what the rollup method does not take: a `gas` above its limit, a gas price together with blobs."""
    if call.gas is not None and call.gas > limits.max_call_gas:
        raise InvalidInput("call.gas", f"expected at most {limits.max_call_gas:,}", call.gas)
    if call.gas_price is not None and call.max_fee_per_blob_gas is not None:
        raise InvalidInput("call.gasPrice", "expected either gasPrice or maxFeePerBlobGas", call.gas_price)
