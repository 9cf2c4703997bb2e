"""`feemodel sweep`: a TOML file says what the calls say; what is wrong with it is named."""

import json
import re
from unittest.mock import Mock

import pyarrow.parquet
import pytest
import xarray

from feemodel.cli import main
from feemodel.cli import sweep as verb
from feemodel.cli.sweep import parse_sweep_spec
from feemodel.errors import InvalidInput
from feemodel.io.files import read_toml
from feemodel.simulation.sweep import sweep
from tests.cli.test_cli import RAW
from tests.conftest import ROOT


@pytest.mark.parametrize("name", ["cost-per-byte", "verification-cost"])
def test_the_specs_that_ship_run(name):
    """On every fourth value of each axis."""
    formula, samples, reduce = parse_sweep_spec(read_toml(ROOT / "data" / "specs" / f"{name}.toml"), ROOT)
    fewer = {key: value if not hasattr(value, "dims") else value[::4] for key, value in samples.items()}
    table = sweep(formula, fewer, reduce=reduce)
    (mean,) = (values for name, values in table.data_vars.items() if name.endswith("_mean"))

    assert (mean.diff("margin") >= 0).all()
    assert (mean > 0).all()


def test_a_spec_says_what_the_calls_say(tmp_path):
    (tmp_path / "mine.csv").write_text(f"signed\n{RAW}\n{RAW}\n")
    _, samples, reduce = parse_sweep_spec(
        {
            "formula": "priority_fee_from_l1",
            "over": ["sample"],
            "transactions": "mine.csv",
            "columns": {"raw": "signed"},
            "grid": {
                "margin": {"from": 1.0, "to": 2.0, "count": 3},
                "fixed_cost": {"from": 1, "to": 100, "count": 3, "spacing": "log"},
                "tip": 5,
            },
            "monte_carlo": {
                "count": 10,
                "rng": 1,
                "inputs": {"base_fee": {"distribution": "uniform", "loc": 1, "scale": 2}, "blob_base_fee": [1, 2]},
            },
        },
        tmp_path,
    )
    samples = {name: value for name, value in samples.items() if hasattr(value, "dims")}

    assert [*samples] == ["base_fee", "blob_base_fee", "margin", "fixed_cost", "compressed_size", "gas"]
    assert samples["base_fee"].dims == ("sample",)
    assert samples["gas"].values.tolist() == [21_000] * 2
    assert samples["compressed_size"].attrs["from"].startswith("2 mine.csv (zstd; assumed: ")
    assert samples["margin"].values.tolist() == [1.0, 1.5, 2.0]
    assert samples["fixed_cost"].values.tolist() == [1, 10, 100]
    assert reduce.dims == ("sample",)


FEE = {"formula": "priority_fee"}
GRID = FEE | {"grid": {"gas": [1, 2], "compressed_size": 128, "variable_cost": 1, "fixed_cost": 1}}


def drawn(**shape):
    return FEE | {"monte_carlo": {"count": 3, "inputs": {"gas": shape}}}


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"formula": "priority_fe"}, "formula: unknown name, did you mean priority_fee"),
        (FEE, r"expected \[grid\]"),
        (FEE | {"gird": {}}, "did you mean grid"),
        (FEE | {"grid": {"margin": {"from": 1}}}, "grid.margin: object missing required field `to`"),
        (
            FEE | {"grid": {"margin": {"from": 1, "to": "b", "count": 3}}},
            r"grid\.margin\.to: expected `int \| float`, got 'b'",
        ),
        (FEE | {"grid": 3}, "grid: expected `object`, got 3"),
        (FEE | {"quantile": [0.5], "grid": {"gas": 1}}, "over: expected at least one dimension"),
        (drawn(distribution="lognormal"), "did you mean lognorm"),
        (drawn(distribution="norm", q=1), "expected parameters of scipy.stats.norm"),
        (FEE | {"monte_carlo": {"inputs": {"gas": [1, 2]}}}, "count"),
        (GRID | {"over": 5}, "the sweep file.over: expected `array`, got 5"),
        (GRID | {"over": ["gas", 5]}, r"over\[1\]: expected `str`, got 5"),
        (GRID | {"over": ["gas"], "above": ["1"]}, r"above\[0\]: expected `float`, got '1'"),
        (
            GRID | {"sobol": {"count": 8, "inputs": {"gas": [1, 2]}}},
            "samples: expected each input only once, got .*gas",
        ),
        (FEE | {"grid": {"gas": {"from": 1, "to": 5, "count": 10**12}}}, "grid.gas.count: expected `int` <= 10000000"),
        (FEE | {"grid": {"gas": {"from": 1, "to": 3, "count": 9}}}, r"gas\[1\]: expected unique values on an axis"),
        (FEE | {"grid": {"gas": {"from": 0, "to": 2**60, "count": 3}}}, "gas: expected whole numbers below 2"),
        (FEE | {"grid": {"gas": {"from": 0.0, "to": 5, "count": 3, "spacing": "log"}}}, "gas: expected ends above 0"),
        (FEE | {"sobol": {"count": 8, "rng": -1, "inputs": {"gas": [1, 2]}}}, "rng: expected `int` >= 0"),
        (FEE | {"sobol": {"count": 8, "inputs": {"gas": [1, 2, 3]}}}, "gas: expected a range"),
        (FEE | {"monte_carlo": {"count": 1e9, "inputs": {"gas": [1, 2]}}}, "count: expected `int`"),
        (FEE | {"transactions": 5}, "transactions: expected `str | null`, got 5"),
        (GRID | {"columns": {"from": "who"}}, "columns: expected only with a file of transactions"),
    ],
)
def test_what_is_wrong_with_a_spec_is_named(spec, named, tmp_path):
    with pytest.raises(InvalidInput, match=named):
        parse_sweep_spec(spec, tmp_path)


def run_verb(*arguments):
    """Run the command without the conversion of errors to exit codes."""
    command, bound, _ = verb.command.parse_args(arguments, exit_on_error=False, print_error=False)
    return command(*bound.args, **bound.kwargs)


SPEC = """
formula = "priority_fee"
[grid]
margin = [1.0, 1.2]
compressed_size = 128
gas = 21_000
variable_cost = 1_000_000_000
fixed_cost = 30_000_000
"""


def test_the_verb_prints_and_writes_the_result(tmp_path, capsys):
    (tmp_path / "spec.toml").write_text(SPEC)
    out = tmp_path / "fees.nc"

    assert run_verb(str(tmp_path / "spec.toml"), "--out", str(out), "--json", "--workers", "1") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["results"] == {"priority_fee": {"min": 36_095_238.0, "mean": 39_704_761.5, "max": 43_314_285.0}}
    assert xarray.load_dataset(out).priority_fee.values.tolist() == [36_095_238, 43_314_285]
    with pytest.raises(InvalidInput, match=r"--out: the file exists"):
        run_verb(str(tmp_path / "spec.toml"), "--out", str(out))
    assert run_verb(str(tmp_path / "spec.toml")) == 0
    assert "wei / gas" in capsys.readouterr().out


def test_the_file_is_of_the_kind_that_its_name_says(tmp_path, capsys):
    (tmp_path / "spec.toml").write_text(SPEC)
    for name in ("fees.csv", "fees.parquet"):
        assert run_verb(str(tmp_path / "spec.toml"), "--out", str(tmp_path / name)) == 0

    rows = (tmp_path / "fees.csv").read_text().splitlines()
    assert rows[0] == "margin,compressed_size,gas,variable_cost,fixed_cost,priority_fee"
    assert rows[1:] == ["1.0,128,21000,1000000000,30000000,36095238", "1.2,128,21000,1000000000,30000000,43314285"]
    table = pyarrow.parquet.read_table(tmp_path / "fees.parquet")
    assert table["priority_fee"].to_pylist() == [36_095_238, 43_314_285]
    assert json.loads(table.schema.metadata[b"feemodel"])["units"]["priority_fee"] == "wei / gas"


KEPT = """formula = "priority_fee"
[grid]
compressed_size = {from = 100, to = 200, count = 101}
gas = 21_000
variable_cost = 1_000_000_000
margin = [1.0, MARGIN]
"""


def test_a_sweep_goes_on_from_the_blocks_that_are_kept(capsys, tmp_path, monkeypatch):
    (tmp_path / "spec.toml").write_text(KEPT.replace("MARGIN", "1.2"))
    (tmp_path / "kept").mkdir()
    arguments = ["sweep", str(tmp_path / "spec.toml"), "--resume", str(tmp_path / "kept"), "--json"]
    answers = []
    for _ in range(2):
        assert main(arguments) == 0
        answers.append(json.loads(capsys.readouterr().out) | {"seconds": None})

    assert answers[0] == answers[1]
    assert [file.name for file in (tmp_path / "kept").glob("part-*.npz")] == ["part-0000000.npz"]

    (tmp_path / "spec.toml").write_text(KEPT.replace("MARGIN", "1.3"))
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert "expected a folder of this run: samples.margin.values is [1.0, 1.2] " in said
    assert " in the folder, [1.0, 1.3] " in said
    assert not re.search("[0-9a-f]{64}", said)

    monkeypatch.setattr("feemodel.simulation.sweep.sweep", Mock(side_effect=KeyboardInterrupt))
    assert main(arguments) == 130
    said = f"interrupted; {tmp_path / 'kept'} keeps the finished parts, and the same command continues"
    assert capsys.readouterr().err == f"feemodel: {said}\n"
