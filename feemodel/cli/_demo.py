"""`feemodel demo`: price the real transactions in the package with both forms of the fee, and draw one figure."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feemodel.cli._output import FIGURES, checked_out, in_eth, in_gwei, print_json, print_table
from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.linea.parameters import DEFAULT_PRESET, LineaPreset, linea_preset
from feemodel.linea.pricing_forms import CostPerByte, Form, VerificationCost

if TYPE_CHECKING:
    import pandas

    from feemodel.simulation.surfaces import Submission, Workload

FINALIZATION_GAS = 66_500  # gas of the finalization transaction per posted blob, January 2026, from public chain data
NOT_INCLUDED = "proving, the operator's machines, retries, partly filled blobs, L1 fees above their mean at posting"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--preset", default=DEFAULT_PRESET, help="preset of the costs")
    parser.add_argument("--figure", default="recovery.png", metavar="FILE.png", help="figure to draw: .png, .svg, .pdf")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")


def run(options: argparse.Namespace) -> int:
    figure = checked_out(options, FIGURES, option="--figure")
    assert figure is not None  # the option has a default
    import numpy as np

    from feemodel.io.shipped import read_shipped_l1_fees, read_shipped_transactions
    from feemodel.simulation.surfaces import Submission, Workload

    preset, l1_fees, submission = linea_preset(options.preset), read_shipped_l1_fees(), Submission()
    known = read_shipped_transactions().dropna(subset=["gas_used"])
    real = Workload("real", known["zstd"].to_numpy(np.int64), known["gas_used"].to_numpy(np.int64))
    cost_per_byte = CostPerByte(preset.variable_cost, preset.fixed_cost, preset.base_fee)
    verification = VerificationCost(preset.eth_gas_price, base_fee=preset.base_fee)
    base_fee, blob_base_fee = l1_fees["base_fee"].mean(), l1_fees["blob_base_fee"].mean()
    posting = submission.cost_per_byte(base_fee, blob_base_fee)
    finalization = FINALIZATION_GAS * (base_fee + submission.tip) / submission.capacity
    rows = [
        _row(real, cost_per_byte, preset, posting),
        _row(real, cost_per_byte, preset, posting + finalization) | {"cost": "posting and finalization"},
        _row(real, verification, preset, verification.cost_per_byte) | {"cost": "verification"},
    ]
    l1 = {"from": f"{l1_fees['time'].min():%Y-%m-%d}", "to": f"{l1_fees['time'].max():%Y-%m-%d}"}
    l1 |= {"meanBaseFeeWei": base_fee, "meanBlobBaseFeeWei": blob_base_fee, "assumedTipWei": submission.tip}
    _draw(figure, real, cost_per_byte, preset, l1_fees, submission)
    if options.json:
        print_json({"preset": preset.name, "margin": preset.estimate_margin, "transactions": len(real), "l1": l1,
                    "results": rows, "notIncluded": NOT_INCLUDED, "figure": str(figure)})  # fmt: skip
        return 0
    cells = [
        (row["pricing"], row["cost"], in_eth(row["revenueWei"], 6), in_eth(row["costWei"], 6),
         f"{row['recovery']:.2f}×", f"{row['breakEvenMargin']:.3f}")
        for row in rows
    ]  # fmt: skip
    title = f"{len(real):,} real transactions, costs of {preset.name}, margin {preset.estimate_margin:g}"
    print_table(title, ("form", "cost on L1", "fees", "cost", "ratio", "break-even"), cells, right_from=2)
    print(f"L1 from {l1['from']} to {l1['to']}: mean base fee {in_gwei(round(base_fee))},")
    print(f"mean blob base fee {in_gwei(round(blob_base_fee))}, assumed tip {in_gwei(submission.tip)}.")
    print(f"Break-even is the margin at which fees equal the cost. Not included: {NOT_INCLUDED}.")
    print(f"Figure: {figure}")
    return 0


def _row(load: "Workload", form: Form, preset: LineaPreset, cost_per_byte: float) -> dict[str, Any]:
    from feemodel.simulation.recovery import break_even_margin, revenue

    def paid(margin: float) -> Any:
        return revenue(form.parts(load.compressed_size, load.gas, margin), load.gas, base_fee=form.base_fee)

    income, cost = paid(preset.estimate_margin), load.compressed_bytes * cost_per_byte
    return {
        "pricing": form.name,
        "cost": "posting",
        "compressedBytes": load.compressed_bytes,
        "revenueWei": income.total,
        "revenueShares": income.shares(),
        "costWei": round(cost),
        "recovery": income.total / cost,
        "recoveryOfSizePart": income.size / cost,
        "breakEvenMargin": break_even_margin(lambda margin: paid(margin).total - cost),
    }


def _draw(
    path: Path, real: "Workload", form: CostPerByte, preset: LineaPreset, l1_fees: "pandas.DataFrame",
    submission: "Submission",
) -> None:  # fmt: skip
    import numpy as np
    from matplotlib.figure import Figure

    from feemodel.plots import plot_recovery
    from feemodel.simulation.surfaces import recovery_over_l1_fees

    surface = recovery_over_l1_fees(
        real, form, submission,
        base_fee=np.geomspace(0.01, 100, 161) * WEI_PER_GWEI,
        blob_base_fee=np.geomspace(0.001, 100, 161) * WEI_PER_GWEI,
        margin=np.array(sorted({preset.pool_margin, preset.selection_margin, preset.estimate_margin})),
    )  # fmt: skip
    figure = Figure(figsize=(7.5, 5.6), layout="constrained")
    observed = (l1_fees["base_fee"].to_numpy(), l1_fees["blob_base_fee"].to_numpy())
    plot_recovery(surface, figure.subplots(), margin=preset.estimate_margin, observed=observed)
    days = f"{l1_fees['time'].min():%Y-%m-%d} to {l1_fees['time'].max():%Y-%m-%d}"
    figure.suptitle(
        f"Do the fees of {len(real):,} real transactions cover the cost of posting?\n"
        f"costs of {preset.name}; L1 fees of {days}; assumed L1 tip {submission.tip / WEI_PER_GWEI:g} gwei",
        fontsize=10,
    )
    figure.savefig(path, dpi=120)
