"""Named rows of real parameters, each with its source and date."""

from dataclasses import dataclass
from datetime import date

from feemodel.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class LineaPreset:
    """What a node of this chain prices with; the three costs come from the pricing record of its blocks."""

    name: str
    fixed_cost: int  #: [wei / gas]
    variable_cost: int  #: [wei / byte]
    eth_gas_price: int  #: [wei / gas]
    estimate_margin: float  #: what an estimate adds [1]
    pool_margin: float  #: what the transaction pool asks [1]
    selection_margin: float  #: what block building asks [1]
    date: date  #: of the block or file that the numbers were read from
    source: str
    base_fee: int = 7  #: [wei / gas]


# The margins of all rows: Consensys/linea-monorepo at cb180134, linea-besu/package, advanced-mainnet.toml and -sepolia.
_BLOCKS = "pricing record of Linea mainnet block "
LINEA_PRESETS = {
    preset.name: preset
    for preset in (
        LineaPreset(
            "linea-mainnet-2026-01", 30_000_000, 1_000_000_000, 41_904_000, 1.2, 0.8, 1.0,
            date(2026, 1, 25), _BLOCKS + "28,279,180",
        ),
        LineaPreset(
            "linea-mainnet-2025-02", 30_000_000, 16_827_205_000, 230_323_000, 1.2, 0.8, 1.0,
            date(2025, 2, 26), _BLOCKS + "16,306,807",
        ),
        LineaPreset(
            "linea-mainnet-2024-06", 30_000_000, 3_125_000, 50_000_000, 1.2, 0.8, 1.0,
            date(2024, 6, 27), _BLOCKS + "6,029,455",
        ),
        LineaPreset(
            "linea-sepolia-2025-12", 25_000_000, 1_000_000_000, 36_904_000, 1.2, 0.8, 1.0,
            date(2025, 12, 2), "pricing record of Linea Sepolia block 21,516,247",
        ),
    )
}  # fmt: skip
DEFAULT_PRESET = "linea-mainnet-2026-01"


def linea_preset(name: str = DEFAULT_PRESET) -> LineaPreset:
    """A preset by its name.

    >>> linea_preset().variable_cost
    1000000000
    """
    try:
        return LINEA_PRESETS[name]
    except KeyError:
        raise InvalidInput("preset", f"expected one of {', '.join(LINEA_PRESETS)}", name) from None
