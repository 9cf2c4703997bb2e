"""Statistics of sweeps: equal to NumPy's, whatever the pieces; in memory that does not grow with the evaluations."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from feemodel import grid, monte_carlo, over, sweep
from feemodel.cli import main
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.simulation.samples import rows

LEVELS = [0.0, 0.05, 0.5, 0.99, 1.0]


def scaled(x, k):
    return k * x


@pytest.mark.parametrize("dims", [("sample",), ("k",), ("sample", "k")])
@pytest.mark.parametrize("chunk", [1_234, None])
def test_statistics_of_a_sweep_are_numpys(dims, chunk):
    samples = monte_carlo(10_000, rng=1, x=stats.norm(0.5, 2.0)) | grid(k=[1.0, -3.0])
    full = sweep(scaled, samples).scaled
    found = sweep(scaled, samples, reduce=over(*dims, quantile=LEVELS, above=[0.0, 1.0]), chunk=chunk)

    for name in ("mean", "std", "min", "max"):
        values = found[f"scaled_{name}"]
        assert values.dims == tuple(dim for dim in full.dims if dim not in dims)
        np.testing.assert_allclose(values, getattr(full, name)(dims), rtol=1e-12)
    shares = [(full > level).mean(dims) for level in (0.0, 1.0)]
    np.testing.assert_array_equal(found.scaled_above, np.stack(shares, axis=-1))
    quantiles = full.quantile(LEVELS, dims).transpose(..., "quantile")
    assert found.scaled_quantile.dims == quantiles.dims
    if "sample" in dims:
        np.testing.assert_allclose(found.scaled_quantile, quantiles, rtol=5e-4)
    assert found.scaled_above.units == "1"


@given(st.lists(st.floats(-1e300, 1e300, allow_subnormal=False), min_size=1, max_size=50), st.floats(0.0, 1.0))
def test_a_quantile_lies_between_values_that_are_within_the_stated_error(values, level):
    found = sweep(lambda x: x, rows(x=values), reduce=over("row", quantile=[level]))
    ordered = np.sort(values)
    rank = level * (len(values) - 1)
    low, high = ordered[int(np.floor(rank))], ordered[int(np.ceil(rank))]

    assert low - abs(low) * 5e-4 <= found.result_quantile.item() <= high + abs(high) * 5e-4


@given(st.lists(st.integers(-2_048, 2_048), min_size=1, max_size=50))
def test_quantiles_of_small_integers_are_exact(values):
    found = sweep(lambda x: x, rows(x=values), reduce=over("row", quantile=LEVELS))

    np.testing.assert_allclose(found.result_quantile, np.quantile(values, LEVELS), rtol=1e-15, atol=1e-12)


def test_statistics_of_booleans_and_of_several_dimensions():
    found = sweep(lambda x, y: x > y, grid(x=[1.0, 2.0], y=[0.0, 1.5, 3.0]), reduce=over("y", "x"))

    assert found.result_mean.item() == 0.5
    assert (found.result_min.item(), found.result_max.item()) == (0.0, 1.0)


def test_nan_passes_through_moments_and_is_refused_where_it_would_be_counted():
    def root(x):
        with np.errstate(invalid="ignore"):
            return np.sqrt(x)

    table = sweep(root, grid(x=[-1.0, 4.0]), reduce=over("x"))
    assert all(np.isnan(values) for values in table.data_vars.values())
    for levels in ({"quantile": [0.5]}, {"above": [0.0]}):
        with pytest.raises(InvalidInput, match="expected numbers other than NaN"):
            sweep(root, grid(x=[-1.0, 4.0]), reduce=over("x", **levels))


def test_the_memory_for_sums_and_counts_is_limited():
    cells = grid(x=np.arange(1.0, 2**14), y=np.arange(1.0, 2**14))
    with pytest.raises(LimitExceeded, match=r"sums of a result .*: reduce over more dimensions"):
        sweep(lambda x, y, z: x * y + z, cells | grid(z=[1.0, 2.0]), reduce=over("z"))
    wide = grid(x=np.geomspace(1e-300, 1e300, 20_000), z=[1.0, 1e8])
    with pytest.raises(LimitExceeded, match="counts for quantiles"):
        sweep(lambda x, z: x * z, wide, reduce=over("z", quantile=[0.5]))


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: over(), "over: expected at least one dimension"),
        (lambda: over("x", "x"), r"over\[1\]: expected each only once, got 'x'"),
        (lambda: over(5), r"over\[0\]: expected the name of a dimension, got 5"),
        (lambda: over("x", quantile=[1.5]), r"quantile\[0\]: expected levels from 0 to 1, got 1.5"),
        (lambda: over("x", quantile=0.5), "quantile: expected a list, got 0.5"),
        (lambda: over("x", quantile=[0.5, 0.5]), r"quantile\[1\]: expected each only once"),
        (lambda: over("x", above=["low"]), "above: expected a finite number"),
        (lambda: sweep(scaled, grid(x=[1.0], k=2.0), reduce="x"), "reduce: expected a result of over"),
    ],
)
def test_what_is_wrong_with_statistics_is_named(make, named):
    with pytest.raises(InvalidInput, match=named):
        make()


def test_a_sweep_file_asks_for_statistics(tmp_path, capsys):
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'formula = "priority_fee"\nover = ["sample"]\nquantile = [0.5]\nabove = [1e8]\n'
        "[grid]\ncompressed_size = 128\ngas = 21_000\nfixed_cost = 30_000_000\nmargin = 1.2\n"
        '[monte_carlo]\ncount = 1_000\nrng = 1\n[monte_carlo.inputs]\nvariable_cost = { distribution = "randint", '
        "low = 1_000_000_000, high = 20_000_000_000 }\n"
    )
    assert main(["sweep", str(spec), "--json"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]

    assert set(results) == {f"priority_fee_{name}" for name in ("mean", "std", "min", "max", "quantile", "above")}
    assert main(["sweep", str(spec), "--out", str(tmp_path / "out.csv")]) == 2
    assert "because the result has quantiles or shares" in capsys.readouterr().err
