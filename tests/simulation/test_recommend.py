"""Recommended fee parameters: targets, units, and what they do in the closed loop over the month that ships."""

import json
from functools import partial

import numpy as np
import pytest

from feemodel.cli import main
from feemodel.errors import InvalidInput
from feemodel.simulation.forecast.recommend import recommend
from feemodel.simulation.scenarios import replay
from feemodel.simulation.surfaces import Submission

quick = partial(recommend, method="seasonal")  # "auto" is fitted six times, which takes seconds


@pytest.fixture(scope="module")
def quiet():
    """Ten days of constant fees, a blob at its reserve price."""
    times = np.arange(0, 10 * 86_400, 600) + 1_770_000_000
    return replay({"timestamp": times, "base_fee": 1e9 + 0.0 * times, "blob_base_fee": 1e9 / 16 + 0.0 * times})


def test_scalars_at_constant_fees_pay_for_the_gas_of_a_byte(quiet):
    found = quick(quiet, family="op-stack", loss_probability=0.5, paths=50, hold=7_200.0, rng=1)
    values = {name: one.value for name, one in found.parameters.items()}

    # 21,000 gas and 131,072 blob gas carry 130,044 bytes; the tip is 0.1 gwei, a transaction 119.42 bytes.
    assert values["base_fee_scalar"] == pytest.approx(21_000 / 130_044 / 16 * 1e6, rel=0.05)
    assert values["blob_base_fee_scalar"] == pytest.approx(131_072 / 130_044 * 1e6, rel=0.05)
    assert values["operator_fee_constant"] == pytest.approx(1e8 * 21_000 / 130_044 * 119.42, rel=0.05)


def test_the_variable_cost_is_in_whole_kwei_and_covers_the_average_of_l1(quiet):
    found = quick(quiet, family="linea", paths=50, hold=7_200.0, rng=1)
    now = ((1e9 + 1e8) * 65_250 + 1e9 / 16 * 131_072) / 131_072

    assert found.parameters["variable_cost"].value % 1_000 == 0
    assert found.parameters["variable_cost"].value == pytest.approx(found.factor * now, rel=1e-3)
    assert found.valid_for >= found.hold


@pytest.mark.parametrize(
    ("terms", "named"),
    [
        ({"hold": 601.0}, "hold"),
        ({"hold": 10 * 86_400.0}, "hold"),
        ({"interval": 100.0}, "interval"),
        ({"loss_probability": 1.5}, "loss_probability"),
        ({"bytes_per_transaction": 0.0}, "bytes_per_transaction"),
        ({"paths": 0}, "paths"),
        ({"hold": 7_200.0, "interval": 14_400.0}, "interval"),
        ({"loss_probability": 1e-9, "paths": 100}, "loss_probability"),
        ({"submission": Submission(execution_gas=0, blob_gas=0)}, "submission"),
    ],
)
def test_terms_that_no_answer_exists_for_are_refused(quiet, terms, named):
    with pytest.raises(InvalidInput, match=named):
        quick(quiet, family="linea", **terms)


def test_the_verb_prints_a_table_and_json(capsys):
    short = ("recommend", "op-stack", "--hold", "3600", "--paths", "20", "--execution-gas", "30000")

    assert main([*short, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["submission"]["capacity"] == 130_044
    assert 0 < found["parameters"]["base_fee_scalar"]["low"] < found["parameters"]["base_fee_scalar"]["high"]
    assert main([*short]) == 0
    printed = capsys.readouterr().out
    assert "blob_base_fee_scalar" in printed
    assert "Submission: 30,000 gas, one blob, 130,044 bytes, every 12 min." in printed


def test_an_operator_fee_beyond_64_bits_is_refused(quiet):
    with pytest.raises(InvalidInput, match="fits 64 bits"):
        quick(quiet, family="op-stack", paths=20, hold=3_600.0, bytes_per_transaction=1e30, rng=1)


def test_the_verb_says_at_least_where_the_paths_end_before_the_loss_probability_passes(capsys):
    assert main(["recommend", "op-stack", "--hold", "3600", "--paths", "20", "--loss-probability", "0.3"]) == 0
    assert "Valid for at least 2.0 h" in capsys.readouterr().out


def test_a_family_without_a_known_submission_asks_for_one(quiet, capsys):
    with pytest.raises(InvalidInput, match="submission: expected one, because no source gives that of family scroll"):
        quick(quiet, family="scroll")
    assert main(["recommend", "zksync"]) == 2
    assert "--execution-gas: expected a value, because no source gives that of zksync" in capsys.readouterr().err


def test_a_submission_of_six_blobs_shares_its_gas(quiet):
    six = Submission(execution_gas=21_000, blob_gas=6 * 131_072, capacity=6 * 130_044)
    one, shared = (
        quick(quiet, family="op-stack", paths=20, hold=3_600.0, submission=posted, rng=1) for posted in (None, six)
    )
    scalars = [found.parameters["base_fee_scalar"].value / found.factor for found in (one, shared)]

    assert scalars[0] == pytest.approx(6 * scalars[1], rel=1e-3)
    assert shared.submission == six


def test_two_seeds_differ_by_less_than_the_interval_and_every_parameter_has_one(month):
    first, second = (recommend(month, family="linea", paths=200, rng=seed) for seed in (1, 2))

    assert first.factor_interval[0] < second.factor < first.factor_interval[1]
    for name, one in first.parameters.items():
        assert one.low <= one.value <= one.high
        assert (one.low < one.high) == (name != "fixed_cost")
