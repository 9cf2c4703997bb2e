"""Linea's parameters, each defined once: settings of nodes and coordinator, and presets read from real blocks.

Defaults of formulas, simulations, comparisons and the explorer come from this module.
"""

from dataclasses import dataclass
from datetime import date

from feemodel.checks import choice
from feemodel.ethereum.fee_market import GAS_PER_BLOB, LOWEST_BASE_FEE, TRANSACTION_GAS


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeParameters:
    """Pricing settings of a mainnet node; the costs come from the pricing record of the node's blocks."""

    #: base fee of L2, always the minimum, because blocks never reach the gas target of 1e9 [wei / gas]
    base_fee: int = LOWEST_BASE_FEE
    fixed_cost: int = 30_000_000  #: cost of every unit of gas before the first pricing record [wei / gas]
    estimate_margin: float = 1.2  #: factor on the priority fee in gas estimates [1]
    pool_margin: float = 0.8  #: factor on the priority fee in the check of the transaction pool [1]
    selection_margin: float = 1.0  #: factor on the priority fee in the check of block building [1]
    block_time: float = 2.0  #: time between L2 blocks [s]
    max_transaction_calldata: int = 60_000  #: maximum calldata that the pool accepts [byte]
    date: str = "2026-06-12"
    source: str = "Consensys/linea-monorepo at cb180134, linea-besu/package, advanced-mainnet.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationParameters:
    """Parameters of the verification-cost form: defaults of the sequencer's options until V2."""

    gas_cost: int = 1_200_000  #: L1 gas for the verification of one submission [gas]
    capacity: int = 90_000  #: bytes that one submission verifies [byte]
    gas_price_ratio: int = 15  #: L1 gas price / L2 gas price [1]
    date: str = "2024-03-06"
    source: str = "Consensys/linea-sequencer, options of commits 4c81fa07 to 8c046a76"


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorParameters:
    """Parameters of the coordinator, which computes the costs of the pricing record from L1 fees.

    The lower and upper bounds that the production coordinator uses are not published.
    """

    execution_gas: int = 65_250  #: L1 gas of a submission: `blob-submission-expected-execution-gas` [gas]
    blob_gas: int = GAS_PER_BLOB  #: blob gas of a submission of one blob: `l1-blob-gas` [gas]
    bytes_per_submission: int = GAS_PER_BLOB  #: divisor of a submission's cost, the setting `l1-blob-gas` [byte]
    margin: float = 1.0  #: variable cost / cost of a byte on L1 [1]
    lower_bound: float = 90_000_001.0  #: minimum of the variable cost [wei / byte]
    upper_bound: float = 1_000_000_001.0  #: maximum of the variable cost [wei / byte]
    update_interval: float = 12.0  #: time between two announcements of costs [s]
    window: float = 12_000.0  #: period over which L1 fees are averaged, the time of 1,000 L1 blocks [s]
    #: compressed size of the sample transaction, the default of the coordinator's option; the prices recorded in 167
    #: blocks since 2025-02 imply 250 bytes [byte]
    sample_compressed_size: int = 125
    sample_gas: int = TRANSACTION_GAS  #: gas of the sample transaction, which determines the announced gas price [gas]
    max_block_calldata: int = 109_000  #: maximum calldata of one block [byte]
    calldata_blocks: int = 5  #: number of blocks that calldata pressure covers
    calldata_fee_denominator: int = 32  #: divisor of calldata pressure; a larger divisor slows changes of the cost [1]
    block_overhead: int = 540  #: size of a block without calldata [byte]
    date: str = "2026-06-12"
    source: str = "Consensys/linea-monorepo at cb180134, coordinator configuration"


NODE = NodeParameters()
VERIFICATION = VerificationParameters()
COORDINATOR = CoordinatorParameters()

ASSUMED_L1_TIP = 100_000_000  # tip that is assumed if a series of L1 fees has no tips [wei / gas]
#: Size of a real blob (blocks 24288348 to 24288678) / sum of the zstd sizes of all transactions in this blob [1].
MEASURED_STREAM_RATIO = 128_734 / 247_579


@dataclass(frozen=True, slots=True)
class LineaPreset:
    """Pricing parameters of a Linea node; the three costs come from the pricing record of the node's blocks."""

    name: str
    fixed_cost: int  #: [wei / gas]
    variable_cost: int  #: [wei / byte]
    eth_gas_price: int  #: [wei / gas]
    date: date  #: date of the block from which the costs were read
    source: str
    estimate_margin: float = NODE.estimate_margin  #: [1]
    pool_margin: float = NODE.pool_margin  #: [1]
    selection_margin: float = NODE.selection_margin  #: [1]
    base_fee: int = NODE.base_fee  #: [wei / gas]


_MAINNET, _SEPOLIA = "pricing record of Linea mainnet block ", "pricing record of Linea Sepolia block "
_PRESETS = (  # name, fixed cost, variable cost, gas price, date and source
    ("linea-mainnet-2026-01", 30_000_000, 1_000_000_000, 41_904_000, date(2026, 1, 25), _MAINNET + "28,279,180"),
    ("linea-mainnet-2025-02", 30_000_000, 16_827_205_000, 230_323_000, date(2025, 2, 26), _MAINNET + "16,306,807"),
    ("linea-mainnet-2024-06", 30_000_000, 3_125_000, 50_000_000, date(2024, 6, 27), _MAINNET + "6,029,455"),
    ("linea-sepolia-2025-12", 25_000_000, 1_000_000_000, 36_904_000, date(2025, 12, 2), _SEPOLIA + "21,516,247"),
)
LINEA_PRESETS = {row[0]: LineaPreset(*row) for row in _PRESETS}
DEFAULT_PRESET = "linea-mainnet-2026-01"


def linea_preset(name: str = DEFAULT_PRESET) -> LineaPreset:
    """Return the preset with this name.

    Parameters
    ----------
    name : a key of `LINEA_PRESETS`, such as "linea-mainnet-2026-01".

    Returns
    -------
    LineaPreset.

    Raises
    ------
    InvalidInput : an unknown name; the error lists the known names.

    >>> linea_preset().variable_cost
    1000000000
    """
    return LINEA_PRESETS[choice("preset", name, LINEA_PRESETS)]
