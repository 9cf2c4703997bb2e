"""The texts that the explorer shows with its numbers: the formulas, and what they take for granted."""

from collections.abc import Mapping

from feemodel.linea.pricing_forms import CostPerByte, VerificationCost

FORMULAS: Mapping[str, tuple[tuple[str, str], ...]] = {
    CostPerByte.name: (
        ("priority fee", "trunc(margin · ((variable cost · compressed size) div gas + fixed cost))"),
        (
            "variable cost from L1",
            "min(max(((L1 base fee + L1 tip) · execution gas + blob base fee · blob gas) · margin on L1 cost"
            " / bytes of a submission, lower bound), upper bound), in whole kwei",
        ),
        ("fee", "(base fee + priority fee) · gas"),
        (
            "L1 cost",
            "compressed size · ((L1 base fee + L1 tip) · execution gas + blob base fee · blob gas)"
            " / bytes of a submission",
        ),
        ("recovery", "fee / L1 cost; from size alone: what the size adds to the fee / L1 cost"),
    ),
    VerificationCost.name: (
        (
            "priority fee",
            "max(trunc((ratio · verification cost · compressed size · minimum gas price / (gas · capacity)"
            " + adjustment) · margin), minimum gas price − base fee)",
        ),
        ("fee", "(base fee + priority fee) · gas"),
        (
            "L1 cost",
            "compressed size · L1 price · verification cost / capacity; the L1 price is ratio · minimum gas price"
            " as the form assumes it, and L1 base fee + L1 tip as L1 charges it",
        ),
        ("recovery", "fee / L1 cost; from size alone: what the size adds to the fee / L1 cost"),
    ),
}

ASSUMPTIONS = (
    "Every fee per gas is computed as a node computes it: integer division, then one double operation after the other.",
    "A transaction pays its own compressed size; the stream that is posted compresses many together and is smaller.",
    "Blobs are as full as “bytes of a submission” says; by default they are filled.",
    "L1 cost is posting, or verification in its form: not proving, finalization or machines.",
    "A day's L1 fees are means over every tenth block of Ethereum mainnet; the series has no tips.",
    "The other rollups stand at rest: their controllers have settled at the L1 fees that are chosen.",
)
