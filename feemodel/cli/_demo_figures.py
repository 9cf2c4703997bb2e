"""The figures of `feemodel demo`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from feemodel.cli._output import in_gwei
from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.linea.parameters import LineaPreset
from feemodel.linea.pricing_forms import CostPerByte, VerificationCost
from feemodel.plots._figures import (
    plot_distributions,
    plot_fee_by_size,
    plot_fee_curves,
    plot_recovery,
    plot_verification_surface,
)
from feemodel.simulation.surfaces import Submission, Workload, recovery_over_l1_fees, verification_surface

BASE_FEES = np.geomspace(0.01, 100, 161) * WEI_PER_GWEI
BLOB_BASE_FEES = np.geomspace(0.001, 100, 161) * WEI_PER_GWEI
VERIFICATION_GAS_COSTS = np.geomspace(2e5, 6e6, 61).astype(np.int64)
GAS_PRICE_RATIOS = np.geomspace(1, 100, 61)
RATIO_CURVES = (5.0, 15.0, 45.0)
SIZES = np.unique(np.geomspace(30, 10_000, 120).astype(np.int64))


def draw(
    folder: Path,
    real: Workload,
    forms: tuple[CostPerByte, VerificationCost],
    preset: LineaPreset,
    l1_fees: Any,
    submission: Submission,
    corpora: Mapping[str, tuple[Any, Any]],
) -> tuple[list[Path], int]:
    """Write all figures to the folder. Return the paths of the figures, and the number of fees computed for figures.

    `corpora` maps a label to the lengths of transactions before and after compression [byte].
    """
    margins = np.array(sorted({preset.pool_margin, preset.selection_margin, preset.estimate_margin}))
    figures = {
        "recovery.png": _recovery(real, forms, preset, l1_fees, submission, margins),
        "verification_cost.png": _verification(real, forms, preset, margins),
        "corpus.png": _corpora(corpora),
    }
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=120)
    surface = len(VERIFICATION_GAS_COSTS) * len(GAS_PRICE_RATIOS) * len(margins)
    curves = len(SIZES) * (len(RATIO_CURVES) + 1) * len(margins)
    return [folder / name for name in figures], len(real) * (len(margins) + len(forms) + surface) + curves


def _recovery(
    real: Workload,
    forms: tuple[CostPerByte, VerificationCost],
    preset: LineaPreset,
    l1_fees: Any,
    submission: Submission,
    margins: Any,
) -> Figure:
    figure = Figure(figsize=(13, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    observed = (l1_fees["base_fee"].to_numpy(), l1_fees["blob_base_fee"].to_numpy())
    surface = recovery_over_l1_fees(
        real, forms[0], submission, base_fee=BASE_FEES, blob_base_fee=BLOB_BASE_FEES, margin=margins
    )
    plot_recovery(surface, left, margin=preset.estimate_margin, observed=observed)
    left.set_title("Do fees of real transactions cover posting? (cost-per-byte form)", fontsize=11)
    paid = {}
    for form in forms:
        fee = form.base_fee + form.parts(real.compressed_size, real.gas, preset.estimate_margin).total
        paid[f"fee, {form.name} form"] = (real.compressed_size, fee * real.gas)
    posting = submission.cost_per_byte(observed[0].mean(), observed[1].mean())
    lines = {"cost of posting, mean of the month": posting, "cost of verification, by its form": forms[1].cost_per_byte}
    plot_fee_by_size(paid, right, cost_per_byte=lines)
    right.set_title(
        f"Fee and L1 cost of each of {len(real):,} transactions, at margin {preset.estimate_margin:g}",
        fontsize=11,
    )
    days = f"{l1_fees['time'].min():%Y-%m-%d} to {l1_fees['time'].max():%Y-%m-%d}"
    tip = f"assumed L1 tip {submission.tip / WEI_PER_GWEI:g} gwei"
    figure.suptitle(f"Announced costs of {preset.name}; L1 fees of {days}; {tip}; transactions of 2023-07 to 2026-01")
    return figure


def _verification(
    real: Workload, forms: tuple[CostPerByte, VerificationCost], preset: LineaPreset, margins: Any
) -> Figure:
    cost_per_byte, form = forms
    figure = Figure(figsize=(13, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    surface = verification_surface(
        real, form, verification_gas_cost=VERIFICATION_GAS_COSTS, gas_price_ratio=GAS_PRICE_RATIOS, margin=margins
    )
    plot_verification_surface(surface, left, margin=preset.estimate_margin)
    left.set_title("Verification-cost form: fees / L1 cost (colors), and the median fee (lines)")
    gas = int(np.median(real.gas))
    curves = []
    for ratio in RATIO_CURVES:
        varied = VerificationCost(form.min_gas_price, gas_price_ratio=ratio, base_fee=form.base_fee)
        curves.append((f"verification-cost, price ratio {ratio:g}", *_band(varied, gas, margins)))
    curves.append(("cost-per-byte", *_band(cost_per_byte, gas, margins)))
    plot_fee_curves(SIZES, curves, right)
    right.set_title(
        f"Fee against size at {gas:,} gas, margin {np.median(margins):g} ({margins[0]:g} to {margins[-1]:g})"
    )
    figure.suptitle(f"{len(real):,} real transactions; minimum gas price {in_gwei(form.min_gas_price)}")
    return figure


def _corpora(corpora: Mapping[str, tuple[Any, Any]]) -> Figure:
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    axes = figure.subplots(1, 3)
    lengths = {name: length for name, (length, _) in corpora.items()}
    sizes = {name: size for name, (_, size) in corpora.items()}
    ratios = {name: size / length for name, (length, size) in corpora.items()}
    plot_distributions(lengths, axes[0], label="length of sender ‖ unsigned transaction [bytes]")
    plot_distributions(sizes, axes[1], label="compressed size, zstd [bytes]")
    plot_distributions(ratios, axes[2], label="compressed size / length", scale="linear")
    figure.suptitle("The generated corpus and the real transactions that it is fitted to")
    return figure


def _band(form: CostPerByte | VerificationCost, gas: int, margins: Any) -> tuple[Any, Any, Any]:
    middle, lower, upper = (
        form.parts(SIZES, gas, float(margin)).total for margin in (np.median(margins), margins[0], margins[-1])
    )
    return middle, lower, upper
