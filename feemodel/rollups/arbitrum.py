"""Arbitrum (ArbOS): the charge for a transaction's bytes.

The signed encoding of a transaction is compressed with brotli (compression level of the ArbOS version, window 22, no
dictionary). The transaction pays for 16 units per compressed byte, at the price per unit of
`feemodel.rollups.arbitrum_l1_pricing`. The charge, units · price per unit, is converted to gas.

Only transactions that the sequencer posts pay this charge; transactions of Arbitrum's own types do not pay the charge.
ArbOS 40 introduced transactions of type 4 (EIP-7702), whose size includes the authorization list. For an estimate, a
node measures a placeholder transaction of type 2, which has no authorization list.
`feemodel.rollups.arbitrum_l2_pricing` has the L2 base fee.

Source: OffchainLabs/nitro at 6dce8d1 (2026-04-23): arbos/l1pricing/l1pricing.go, arbos/tx_processor.go;
for the placeholder transaction l1pricing.go at 001ae31.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from feemodel.checks import UINT64_MAX, choice
from feemodel.exact import maximum, minimum
from feemodel.formula import formula
from feemodel.quantities import BaseFee, CompressedSize, Gas, GasPrice, Wei

UNITS_PER_BYTE = 16
BIPS = 10_000

# For a gas estimate, a node measures a transaction with placeholder fields, and adds the margins below to the data
# units and to the cost.
ESTIMATE_EXTRA_UNITS = 16 * UNITS_PER_BYTE
ESTIMATE_UNIT_BIPS = 10_100
ESTIMATE_COST_BIPS = 11_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ArbosVersion:
    """Parameters of an ArbOS version; `feemodel.rollups.chains` has the activation date of each version."""

    name: str
    brotli_level: int = 1
    equilibration_units: int = 16 * 10_000_000  #: number of units over which a surplus is spent [unit]
    speed_limit: int | None = 7_000_000  #: target of the legacy L2 base fee; `None`: gas constraints apply [gas / s]


VERSIONS = (
    ArbosVersion(name="arbos-0", brotli_level=0, equilibration_units=60 * 16 * 100_000, speed_limit=1_000_000),
    ArbosVersion(name="arbos-6", brotli_level=0),
    ArbosVersion(name="arbos-11", brotli_level=0),
    ArbosVersion(name="arbos-20"),
    ArbosVersion(name="arbos-40"),  # the same fees as arbos-20; the first version with transactions of type 4
    ArbosVersion(name="arbos-50"),  # Arbitrum One skipped ArbOS 50
    ArbosVersion(name="arbos-51", speed_limit=None),
    ArbosVersion(name="arbos-61", speed_limit=None),
)
_BY_NAME = {row.name: row for row in VERSIONS}


class PosterCharge(NamedTuple):
    """Charge for a transaction's bytes."""

    units: Any  #: data units of the transaction [unit]
    gas: Any  #: gas of the charge, which is added to the gas used; at most 2**64 − 1 [gas]
    fee: Any  #: gas · gas price [wei]


def version(name: str) -> ArbosVersion:
    """Return the parameters of an ArbOS version; raises `InvalidInput` for an unknown name.

    >>> version("arbos-20").brotli_level
    1
    """
    return _BY_NAME[choice("version", name, _BY_NAME)]


@formula
def poster_charge(brotli_size: CompressedSize, *, price_per_unit: Wei, gas_price: GasPrice) -> PosterCharge:
    """Compute the charge for a posted transaction's bytes; `price_per_unit` is of the L1 pricing controller.

    1,920 units · 7 gwei // 0.01 gwei is 1,344,000 gas:

    >>> poster_charge(120, price_per_unit=7 * 10**9, gas_price=10**7)
    PosterCharge(units=1920, gas=1344000, fee=13440000000000)
    """
    units = UNITS_PER_BYTE * brotli_size
    gas = minimum(price_per_unit * units // gas_price, UINT64_MAX)
    return PosterCharge(units, gas, gas * gas_price)


@formula
def estimated_poster_gas(
    brotli_size: CompressedSize, *, price_per_unit: Wei, base_fee: BaseFee, min_base_fee: GasPrice
) -> Gas:
    """Return the gas that a gas estimate includes for the bytes of an unsigned transaction.

    `brotli_size` is the compressed length of the node's placeholder transaction. The gas is 2,197 units · 10⁹ wei per
    unit · 1.1 // (10⁷ wei per gas):

    >>> estimated_poster_gas(120, price_per_unit=10**9, base_fee=10**7, min_base_fee=10**7)
    241670
    """
    units = (UNITS_PER_BYTE * brotli_size + ESTIMATE_EXTRA_UNITS) * ESTIMATE_UNIT_BIPS // BIPS
    cost = price_per_unit * units * ESTIMATE_COST_BIPS // BIPS
    return minimum(cost // maximum(base_fee * 7 // 8, min_base_fee), UINT64_MAX)
