"""`feemodel simulate`: the baseline by default, one JSON object, one line for each wrong input."""

import json

import pytest

from feemodel.cli import main

KEYS = ("recovery", "underRecoveryDays", "volatility", "overcharge", "undercharge", "drawdownDays", "meanWaitSeconds")


def answer(capsys, *arguments):
    assert main(["simulate", *map(str, arguments), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return {key: one["value"] if isinstance(one, dict) and "value" in one else one for key, one in found.items()}


@pytest.mark.parametrize("pricing", ["fixed", "linea", "linea-unbounded", "op-stack", "arbitrum"])
def test_every_policy_answers_with_every_measure(capsys, pricing):
    found = answer(capsys, "--pricing", pricing, "--elasticity", "0.5")

    assert all(isinstance(found[key], float) for key in KEYS)
    assert (pricing, "fill", 0.5) == (found["pricing"], found["posting"], found["elasticity"])


def test_a_file_has_the_options_of_the_command_and_the_command_line_goes_first(capsys, tmp_path):
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'pricing = "arbitrum"\nelasticity = 1\nposting = "deadline"\nsla = 8.0\nfit = true\nexecution_gas = 70_000\n'
    )
    found = answer(capsys, spec, "--elasticity", "0.5")
    demand, posting = (json.loads(found["assumed"][name]) for name in ("demand", "posting"))

    assert (found["pricing"], demand["elasticity"]) == ("arbitrum", 0.5)
    assert (posting["deadline"], posting["submission"]["execution_gas"]) == (28_800.0, 70_000)
    assert found["recovery"] > 0.9


def test_several_paths_have_quantiles(capsys):
    found = answer(capsys, "--paths", "3", "--block-hours", "72")

    assert found["recovery"]["p5"] <= found["recovery"]["p95"]
    assert found == answer(capsys, "--paths", "3", "--block-hours", "72", "--workers", "1")


def test_results_and_a_figure_are_written(capsys, tmp_path):
    figure, out = tmp_path / "month.png", tmp_path / "month.nc"
    assert main(["simulate", "--pricing", "fixed", "--figure", str(figure), "--out", str(out)]) == 0

    assert figure.read_bytes()[:4] == b"\x89PNG"
    assert out.stat().st_size > 10_000
    printed = capsys.readouterr().out
    assert "under recovery days" in printed
    assert "price: fitted: " in printed
