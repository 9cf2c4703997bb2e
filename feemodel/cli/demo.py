"""`feemodel demo`: price the real transactions in the package with both forms of the fee."""

from typing import TYPE_CHECKING, Any

from feemodel import plots
from feemodel.cli.output import TABLES, Answer, Table
from feemodel.cli.parameters import l1_sentence
from feemodel.cli.subjects import shipped_workload
from feemodel.cli.verb import verb
from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI
from feemodel.linea.parameters import linea_preset
from feemodel.linea.pricing_forms import CostPerByte, Form, VerificationCost

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from feemodel.simulation.surfaces import Workload

NOT_INCLUDED = "finalization, proving, machines, retries, partly filled blobs, L1 fees above their mean at posting"


@verb(out=TABLES, figure=True)
def command() -> Answer:
    from feemodel.io.shipped import MONTH, read_shipped_l1_fees
    from feemodel.simulation.surfaces import Submission

    preset, real, l1_fees, submission = linea_preset(), shipped_workload(), read_shipped_l1_fees(), Submission()
    posting = CostPerByte(preset.variable_cost, preset.fixed_cost, preset.base_fee)
    verification = VerificationCost(preset.eth_gas_price, base_fee=preset.base_fee)
    means = l1_fees["base_fee"].mean(), l1_fees["blob_base_fee"].mean()
    forms: dict[str, tuple[Form, float]] = {
        "posting": (posting, submission.cost_per_byte(*means)),
        "verification": (verification, verification.cost_per_byte),
    }
    rows: list[dict[str, Any]] = []
    for what, (form, per_byte) in forms.items():
        paid, cost = _paid(real, form, preset.estimate_margin), round(real.compressed_bytes * per_byte)
        rows.append({"pricing": form.name, "cost": what, "recovery": paid / cost, "feesWei": paid, "costWei": cost})
    shown = [
        {"form": row["pricing"], "cost on L1": row["cost"], "ratio": f"{row['recovery']:.2f}×",
         "fees": row["feesWei"] / WEI_PER_ETH, "cost": row["costWei"] / WEI_PER_ETH}
        for row in rows
    ]  # fmt: skip
    title = f"{len(real):,} real transactions, costs of {preset.name}, margin {preset.estimate_margin:g} [ETH]"

    def draw(figure: "Figure") -> None:
        import numpy as np
        import xarray

        margins = sorted({preset.pool_margin, preset.selection_margin, preset.estimate_margin})
        paid = xarray.DataArray([float(_paid(real, posting, one)) for one in margins], {"margin": margins})
        lowest = {"base_fee": 0.01, "blob_base_fee": 0.001}
        axes = {name: np.geomspace(least, 100, 161) * WEI_PER_GWEI for name, least in lowest.items()}
        cost = submission.cost_per_byte(*(xarray.DataArray(values, {name: values}) for name, values in axes.items()))
        surface = (paid / (real.compressed_bytes * cost)).to_dataset(name="recovery")
        observed = (l1_fees["base_fee"].to_numpy(), l1_fees["blob_base_fee"].to_numpy())
        plots.plot_recovery(surface, figure.subplots(), margin=preset.estimate_margin, observed=observed)
        figure.suptitle(f"At the month's mean L1 fees, fees are {rows[0]['recovery']:.3g} times the cost of posting")
        figure.supxlabel(f"Costs: {preset.name}. L1 fees: Ethereum, {MONTH}", x=1, ha="right")

    notes = [
        l1_sentence(*means, f"Means of {MONTH}; assumed tip: {submission.tip:,.0f} wei / gas."),
        f"Posting is for full blobs, one by one. Not included: {NOT_INCLUDED}.",
    ]
    data = {"preset": preset.name, "margin": preset.estimate_margin, "transactions": len(real), "l1Fees": MONTH}
    return Answer(data | {"results": rows}, [Table(title, shown)], notes, file=rows, figure=draw, size=(7.5, 5.6))


def _paid(real: "Workload", form: Form, margin: float) -> int:
    """Return the fees of all transactions in one form [wei]."""
    from feemodel.simulation.recovery import revenue

    return revenue(form.parts(real.compressed_size, real.gas, margin), real.gas, base_fee=form.base_fee).total
