"""`feemodel demo`: price generated and real transactions with both forms of the fee, and compare fees with L1 costs."""

import argparse
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feemodel.cli._options import count, whole_from_0
from feemodel.cli._output import print_json, print_table
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI
from feemodel.linea.parameters import DEFAULT_PRESET, LineaPreset, linea_preset
from feemodel.linea.pricing_forms import CostPerByte, Form, VerificationCost

if TYPE_CHECKING:
    import numpy as np
    import pandas
    from numpy.typing import NDArray

    from feemodel.simulation.recovery import Revenue
    from feemodel.simulation.surfaces import Workload

# Linea's L1 costs from 2026-01-08 to 02-09, 0.196 ETH in total. Source: data/processed/l1_rent/
# daily_rollup_rent_components.csv of AysajanE/autonomous-agentic-research-swarm at 832f2418, from public chain data.
FINALIZATION_GAS = 66_500  # gas of the finalization transaction per posted blob, on ordinary days [gas]
PAID_TIP = 0.113107 / 0.078722  # tips / base fees that Linea paid from 2026-01-08 to 02-09 [1]
RENT_SHARES = {"finalization": 0.587, "data": 0.413, "tips": 0.576, "base fee": 0.401, "blobs": 0.023}
FIGURES = ("recovery.png", "verification_cost.png", "corpus.png")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--transactions", type=count, default=20_000, help="number of transactions to generate")
    parser.add_argument("--seed", type=whole_from_0, default=1, help="seed of the generator")
    parser.add_argument("--preset", default=DEFAULT_PRESET, help="preset of the costs")
    parser.add_argument("--out", default="out", metavar="FOLDER", help="folder for the figures")
    parser.add_argument("--overwrite", action="store_true", help="replace existing figures")


def run(options: argparse.Namespace) -> int:
    folder = _checked_folder(options)
    from feemodel.cli._demo_figures import draw
    from feemodel.io.shipped import read_shipped_l1_fees, read_shipped_transactions
    from feemodel.simulation.surfaces import Submission

    started = time.perf_counter()
    preset, l1_fees, submission = linea_preset(options.preset), read_shipped_l1_fees(), Submission()
    generated, lengths, measured = _generated(options.transactions, options.seed)
    real = read_shipped_transactions()
    workloads = [_with_known_gas(real), generated]
    corpora = {
        f"{len(real):,} real": (real["measured_bytes"].to_numpy(), real["zstd"].to_numpy()),
        f"{len(generated):,} generated": (lengths, generated.compressed_size),
    }
    forms: tuple[CostPerByte, VerificationCost] = (
        CostPerByte(preset.variable_cost, preset.fixed_cost, preset.base_fee),
        VerificationCost(preset.eth_gas_price, base_fee=preset.base_fee),
    )
    posting = submission.cost_per_byte(l1_fees["base_fee"].mean(), l1_fees["blob_base_fee"].mean())
    costs = {CostPerByte.name: posting, VerificationCost.name: forms[1].cost_per_byte}
    rows = [_row(load, form, preset, costs[form.name]) for form in forms for load in workloads]
    lines = _cost_lines(l1_fees, submission)
    for row in rows:
        if row["pricing"] == CostPerByte.name:  # the verification-cost form has no posting costs
            row |= _with_finalization(row, lines)
    figures, evaluated = draw(folder, workloads[0], forms, preset, l1_fees, submission, corpora)
    answer = {
        "preset": preset.name,
        "estimateMargin": preset.estimate_margin,
        "l1": _l1_summary(l1_fees, submission, posting),
        "costLines": lines,
        "rentShares": RENT_SHARES,
        "compression": measured,
        "results": rows,
        "feesEvaluated": evaluated,
        "figures": [str(figure) for figure in figures],
        "seconds": round(time.perf_counter() - started, 1),
    }
    if options.json:
        print_json(answer)
    else:
        _print(answer)
    return 0


def _checked_folder(options: argparse.Namespace) -> Path:
    """Check the folder for the figures before the computation starts. A missing folder is created."""
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    there = [str(folder / name) for name in FIGURES if (folder / name).exists()]
    if there and not options.overwrite:
        raise InvalidInput("--out", "expected a folder without these figures (--overwrite replaces them)", there)
    return folder


def _with_known_gas(table: "pandas.DataFrame") -> "Workload":
    import numpy as np

    from feemodel.simulation.surfaces import Workload

    known = table.dropna(subset=["gas_used"])
    return Workload("real", known["zstd"].to_numpy(np.int64), known["gas_used"].to_numpy(np.int64))


def _generated(count: int, seed: int) -> tuple["Workload", "NDArray[np.int64]", dict[str, Any]]:
    """Return generated transactions, their lengths before compression, and their total size and the measured speed."""
    from feemodel.simulation.corpus import corpus
    from feemodel.simulation.surfaces import Workload
    from feemodel.sizes._codecs import compressed_sizes
    from feemodel.sizes._payloads import lengths_of

    made = corpus(count, rng=seed)
    started = time.perf_counter()
    sizes = compressed_sizes(made.payloads, progress=True)
    seconds = time.perf_counter() - started
    lengths = lengths_of(made.payloads)
    measured = {"transactions": count, "bytes": int(lengths.sum()), "compressedBytes": int(sizes.sum())}
    measured |= {"transactionsPerSecond": round(count / seconds)}
    return Workload("generated", sizes, made.gas), lengths, measured


def _row(load: "Workload", form: Form, preset: LineaPreset, cost_per_byte: float) -> dict[str, Any]:
    from feemodel.simulation.recovery import break_even_margin, revenue

    def paid(margin: float) -> "Revenue":
        return revenue(form.parts(load.compressed_size, load.gas, margin), load.gas, base_fee=form.base_fee)

    income, cost = paid(preset.estimate_margin), load.compressed_bytes * cost_per_byte
    return {
        "pricing": form.name,
        "workload": load.name,
        "transactions": len(load),
        "compressedBytes": load.compressed_bytes,
        "revenueWei": income.total,
        "revenueShares": income.shares(),
        "costWei": round(cost),
        "recovery": income.total / cost,
        "recoveryOfSizePart": income.size / cost,
        "breakEvenMargin": break_even_margin(lambda margin: paid(margin).total - cost),
        "feePerTransactionWei": income.total // len(load),
    }


def _cost_lines(l1_fees: Any, submission: Any) -> dict[str, dict[str, float]]:
    """Return the parts of the L1 cost of a compressed byte, at the assumed tip and at the paid tip [wei / byte]."""
    base_fee, blob_base_fee = l1_fees["base_fee"].mean(), l1_fees["blob_base_fee"].mean()
    lines = {}
    for name, tip in (("assumedTip", submission.tip), ("paidTip", PAID_TIP * base_fee)):
        by_line = {
            "dataBaseFee": submission.execution_gas * base_fee,
            "dataTip": submission.execution_gas * tip,
            "blobFee": submission.blob_gas * blob_base_fee,
            "finalizationBaseFee": FINALIZATION_GAS * base_fee,
            "finalizationTip": FINALIZATION_GAS * tip,
        }
        lines[name] = {line: cost / submission.capacity for line, cost in by_line.items()}
    return lines


def _with_finalization(row: dict[str, Any], lines: dict[str, dict[str, float]]) -> dict[str, Any]:
    costs = {name: row["compressedBytes"] * sum(by_line.values()) for name, by_line in lines.items()}
    return {
        "costWithFinalizationWei": round(costs["assumedTip"]),
        "recoveryWithFinalization": row["revenueWei"] / costs["assumedTip"],
        "recoveryWithFinalizationAtPaidTip": row["revenueWei"] / costs["paidTip"],
        "recoveryOfSizePartWithFinalization": row["revenueShares"]["size"] * row["revenueWei"] / costs["assumedTip"],
        "recoveryOfSizePartAtPaidTip": row["revenueShares"]["size"] * row["revenueWei"] / costs["paidTip"],
    }


def _l1_summary(l1_fees: Any, submission: Any, posting: float) -> dict[str, Any]:
    blob = submission.blob_gas * l1_fees["blob_base_fee"].mean()
    whole = posting * submission.capacity
    return {
        "from": str(l1_fees["time"].min().date()),
        "to": str(l1_fees["time"].max().date()),
        "meanBaseFee": l1_fees["base_fee"].mean(),
        "medianBaseFee": l1_fees["base_fee"].median(),
        "meanBlobBaseFee": l1_fees["blob_base_fee"].mean(),
        "assumedTip": submission.tip,
        "costPerCompressedByteWei": posting,
        "blobShareOfCost": blob / whole,
    }


def _print(answer: dict[str, Any]) -> None:
    for form, verb in ((CostPerByte.name, "Posting"), (VerificationCost.name, "Verifying")):
        row = next(r for r in answer["results"] if r["pricing"] == form and r["workload"] == "real")
        shares = ", ".join(f"{share:.0%} {part}" for part, share in row["revenueShares"].items() if share >= 0.005)
        why_zero = "" if row["breakEvenMargin"] else " (the minimum gas price alone covers it)"
        _say(
            f"{form}: {row['transactions']:,} real transactions pay {_eth(row['revenueWei'])} ETH ({shares}).",
            f"{verb} their {row['compressedBytes']:,} compressed bytes on L1 costs {_eth(row['costWei'])} ETH:",
            f"the fees cover this cost {row['recovery']:.2f} times,",
            f"the size part alone {row['recoveryOfSizePart']:.2f} times;",
            f"break-even margin {row['breakEvenMargin']:.3f}{why_zero}.",
        )
        if "recoveryWithFinalization" in row:
            _say(
                f"With {FINALIZATION_GAS:,} gas per blob for finalization, the fees cover the cost",
                f"{row['recoveryWithFinalization']:.2f} times,",
                f"the size part {row['recoveryOfSizePartWithFinalization']:.2f} times;",
                f"with the tips that Linea paid, {PAID_TIP:.2f} wei per wei of base fee,",
                f"{row['recoveryWithFinalizationAtPaidTip']:.2f} and {row['recoveryOfSizePartAtPaidTip']:.2f} times.",
            )
    shares = answer["rentShares"]
    _say(
        f"Linea's payments on L1 in these weeks: {shares['finalization']:.0%} for finalization and",
        f"{shares['data']:.0%} for data; by kind {shares['tips']:.0%} tips, {shares['base fee']:.0%} base fees and",
        f"{shares['blobs']:.0%} blob fees.",
    )
    l1 = answer["l1"]
    _say(
        f"L1 from {l1['from']} to {l1['to']}: mean base fee {_gwei(l1['meanBaseFee'])} gwei",
        f"(median {_gwei(l1['medianBaseFee'])}), mean blob base fee {_gwei(l1['meanBlobBaseFee'])} gwei;",
        f"blobs are {l1['blobShareOfCost']:.0%} of the cost of posting.",
    )
    print()
    columns = (
        "form",
        "transactions",
        "bytes",
        "revenue",
        "L1 cost",
        "revenue / cost",
        "with finalization",
        "break-even",
    )
    rows = [
        (
            row["pricing"],
            f"{row['transactions']:,} {row['workload']}",
            f"{row['compressedBytes']:,}",
            _eth(row["revenueWei"]),
            _eth(row["costWei"]),
            f"{row['recovery']:.2f}×",
            f"{row['recoveryWithFinalization']:.2f}×" if "recoveryWithFinalization" in row else "",
            f"{row['breakEvenMargin']:.3f}",
        )
        for row in answer["results"]
    ]
    print_table(
        f"At margin {answer['estimateMargin']:g}, with the costs of {answer['preset']} [ETH]",
        columns,
        rows,
        right_from=2,
    )
    work = answer["compression"]
    _say(
        f"Generated: {work['transactions']:,} transactions of {work['bytes']:,} bytes, compressed to",
        f"{work['compressedBytes']:,} bytes at {work['transactionsPerSecond']:,} transactions per second;",
        f"{answer['feesEvaluated']:,} fees computed in {answer['seconds']} s in total.",
        "Costs that are not included: proving, the operator's machines, retries, partly filled blobs,",
        "and L1 fees above their mean when the operator posts.",
    )
    print("Figures: " + ", ".join(answer["figures"]))


def _say(*sentences: str) -> None:
    print(textwrap.fill(" ".join(sentences), width=100, subsequent_indent="  "))


def _eth(wei: int) -> str:
    return f"{wei / WEI_PER_ETH:.6f}"


def _gwei(wei: float) -> str:
    return f"{wei / WEI_PER_GWEI:.4f}"
