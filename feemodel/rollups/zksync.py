"""zkSync Era: the prices of a batch, the gas per byte of pubdata, and the node's prediction of the blob base fee.

A transaction pays gas · base_fee. The gas includes `gas_per_pubdata` gas for each published byte of pubdata, which
consists of state differences and not of calldata. The prices of a batch are computed by these formulas:

    fair_l2_gas_price  = minimal_l2_gas_price + trunc(⌈l1_gas_price · batch_overhead / max_gas⌉ · compute_part)
    fair_pubdata_price = l1_pubdata_price + trunc(⌈l1_gas_price · batch_overhead / max_pubdata⌉ · pubdata_part)
    base_fee           = max(fair_l2_gas_price, ⌈fair_pubdata_price / 50,000⌉)
    gas_per_pubdata    = ⌈fair_pubdata_price / base_fee⌉

`trunc` truncates a double. The double is computed with the same IEEE operations as in the node, in the same order. The
node's prices are unsigned 64-bit integers.

Source: matter-labs/zksync-era at 3e29e4a (2026-07-02): core/lib/types/src/fee_model.rs,
core/lib/multivm/src/versions/vm_latest/utils/fee.rs, core/node/fee_model/src/l1_gas_price/.
"""

from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias

from feemodel._records import compared_by_value, printed_as_table
from feemodel.checks import (
    UINT64_MAX,
    ArrayLike,
    Part,
    RealArray,
    check_fields,
    choice,
    flag,
    instance,
    real,
    whole,
    whole_scalar,
)
from feemodel.errors import Int64Overflow
from feemodel.ethereum import fee_market
from feemodel.ethereum.fee_market import excess_behind as excess_behind
from feemodel.formula import formula
from feemodel.integers import (
    Whole,
    add,
    ceiling_divide,
    maximum,
    minimum,
    multiply,
    multiply_divide,
    saturated,
    truncated,
)

MAX_GAS_PER_PUBDATA = 50_000
L1_GAS_PER_PUBDATA_BYTE = 17  # L1 gas of a byte of pubdata posted as calldata [gas / byte]
BLOB_GAS_PER_PUBDATA_BYTE = 1
MAX_FAIR_L2_GAS_PRICE = 10**13  # wei
MAX_FAIR_PUBDATA_PRICE = 10**15  # wei

# Constants of the node's prediction of the blob base fee: the update fraction of Cancun and the target of Prague.
PREDICTOR_UPDATE_FRACTION = 3_338_477
PREDICTOR_TARGET_BLOBS = 6
PREDICTOR_SAFETY_BIPS = 11_000
PUBDATA_MODES = ("blobs", "calldata", "validium")

Real: TypeAlias = float | RealArray


@dataclass(frozen=True, slots=True, kw_only=True)
class FeeModel:
    """Configuration of a chain's fee model, version 2, with the defaults of the node."""

    minimal_l2_gas_price: int = 100_000_000  #: [wei / gas]
    compute_overhead_part: float = 0.0  #: share of the batch overhead that is added to the gas price [1]
    pubdata_overhead_part: float = 1.0  #: share of the batch overhead that is added to the pubdata price [1]
    batch_overhead_l1_gas: int = 800_000  #: [gas]
    max_gas_per_batch: int = 200_000_000  #: [gas]
    max_pubdata_per_batch: int = 100_000  #: [byte]

    def __post_init__(self) -> None:
        check_fields(self, above_zero=("max_gas_per_batch", "max_pubdata_per_batch"))


@compared_by_value
@printed_as_table
class FeeInput(NamedTuple, Generic[Part]):
    """Prices of a batch."""

    l1_gas_price: Part  #: [wei / gas]
    fair_l2_gas_price: Part  #: [wei / gas]
    fair_pubdata_price: Part  #: [wei / byte]


@compared_by_value
@printed_as_table
class BaseFee(NamedTuple, Generic[Part]):
    """Base fee of a batch, and gas for a byte of pubdata."""

    base_fee: Part  #: [wei / gas]
    gas_per_pubdata: Part  #: [gas / byte]


@compared_by_value
@printed_as_table
class Fee(NamedTuple, Generic[Part]):
    """Parts of a transaction's fee: for pubdata and for execution [wei]."""

    pubdata: Part
    execution: Part


@formula
def batch_fee_input(
    l1_gas_price: ArrayLike,
    l1_pubdata_price: ArrayLike,
    *,
    model: FeeModel,
    l1_gas_price_scale: float = 1.0,
    l1_pubdata_price_scale: float = 1.0,
    clip: bool = True,
) -> FeeInput:
    """Compute the prices of a batch from L1 prices.

    Parameters
    ----------
    l1_gas_price : gas price of L1 [wei / gas].
    l1_pubdata_price : price of pubdata on L1, see the function `l1_pubdata_price` [wei / byte].
    model : configuration of the chain.
    l1_gas_price_scale, l1_pubdata_price_scale : factors by which the two L1 prices are multiplied [1].
    clip : whether to limit `fair_l2_gas_price` to 10¹³ wei and `fair_pubdata_price` to 10¹⁵ wei, as the node does.

    The price of a byte of pubdata is its L1 price, 10¹⁴ wei, plus the overhead: 10¹⁴ wei · 700,000 gas per batch /
    100,000 bytes per batch:

    >>> batch_fee_input(10**14, 10**14, model=FeeModel(batch_overhead_l1_gas=700_000)).fair_pubdata_price
    800000000000000
    """
    gas_price, gas_scale = whole("l1_gas_price", l1_gas_price, unit="wei"), real("scale", l1_gas_price_scale)
    pubdata_price = whole("l1_pubdata_price", l1_pubdata_price, unit="wei")
    scales = (gas_scale, real("scale", l1_pubdata_price_scale))
    return _batch_fee_input(gas_price, pubdata_price, instance("model", model, FeeModel), scales, flag("clip", clip))


def _batch_fee_input(
    gas_price: Whole, pubdata_price: Whole, model: FeeModel, scales: tuple[Real, Real] = (1.0, 1.0), clip: bool = True
) -> FeeInput:
    gas_price = _scaled("l1_gas_price", gas_price, scales[0])
    pubdata_price = _scaled("l1_pubdata_price", pubdata_price, scales[1])
    overhead = model.batch_overhead_l1_gas
    gas_overhead = _overhead(gas_price, overhead, model.max_gas_per_batch, model.compute_overhead_part)
    pubdata_overhead = _overhead(gas_price, overhead, model.max_pubdata_per_batch, model.pubdata_overhead_part)
    fair_gas = add("fair_l2_gas_price", model.minimal_l2_gas_price, gas_overhead)
    fair_pubdata = add("fair_pubdata_price", pubdata_price, pubdata_overhead)
    if clip:
        fair_gas = minimum(fair_gas, MAX_FAIR_L2_GAS_PRICE)
        fair_pubdata = minimum(fair_pubdata, MAX_FAIR_PUBDATA_PRICE)
    return FeeInput(gas_price, fair_gas, fair_pubdata)


@formula
def base_fee(fair_l2_gas_price: ArrayLike, fair_pubdata_price: ArrayLike) -> BaseFee:
    """Return the base fee [wei / gas] and the gas per byte of pubdata [gas / byte] of a batch with given prices.

    The arguments broadcast. Raises `InvalidInput` for an argument that is not an integer in range, and `Int64Overflow`
    if a result does not fit into an int64 array.

    >>> base_fee(100_000_000, 10**13)
    BaseFee(base_fee=200000000, gas_per_pubdata=50000)
    """
    pubdata = whole("fair_pubdata_price", fair_pubdata_price, unit="wei")
    return _base_fee(whole("fair_l2_gas_price", fair_l2_gas_price, minimum=1, unit="wei"), pubdata)


def _base_fee(gas_price: Whole, pubdata_price: Whole) -> BaseFee:
    fee = maximum(gas_price, ceiling_divide(pubdata_price, MAX_GAS_PER_PUBDATA))
    return BaseFee(fee, ceiling_divide(pubdata_price, fee))


@formula
def transaction_fee(gas: ArrayLike, pubdata: ArrayLike, *, base_fee: ArrayLike, gas_per_pubdata: ArrayLike) -> Fee:
    """Return the fee for pubdata, base_fee · pubdata · gas_per_pubdata, and for execution, base_fee · gas [wei].

    Parameters
    ----------
    gas : gas used by execution [gas].
    pubdata : number of published bytes, measured or assumed; this number cannot be computed from the calldata [byte].
    base_fee, gas_per_pubdata : prices of the batch [wei / gas], [gas / byte].

    The arguments broadcast. Raises `InvalidInput` for an argument that is not an integer in range, and `Int64Overflow`
    if a result does not fit into an int64 array.

    >>> transaction_fee(100_000, 200, base_fee=10**8, gas_per_pubdata=500)
    Fee(pubdata=10000000000000, execution=10000000000000)
    """
    price = whole("base_fee", base_fee, unit="wei")
    published = multiply(
        "pubdata", whole("pubdata", pubdata, unit="bytes"), whole("gas_per_pubdata", gas_per_pubdata, unit="gas")
    )
    return Fee(
        multiply("pubdata_fee", published, price), multiply("execution_fee", whole("gas", gas, unit="gas"), price)
    )


@formula
def l1_pubdata_price(
    l1_gas_price: ArrayLike,
    blob_base_fee: ArrayLike,
    *,
    mode: str = "blobs",
    multiplier: float = 1.0,
    max_blob_base_fee: int | None = None,
) -> Whole:
    """Return the L1 price of a byte of pubdata [wei / byte].

    A byte costs 1 blob gas in blobs, 17 gas in calldata, and nothing in a validium.

    Parameters
    ----------
    l1_gas_price : gas price of L1 [wei / gas].
    blob_base_fee : blob base fee; the node uses a prediction, see `predicted_blob_base_fee` [wei / gas].
    mode : "blobs", "calldata" or "validium".
    multiplier : safety factor by which the blob base fee is multiplied [1].
    max_blob_base_fee : maximum of multiplier · blob_base_fee [wei / gas].

    The arguments broadcast. Raises `InvalidInput` for an argument that is not a number in range, and `Int64Overflow` if
    a result does not fit into an int64 array.

    >>> l1_pubdata_price(10**9, 2 * 10**9), l1_pubdata_price(10**9, 2 * 10**9, mode="calldata")
    (2000000000, 17000000000)
    """
    gas_price = whole("l1_gas_price", l1_gas_price, unit="wei")
    blob_price, scale = whole("blob_base_fee", blob_base_fee, unit="wei"), real("scale", multiplier)
    choice("mode", mode, PUBDATA_MODES)
    if max_blob_base_fee is not None:
        whole_scalar("max_blob_base_fee", max_blob_base_fee, unit="wei")
    return _l1_pubdata_price(gas_price, blob_price, mode, scale, max_blob_base_fee)


def _l1_pubdata_price(
    gas_price: Whole, blob_base_fee: Whole, mode: str, multiplier: Real = 1.0, max_blob_base_fee: int | None = None
) -> Whole:
    blob_price = _scaled("blob_base_fee", blob_base_fee, multiplier)
    if mode == "blobs":
        capped = blob_price if max_blob_base_fee is None else minimum(blob_price, max_blob_base_fee)
        return multiply("l1_pubdata_price", capped, BLOB_GAS_PER_PUBDATA_BYTE)
    return multiply("l1_pubdata_price", gas_price, L1_GAS_PER_PUBDATA_BYTE if mode == "calldata" else 0)


def predicted_blob_base_fee(
    blob_base_fee: int,
    *,
    pending_blobs: int,
    l1_blocks: int,
    update_fraction: int = PREDICTOR_UPDATE_FRACTION,
    target_blobs: int = PREDICTOR_TARGET_BLOBS,
    safety_bips: int = PREDICTOR_SAFETY_BIPS,
) -> int:
    """Return the node's prediction of the blob base fee after the pending blobs have been posted [wei / gas].

    The prediction is made for an excess blob gas of current excess + 131,072 · max(0, pending_blobs − target_blobs ·
    l1_blocks), and multiplied by the safety factor `safety_bips` / 10,000. If there are no pending blobs, the result is
    `blob_base_fee`.

    Parameters
    ----------
    blob_base_fee : recent median of the blob base fee [wei / gas].
    pending_blobs : number of blobs not yet posted [1].
    l1_blocks : number of L1 blocks since the last batch was posted; 0 counts as 1 [1].
    update_fraction, target_blobs : parameters of L1's blob market. The defaults are the constants of the node, which
        combine the update fraction of Cancun with the target of Prague. `feemodel.ethereum.fee_market.MAINNET` has the
        parameters of mainnet.
    safety_bips : factor by which the prediction is multiplied [1/10,000].

    >>> predicted_blob_base_fee(1, pending_blobs=100, l1_blocks=1)
    44
    """
    market_excess = excess_behind(blob_base_fee, update_fraction)
    target = whole_scalar("target_blobs", target_blobs) * max(whole_scalar("l1_blocks", l1_blocks), 1)
    pending, bips = whole_scalar("pending_blobs", pending_blobs), whole_scalar("safety_bips", safety_bips)
    if pending == 0:
        return blob_base_fee
    own_excess = fee_market.GAS_PER_BLOB * max(0, pending - target)
    fee = fee_market.fake_exponential(fee_market.MIN_BLOB_BASE_FEE, market_excess + own_excess, update_fraction)
    predicted = int(fee) * bips // 10_000
    if predicted > UINT64_MAX:
        raise Int64Overflow("pending_blobs", "expected a predicted fee that fits an unsigned 64-bit integer", predicted)
    return predicted


@formula
def in_base_token(price: ArrayLike, *, numerator: ArrayLike, denominator: ArrayLike) -> Whole:
    """Convert a price to a chain's base token: min(price · numerator // denominator, 2**64 − 1).

    Raises `InvalidInput` for a denominator of 0, and `Int64Overflow` if a price does not fit into an int64 array.

    >>> in_base_token(1_000, numerator=1, denominator=2)
    500
    """
    ratio = whole("numerator", numerator), whole("denominator", denominator, minimum=1)
    return saturated(multiply_divide("price", whole("price", price, unit="wei"), *ratio))


def _scaled(name: str, price: Whole, scale: Real) -> Whole:
    return truncated(name, _double(price) * scale)


def _overhead(gas_price: Whole, overhead: int, units: int, part: float) -> Whole:
    per_unit = multiply_divide("overhead", gas_price, overhead, units, addend=units - 1)
    if isinstance(per_unit, int) and per_unit > UINT64_MAX:
        raise Int64Overflow("overhead", "expected an overhead per unit that fits an unsigned 64-bit integer", per_unit)
    return truncated("overhead", _double(per_unit) * part)


def _double(value: Whole) -> Real:
    return float(value) if isinstance(value, int) else value.astype(float)
