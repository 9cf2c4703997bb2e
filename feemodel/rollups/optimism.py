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
from typing import Annotated

from feemodel.arguments import checked
from feemodel.checks import choice
from feemodel.ethereum import fee_market
from feemodel.exact import maximum, where
from feemodel.formula import formula
from feemodel.quantities import (
    BaseFee,
    BlobBaseFee,
    Byte,
    CompressedSize,
    Divisor,
    Gas,
    GasLimit,
    GasUsed,
    Millionths,
    NonzeroBytes,
    Quantity,
    Wei,
    Whole,
    WholeNumber,
    ZeroBytes,
)
from feemodel.rollups.chains import Parameters
from feemodel.rollups.factors import Columns, Factors, Rule

DenimGasLimit = Annotated[int, Quantity("gas", "gas limit of the block", minimum=10)]
ScaledPrice = Annotated[Whole, Quantity("1e-6 wei / byte", "price of a byte")]

L1_GAS_PER_BYTE = 16

# Coefficients of a linear regression that estimates a transaction's bytes in a batch from its FastLZ length, fitted to
# two weeks of OP Mainnet [byte / 10⁶].
FASTLZ_INTERCEPT = 42_585_600
FASTLZ_COEFFICIENT = 836_500
MIN_SCALED_SIZE = 100 * 10**6

DEFAULT_FOOTPRINT_SCALAR = 400  # scalar that applies if the chain's configuration has 0 [gas / byte]


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
UpgradeName = Annotated[str, tuple(_BY_NAME)]
BedrockName = Annotated[str, tuple(row.name for row in UPGRADES if row.l1_rule == "bedrock")]
ELASTICITY = 6  # gas limit divided by gas target before Holocene; since then, each chain sets this ratio


@formula
def bedrock_l1_gas(
    zero_bytes: ZeroBytes, nonzero_bytes: NonzeroBytes, *, overhead: Gas, upgrade: BedrockName = "regolith"
) -> Gas:
    """Return the L1 gas of a transaction before Ecotone: 4 · zero + 16 · nonzero + overhead.

    With `upgrade="bedrock"`, the formula adds 68 non-zero bytes for the signature, as Bedrock nodes did, although the
    sizes already include the signature.

    >>> bedrock_l1_gas(0, 30, overhead=50), bedrock_l1_gas(0, 30, overhead=50, upgrade="bedrock")
    (530, 1618)
    """
    return 4 * zero_bytes + 16 * (nonzero_bytes + _BY_NAME[upgrade].unsigned_bytes) + overhead


@formula
def bedrock_l1_fee(
    zero_bytes: ZeroBytes,
    nonzero_bytes: NonzeroBytes,
    *,
    l1_base_fee: BaseFee,
    overhead: Gas,
    scalar: Millionths,
    upgrade: BedrockName = "regolith",
) -> Wei:
    """Return the L1 data fee before Ecotone; the sizes are of the signed transaction.

    The fee is (30 · 16 + 50) gas · L1 base fee of 1 gwei · scalar of 7:

    >>> bedrock_l1_fee(0, 30, l1_base_fee=10**9, overhead=50, scalar=7_000_000)
    3710000000000
    """
    l1_gas = bedrock_l1_gas.core(zero_bytes, nonzero_bytes, overhead=overhead, upgrade=upgrade)
    return l1_gas * l1_base_fee * scalar // 10**6


@formula
def scaled_price(
    *, l1_base_fee: BaseFee, blob_base_fee: BlobBaseFee, base_fee_scalar: Millionths, blob_base_fee_scalar: Millionths
) -> ScaledPrice:
    """Return the weighted price of Ecotone and Fjord, 16 · base_fee_scalar · l1_base_fee + blob part.

    The blob part is blob_base_fee_scalar · blob_base_fee:

    >>> scaled_price(l1_base_fee=10**9, blob_base_fee=10**7, base_fee_scalar=2, blob_base_fee_scalar=3)
    32030000000
    """
    return 16 * base_fee_scalar * l1_base_fee + blob_base_fee_scalar * blob_base_fee


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
def operator_fee(gas: Gas, *, scalar: WholeNumber, constant: Wei, upgrade: UpgradeName) -> Wei:
    """Return the operator fee, charged in addition to the L2 gas.

    Before Isthmus, there is no operator fee. In Isthmus, the fee is gas · scalar // 10⁶ + constant. Since Jovian, the
    fee is gas · scalar · 100 + constant.

    >>> operator_fee(1_618, scalar=1_439_103_868, constant=1_256_417_826_609_331_460, upgrade="isthmus")
    1256417826611659930
    >>> operator_fee(1_618, scalar=1_439_103_868, constant=1_256_417_826_609_331_460, upgrade="jovian")
    1256650673615173860
    """
    row = _BY_NAME[upgrade]
    charged = 1 if row.operator_fee_multiplier else 0
    return gas * scalar * row.operator_fee_multiplier // row.operator_fee_divisor + charged * constant


@formula
def da_footprint(fastlz_size: CompressedSize, *, gas_scalar: Gas = DEFAULT_FOOTPRINT_SCALAR) -> Gas:
    """Return the data footprint of a transaction since Jovian: ⌊estimated size⌋ · gas_scalar.

    The sum of the footprints of a block may not exceed the gas limit of the block. A scalar of 0
    means 400 gas per byte.

    >>> da_footprint(235), da_footprint(31, gas_scalar=0)
    (61200, 40000)
    """
    return scaled_size.core(fastlz_size) // 10**6 * where(gas_scalar == 0, DEFAULT_FOOTPRINT_SCALAR, gas_scalar)


@formula
def next_base_fee(
    base_fee: BaseFee,
    gas_used: GasUsed,
    gas_limit: GasLimit,
    *,
    upgrade: UpgradeName,
    elasticity: Divisor = ELASTICITY,
    denominator: Divisor | None = None,
    footprint: Gas = 0,
    min_base_fee: BaseFee = 0,
) -> BaseFee:
    """Return the L2 base fee of the next block.

    The base fee follows EIP-1559. The base fee change denominator is 50 before Canyon and 250 from Canyon to Granite;
    since Holocene, it is in the block header. Since Jovian, the formula uses max(gas_used, footprint) in place of the
    gas used, and the base fee is at least `min_base_fee`, from the extra data of the header. The footprint is
    `blobGasUsed` in the header. The base fee changes with every block; since Denim, a block of Base takes 200 ms.

    >>> next_base_fee(10_000, 10_000_000, 30_000_000, upgrade="jovian", elasticity=3, denominator=50,
    ...               footprint=10_000_001, min_base_fee=10_000)
    10001
    """
    row = _BY_NAME[upgrade]
    counted = maximum(gas_used, footprint) if row.counts_footprint else gas_used
    divisor = row.base_fee_denominator if denominator is None else denominator
    fee = fee_market.next_base_fee.core(base_fee, counted, gas_limit, elasticity=elasticity, denominator=divisor)
    return maximum(fee, min_base_fee) if row.counts_footprint else fee


@checked
def denim_parameters(gas_limit: DenimGasLimit, denominator: Divisor) -> tuple[int, int]:
    """Return gas limit // 10 and denominator · 10, the parameters of Base's first block of 200 ms (Denim).

    Sources: base/base, pull request 4565 (merged 2026-08-20), and the fixture of its range proof.

    >>> denim_parameters(400_000_000, 100)
    (40000000, 1000)
    """
    return gas_limit // 10, denominator * 10


def upgrade_named(name: str) -> Upgrade:
    """Return the row of `UPGRADES` with this name; raises `InvalidInput`, which lists all names, for an unknown name.

    >>> upgrade_named("karst").l1_rule
    'fjord'
    """
    return _BY_NAME[choice("upgrade", name, _BY_NAME)]


def op_stack_rule(parameters: Parameters) -> Rule:
    """Return the rule of an OP Stack chain.

    The rule reads `overhead` and `scalar` before Ecotone, and two scalars since Ecotone.

    >>> from feemodel.rollups.rules import rule
    >>> rule("base", at="2024-08-01").columns
    ('gas', 'fastlz_size')
    """
    upgrade = parameters["upgrade"]
    row = upgrade_named(upgrade)
    bedrock = row.l1_rule == "bedrock"
    sizes = ("fastlz_size",) if row.l1_rule == "fjord" else ("zero_bytes", "nonzero_bytes")
    needed = ["overhead", "scalar"] if bedrock else ["base_fee_scalar", "blob_base_fee_scalar"]
    if row.operator_fee_multiplier:
        needed += ["operator_fee_scalar", "operator_fee_constant"]
    if row.counts_footprint:
        needed += ["min_base_fee"]
    terms = parameters.known(*needed, "l2_gas_price")
    l2_gas_price = terms["l2_gas_price"]
    if row.counts_footprint and terms["min_base_fee"] > l2_gas_price:
        l2_gas_price = terms["min_base_fee"]
        del terms["l2_gas_price"]  # remarks list only parameters in use

    def factors(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        gas, counts = columns["gas"], [columns[size] for size in sizes]
        if bedrock:
            units = bedrock_l1_gas.core(*counts, overhead=terms["overhead"], upgrade=upgrade)
            return Factors(units, base_fee * terms["scalar"], 10**6, gas, l2_gas_price)
        scalars = {name: terms[name] for name in ("base_fee_scalar", "blob_base_fee_scalar")}
        price = scaled_price.core(l1_base_fee=base_fee, blob_base_fee=blob_base_fee, **scalars)
        extra = operator_fee.core(
            gas,
            scalar=terms.get("operator_fee_scalar", 0),
            constant=terms.get("operator_fee_constant", 0),
            upgrade=upgrade,
        )
        if row.l1_rule == "ecotone":
            units, divisor = fee_market.calldata_gas.core(*counts), 16 * 10**6
        else:
            units, divisor = scaled_size.core(*counts), 10**12
        return Factors(units, price, divisor, gas, l2_gas_price, extra=extra)

    return Rule(parameters, ("gas", *sizes), tuple(terms), factors, upgrade)


def op_stack_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return an OP Stack chain's largest base fee after some blocks, by EIP-1559 and the chain's minimum.

    An unknown minimum base fee does not change the bound, because the base fee is at or above the minimum already, and
    full blocks only raise it.
    """
    terms = parameters.known("gas_limit", "elasticity", "denominator")
    for name in ("base_fee_floor", "min_base_fee"):
        if parameters.is_known(name):
            terms["min_base_fee"] = parameters[name]
    return fee_market.base_fee_bound(base_fee, blocks, **terms)[-1]
