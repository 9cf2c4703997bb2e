"""Sobol indices: closed forms, SALib and SciPy's bootstrap."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.simulation.samples import rows
from feemodel.simulation.sensitivity import sobol_indices

PI = (-np.pi, np.pi)
A, B = 7.0, 0.1


def ishigami(x1, x2, x3):
    """Ishigami and Homma 1990, doi:10.1109/ISUMA.1990.151285."""
    return np.sin(x1) + A * np.sin(x2) ** 2 + B * x3**4 * np.sin(x1)


def closed_form():
    alone = [0.5 * (1 + B * np.pi**4 / 5) ** 2, A**2 / 8, 0.0]
    together = B**2 * np.pi**8 * (1 / 18 - 1 / 50)  # of the first and the third input
    variance = sum(alone) + together
    total = [alone[0] + together, alone[1], together]
    return np.array(alone) / variance, np.array(total) / variance


def ishigami_indices(count, rng=1, **options):
    return sobol_indices(ishigami, count, rng=rng, x1=PI, x2=PI, x3=PI, **options)


def test_the_closed_form_is_met():
    found = ishigami_indices(1 << 15, resamples=100)
    first, total = closed_form()

    np.testing.assert_allclose(first, [0.3139, 0.4424, 0.0], atol=5e-5)  # as published
    np.testing.assert_allclose(total, [0.5576, 0.4424, 0.2437], atol=5e-5)
    np.testing.assert_allclose(found.first_order, first, atol=2e-3)
    np.testing.assert_allclose(found.total_order, total, atol=2e-3)
    assert found.input.values.tolist() == ["x1", "x2", "x3"]
    assert found.attrs["x1_range"] == f"{-np.pi} to {np.pi}"
    assert found.attrs["evaluations"] == (1 << 15) * 5


def test_the_intervals_are_as_wide_as_scipys():
    count = 512
    found = ishigami_indices(count, resamples=2_000)
    design = stats.sobol_indices(
        func=lambda x: ishigami(*x), n=count, dists=[stats.uniform(-np.pi, 2 * np.pi)] * 3, rng=1
    )
    theirs = design.bootstrap(n_resamples=4_000)  # which draws anew in every run: fewer spread by a third
    for order, interval in (("first", theirs.first_order), ("total", theirs.total_order)):
        width = interval.confidence_interval.high - interval.confidence_interval.low
        low, high = found[f"{order}_order_low"], found[f"{order}_order_high"]
        np.testing.assert_allclose(high - low, width, rtol=0.3)
        np.testing.assert_allclose((low + high) / 2, found[f"{order}_order"], atol=0.1 * width.max())


@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_the_estimates_are_those_of_saltelli_on_the_same_matrices(scale):
    seen = []

    def recorded(x1, x2, x3):
        seen.append(scale * ishigami(x1, x2, x3))
        return seen[-1]

    found = sobol_indices(recorded, 512, rng=1, resamples=10, x1=PI, x2=PI, x3=PI)
    a, b, *mixed = seen[0].reshape(5, 512) - seen[0][:1_024].mean()
    variance = np.var([a, b])

    np.testing.assert_allclose(found.first_order, [np.mean(b * (ab - a)) / variance for ab in mixed], rtol=1e-9)
    np.testing.assert_allclose(found.total_order, [np.mean((a - ab) ** 2) / variance / 2 for ab in mixed], rtol=1e-9)


def test_a_distribution_is_met_at_its_quantiles_and_results_have_their_own_rows():
    def sums(x, z):
        return {"narrow": x + z, "wide": 3 * x + z}

    found = sobol_indices(sums, 4_096, rng=1, x=stats.norm(5, 2), z=stats.norm(0, 1))

    np.testing.assert_allclose(found.first_order.sel(result="narrow"), [0.8, 0.2], atol=0.01)
    np.testing.assert_allclose(found.total_order.sel(result="wide"), [36 / 37, 1 / 37], atol=0.01)


def test_a_seed_gives_the_same_indices_on_any_executor():
    first = ishigami_indices(256)

    assert ishigami_indices(256).identical(first)
    with ThreadPoolExecutor(2) as threads:
        assert ishigami_indices(256, executor=threads).identical(first)
    assert not ishigami_indices(256, rng=2).identical(first)


@pytest.mark.parametrize(
    ("call", "error", "named"),
    [
        (lambda: sobol_indices(lambda x: x * 0, 64, x=PI), InvalidInput, "expected a result that varies"),
        (lambda: sobol_indices(lambda x: np.sqrt(x.clip(-1) * np.inf), 64, x=(1, 2)), InvalidInput, "expected finite"),
        (lambda: ishigami_indices(1), InvalidInput, "count: expected an integer of at least 2, got 1"),
        (lambda: ishigami_indices(64, confidence=1.0), InvalidInput, "confidence: expected a number below 1"),
        (lambda: ishigami_indices(64, resamples=1), InvalidInput, "resamples: expected an integer of at least 2"),
        (lambda: ishigami_indices(1 << 23), LimitExceeded, "125,829,120 numbers of a design are more than"),
    ],
)
def test_what_has_no_indices_is_named(call, error, named):
    with pytest.raises(error, match=named):
        call()


def test_rows_count_as_one_input():
    """Two fees that move together explain as one what neither explains alone."""
    fee = np.linspace(1.0, 3.0, 500)
    joint = rows(base_fee=fee, blob_base_fee=2.0 * fee)

    def cost(base_fee, blob_base_fee, gas):
        return base_fee + blob_base_fee + gas

    found = sobol_indices(cost, 4_096, rng=1, l1=joint, gas=(0.0, 6.0), resamples=50)

    assert found.input.values.tolist() == ["l1", "gas"]
    np.testing.assert_allclose(found.first_order, [0.5, 0.5], atol=0.01)
