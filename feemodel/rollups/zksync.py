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

from dataclasses import dataclass, fields
from typing import Annotated, Any, NamedTuple

from feemodel.arguments import check_fields, check_of, checked
from feemodel.checks import UINT64_MAX, require
from feemodel.errors import Int64Overflow
from feemodel.ethereum import fee_market
from feemodel.ethereum.fee_market import excess_behind as excess_behind
from feemodel.exact import double, maximum, minimum, truncated
from feemodel.formula import formula
from feemodel.quantities import (
    BlobBaseFee,
    BytesAboveZero,
    Divisor,
    Gas,
    GasAboveZero,
    GasPrice,
    Ratio,
    Real,
    Wei,
    WeiPerByte,
    WeiPerGas,
    Whole,
    WholeNumber,
)
from feemodel.rollups.chains import Parameters
from feemodel.rollups.factors import Columns, Factors, Rule

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
PubdataMode = Annotated[str, PUBDATA_MODES]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeeModel:
    """Configuration of a chain's fee model, version 2, with the defaults of the node."""

    minimal_l2_gas_price: WeiPerGas = 100_000_000  #: [wei / gas]
    compute_overhead_part: Ratio = 0.0  #: share of the batch overhead that is added to the gas price [1]
    pubdata_overhead_part: Ratio = 1.0  #: share of the batch overhead that is added to the pubdata price [1]
    batch_overhead_l1_gas: Gas = 800_000  #: [gas]
    max_gas_per_batch: GasAboveZero = 200_000_000  #: [gas]
    max_pubdata_per_batch: BytesAboveZero = 100_000  #: [byte]

    def __post_init__(self) -> None:
        check_fields(self)


class FeeInput(NamedTuple):
    """Prices of a batch."""

    l1_gas_price: Any  #: [wei / gas]
    fair_l2_gas_price: Any  #: [wei / gas]
    fair_pubdata_price: Any  #: [wei / byte]


class BaseFee(NamedTuple):
    """Base fee of a batch, and gas for a byte of pubdata."""

    base_fee: Any  #: [wei / gas]
    gas_per_pubdata: Any  #: [gas / byte]


@formula
def batch_fee_input(
    l1_gas_price: WeiPerGas,
    l1_pubdata_price: WeiPerByte,
    *,
    model: FeeModel,
    l1_gas_price_scale: Ratio = 1.0,
    l1_pubdata_price_scale: Ratio = 1.0,
    clip: bool = True,
) -> FeeInput:
    """Compute the prices of a batch from L1 prices, each multiplied by its scale.

    `l1_pubdata_price` is the result of the function `l1_pubdata_price`. If `clip` is true, `fair_l2_gas_price` is at
    most 10¹³ wei and `fair_pubdata_price` at most 10¹⁵ wei, as in the node.

    The price of a byte of pubdata is its L1 price, 10¹⁴ wei, plus the overhead: 10¹⁴ wei · 700,000 gas per batch /
    100,000 bytes per batch:

    >>> batch_fee_input(10**14, 10**14, model=FeeModel(batch_overhead_l1_gas=700_000)).fair_pubdata_price
    800000000000000
    """
    gas_price = _as_u64("l1_gas_price", double(l1_gas_price) * l1_gas_price_scale)
    pubdata_price = _as_u64("l1_pubdata_price", double(l1_pubdata_price) * l1_pubdata_price_scale)
    overhead = model.batch_overhead_l1_gas
    gas_overhead = _overhead(gas_price, overhead, model.max_gas_per_batch, model.compute_overhead_part)
    pubdata_overhead = _overhead(gas_price, overhead, model.max_pubdata_per_batch, model.pubdata_overhead_part)
    fair_gas, fair_pubdata = model.minimal_l2_gas_price + gas_overhead, pubdata_price + pubdata_overhead
    if clip:
        fair_gas, fair_pubdata = minimum(fair_gas, MAX_FAIR_L2_GAS_PRICE), minimum(fair_pubdata, MAX_FAIR_PUBDATA_PRICE)
    return FeeInput(gas_price, fair_gas, fair_pubdata)


@formula
def base_fee(fair_l2_gas_price: GasPrice, fair_pubdata_price: WeiPerByte) -> BaseFee:
    """Return the base fee and the gas per byte of pubdata of a batch with given prices.

    >>> base_fee(100_000_000, 10**13)
    BaseFee(base_fee=200000000, gas_per_pubdata=50000)
    """
    fee = maximum(fair_l2_gas_price, -(-fair_pubdata_price // MAX_GAS_PER_PUBDATA))
    return BaseFee(fee, -(-fair_pubdata_price // fee))


@formula
def l1_pubdata_price(
    l1_gas_price: WeiPerGas,
    blob_base_fee: BlobBaseFee,
    *,
    mode: PubdataMode = "blobs",
    multiplier: Ratio = 1.0,
    max_blob_base_fee: BlobBaseFee | None = None,
) -> WeiPerByte:
    """Return the L1 price of a byte of pubdata.

    A byte costs 1 blob gas in blobs, 17 gas in calldata, and nothing in a validium; `mode` is "blobs", "calldata" or
    "validium". The price of blob gas is min(multiplier · blob_base_fee, max_blob_base_fee); the node uses the
    prediction `predicted_blob_base_fee`.

    >>> l1_pubdata_price(10**9, 2 * 10**9), l1_pubdata_price(10**9, 2 * 10**9, mode="calldata")
    (2000000000, 17000000000)
    """
    if mode == "blobs":
        blob_price = _as_u64("blob_base_fee", double(blob_base_fee) * multiplier)
        capped = blob_price if max_blob_base_fee is None else minimum(blob_price, max_blob_base_fee)
        return BLOB_GAS_PER_PUBDATA_BYTE * capped
    return l1_gas_price * (L1_GAS_PER_PUBDATA_BYTE if mode == "calldata" else 0)


@checked
def predicted_blob_base_fee(
    blob_base_fee: BlobBaseFee,
    *,
    pending_blobs: WholeNumber,
    l1_blocks: WholeNumber,
    update_fraction: GasAboveZero = PREDICTOR_UPDATE_FRACTION,
    target_blobs: WholeNumber = PREDICTOR_TARGET_BLOBS,
    safety_bips: WholeNumber = PREDICTOR_SAFETY_BIPS,
) -> BlobBaseFee:
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
    if pending_blobs == 0:
        return blob_base_fee
    own_excess = fee_market.GAS_PER_BLOB * max(0, pending_blobs - target_blobs * max(l1_blocks, 1))
    fee = fee_market.fake_exponential(fee_market.MIN_BLOB_BASE_FEE, market_excess + own_excess, update_fraction)
    predicted = int(fee) * safety_bips // 10_000
    if predicted > UINT64_MAX:
        raise Int64Overflow("pending_blobs", "expected a predicted fee that fits an unsigned 64-bit integer", predicted)
    return predicted


@formula
def in_base_token(price: Wei, *, numerator: WholeNumber, denominator: Divisor) -> Wei:
    """Convert a price to a chain's base token: min(price · numerator // denominator, 2**64 − 1).

    >>> in_base_token(1_000, numerator=1, denominator=2)
    500
    """
    return minimum(price * numerator // denominator, UINT64_MAX)


def _overhead(gas_price: Whole, overhead: int, units: int, part: float) -> Whole:
    per_unit = (gas_price * overhead + units - 1) // units
    reason = "expected an overhead per unit that fits an unsigned 64-bit integer"
    require("overhead", reason, per_unit, per_unit <= UINT64_MAX, Int64Overflow)
    return _as_u64("overhead", double(per_unit) * part)


def _as_u64(name: str, value: Real) -> Whole:
    """Truncate doubles of at least 0 and limit them to 2**64 − 1, as the node does."""
    if isinstance(value, float):
        return min(int(min(value, 2.0**64)), UINT64_MAX)
    return truncated(name, value)  # raises `Int64Overflow` above 2**63 − 1


FEE_MODEL = tuple(field.name for field in fields(FeeModel))  # parameters of the rule


def zksync_rule(parameters: Parameters) -> Rule:
    """Return the rule of a ZK Stack chain, for batches that are posted at the given L1 fees.

    >>> from feemodel.rollups.rules import rule
    >>> rule("zksync-era").columns
    ('gas', 'pubdata')
    """
    terms = parameters.known(*FEE_MODEL, "pubdata_mode")
    model = FeeModel(**{name: terms[name] for name in FEE_MODEL})
    mode = check_of(PubdataMode)("mode", terms["pubdata_mode"])

    def factors(columns: Columns, l1_base_fee: Whole, blob_base_fee: Whole) -> Factors:
        pubdata_price = l1_pubdata_price.core(l1_base_fee, blob_base_fee, mode=mode)
        fees = batch_fee_input.core(l1_base_fee, pubdata_price, model=model)
        gas_price = fees.fair_l2_gas_price
        require("fair_l2_gas_price", "expected whole wei of at least 1", gas_price, gas_price > 0)
        batch = base_fee.core(gas_price, fees.fair_pubdata_price)
        byte = batch.base_fee * batch.gas_per_pubdata
        return Factors(columns["pubdata"], byte, 1, columns["gas"], batch.base_fee)

    return Rule(parameters, ("gas", "pubdata"), tuple(terms), factors)
