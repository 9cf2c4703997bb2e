"""`feemodel demo`: price the real transactions in the package with both forms of the fee."""

from typing import TYPE_CHECKING, Any

from feemodel.cli.compare import l1_sentence
from feemodel.cli.output import TABLES, Answer, Table
from feemodel.cli.subjects import shipped_workload
from feemodel.cli.verb import verb
from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI
from feemodel.linea.parameters import LineaPreset, linea_preset
from feemodel.linea.pricing_forms import CostPerByte, Form, VerificationCost

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from feemodel.simulation.surfaces import Submission, Workload

NOT_INCLUDED = "finalization, proving, machines, retries, partly filled blobs, L1 fees above their mean at posting"


@verb(out=TABLES, figure=True)
def command() -> Answer:
    """Price real transactions with both fee formulas, and compare fees with L1 costs."""
    from feemodel.io.shipped import MONTH, read_shipped_l1_fees
    from feemodel.simulation.surfaces import Submission

    costs = linea_preset()
    l1_fees, submission = read_shipped_l1_fees(), Submission()
    real = shipped_workload()
    cost_per_byte = CostPerByte(costs.variable_cost, costs.fixed_cost, costs.base_fee)
    verification = VerificationCost(costs.eth_gas_price, base_fee=costs.base_fee)
    base_fee, blob_base_fee = l1_fees["base_fee"].mean(), l1_fees["blob_base_fee"].mean()
    posting = submission.cost_per_byte(base_fee, blob_base_fee)
    rows = [
        _row(real, cost_per_byte, costs, posting, "posting"),
        _row(real, verification, costs, verification.cost_per_byte, "verification"),
    ]
    l1 = {"days": MONTH, "meanBaseFeeWei": base_fee, "meanBlobBaseFeeWei": blob_base_fee, "tipWei": submission.tip}
    data = {"preset": costs.name, "margin": costs.estimate_margin, "transactions": len(real), "l1": l1, "results": rows,
            "notIncluded": NOT_INCLUDED}  # fmt: skip
    shown = [
        {"form": row["pricing"], "cost on L1": row["cost"], "ratio": f"{row['recovery']:.2f}×",
         "fees": row["revenueWei"] / WEI_PER_ETH, "cost": row["costWei"] / WEI_PER_ETH}
        for row in rows
    ]  # fmt: skip
    title = f"{len(real):,} real transactions, costs of {costs.name}, margin {costs.estimate_margin:g} [ETH]"
    notes = [
        l1_sentence(base_fee, blob_base_fee, f"Means of {MONTH}; assumed tip: {submission.tip:,} wei / gas."),
        "Posting is for full blobs, one by one.",
        f"Not included: {NOT_INCLUDED}.",
    ]
    return Answer(
        data, [Table(title, shown)], notes, file=rows,
        figure=lambda figure: _draw(figure, real, cost_per_byte, costs, l1_fees, submission, rows[0]), size=(7.5, 5.6),
    )  # fmt: skip


def _row(load: "Workload", form: Form, preset: LineaPreset, cost_per_byte: float, what: str) -> dict[str, Any]:
    from feemodel.simulation.recovery import revenue

    parts = form.parts(load.compressed_size, load.gas, preset.estimate_margin)
    income, cost = revenue(parts, load.gas, base_fee=form.base_fee), load.compressed_bytes * cost_per_byte
    return {
        "pricing": form.name,
        "cost": what,
        "compressedBytes": load.compressed_bytes,
        "revenueWei": income.total,
        "revenueShares": income.shares(),
        "costWei": round(cost),
        "recovery": income.total / cost,
    }


def _draw(
    figure: "Figure", real: "Workload", form: CostPerByte, preset: LineaPreset, l1_fees: "pandas.DataFrame",
    submission: "Submission", row: dict[str, Any],
) -> None:  # fmt: skip
    import numpy as np
    import xarray

    from feemodel.io.shipped import MONTH
    from feemodel.plots import plot_recovery
    from feemodel.simulation.recovery import revenue

    margins = sorted({preset.pool_margin, preset.selection_margin, preset.estimate_margin})
    parts = [form.parts(real.compressed_size, real.gas, margin) for margin in margins]
    fees = [float(revenue(one, real.gas, base_fee=form.base_fee).total) for one in parts]
    base_fee, blob_base_fee = (
        xarray.DataArray(axis := np.geomspace(lowest, 100, 161) * WEI_PER_GWEI, {name: axis})
        for name, lowest in (("base_fee", 0.01), ("blob_base_fee", 0.001))
    )
    cost = real.compressed_bytes * submission.cost_per_byte(base_fee, blob_base_fee)
    surface = (xarray.DataArray(fees, {"margin": margins}) / cost).to_dataset(name="recovery")
    observed = (l1_fees["base_fee"].to_numpy(), l1_fees["blob_base_fee"].to_numpy())
    plot_recovery(surface, figure.subplots(), margin=preset.estimate_margin, observed=observed)
    figure.suptitle(f"All fees of {len(real):,} real transactions are {row['recovery']:.3g} times the cost of posting")
    figure.supxlabel(f"Costs: {preset.name}. L1 fees: Ethereum, {MONTH}", x=1, ha="right")
