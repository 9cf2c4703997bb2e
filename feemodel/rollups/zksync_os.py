"""ZKsync OS: the three prices of a block, as the chain's server sets them, and the gas charged for a transaction.

The work of proving is measured in *native* units, and L1 data in bytes of pubdata. Native units and pubdata are both
charged as EVM gas. Prices are exact fractions.

Sources: matter-labs/zksync-os-server at a8ebf6b, lib/sequencer/src/execution/fee_provider.rs;
matter-labs/zksync-os at 0a82da0 (2025-07-04), basic_bootloader/src/bootloader/process_transaction.rs. Neither
repository has published tests with numbers, so the test vectors of this project are derived from the source code.
"""

import math
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

from feemodel.arguments import check_of, checked
from feemodel.checks import UINT256_MAX
from feemodel.errors import InvalidInput
from feemodel.exact import maximum
from feemodel.formula import formula
from feemodel.quantities import (
    BaseFee,
    Divisor,
    GasPrice,
    GasUsed,
    Quantity,
    WeiPerByte,
    WeiPerNative,
    Whole,
    WholeNumber,
)
from feemodel.rollups.chains import Parameters
from feemodel.rollups.factors import Columns, Factors, Rule
from feemodel.rollups.zksync import PubdataMode, l1_pubdata_price

BLOB_NATIVE = 50_000_000  # native units for proving a blob
BLOB_PUBDATA = 4_095 * 31  # usable bytes of a blob
NATIVE_PER_PUBDATA = BLOB_NATIVE // BLOB_PUBDATA  # 393
DEFAULT_FILL_RATIO = Fraction(1, 2)  # fill ratio that is assumed before any blob is posted
CHANGE_DENOMINATOR = 8  # the native price changes by at most an eighth per block
PUBDATA_RISE_DENOMINATOR = 2  # the pubdata price rises by at most a half per block

NativePrice = Annotated[Whole, Quantity("wei / native unit", "price of a native unit, above 0", minimum=1)]


class BlockPrices(NamedTuple):
    """Prices of a block, in the chain's base token."""

    base_fee: BaseFee  #: price of EVM gas [wei / gas]
    native_price: WeiPerNative  #: [wei / native unit]
    pubdata_price: WeiPerByte  #: [wei / byte]


class Charged(NamedTuple):
    """Gas charged for a transaction."""

    native_per_gas: Any  #: number of native units that a unit of gas pays for
    gas_used: Any  #: [gas]


@checked
def block_prices(
    *,
    native_price_usd: Fraction | int,
    base_token_usd: Fraction | int,
    settlement_token_usd: Fraction | int,
    native_per_gas: Divisor,
    pubdata_price: WeiPerByte,
    blobs: bool = True,
    fill_ratio: Fraction | int | None = None,
    previous: BlockPrices | None = None,
    pubdata_price_cap: WeiPerByte | None = None,
    native_price_override: WeiPerNative | None = None,
    base_fee_override: BaseFee | None = None,
    pubdata_price_override: WeiPerByte | None = None,
) -> BlockPrices:
    """Compute the prices of a block.

    In each block, the native price changes by at most an eighth, and the pubdata price rises by at most a half. The
    native price and the pubdata price can rise by 1 in any block, however low they are. The pubdata price can fall by
    any amount.

    Parameters
    ----------
    native_price_usd : price of a native unit, above 0 [USD].
    base_token_usd : price of one wei of the chain's base token, above 0 [USD].
    settlement_token_usd : price of one wei of the settlement layer's token, above 0 [USD].
    native_per_gas : native units for each unit of gas; 100 in all known configurations.
    pubdata_price : price of a byte on the settlement layer [wei of the settlement layer's token].
    blobs : whether pubdata is posted in blobs. If `True`, the pubdata price also pays for proving the blobs and for the
        unused space in the blobs.
    fill_ratio : fill ratio of the last blobs, above 0 and at most 1; `None`: 1/2 [1].
    previous : prices of the previous block; `None`: the changes are not limited.
    pubdata_price_cap : maximum pubdata price in the configuration; `None`: no maximum [wei / byte].
    native_price_override, base_fee_override, pubdata_price_override : fixed prices in the configuration, which replace
        the computed prices and are not limited by the cap; `None`: no fixed price.

    The pubdata price is (price of a byte + 393 · native price) / fill ratio = (1,000 + 393 · 1) / (3/4), rounded down:

    >>> block_prices(native_price_usd=Fraction(3, 10**15), base_token_usd=Fraction(3_000, 10**18),
    ...              settlement_token_usd=Fraction(3_000, 10**18), native_per_gas=100, pubdata_price=1_000,
    ...              fill_ratio=Fraction(3, 4))
    BlockPrices(base_fee=100, native_price=1, pubdata_price=1857)
    """
    native_usd = _above_zero("native_price_usd", native_price_usd)
    token_usd = _above_zero("base_token_usd", base_token_usd)
    settlement_usd = _above_zero("settlement_token_usd", settlement_token_usd)
    native = math.ceil(native_usd / token_usd)
    if previous is not None:
        step = previous.native_price // CHANGE_DENOMINATOR
        native = min(max(native, previous.native_price - step), previous.native_price + max(1, step))
    if native_price_override is not None:
        native = native_price_override
    base_fee = native * native_per_gas if base_fee_override is None else base_fee_override

    price = math.ceil(pubdata_price * settlement_usd / token_usd)
    if blobs:
        ratio = DEFAULT_FILL_RATIO if fill_ratio is None else fill_ratio
        price = blob_pubdata_price.core(price, native_price=native, fill_ratio=ratio)
    if previous is not None:
        price = min(price, previous.pubdata_price + max(1, previous.pubdata_price // PUBDATA_RISE_DENOMINATOR))
    if pubdata_price_cap is not None:
        price = min(price, pubdata_price_cap)
    if pubdata_price_override is not None:
        price = pubdata_price_override
    return BlockPrices(*(min(number, UINT256_MAX) for number in (base_fee, native, price)))


@formula
def blob_pubdata_price(
    pubdata_price: WeiPerByte, *, native_price: WeiPerNative, fill_ratio: Fraction | int = DEFAULT_FILL_RATIO
) -> WeiPerByte:
    """Return the price of a byte in blobs: ⌊(pubdata_price + 393 · native_price) / fill_ratio⌋.

    `pubdata_price` is that of the settlement layer; `fill_ratio` is above 0 and at most 1.

    >>> blob_pubdata_price(1_000, native_price=1, fill_ratio=Fraction(3, 4))
    1857
    """
    ratio = _above_zero("fill_ratio", fill_ratio)
    if ratio > 1:
        raise InvalidInput("fill_ratio", "expected at most 1", fill_ratio)
    return (pubdata_price + NATIVE_PER_PUBDATA * native_price) * ratio.denominator // ratio.numerator


@formula
def gas_used(
    evm_gas_used: GasUsed, native_used: WholeNumber, *, gas_price: GasPrice, native_price: NativePrice
) -> Charged:
    """Return the gas charged for a transaction: max(evm_gas_used, native_used // ⌈gas_price / native_price⌉).

    `native_used` is the number of native units of execution and pubdata; a byte of pubdata counts as pubdata_price /
    native_price units. `native_price` is that of the block.

    >>> gas_used(50_000, 1_000_000, gas_price=101, native_price=7)
    Charged(native_per_gas=15, gas_used=66666)
    """
    per_gas = -(-gas_price // native_price)
    return Charged(per_gas, maximum(evm_gas_used, native_used // per_gas))


def _above_zero(name: str, value: Fraction | int) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)) or value <= 0:
        raise InvalidInput(name, "expected a whole number or Fraction above 0", value)
    return Fraction(value)


def zksync_os_rule(parameters: Parameters) -> Rule:
    """Return the rule of a ZKsync OS chain, which charges pubdata in native units, and converts native units to gas.

    The gas price is native_price · native_per_gas. A transaction is charged max(gas, native units // native_per_gas).
    The gas of the execution pays for some native units. If the execution does not use all these units, the unused units
    pay for pubdata on the chain. This rule assumes that the execution uses all the native units that its gas pays for,
    so all pubdata is charged in addition.

    A byte of pubdata costs (1 + 393) · 2 // 1 = 788 native units. 200 bytes of pubdata cost 200 · 788 = 157,600 native
    units, which are 1,576 gas at a gas price of 100 wei:

    >>> from feemodel.rollups.rules import rule
    >>> rule("zksync-os").fees({"gas": 21_000, "pubdata": 200}, base_fee=10**9, blob_base_fee=1)
    Fees(l1=157600, l2=2100000)
    """
    terms = parameters.known("native_price", "native_per_gas", "pubdata_mode")
    native_price, native_per_gas = terms["native_price"], terms["native_per_gas"]
    gas_price = native_price * native_per_gas
    mode = check_of(PubdataMode)("mode", terms["pubdata_mode"])

    def factors(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        price = l1_pubdata_price.core(base_fee, blob_base_fee, mode=mode)
        if mode == "blobs":
            price = blob_pubdata_price.core(price, native_price=native_price)
        native = price // native_price
        return Factors(columns["pubdata"], native, native_per_gas, columns["gas"], gas_price, step=gas_price)

    return Rule(parameters, ("gas", "pubdata"), tuple(terms), factors)


def zksync_os_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return the largest base fee if each block raises the native price by max(1, an eighth)."""
    native_per_gas = parameters.known("native_per_gas")["native_per_gas"]
    native = -(-base_fee // native_per_gas)
    for _ in range(blocks):
        native += max(1, native // CHANGE_DENOMINATOR)
    return int(native * native_per_gas)
