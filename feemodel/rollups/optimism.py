"""OP Stack: the L1 data fee, the operator fee, the data footprint and the L2 base fee, at each upgrade.

| upgrade | L1 data fee [wei]                                                                     |
|---------|---------------------------------------------------------------------------------------|
| bedrock | (calldata gas + overhead) · l1_base_fee · scalar // 10⁶                               |
| ecotone | calldata gas · price // (16 · 10⁶)                                                    |
| fjord   | scaled size · price // 10¹², scaled size = max(10⁸, 836,500 · fastlz_size − 42,585,600) |

In the table, price = 16 · base_fee_scalar · l1_base_fee + blob_base_fee_scalar · blob_base_fee. Sizes are measured on
the signed EIP-2718 encoding. Isthmus introduced transactions of type 4 (EIP-7702). A scalar argument can be a Python
int of any size; arrays are int64.

Sources: ethereum-optimism/op-geth at 7b56c73 (2024-10-23) and QuarkChain/op-geth at 659c4c0 (2026-03-17):
core/types/rollup_cost.go; ethereum-optimism/specs at fd72cf7 (2026-04): exec-engine, fjord, isthmus, jovian;
ethereum-optimism/optimism: packages/contracts-bedrock/src/L2/GasPriceOracle.sol.
"""

from dataclasses import dataclass

from feemodel import integers
from feemodel.checks import ArrayLike, choice, whole, whole_scalar
from feemodel.ethereum import fee_market
from feemodel.exact import maximum, where
from feemodel.formula import formula
from feemodel.quantities import (
    BaseFee,
    BlobBaseFee,
    Byte,
    CompressedSize,
    Gas,
    Millionths,
    NonzeroBytes,
    Wei,
    Whole,
    WholeNumber,
    ZeroBytes,
)

L1_GAS_PER_BYTE = 16

# Coefficients of a linear regression that estimates a transaction's bytes in a batch from its FastLZ length, fitted to
# two weeks of OP Mainnet [byte / 10⁶].
FASTLZ_INTERCEPT = 42_585_600
FASTLZ_COEFFICIENT = 836_500
MIN_SCALED_SIZE = 100 * 10**6

DEFAULT_FOOTPRINT_SCALAR = 400  # scalar that applies if the chain's configuration has 0 [gas / byte]


# L1 rule → number by which the L1 data fee is divided, in addition to a division by 10⁶.
UNITS_PER_BYTE = {"bedrock": 1, "ecotone": L1_GAS_PER_BYTE, "fjord": 10**6}


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """Parameters of one upgrade. `feemodel.rollups.chains` has the date of the upgrade on each chain."""

    name: str
    l1_rule: str  #: formula of the L1 data fee: "bedrock", "ecotone" or "fjord"
    unsigned_bytes: int = 0  #: non-zero bytes added to every transaction for a signature [byte]
    operator_fee_multiplier: int = 0  #: operator fee = gas · scalar · multiplier // divisor + constant; 0: no fee
    operator_fee_divisor: int = 1
    base_fee_denominator: int = 250  #: base fee change denominator; since Holocene, set by each chain
    counts_footprint: bool = False  #: whether the L2 base fee depends on the data footprint and has a minimum


UPGRADES = (
    Upgrade(name="bedrock", l1_rule="bedrock", unsigned_bytes=68, base_fee_denominator=50),
    # Regolith has been active on OP Mainnet since its first Bedrock block.
    Upgrade(name="regolith", l1_rule="bedrock", base_fee_denominator=50),
    Upgrade(name="canyon", l1_rule="bedrock"),
    Upgrade(name="ecotone", l1_rule="ecotone"),
    Upgrade(name="fjord", l1_rule="fjord"),
    Upgrade(name="granite", l1_rule="fjord"),
    Upgrade(name="holocene", l1_rule="fjord"),
    Upgrade(name="isthmus", l1_rule="fjord", operator_fee_multiplier=1, operator_fee_divisor=10**6),
    Upgrade(name="jovian", l1_rule="fjord", operator_fee_multiplier=100, counts_footprint=True),
    # Karst has the fees of Jovian and the gas rules of Osaka, such as the limit of 16,777,216 gas per transaction.
    Upgrade(name="karst", l1_rule="fjord", operator_fee_multiplier=100, counts_footprint=True),
)
_BY_NAME = {row.name: row for row in UPGRADES}
_OF_BEDROCK = tuple(row.name for row in UPGRADES if row.l1_rule == "bedrock")
ELASTICITY = 6  # gas limit divided by gas target before Holocene; since then, each chain sets this ratio


@formula
def bedrock_l1_gas(
    zero_bytes: ZeroBytes, nonzero_bytes: NonzeroBytes, *, overhead: Gas, upgrade: str = "regolith"
) -> Gas:
    """Return the L1 gas of a transaction before Ecotone: 4 · zero + 16 · nonzero + overhead.

    With `upgrade="bedrock"`, the formula adds 68 non-zero bytes for the signature, as Bedrock nodes did, although the
    sizes already include the signature.

    >>> bedrock_l1_gas(0, 30, overhead=50), bedrock_l1_gas(0, 30, overhead=50, upgrade="bedrock")
    (530, 1618)
    """
    row = _BY_NAME[choice("upgrade", upgrade, _OF_BEDROCK)]
    return 4 * zero_bytes + 16 * (nonzero_bytes + row.unsigned_bytes) + overhead


def _bedrock_l1_gas(zero_bytes: Whole, nonzero_bytes: Whole, *, overhead: Whole, upgrade: str = "regolith") -> Whole:
    nonzero = integers.add("nonzero_bytes", nonzero_bytes, _BY_NAME[upgrade].unsigned_bytes)
    return integers.add("l1_gas", fee_market._calldata_gas(zero_bytes, nonzero), overhead)


@formula
def bedrock_l1_fee(
    zero_bytes: ZeroBytes,
    nonzero_bytes: NonzeroBytes,
    *,
    l1_base_fee: BaseFee,
    overhead: Gas,
    scalar: Millionths,
    upgrade: str = "regolith",
) -> Wei:
    """Return the L1 data fee before Ecotone; the sizes are of the signed transaction.

    The fee is (30 · 16 + 50) gas · L1 base fee of 1 gwei · scalar of 7:

    >>> bedrock_l1_fee(0, 30, l1_base_fee=10**9, overhead=50, scalar=7_000_000)
    3710000000000
    """
    l1_gas = bedrock_l1_gas.core(zero_bytes, nonzero_bytes, overhead=overhead, upgrade=upgrade)
    return l1_gas * l1_base_fee * scalar // 10**6


def _bedrock_price(*, l1_base_fee: Whole, scalar: Whole) -> integers.FixedPoint:
    """Return l1_base_fee · scalar [10⁻⁶ wei / gas]; the arguments are not checked.

    >>> _bedrock_price(l1_base_fee=10**9, scalar=684_000)
    FixedPoint(whole=684000000, millionths=0)
    """
    return integers.product_in_parts("l1_base_fee · scalar", l1_base_fee, scalar)


def _weighted_price(
    *, l1_base_fee: Whole, blob_base_fee: Whole, base_fee_scalar: Whole, blob_base_fee_scalar: Whole
) -> integers.FixedPoint:
    """Return 16 · base_fee_scalar · l1_base_fee + blob_base_fee_scalar · blob_base_fee [10⁻⁶ wei / byte].

    The arguments are not checked.

    >>> _weighted_price(l1_base_fee=10**9, blob_base_fee=10**7, base_fee_scalar=2, blob_base_fee_scalar=3)
    FixedPoint(whole=32030, millionths=0)
    """
    scalar = integers.multiply("base_fee_scalar", L1_GAS_PER_BYTE, base_fee_scalar)
    calldata = integers.product_in_parts("base_fee_scalar · l1_base_fee", l1_base_fee, scalar)
    blobs = integers.product_in_parts("blob_base_fee_scalar · blob_base_fee", blob_base_fee, blob_base_fee_scalar)
    return integers.add_parts("price", calldata, blobs)


@formula
def ecotone_l1_fee(
    zero_bytes: ZeroBytes,
    nonzero_bytes: NonzeroBytes,
    *,
    l1_base_fee: BaseFee,
    blob_base_fee: BlobBaseFee,
    base_fee_scalar: Millionths,
    blob_base_fee_scalar: Millionths,
) -> Wei:
    """Return the L1 data fee of Ecotone; the sizes are of the signed transaction.

    The 30 non-zero bytes count as 480 gas, and 16 · 2 · 10⁹ + 3 · 10⁷ is 32,030,000,000, so the fee is
    480 · 32,030,000,000 // 16,000,000:

    >>> ecotone_l1_fee(0, 30, l1_base_fee=10**9, blob_base_fee=10**7, base_fee_scalar=2, blob_base_fee_scalar=3)
    960900
    """
    calldata_gas = 4 * zero_bytes + 16 * nonzero_bytes
    price = 16 * base_fee_scalar * l1_base_fee + blob_base_fee_scalar * blob_base_fee
    return calldata_gas * price // (16 * 10**6)


@formula
def scaled_size(fastlz_size: CompressedSize) -> Byte:
    """Return a transaction's estimated size in a batch, in millionths of a byte.

    >>> scaled_size([0, 170, 171]).tolist()
    [100000000, 100000000, 100455900]
    """
    return maximum(MIN_SCALED_SIZE, FASTLZ_COEFFICIENT * fastlz_size - FASTLZ_INTERCEPT)


def _scaled_size(fastlz_size: Whole) -> Whole:
    linear = integers.multiply("fastlz_size", FASTLZ_COEFFICIENT, fastlz_size)
    return integers.maximum(MIN_SCALED_SIZE, linear - FASTLZ_INTERCEPT)


@formula
def fjord_l1_gas(fastlz_size: CompressedSize) -> Gas:
    """Return the L1 gas that receipts state since Fjord: 16 gas per estimated byte.

    >>> fjord_l1_gas(235)
    2463
    """
    return scaled_size.core(fastlz_size) * 16 // 10**6


@formula
def fjord_l1_fee(
    fastlz_size: CompressedSize,
    *,
    l1_base_fee: BaseFee,
    blob_base_fee: BlobBaseFee,
    base_fee_scalar: Millionths,
    blob_base_fee_scalar: Millionths,
) -> Wei:
    """Return the L1 data fee since Fjord (`l1CostFjord` of op-geth).

    The fee of an OP Mainnet receipt, for a transaction with the minimum size of 100 bytes:

    >>> fjord_l1_fee(150, l1_base_fee=40_583_973_580, blob_base_fee=111_685_752,
    ...              base_fee_scalar=5_227, blob_base_fee_scalar=1_014_213)
    350739202003
    """
    price = 16 * base_fee_scalar * l1_base_fee + blob_base_fee_scalar * blob_base_fee
    return scaled_size.core(fastlz_size) * price // 10**12


@formula
def operator_fee(gas: Gas, *, scalar: WholeNumber, constant: Wei, upgrade: str) -> Wei:
    """Return the operator fee, charged in addition to the L2 gas.

    Before Isthmus, there is no operator fee. In Isthmus, the fee is gas · scalar // 10⁶ + constant. Since Jovian, the
    fee is gas · scalar · 100 + constant.

    >>> operator_fee(1_618, scalar=1_439_103_868, constant=1_256_417_826_609_331_460, upgrade="isthmus")
    1256417826611659930
    >>> operator_fee(1_618, scalar=1_439_103_868, constant=1_256_417_826_609_331_460, upgrade="jovian")
    1256650673615173860
    """
    row = upgrade_named(upgrade)
    charged = 1 if row.operator_fee_multiplier else 0
    return gas * scalar * row.operator_fee_multiplier // row.operator_fee_divisor + charged * constant


def _operator_fee(gas: Whole, scalar: Whole, constant: Whole, upgrade: Upgrade) -> Whole:
    if not upgrade.operator_fee_multiplier:
        return integers.multiply("gas", gas, 0)
    rate = integers.multiply("scalar", scalar, upgrade.operator_fee_multiplier)
    share = integers.multiply_divide("operator_fee", gas, rate, upgrade.operator_fee_divisor)
    return integers.add("operator_fee", share, constant)


@formula
def da_footprint(fastlz_size: CompressedSize, *, gas_scalar: Gas = DEFAULT_FOOTPRINT_SCALAR) -> Gas:
    """Return the data footprint of a transaction since Jovian: ⌊estimated size⌋ · gas_scalar.

    The sum of the footprints of a block may not exceed the gas limit of the block. A scalar of 0, also in the chain's
    L1 attributes, means 400 gas per byte.

    >>> da_footprint(235), da_footprint(31, gas_scalar=0)
    (61200, 40000)
    """
    return scaled_size.core(fastlz_size) // 10**6 * where(gas_scalar == 0, DEFAULT_FOOTPRINT_SCALAR, gas_scalar)


@formula
def next_base_fee(
    base_fee: ArrayLike,
    gas_used: ArrayLike,
    gas_limit: ArrayLike,
    *,
    upgrade: str,
    elasticity: ArrayLike = ELASTICITY,
    denominator: ArrayLike | None = None,
    footprint: ArrayLike = 0,
    min_base_fee: ArrayLike = 0,
) -> Whole:
    """Return the L2 base fee of the next block [wei / gas].

    The base fee follows EIP-1559. The base fee change denominator is 50 before Canyon and 250 from Canyon to Granite.
    Since Holocene, the denominator is in the block header. Since Jovian, the formula uses max(gas_used, footprint) in
    place of the gas used, and the base fee is at least `min_base_fee`. The base fee changes with every block; since
    Denim, a block of Base takes 200 ms.

    Parameters
    ----------
    base_fee : base fee of the current block [wei / gas].
    gas_used, gas_limit : gas used and gas limit of the current block [gas].
    upgrade : name of an upgrade in `UPGRADES`.
    elasticity : gas limit divided by gas target [1].
    denominator : base fee change denominator of EIP-1559; `None`: the value of the upgrade [1].
    footprint : data footprint of the block (`blobGasUsed` in the header); ignored before Jovian [gas].
    min_base_fee : minimum base fee in the extra data of the header; ignored before Jovian [wei / gas].

    >>> next_base_fee(10_000, 10_000_000, 30_000_000, upgrade="jovian", elasticity=3, denominator=50,
    ...               footprint=10_000_001, min_base_fee=10_000)
    10001
    """
    row = upgrade_named(upgrade)
    used, floor = whole("gas_used", gas_used, unit="gas"), whole("min_base_fee", min_base_fee, unit="wei")
    counted = integers.maximum(used, whole("footprint", footprint, unit="gas")) if row.counts_footprint else used
    own_denominator = row.base_fee_denominator if denominator is None else denominator
    fee = fee_market.next_base_fee(base_fee, counted, gas_limit, elasticity=elasticity, denominator=own_denominator)
    return integers.maximum(fee, floor) if row.counts_footprint else fee


def denim_parameters(gas_limit: int, denominator: int) -> tuple[int, int]:
    """Return gas limit // 10 and denominator · 10, the parameters of Base's first block of 200 ms (Denim).

    Sources: base/base, pull request 4565 (merged 2026-08-20), and the fixture of its range proof.

    >>> denim_parameters(400_000_000, 100)
    (40000000, 1000)
    """
    limit = whole_scalar("gas_limit", gas_limit, minimum=10, unit="gas")
    return limit // 10, whole_scalar("denominator", denominator, minimum=1) * 10


def upgrade_named(name: str) -> Upgrade:
    """Return the row of `UPGRADES` with this name; raises `InvalidInput`, which lists all names, for an unknown name.

    >>> upgrade_named("karst").l1_rule
    'fjord'
    """
    return _BY_NAME[choice("upgrade", name, _BY_NAME)]
