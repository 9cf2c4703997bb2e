"""Real parameters of rollups, each row with its source and date; what no source gives is marked as an assumption.

`dataclasses.replace(row, ...)` gives a row with another value.
"""

from dataclasses import dataclass

from feemodel.checks import check_fields, choice
from feemodel.linea.parameters import COORDINATOR, NODE
from feemodel.rollups.polygon_zkevm import Pricing
from feemodel.rollups.zksync import FeeModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """The fields of every row."""

    name: str
    source: str
    date: str  #: of the source, ISO 8601 as far as it is known
    l2_gas_price: int = 0  #: what a unit of L2 gas costs where L1 does not set it [wei / gas]

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineaPricing(Preset):
    """How Linea's coordinator turns L1 fees into a variable cost, and what a node asks."""

    fixed_cost: int  #: [wei / gas]
    execution_gas: int  #: of a submission [gas]
    blob_gas: int  #: of a submission [gas]
    bytes_per_submission: int  #: what the cost of a submission is divided by [byte]
    priority_fee: int  #: L1 tip, an assumption [wei / gas]
    pricing_margin: float  #: on the variable cost [1]
    lower_bound: float  #: of the variable cost [wei / byte]
    upper_bound: float  #: [wei / byte]
    estimate_margin: float  #: on the fee [1]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpStackChain(Preset):
    """The L1 attributes of an OP Stack chain."""

    base_fee_scalar: int  #: [10⁻⁶]
    blob_base_fee_scalar: int  #: [10⁻⁶]
    overhead: int | None = None  #: until Ecotone [gas]
    scalar: int | None = None  #: until Ecotone [10⁻⁶]
    operator_fee_scalar: int = 0
    operator_fee_constant: int = 0  #: [wei]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArbitrumChain(Preset):
    """What sets the price per unit: where the controller settles if every batch is like this one."""

    version: str  #: of ArbOS
    batch_l1_gas: int  #: execution gas that posting a batch is reported to cost [gas]
    batch_blobs: int  #: blobs of a batch
    batch_transaction_bytes: int  #: brotli sizes of its transactions, added up, an assumption [byte]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrollChain(Preset):
    """The scalars of Scroll's oracle [10⁻⁹]; which of them a rule needs depends on the upgrade."""

    blob_scalar: int | None = None
    commit_scalar: int | None = None  #: of Curie
    exec_scalar: int | None = None  #: from Feynman on
    penalty_threshold: int | None = None  #: of Feynman
    penalty_factor: int | None = None  #: of Feynman [10⁻⁹], from Galileo on [byte]
    overhead: int | None = None  #: until Curie [gas]
    scalar: int | None = None  #: until Curie


@dataclass(frozen=True, slots=True, kw_only=True)
class ZkSyncChain(Preset):
    """The fee model of a ZK Stack chain."""

    model: FeeModel
    pubdata_mode: str = "blobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZkSyncOsChain(Preset):
    """The prices of a chain on ZKsync OS whose token is the settlement layer's."""

    native_price: int  #: of a unit of proving, at least 1 [wei / native unit]
    native_per_gas: int  #: native units that a unit of gas pays for, at least 1
    pubdata_mode: str = "blobs"

    def __post_init__(self) -> None:
        check_fields(self, above_zero=("native_price", "native_per_gas"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TaikoChain(Preset):
    """A chain that charges a base fee only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolygonChain(Preset):
    """The configuration of the effective gas price; transactions offer what the network suggests."""

    pricing: Pricing


LINEA = LineaPricing(
    name="linea", fixed_cost=NODE.fixed_cost, execution_gas=COORDINATOR.execution_gas, blob_gas=COORDINATOR.blob_gas,
    bytes_per_submission=COORDINATOR.bytes_per_submission, priority_fee=0, pricing_margin=COORDINATOR.margin,
    lower_bound=COORDINATOR.lower_bound, upper_bound=COORDINATOR.upper_bound, estimate_margin=NODE.estimate_margin,
    l2_gas_price=NODE.base_fee, date=COORDINATOR.date, source=f"{COORDINATOR.source}; {NODE.source}",
)  # fmt: skip
OP_MAINNET = OpStackChain(
    name="op-mainnet", base_fee_scalar=5_227, blob_base_fee_scalar=1_014_213, overhead=188, scalar=684_000,
    l2_gas_price=1_000_000, date="2025-12",
    source="receipts (scalars); genesis system configuration (overhead, scalar); assumption: L2 gas price",
)  # fmt: skip
BASE = OpStackChain(
    name="base", base_fee_scalar=2_269, blob_base_fee_scalar=1_055_762, l2_gas_price=5_000_000, date="2024-08-13",
    source="Base block 18,374,229 (scalars); assumption: L2 gas price",
)  # fmt: skip
ARBITRUM_ONE = ArbitrumChain(
    name="arbitrum-one", version="arbos-61", batch_l1_gas=210_000, batch_blobs=1, batch_transaction_bytes=126_976,
    l2_gas_price=20_000_000, date="2026-01-08",
    source="per-batch gas of ArbOS 11 on; minimum base fee of ArbOS 51; assumption: one full blob a batch, no gain "
    "from compressing transactions together",
)  # fmt: skip
SCROLL_CURIE = ScrollChain(
    name="scroll-2024", commit_scalar=230_759_955_285, blob_scalar=417_565_260, l2_gas_price=15_680_000,
    date="2024-07-03",
    source="initial values at Curie, scroll-tech/go-ethereum; L2 gas price: overhead of its base fee",
)  # fmt: skip
SCROLL = ScrollChain(
    name="scroll", exec_scalar=2_394_981_796, blob_scalar=1_019_097_245, penalty_factor=10_000,
    l2_gas_price=15_680_000, date="2025-12-16",
    source="scalars of the Galileo tests, Chaintable/go-ethereum-scrl at 5f34f2a; L2 gas price: Curie's overhead",
)  # fmt: skip
ZKSYNC_ERA = ZkSyncChain(
    name="zksync-era", model=FeeModel(), date="2026-07-02", source="node defaults, matter-labs/zksync-era at 3e29e4a",
)  # fmt: skip
ZKSYNC_OS = ZkSyncOsChain(
    name="zksync-os", native_price=1, native_per_gas=100, l2_gas_price=100, date="2025-07-04",
    source="matter-labs/zksync-os-server at a8ebf6b, matter-labs/zksync-os at 0a82da0; assumption: prices of its test "
    "configuration, half-full blobs, execution that uses all native units its gas pays for",
)  # fmt: skip
TAIKO = TaikoChain(
    name="taiko", l2_gas_price=10_000_000, date="2026-08-21",
    source="minimum base fee of mainnet, taikoxyz/taiko-mono at b9c5bb2",
)  # fmt: skip
POLYGON_ZKEVM = PolygonChain(
    name="polygon-zkevm", pricing=Pricing(), date="2024-03-28",
    source="node defaults, 0xPolygonHermez/zkevm-node at 7b80367",
)  # fmt: skip

PRESETS = {
    row.name: row
    for row in (
        LINEA, OP_MAINNET, BASE, ARBITRUM_ONE, SCROLL_CURIE, SCROLL, ZKSYNC_ERA, ZKSYNC_OS, TAIKO, POLYGON_ZKEVM
    )
}  # fmt: skip


def preset(name: str) -> Preset:
    """A row by its name; raises `InvalidInput` that lists the names there are.

    >>> preset("op-mainnet").date
    '2025-12'
    """
    return PRESETS[choice("preset", name, PRESETS)]
