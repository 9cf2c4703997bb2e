"""Starknet: a transaction pays for L1 gas, L1 data gas and L2 gas at three prices, in FRI (10⁻¹⁸ STRK).

The amounts of gas are inputs, because this package does not execute Cairo. The price of L2 gas changes with each block
as in EIP-1559, with two differences: the change is rounded only once, and the price need not rise by at least 1. Since
version 0.14.3, the price of L2 gas can have a minimum in USD (SNIP-35). The price of L1 gas is computed from the mean
base fee of L1, and the price of L1 data gas from the mean blob base fee.

Sources: starkware-libs/sequencer at 60161ba (2026-08-20): crates/starknet_api/src/execution_resources.rs,
crates/apollo_consensus_orchestrator/src/fee_market/mod.rs and dynamic_gas_price/mod.rs, validate_proposal.rs,
crates/apollo_l1_gas_price/src/l1_gas_price_provider.rs; starknet-io/starknet-docs at 9dc4a3b (2026-04-27);
starknet-io/starknet.js at f6da626 (2026-07-22).
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from feemodel.arguments import checked
from feemodel.checks import require
from feemodel.errors import InvalidInput
from feemodel.exact import maximum, minimum, where
from feemodel.formula import formula
from feemodel.quantities import (
    BaseFee,
    BlobBaseFee,
    Divisor,
    Gas,
    GasPrice,
    Quantity,
    Seconds,
    Wei,
    WeiPerGas,
    Whole,
    WholeNumber,
)
from feemodel.rollups.chains import Parameters
from feemodel.rollups.factors import Columns, Factors, Rule

GasTarget = Annotated[Whole, Quantity("gas", "gas target of the block", minimum=1)]
Window = Annotated[Whole, Quantity("block", "blocks in a window", minimum=1, maximum=100_000)]

UINT128_MAX = 2**128 - 1
FRI_PER_STRK = WEI_PER_ETH = 10**18
DENOMINATOR = 48  # the L2 gas price changes by price · (gas used − target) / target / 48 per block
RISE_DENOMINATOR = 333  # a price below the minimum rises by 1/333 per block
MARGIN_PPT = 2  # maximum difference of a proposed L1 price from the median price [10⁻³]
WINDOW = 10  # number of blocks in the median of proposals
TARGET_ATTO_USD = 880_000_000  # SNIP-35: target price of L2 gas [10⁻¹⁸ USD / gas]
L1_TIP = 10**9  # amount added to the mean base fee of L1 [wei / gas]
DATA_MULTIPLIER_PPT = 135
SAMPLES = 300  # number of L1 blocks in a mean
LAG_SECONDS, LARGEST_GAP_SECONDS = 600, 900
LOWEST_L1_GAS_PRICE, HIGHEST_L1_GAS_PRICE = 10**9, 10**12  # price limits configured in deployed nodes [wei / gas]
LOWEST_DATA_GAS_PRICE, HIGHEST_DATA_GAS_PRICE = 1, 10**12  # price limits configured in deployed nodes [wei / gas]


class L1GasSample(NamedTuple):
    """Fees of one L1 block."""

    timestamp: Seconds  #: [s]
    base_fee: BaseFee  #: [wei / gas]
    blob_base_fee: BlobBaseFee  #: [wei / gas]


class L1Prices(NamedTuple):
    """Prices of L1 gas and of L1 data gas."""

    l1_gas: Any  #: [wei / gas]
    l1_data_gas: Any  #: [wei / gas]


@formula
def fee(
    *,
    l1_gas: Gas,
    l1_data_gas: Gas,
    l2_gas: Gas,
    l1_gas_price: WeiPerGas,
    l1_data_gas_price: WeiPerGas,
    l2_gas_price: WeiPerGas,
    tip: WeiPerGas = 0,
) -> Wei:
    """Return the fee of a transaction, Σ gas · price in FRI, where the tip is added to the price of L2 gas.

    L1 gas pays for messages to L1, L1 data gas for changes of state, L2 gas for execution and
    calldata. All prices can also be in wei; the fee is then in wei. 10 L1 gas, 20 L1 data gas and 30 L2 gas (with a tip
    of 3) cost 10 · 1 + 20 · 3 + 30 · (5 + 3):

    >>> fee(l1_gas=10, l1_data_gas=20, l2_gas=30, l1_gas_price=1, l1_data_gas_price=3, l2_gas_price=5, tip=3)
    310
    """
    return l1_gas * l1_gas_price + l1_data_gas * l1_data_gas_price + l2_gas * (l2_gas_price + tip)


@formula
def next_l2_gas_price(
    price: WeiPerGas,
    gas_used: Gas,
    *,
    gas_target: GasTarget,
    min_gas_price: WeiPerGas,
    denominator: Divisor = DENOMINATOR,
    rise_denominator: Divisor = RISE_DENOMINATOR,
) -> WeiPerGas:
    """Return the price of L2 gas in the next block [FRI / gas].

    If `price` is below `min_gas_price`, the price of the next block is min(price + price // 333, min_gas_price),
    whatever the gas used. At or above `min_gas_price`, the price changes by price · |gas_used − gas_target| //
    (gas_target · 48), and does not fall below `min_gas_price`. The numbers 333 (`rise_denominator`) and 48
    (`denominator`) differ between versions of Starknet.

    The block used 1.5 times its gas target:

    >>> next_l2_gas_price(30 * 10**9, 4_350_000_000, gas_target=2_900_000_000, min_gas_price=8 * 10**9)
    30312500000
    """
    change = price * maximum(gas_used - gas_target, gas_target - gas_used) // (gas_target * denominator)
    moved = maximum(where(gas_used > gas_target, price + change, price - change), min_gas_price)
    raised = minimum(price + price // rise_denominator, min_gas_price)
    return minimum(where(price < min_gas_price, raised, moved), UINT128_MAX)


@checked
def min_gas_price_at(
    height: WholeNumber, per_height: Mapping[WholeNumber, WeiPerGas], fallback: WeiPerGas
) -> WeiPerGas:
    """Return the minimum price of L2 gas at a block height [FRI / gas].

    `per_height` has the minimum prices by the block height from which they apply, in order of height. At a block below
    the first height, the minimum price is `fallback`.

    >>> min_gas_price_at(300, {100: 10, 500: 20}, 8)
    10
    """
    reached = [price for start, price in per_height.items() if start <= height]
    return reached[-1] if reached else fallback


@checked
def fee_target(strk_usd_rate: WholeNumber, target_atto_usd: WholeNumber = TARGET_ATTO_USD) -> int | None:
    """Return the price of L2 gas in FRI for a target price in USD (SNIP-35), or `None` if the exchange rate is 0.

    Parameters
    ----------
    strk_usd_rate : price of one STRK [10⁻¹⁸ USD].
    target_atto_usd : target price of L2 gas [10⁻¹⁸ USD / gas].

    At 0.11 USD for one STRK, the target of 880,000,000 · 10⁻¹⁸ USD per gas is 8,000,000,000 FRI per gas:

    >>> fee_target(110 * 10**15)
    8000000000
    """
    return min(target_atto_usd * FRI_PER_STRK // strk_usd_rate, UINT128_MAX) if strk_usd_rate else None


@formula
def proposal_bounds(fee_actual_now: WeiPerGas, margin_ppt: WholeNumber = MARGIN_PPT) -> tuple[WeiPerGas, WeiPerGas]:
    """Return the minimum and the maximum proposal that validators accept, for a median of recent proposals.

    >>> proposal_bounds(8 * 10**9)
    (7984031936, 8016000000)
    """
    lower, upper = fee_actual_now * 1000 // (1000 + margin_ppt), fee_actual_now * (1000 + margin_ppt) // 1000
    return minimum(lower, UINT128_MAX), minimum(upper, UINT128_MAX)


@checked
def fee_proposal(
    target: WeiPerGas | None, fee_actual_now: WeiPerGas, margin_ppt: WholeNumber = MARGIN_PPT
) -> WeiPerGas:
    """Return the proposal of an honest proposer.

    The proposal is the target, limited to `proposal_bounds`, or the median if `target` is `None`.

    >>> fee_proposal(2_000, 1_000), fee_proposal(None, 1_000)
    (1002, 1000)
    """
    lower, upper = proposal_bounds.core(fee_actual_now, margin_ppt)
    return fee_actual_now if target is None else max(lower, min(target, upper))


@checked
def fee_actual(
    proposals: Mapping[WholeNumber, WeiPerGas | None], height: WholeNumber, window: Window = WINDOW
) -> WeiPerGas | None:
    """Return the median of the last `window` proposals before the block `height`, or `None` if a proposal is missing.

    For an even number of proposals, the median is the mean of the two middle values, rounded down.

    >>> fee_actual(dict(enumerate([314, 1729, 42, 1024, 100, 9999, 87, 271, 1, 6000, 17, 999])), 12)
    185
    """
    last = [proposals.get(block) for block in range(height - window, height)]
    values = sorted(one for one in last if one is not None)
    if len(values) < window:
        return None
    low, high = values[(window - 1) // 2], values[window // 2]
    return low + (high - low) // 2


@checked
def mean_l1_fees(
    samples: Sequence[L1GasSample],
    timestamp: Seconds,
    *,
    count: Divisor = SAMPLES,
    lag: Seconds = LAG_SECONDS,
    largest_gap: Seconds = LARGEST_GAP_SECONDS,
) -> L1GasSample:
    """Return the mean fees of the last `count` L1 blocks that are at least `lag` seconds old, rounded down.

    Parameters
    ----------
    samples : fees of L1 blocks, in order of time.
    timestamp : timestamp of the L2 block [s].
    count : maximum number of L1 blocks over which the mean is taken.
    lag : minimum age of a block in the mean [s].
    largest_gap : maximum age of the newest sample [s].

    Raises `InvalidInput` if no sample is at least `lag` seconds old, or if the newest sample is older than
    `largest_gap`.

    >>> mean_l1_fees([L1GasSample(2, 1, 2), L1GasSample(4, 4, 5), L1GasSample(6, 9, 10)], 66, lag=60)
    L1GasSample(timestamp=6, base_fee=4, blob_base_fee=5)
    """
    newest = max(timestamp - lag, 0)
    if not samples or timestamp - samples[-1].timestamp > largest_gap:
        raise InvalidInput("samples", f"expected a sample at most {largest_gap} s old", samples[-1:])
    old = [one for one in samples if one.timestamp <= newest][-count:]
    if not old:
        raise InvalidInput("samples", f"expected a sample at least {lag} s old", samples[0])
    base_fee, blob_base_fee = (sum(fees) // len(old) for fees in list(zip(*old, strict=True))[1:])
    return L1GasSample(old[-1].timestamp, base_fee, blob_base_fee)


@formula
def l1_prices(
    base_fee: BaseFee,
    blob_base_fee: BlobBaseFee,
    *,
    tip: WeiPerGas = L1_TIP,
    data_multiplier_ppt: WholeNumber = DATA_MULTIPLIER_PPT,
    min_l1_gas_price: WeiPerGas = LOWEST_L1_GAS_PRICE,
    max_l1_gas_price: WeiPerGas = HIGHEST_L1_GAS_PRICE,
    min_l1_data_gas_price: WeiPerGas = LOWEST_DATA_GAS_PRICE,
    max_l1_data_gas_price: WeiPerGas = HIGHEST_DATA_GAS_PRICE,
) -> L1Prices:
    """Return the prices of L1 gas and L1 data gas for given mean fees of L1.

    The price of L1 gas is base_fee + tip, and the price of L1 data gas is blob_base_fee · data_multiplier_ppt // 1000.
    Each price is limited to its bounds.

    >>> l1_prices(10**9, 10**8)
    L1Prices(l1_gas=2000000000, l1_data_gas=13500000)
    """
    l1_gas = maximum(min_l1_gas_price, minimum(base_fee + tip, max_l1_gas_price))
    data_gas = blob_base_fee * data_multiplier_ppt // 1000
    return L1Prices(l1_gas, maximum(min_l1_data_gas_price, minimum(data_gas, max_l1_data_gas_price)))


@formula
def wei_to_fri(price: WeiPerGas, rate: WholeNumber) -> WeiPerGas:
    """Convert a price from wei to FRI: price · rate // 10¹⁸, where the rate is the price of one ETH in FRI.

    >>> wei_to_fri(5, 800 * 10**18)
    4000
    """
    reason = "expected a price whose product with the rate has at most 128 bits"
    require("price", reason, price, price * rate <= UINT128_MAX)
    return price * rate // WEI_PER_ETH


@formula
def fri_to_wei(price: WeiPerGas, rate: Divisor) -> WeiPerGas:
    """Convert a price from FRI to wei: price · 10¹⁸ // rate, where the rate is the price of one ETH in FRI.

    >>> fri_to_wei(4000, 800 * 10**18)
    5
    """
    reason = "expected a price whose product with 10**18 has at most 128 bits"
    require("price", reason, price, price <= UINT128_MAX // WEI_PER_ETH)
    return price * WEI_PER_ETH // rate


@formula
def discounted_l1_gas(l1_gas: Gas, l1_data_gas: Gas, *, l1_gas_price: GasPrice, l1_data_gas_price: WeiPerGas) -> Gas:
    """Return the L1 gas of a transaction that sets a bound only for L1 gas, and so pays for data in L1 gas.

    The result is l1_gas + ⌈l1_data_gas · l1_data_gas_price / l1_gas_price⌉.

    >>> discounted_l1_gas(10, 1, l1_gas_price=10, l1_data_gas_price=1_000)
    110
    """
    return l1_gas + -(-l1_data_gas * l1_data_gas_price // l1_gas_price)


def starknet_rule(parameters: Parameters) -> Rule:
    """Return Starknet's rule, with fees in FRI.

    The rule is for transactions without messages to L1, at the minimum price of L2 gas.

    Starknet's rule reads the columns `l1_data_gas` and `l2_gas`, which no other rule reads, and needs the parameter
    `eth_to_fri_rate`.

    The fee is 256 · (20 gwei · 135 // 1000 · 30,000) FRI for L1 data gas and 1,100,000 · 8 · 10⁹ FRI for L2 gas:

    >>> from feemodel.rollups.rules import rule
    >>> given = rule("starknet", parameters={"eth_to_fri_rate": 30_000 * 10**18})
    >>> given.fees({"l1_data_gas": 256, "l2_gas": 1_100_000}, base_fee=10**9, blob_base_fee=20 * 10**9)
    Fees(l1=20736000000000000, l2=8800000000000000)
    """
    terms = parameters.known("min_gas_price", "eth_to_fri_rate")

    def factors(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        price = wei_to_fri.core(l1_prices.core(base_fee, blob_base_fee).l1_data_gas, terms["eth_to_fri_rate"])
        return Factors(columns["l1_data_gas"], price, 1, columns["l2_gas"], terms["min_gas_price"])

    return Rule(parameters, ("l1_data_gas", "l2_gas"), tuple(terms), factors)


def starknet_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return the largest L2 gas price of Starknet [FRI / gas].

    All blocks are assumed to be full. The minimum price of SNIP-35 is ignored, because full blocks raise the price
    faster than SNIP-35 can raise its minimum.
    """
    terms = parameters.known("gas_target", "max_block_size", "min_gas_price")
    used, target, lowest = terms["max_block_size"], terms["gas_target"], terms["min_gas_price"]
    for _ in range(blocks):
        base_fee = next_l2_gas_price.core(base_fee, used, gas_target=target, min_gas_price=lowest)
    return base_fee
