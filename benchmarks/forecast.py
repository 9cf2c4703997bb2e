"""Forecasts of L1 fees: scores of every method from rolling origins, on fixed splits.

`scripts/bench forecast --help` lists the options; docs/how-to/forecast-benchmark.md describes the tables.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scoringrules import interval_score

from feemodel.checks import RealArray
from feemodel.cli.output import new_file
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import MAINNET
from feemodel.io import read_l1_fees
from feemodel.io.shipped import L1_FEES, shipped_path
from feemodel.quantities import REAL
from feemodel.simulation._l1_columns import FEES, l1_columns
from feemodel.simulation.forecast.methods import BASELINES, METHODS, fees_of, pinball, rolling_quantiles
from feemodel.simulation.forecast.series import BIN, DAY, FeeSeries, binned
from tests.helpers import forecast_scores as scores

HORIZONS = {"10min": 1, "1h": 6, "6h": 36, "24h": 144}  # [bins]
QUANTILES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
COLUMNS = [f"q{round(100 * quantile):02}" for quantile in QUANTILES]
FIRST_DAY = 15  # day of the first origin
COVERAGE = 0.9  # nominal coverage of the interval between the outer quantiles
BACK = 0.88  # coverage from which a day counts as recovered
GWEI = np.log(1e9)
COLUMNS_OF = {"base_fee": ["base_fee"], "blob_base_fee": ["blob_base_fee", "excess_blob_gas"]}
OUTPUTS = ("--forecasts", "--scores", "--operator-loss", "--recovery")
SHARED = Path(os.environ.get("FEEMODEL_SHARED", Path(__file__).resolve().parents[1].parent / "shared")) / "data"
MONTH, BLOBS = "l1_fees_every10_24183321_24399311.csv.gz", "l1_blobs_19426587_24465653.parquet"


class Run(NamedTuple):
    """Forecasts of one method for one horizon, from all origins with a target."""

    method: str
    horizon: str
    origins: np.ndarray  #: (n), beginning of the newest known bin, UTC
    targets: RealArray  #: (n), mean logarithm of the fee [log(wei / gas)]
    forecasts: RealArray  #: (n, 5), quantiles [log(wei / gas)]


def series_of(path: Path, fee: str | None = None) -> FeeSeries:
    """Read a fee in bins of ten minutes: by default the base fee, or the blob base fee if the file has no base fee.

    Raises `InvalidInput` if the file does not have the fee.
    """
    table = read_l1_fees(path)
    has = {name: bool(table[columns].notna().any(axis=None)) for name, columns in COLUMNS_OF.items()}
    chosen = fee or next(name for name in FEES if has[name])
    if not has[chosen]:
        raise InvalidInput("--fee", f"expected a fee that {path.name} has", chosen)
    # A table of L1 fees must have a base fee. To read only the blob base fee, add any plausible value.
    found = l1_columns(table if has["base_fee"] else table.assign(base_fee=10**9))
    print(f"   {path.name}: {chosen}")
    return binned(found.seconds, found.fees[chosen])


def blob_series(path: Path) -> FeeSeries:
    """Compute the blob base fee from a file with excess blob gas; by the rule, it is at least 1 wei."""
    table = pd.read_parquet(path, columns=["timestamp", "excess_blob_gas"])
    fees = l1_columns(table.assign(base_fee=10**9)).fees["blob_base_fee"]
    return binned(table["timestamp"].to_numpy(np.float64), fees)


def runs(series: FeeSeries, first: int, methods: Sequence[str] = METHODS) -> Iterator[Run]:
    """Run every method at every horizon; raises `InvalidInput` if no origin has a target a day ahead."""
    longest = max(HORIZONS.values())
    if len(series) <= first + longest:
        reason = (
            f"expected more than {(first + longest) / DAY:g} days: the first origin and a day (--first-day moves it)"
        )
        raise InvalidInput("l1", reason, f"{len(series) / DAY:.2f} days")
    for label, horizon in HORIZONS.items():
        targets = series.interpolated[first + horizon :]
        origins = ((series.first_bin + np.arange(first, len(series) - horizon)) * BIN).astype("datetime64[s]")
        for method in methods:
            found = rolling_quantiles(series, horizon, method=method, quantiles=QUANTILES, first=first)
            yield Run(method, label, origins, targets, found[: len(targets)])


def forecast_rows(found: Sequence[Run]) -> pd.DataFrame:
    """Return one row per forecast: origin, horizon, method and quantiles [wei / gas]."""
    parts = []
    for run in found:
        named = {"origin": np.datetime_as_string(run.origins, timezone="UTC"), "horizon": run.horizon}
        values = pd.DataFrame(fees_of(run.forecasts), columns=COLUMNS)
        parts.append(pd.DataFrame(named | {"method": run.method}).join(values))
    return pd.concat(parts, ignore_index=True)


def score_rows(name: str, split: str, found: Sequence[Run], kept: dict[str, np.ndarray]) -> list[dict[str, object]]:
    """Return a row of scores for each run, over the origins of its horizon that belong to a split."""
    losses = {
        (run.horizon, run.method): pinball(run.targets[:, None], run.forecasts, QUANTILES)
        .mean(axis=1)[kept[run.horizon]]
        for run in found
    }  # fmt: skip
    rows = []
    for run in found:
        here = kept[run.horizon]
        count = int(here.sum())
        if not count:
            continue
        targets, values = run.targets[here], run.forecasts[here]
        loss = losses[run.horizon, run.method]
        row: dict[str, object] = {
            "series": name, "split": split, "horizon": run.horizon, "method": run.method, "origins": count,
            "pinball": loss.mean(),
            "crps": scores.crps_of_quantiles(targets, values, QUANTILES).mean(),
            "interval_score": interval_score(targets, values[:, 0], values[:, -1], 1 - COVERAGE).mean(),
            "coverage": np.mean((targets >= values[:, 0]) & (targets <= values[:, -1])),
        }  # fmt: skip
        bounds = ["below_q05", *(f"to_{column}" for column in COLUMNS[1:]), "above_q95"]
        row |= dict(zip(bounds, scores.shares_between(targets, values), strict=True))
        for baseline in BASELINES:
            difference = scores.diebold_mariano(loss, losses[run.horizon, baseline], block=min(DAY, count), rng=1)
            row |= {f"against_{baseline}_{part}": value for part, value in difference._asdict().items()}
        rows.append(row)
    return rows


def operator_rows(name: str, found: Sequence[Run]) -> list[dict[str, object]]:
    """Return the operator's loss for each quantile, if the price is this quantile of the forecast [wei / gas]."""
    rows = []
    for run in found:
        loss = scores.operator_loss(np.exp(run.targets), np.exp(run.forecasts), day=DAY)
        for place, quantile in enumerate(QUANTILES):
            row = {"series": name, "horizon": run.horizon, "method": run.method, "quantile": quantile}
            rows.append(row | {part: values[place] for part, values in loss._asdict().items()})
    return rows


def everything(found: Sequence[Run]) -> dict[str, np.ndarray]:
    """Select all origins of each horizon."""
    return {run.horizon: np.ones(len(run.targets), bool) for run in found}


def regimes(found: Sequence[Run]) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Return the splits of the blob series: each upgrade, the week after each change, and prices above 1 gwei."""
    rows = MAINNET.rows
    for place, rules in enumerate(rows):
        end = rows[place + 1].timestamp if place + 1 < len(rows) else np.inf
        yield rules.name, {run.horizon: _between(run, rules.timestamp, end) for run in found}
    for rules in rows[1:]:
        week = rules.timestamp + 7 * 86_400
        yield f"first week of {rules.name}", {run.horizon: _between(run, rules.timestamp, week) for run in found}
    yield "above 1 gwei", {run.horizon: run.targets > GWEI for run in found}


def _between(run: Run, begin: float, end: float) -> np.ndarray:
    seconds = _target_seconds(run)
    return (seconds >= begin) & (seconds < end)


def _target_seconds(run: Run) -> RealArray:
    return run.origins.astype(np.int64) + float(HORIZONS[run.horizon] * BIN)


def recovery_rows(found: Sequence[Run]) -> list[dict[str, object]]:
    """Count the whole days after each change of the blob rules until a day's coverage recovers, for `auto`."""
    rows = []
    for run in found:
        if run.method != "auto":
            continue
        inside = (run.targets >= run.forecasts[:, 0]) & (run.targets <= run.forecasts[:, -1])
        seconds = _target_seconds(run)
        for rules in MAINNET.rows[1:]:
            later = inside[seconds >= rules.timestamp]
            daily = later[: len(later) // DAY * DAY].reshape(-1, DAY).mean(axis=1)
            back = np.flatnonzero(daily >= BACK)
            rows.append(
                {
                    "change": rules.name,
                    "horizon": run.horizon,
                    "first_day": daily[0],
                    "days": back[0] if back.size else "",
                }
            )
    return rows


def main(arguments: Sequence[str] = ()) -> None:
    options = parser().parse_args(arguments)
    if options.recovery is not None and options.blobs is None:
        parser().error("--recovery: expected only with --blobs")
    out = checked_outputs(options)
    first = round(REAL.check_one("--first-day", options.first_day) * DAY)
    if options.l1 is not None:
        series = {options.l1.name: series_of(options.l1, options.fee)}
    else:
        series = {"shipped month": series_of(shipped_path(L1_FEES))}
        if (SHARED / MONTH).is_file():
            series["full month"] = series_of(SHARED / MONTH)
    table, losses, written, recovered = [], [], [], []
    for name, one in series.items():
        found = list(runs(one, first))
        table += score_rows(name, "all", found, everything(found))
        losses += operator_rows(name, found)
        written.append(forecast_rows(found))
    if options.blobs is not None:
        found = list(runs(blob_series(options.blobs), first))
        for split, kept in regimes(found):
            table += score_rows("blob base fee", split, found, kept)
        recovered = recovery_rows(found)
        _print("days until the coverage of a day recovers", pd.DataFrame(recovered))
    scored = pd.DataFrame(table)
    for split, rows in scored.groupby(["series", "split"], sort=False):
        _print(", ".join(split), rows[["horizon", "method", "origins", "pinball", "crps", "coverage"]])
    tables = (pd.concat(written, ignore_index=True), scored, pd.DataFrame(losses), pd.DataFrame(recovered))
    for path, frame in zip(out, tables, strict=True):
        if path is not None:
            frame.to_csv(path, index=False, float_format="%.10g")
            print(f"   {path}: {len(frame):,} rows")


def checked_outputs(options: argparse.Namespace) -> list[Path | None]:
    """Return the file of each requested item of `OUTPUTS`.

    Raises `InvalidInput` for an existing file, a missing folder, or a file named twice.
    """
    asked_for = ((option, getattr(options, option[2:].replace("-", "_"))) for option in OUTPUTS)
    found = [
        new_file(option, None if path is None else str(path), (".csv",), overwrite=options.overwrite)
        for option, path in asked_for
    ]
    asked = [path for path in found if path is not None]
    if twice := [path for path in asked if asked.count(path) > 1]:
        raise InvalidInput(", ".join(OUTPUTS), "expected a different file for each option", twice[0])
    return found


def _print(title: str, rows: pd.DataFrame) -> None:
    print(f"\n   {title}")
    print(rows.to_string(index=False, float_format=lambda number: f"{number:.4f}"), flush=True)


def _path(text: str) -> Path:
    """Resolve a file name relative to the folder in which scripts/bench was started."""
    return Path(os.environ.get("BENCH_FOLDER", "")) / text


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="scripts/bench forecast", description=(__doc__ or "").splitlines()[0])
    made.add_argument("--l1", type=_path, metavar="FILE", help="L1 fees to forecast (default: month in the package)")
    made.add_argument("--fee", choices=FEES, help="fee in the file (default: the base fee if the file has it)")
    made.add_argument("--blobs", type=_path, metavar="FILE", help=f"file with excess blob gas, such as {BLOBS}")
    made.add_argument(
        "--first-day", type=float, default=FIRST_DAY, metavar="DAYS", help="days before the first origin (default: 15)"
    )
    made.add_argument("--forecasts", type=_path, metavar="OUT.csv", help="write every forecast")
    made.add_argument("--scores", type=_path, metavar="OUT.csv", help="write the scores")
    made.add_argument("--operator-loss", type=_path, metavar="OUT.csv", help="write the operator's loss")
    made.add_argument(
        "--recovery", type=_path, metavar="OUT.csv", help="with --blobs, write the days until coverage recovers"
    )
    made.add_argument("--overwrite", action="store_true", help="replace existing files")
    return made
