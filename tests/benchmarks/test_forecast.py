"""`scripts/bench forecast`: what it writes for any series of base fees."""

import json

import jsonschema
import numpy as np
import pandas as pd
import pytest

from benchmarks import __main__ as command
from feemodel.simulation.forecast.methods import METHODS
from tests.conftest import ROOT

DAYS = 8


@pytest.fixture(scope="module")
def fees(tmp_path_factory):
    """Eight days of base fees, hourly in one part of it and with a gap of three hours."""
    path, random = tmp_path_factory.mktemp("fees") / "fees.csv", np.random.default_rng(1)
    seconds = np.arange(1_770_000_000, 1_770_000_000 + DAYS * 86_400, 120)
    keep = (seconds < seconds[2_000]) | (seconds > seconds[2_090])
    keep &= (seconds < seconds[3_000]) | (seconds > seconds[3_900]) | (np.arange(len(seconds)) % 30 == 0)
    logs = 19 + np.cumsum(random.standard_normal(len(seconds))) * 0.02 + np.sin(2 * np.pi * seconds / 86_400)
    table = pd.DataFrame({"timestamp": seconds, "base_fee_per_gas": np.exp(logs).astype(np.int64)})
    table[keep].to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def written(fees, tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    names = {option: folder / f"{option}.csv" for option in ("forecasts", "scores", "operator-loss")}
    options = [word for option, path in names.items() for word in (f"--{option}", str(path))]
    assert command.main(["forecast", "--l1", str(fees), "--first-day", "6.5", *options]) == 0
    return {option: pd.read_csv(path) for option, path in names.items()}


def test_every_forecast_is_a_row_in_wei(written, fees):
    rows = written["forecasts"]

    assert list(rows) == ["origin", "horizon", "method", "q05", "q25", "q50", "q75", "q95"]
    assert set(rows["method"]) == set(METHODS)
    assert list(dict.fromkeys(rows["horizon"])) == ["10min", "1h", "6h", "24h"]
    assert rows["origin"].str.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:00Z").all()
    assert (np.diff(rows[["q05", "q25", "q50", "q75", "q95"]]) >= 0).all()
    assert rows["q50"].median() == pytest.approx(pd.read_csv(fees)["base_fee_per_gas"].median(), rel=2.0)


def test_origins_are_every_ten_minutes_from_the_first_to_the_last_with_a_target(written):
    origins = pd.to_datetime(written["forecasts"].query("horizon == '1h' and method == 'auto'")["origin"])
    first = pd.Timestamp(1_770_000_000 // 600 * 600, unit="s", tz="UTC")

    assert origins.iloc[0] == first + pd.Timedelta("6.5D")
    assert origins.iloc[-1] == first + pd.Timedelta(f"{DAYS}D") - pd.Timedelta("70min")  # its bin begins so early
    assert (origins.diff().dropna() == pd.Timedelta("10min")).all()


def test_scores_of_the_rows_are_those_of_the_table(written, fees):
    """An independent scorer: the definitions of the page, from the rows and the file alone."""
    table = pd.read_csv(fees)
    logs = np.log(table["base_fee_per_gas"]).groupby(table["timestamp"] // 600).mean()
    targets = logs.reindex(range(logs.index[0], logs.index[-1] + 1)).interpolate()
    rows = written["forecasts"]
    ahead = rows["horizon"].map({"10min": 1, "1h": 6, "6h": 36, "24h": 144})
    origins = pd.DatetimeIndex(pd.to_datetime(rows["origin"])).tz_localize(None).to_numpy("datetime64[s]")
    target = targets.loc[origins.astype(np.int64) // 600 + ahead].to_numpy()
    losses = []
    for quantile in (5, 25, 50, 75, 95):
        error = target - np.log(rows[f"q{quantile:02}"])
        losses.append(np.maximum(quantile / 100 * error, (quantile / 100 - 1) * error))
    found = rows.assign(loss=np.mean(losses, axis=0)).groupby(["horizon", "method"])["loss"].mean()

    expected = written["scores"].set_index(["horizon", "method"])["pinball"]
    assert found.to_dict() == pytest.approx(expected.loc[found.index].to_dict(), rel=1e-6)


def test_the_table_of_scores_follows_its_schema(written):
    schema = json.loads((ROOT / "docs/how-to/forecast-scores.schema.json").read_text())

    for row in json.loads(written["scores"].to_json(orient="records")):
        jsonschema.validate(row, schema)


def test_the_operators_loss_is_a_curve_for_each_method(written):
    rows = written["operator-loss"]

    assert len(rows) == 4 * len(METHODS) * 5
    assert (rows[["under_recovered", "overcharged", "losing_days"]] >= 0).all(axis=None)
