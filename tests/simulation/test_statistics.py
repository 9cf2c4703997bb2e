"""Statistics of sweeps and of results: equal to NumPy's and to closed forms, on any executor, whatever the pieces."""

import json

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from feemodel.cli import main
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.simulation._reduce import over
from feemodel.simulation._summarize import summarize
from feemodel.simulation._sweep import planned, sweep
from feemodel.simulation.samples import grid, monte_carlo

EVERYTHING = {
    "quantile": [0.0, 0.05, 0.5, 1.0],
    "below": [0.0, 1.0],
    "cvar_lower": [0.05, 1.0],
    "cvar_upper": [0.01, 0.3],
}


def scaled(x, k):
    return k * x


def test_statistics_of_a_sweep_are_numpys():
    samples = monte_carlo(10_000, rng=1, x=stats.norm(0.5, 2.0)) * grid(k=[1.0, -3.0])
    full = sweep(scaled, samples).scaled.transpose("k", "sample").to_numpy()
    found = sweep(scaled, samples, reduce=over("sample", **EVERYTHING), chunk=1_234)
    ordered = np.sort(full, axis=1)

    np.testing.assert_array_equal(found.scaled_quantile, np.quantile(full, EVERYTHING["quantile"], axis=1).T)
    np.testing.assert_array_equal(found.scaled_below, [[(row < y).mean() for y in (0.0, 1.0)] for row in full])
    np.testing.assert_allclose(found.scaled_cvar_lower.sel(cvar_lower=0.05), ordered[:, :500].mean(axis=1))
    np.testing.assert_allclose(found.scaled_cvar_lower.sel(cvar_lower=1.0), full.mean(axis=1))
    np.testing.assert_allclose(found.scaled_cvar_upper.sel(cvar_upper=0.01), ordered[:, -100:].mean(axis=1))
    assert found.scaled_quantile.dims == ("k", "quantile")


def test_a_normals_tail_mean_is_the_closed_form():
    """CVaR of the lowest 5 % of a standard normal: −φ(Φ⁻¹(0.05)) / 0.05 = −2.0627."""
    found = sweep(scaled, monte_carlo(400_000, rng=1, x=stats.norm(), k=1.0), reduce=over("sample", cvar_lower=[0.05]))

    assert found.scaled_cvar_lower.item() == pytest.approx(-2.0627, abs=0.02)


@pytest.mark.parametrize("options", [{"chunk": 7}, {"executor": "processes", "workers": 2}])
def test_statistics_do_not_depend_on_the_workers(options):
    samples = monte_carlo(500, rng=1, x=stats.norm()) * grid(k=[1.0, 2.0])
    reduce = over("sample", statistics=["mean", "drawdown"], **EVERYTHING)
    one = sweep(scaled, samples, reduce=reduce, workers=1, chunk=options.get("chunk"))

    assert sweep(scaled, samples, reduce=reduce, **options).identical(one)


def test_what_was_computed_before_is_the_same_beside_new_statistics():
    samples = monte_carlo(5_000, rng=1, x=stats.norm(), k=[1.0, 2.0])
    plain = sweep(scaled, samples, reduce=over("sample"))
    more = sweep(scaled, samples, reduce=over("sample", **EVERYTHING))

    assert more[list(plain.data_vars)].drop_vars(EVERYTHING, errors="ignore").identical(plain)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30))
def test_a_drawdown_is_the_deepest_fall_of_the_running_sum(flows):
    heights = np.append(0, np.cumsum(flows))
    deepest = max(heights[i] - heights[j] for i in range(len(heights)) for j in range(i, len(heights)))
    found = summarize(xr.Dataset({"profit": ("day", flows)}), over("day", statistics=["drawdown"]))

    assert found.profit_drawdown.item() == deepest


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40), st.floats(0.01, 1.0))
def test_both_tails_weigh_the_evaluation_that_they_cut(values, share):
    found = summarize(
        xr.Dataset({"x": ("path", values)}), over("path", statistics=["mean"], cvar_lower=[share], cvar_upper=[share])
    )
    fine = np.repeat(np.sort(values), 1_000)  # each counted a thousand times: the share cuts nearly nothing
    count = max(1, round(share * fine.size))

    assert found.x_cvar_lower.item() == pytest.approx(fine[:count].mean(), abs=3.0)
    assert found.x_cvar_lower.item() <= found.x_mean.item() + 1e-9
    assert found.x_cvar_upper.item() >= found.x_mean.item() - 1e-9


def test_a_result_is_summarized_where_it_has_the_dimensions():
    result = xr.Dataset(
        {
            "profit": (("path", "day"), np.arange(6.0).reshape(2, 3), {"units": "wei"}),
            "recovery": ("path", [0.5, 1.5]),
            "price": ("day", [1.0, 2.0, 3.0]),
            "name": ("path", ["a", "b"]),
        },
        {"day": [1, 2, 3], "path": [0, 1]},
    )
    by_path = summarize(result, over("path", statistics=["mean"], quantile=[0.5]))
    by_both = summarize(result, over("path", "day", statistics=["sum"]))

    assert by_path.profit_mean.values.tolist() == [1.5, 2.5, 3.5]
    assert by_path.profit_quantile.attrs == {"units": "wei", "long_name": "profit quantile"}
    assert by_path.recovery_mean.item() == 1.0
    assert by_path.price.equals(result.price.drop_vars("path", errors="ignore"))
    assert by_path.attrs["left_out"] == "name"
    assert by_both.profit_sum.item() == 15.0
    assert by_both.attrs["left_out"] == "recovery, price, name"


def test_a_plan_counts_what_quantiles_hold():
    samples = monte_carlo(1_000, rng=1, x=stats.norm(), k=1.0)

    assert planned(scaled, samples, over("sample", quantile=[0.5])).result_bytes == 8 * (7 + 1_000)
    assert planned(scaled, samples, over("sample")).result_bytes == 8 * 6
    with pytest.raises(LimitExceeded, match="store all evaluations"):
        planned(scaled, monte_carlo(1 << 31, rng=1, x=stats.norm(), k=1.0), over("sample", quantile=[0.5]))


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: over("x", quantile=[1.5]), r"quantile\[0\]: expected shares from 0 to 1, got 1.5"),
        (lambda: over("x", quantile=0.5), "quantile: expected a list of numbers, got 0.5"),
        (lambda: over("x", quantile=[0.5, 0.5]), r"quantile\[1\]: expected each level only once"),
        (lambda: over("x", cvar_lower=[0.0]), r"cvar_lower\[0\]: expected shares from above 0 to 1, got 0.0"),
        (lambda: over("x", cvar_upper=[float("nan")]), "cvar_upper: expected a finite number"),
        (lambda: over("x", below=["low"]), "below: expected a finite number"),
        (lambda: over("x", below=[1.0, 1.0]), "below: expected each threshold only once"),
        (lambda: over("x", "y", statistics=["drawdown"]), "over: expected one dimension"),
        (lambda: summarize([1.0], over("x")), "result: expected a Dataset"),
        (
            lambda: summarize(xr.Dataset({"a": ("y", [1.0])}), over("x")),
            "reduction: expected dimensions of at least one numeric variable",
        ),
        (lambda: summarize(xr.Dataset({"a": ("x", [1.0])}), "x"), "reduction"),
        (
            lambda: summarize(xr.Dataset({"a": ("x", [np.nan, 1.0])}), over("x", quantile=[0.5])),
            "expected numbers other than NaN, because the statistics count or sort them, got nan",
        ),
        (
            lambda: summarize(xr.Dataset({"quantile": ("x", [1.0])}), over("x", quantile=[0.5])),
            "result: expected no variable or dimension with the name of a statistic's dimension, got 'quantile'",
        ),
        (
            lambda: sweep(lambda quantile: quantile, grid(quantile=[1.0]), reduce=over("quantile", quantile=[0.5])),
            "samples: expected another name, because the statistics have a coordinate of this name, got 'quantile'",
        ),
    ],
)
def test_what_is_wrong_with_statistics_is_named(make, named):
    with pytest.raises(InvalidInput, match=named):
        make()


def test_a_sweep_file_asks_for_statistics(tmp_path, capsys):
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'formula = "priority_fee"\nover = ["sample"]\nstatistics = ["mean"]\nquantile = [0.5]\nbelow = [1e8]\n'
        "cvar_upper = [0.1]\n[grid]\ncompressed_size = 128\ngas = 21_000\nfixed_cost = 30_000_000\nmargin = 1.2\n"
        '[monte_carlo]\ncount = 1_000\nrng = 1\n[monte_carlo.inputs]\nvariable_cost = { distribution = "randint", '
        "low = 1_000_000_000, high = 20_000_000_000 }\n"
    )
    assert main(["sweep", str(spec), "--json"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]

    assert set(results) == {f"priority_fee_{name}" for name in ("mean", "quantile", "below", "cvar_upper")}
    assert results["priority_fee_cvar_upper"]["mean"] > results["priority_fee_quantile"]["mean"]
    assert main(["sweep", str(spec), "--out", str(tmp_path / "out.csv")]) == 2
    assert "because the result has histograms or quantiles" in capsys.readouterr().err


def test_a_dimension_without_values_is_named():
    with pytest.raises(InvalidInput, match="result: expected at least one value along path"):
        summarize(xr.Dataset({"recovery": ("path", np.zeros(0))}), over("path"))
