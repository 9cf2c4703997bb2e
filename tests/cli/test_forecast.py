"""`feemodel forecast`: a table, JSON, and a figure of a file's fees."""

import json

from feemodel.cli import main

SMALL = ("--method", "seasonal", "--paths", "20", "--horizon", "1h", "--horizon", "10min")


def test_json_has_quantiles_that_rise_at_every_horizon(capsys):
    assert main(["forecast", *SMALL, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)

    assert (found["method"], found["origin"]) == ("seasonal", "2026-02-06T17:30:00Z")
    assert list(found["horizons"]) == ["10min", "1h"]
    for one in found["horizons"].values():
        assert set(one) == {"baseFeeWei", "blobBaseFeeWei", "submissionCostWei"}
        for quantiles in one.values():
            assert list(quantiles) == ["q05", "q25", "q50", "q75", "q95"]
            assert sorted(quantiles.values()) == list(quantiles.values())


def test_a_table_for_each_fee_and_a_figure_that_is_written_once(capsys, tmp_path):
    figure = tmp_path / "fan.svg"
    assert main(["forecast", *SMALL, "--figure", str(figure)]) == 0

    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("1")]
    assert rows == ["10min", "1h"] * 3
    assert figure.read_text().count("<!-- one path -->") == 1  # one legend for both fees
    assert main(["forecast", *SMALL, "--figure", str(figure)]) == 2
