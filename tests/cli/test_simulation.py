"""`feemodel backtest` and `feemodel calibrate`: what they print is what the functions return."""

import numpy as np
import pandas as pd

from feemodel.cli import main
from feemodel.io import read_shipped_l1_fees, read_shipped_transactions
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.backtest import backtest
from feemodel.simulation.posting import Posting
from feemodel.simulation.scenarios import replay
from feemodel.simulation.surfaces import Workload
from tests.cli.test_cli import answer

QUICK = ["--hours", "12", "--arrival-rate", "0.3"]


def test_backtest_gives_what_the_function_gives(capsys):
    own = ["--execution-gas", "100000", "--blobs", "2", "--deadline", "600", "--estimate-margin", "1.5"]
    found = answer(capsys, "backtest", *QUICK, *own, "--upper-bound", "1e12")
    history = replay(read_shipped_l1_fees().iloc[:72], source="half a day")
    table = read_shipped_transactions().dropna(subset=["gas_used"])
    workload = Workload("real", table["zstd"].to_numpy(np.int64), table["gas_used"].to_numpy(np.int64))
    announced = {"execution_gas": 100_000, "blob_gas": 2 * 131_072, "bytes_per_submission": 2 * 131_072}
    rule = PricingRule(estimate_margin=1.5, upper_bound=1e12, **announced)
    posting = Posting(deadline=600.0, submission=rule.submission)
    expected = backtest(workload, history, rule, posting, arrival_rate=0.3, rng=1)

    assert found["recovery"] == {"value": expected["recovery"].item()}
    assert found["dataCostWei"] == {"value": expected["data_cost"].item()}
    assert found["maxDrawdownWei"] == {"value": expected["max_drawdown"].item()}
    assert found["transactions"] == expected["transactions"].sum()
    assert found["assumed"]["resampling"] == expected.attrs["resampling"]


def test_backtest_for_a_person_says_what_it_rests_on(capsys):
    assert main(["backtest", *QUICK]) == 0
    printed = capsys.readouterr().out

    assert "under recovery days" in printed
    drawdown = answer(capsys, "backtest", *QUICK)["maxDrawdownWei"]["value"]
    assert [line.split()[-1] for line in printed.splitlines() if "max drawdown [ETH]" in line] == [
        f"{drawdown / 1e18:,.6g}"
    ]
    said = " ".join(printed.split())  # lines are broken at the width of the terminal
    assert "resampling: transactions are drawn with replacement at 0.3 a second" in said
    assert "not counted: finalization, proving, overhead" in said


def test_days_land_in_a_file_and_hours_in_a_figure(tmp_path, capsys):
    path, figure = tmp_path / "days.csv", tmp_path / "hours.png"
    found = answer(capsys, "backtest", *QUICK, "--out", str(path), "--figure", str(figure))
    days = pd.read_csv(path)

    assert (len(days), found["hours"], figure.stat().st_size > 10_000) == (1, 12.0, True)
    assert days["transactions"].sum() == found["transactions"]
    assert main(["backtest", *QUICK, "--out", str(path)]) == 2
    capsys.readouterr()
    assert answer(capsys, "backtest", *QUICK, "--out", str(path), "--overwrite") == found


def test_calibrate_prints_and_draws_a_margin_with_its_interval(tmp_path, capsys):
    options = ["--lower-bound", "0", "--upper-bound", "1e12", "--figure", str(tmp_path / "losses.png")]
    found = answer(capsys, "calibrate", *QUICK, *options, "--paths", "80", "--loss-probability", "0.2")

    assert found["low"] <= found["margin"] <= found["high"]
    assert found["losing"] <= 16
    assert found["l1_fees"].startswith("stationary block bootstrap")
    assert [point["margin"] for point in found["loss_curve"]] == sorted(p["margin"] for p in found["loss_curve"])
    assert found["loss_curve"][-1]["loss_probability"] == 0.0
    assert (tmp_path / "losses.png").stat().st_size > 10_000


def test_calibrate_names_its_assumptions_first_and_draws_as_many_paths_as_the_probability_needs(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    options = ["--arrival-rate", "0.3", "--hours", "6", "--stream-ratio", "0.52", "--no-bounds", "--tip", "1000000000"]
    assert main(["calibrate", "--loss-probability", "0.5", *options]) == 0
    first, second = capsys.readouterr().out.splitlines()[:2]

    said = "stream 0.52 of the sizes, no finalization, 65,250 gas and tip 1 gwei for 1 blob, no bounds"
    assert first == f"Assumed: {said}, blocks of 24 h."
    assert second.startswith("P(loss) at most 50.00% over 20 paths of 6 h")


def test_calibrate_says_that_no_margin_does(tmp_path, capsys):
    arguments = ["calibrate", *QUICK, "--paths", "5", "--vary", "margin", "--upper-bound", "90000001"]
    arguments += ["--stream-ratio", "10", "--figure", str(tmp_path / "losses.png"), "--overwrite"]
    found = answer(capsys, *arguments, code=1)
    assert found["margin"] is None

    assert main(arguments) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "No margin up to 50 suffices: at 50, 5 of 5 paths have a loss, and 0 are allowed." in printed
