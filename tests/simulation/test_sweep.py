"""Sweeps: every evaluation equal to the formula's, whoever computes it; reductions; what a result says of itself."""

import cProfile

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import feemodel
from feemodel.errors import Int64Overflow, InvalidInput, LimitExceeded
from feemodel.io.results import write_dataset
from feemodel.linea.extra_data import MAX_KWEI, PricingRecord
from feemodel.linea.from_l1 import priority_fee_from_l1, recorded_variable_cost
from feemodel.linea.kernels import RUN, priority_fees, priority_fees_from_l1
from feemodel.simulation.samples import grid, monte_carlo, sobol
from feemodel.simulation.statistics import over
from feemodel.simulation.surfaces import Workload
from feemodel.simulation.sweep import sweep

RNG = np.random.default_rng(3)
WORKLOAD = Workload("some", RNG.integers(30, 4_000, 50), RNG.integers(21_000, 900_000, 50))
COSTS = {"variable_cost": 10**9, "fixed_cost": 30_000_000}
L1_FEES = {
    "base_fee": stats.lognorm(s=1.0, scale=7e7),
    "blob_base_fee": stats.lognorm(s=2.0, scale=4e6),
    "tip": 100_000_000,
}
SAMPLES = {
    "all axes apart": grid(
        compressed_size=range(100, 109), gas=[21_000, 46_001, 90_007], margin=np.linspace(0.5, 2, 11), **COSTS
    ),
    "margin before sizes": grid(margin=np.linspace(0.5, 2, 11), compressed_size=range(100, 113), gas=21_000, **COSTS),
    "transactions under costs": grid(
        t=WORKLOAD, variable_cost=[10**6, 10**9, 10**10], fixed_cost=[0, 3 * 10**7], margin=1.2
    ),
    "transactions alone": grid(t=WORKLOAD, **COSTS),
    "one kind of gas": grid(compressed_size=np.unique(WORKLOAD.compressed_size), gas=21_000, margin=1.2, **COSTS),
    "one transaction": grid(compressed_size=128, gas=21_000, margin=1.2, **COSTS),
    "points": sobol(
        64, rng=1, compressed_size=(30, 4_000), gas=(21_000, 900_000), variable_cost=(1, 10**10), margin=(0.8, 1.5)
    ),
    "points and transactions": sobol(16, rng=1, variable_cost=(1, 10**10), margin=(0.8, 1.5)) | grid(t=WORKLOAD),
    "points and a short axis": sobol(64, rng=1, variable_cost=(1, 10**10), compressed_size=(30, 400), gas=(1, 10**6))
    | grid(margin=[1.0, 1.2]),
    "whole margins": grid(t=WORKLOAD, margin=[1, 2], **COSTS),
}


def twice(x, y=1.0):
    return {"sum": x + y, "double": 2 * x}


def other_name_next(x):
    return {"a": x} if x.flat[0] == 1 else {"b": x}


def expected(function, samples):
    """The function of every input along every dimension, by xarray's own rules."""
    constants = {name: value for name, value in samples.items() if not isinstance(value, xr.DataArray)}
    arrays = xr.broadcast(*(value for value in samples.values() if isinstance(value, xr.DataArray)))
    names = [name for name in samples if name not in constants]
    return function(**dict(zip(names, (array.to_numpy() for array in arrays), strict=True)), **constants)


@pytest.mark.parametrize("chunk", [1, 7, 100, None])
@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES)
def test_every_evaluation_is_the_formulas(samples, chunk, monkeypatch):
    each = expected(feemodel.priority_fee, samples)
    monkeypatch.setattr("feemodel.formula.KERNEL_SIZE", 1)  # so that small sweeps, too, take the compiled form
    fees = sweep(feemodel.priority_fee, samples, chunk=chunk).priority_fee

    np.testing.assert_array_equal(fees, each)
    assert fees.dtype == np.int64


@pytest.mark.parametrize(
    "fixed",
    [
        {"compressed_size": 128, "gas": 21_000},
        {"compressed_size": 128, "gas": 21_000, "cost_margin": stats.uniform(1, 1), "bytes_per_submission": 90_000},
        {"compressed_size": [128, 900], "gas": [21_000, 46_000], "execution_gas": [50_000, 80_000]},
        {"t": WORKLOAD},
    ],
    ids=["one transaction", "all L1 inputs", "everything drawn", "transactions"],
)
def test_every_evaluation_from_l1_fees_is_the_formulas(fixed, monkeypatch):
    samples = monte_carlo(200, rng=1, **L1_FEES, **fixed, fixed_cost=30_000_000, margin=1.2)
    each = expected(priority_fee_from_l1, samples)
    monkeypatch.setattr("feemodel.formula.KERNEL_SIZE", 1)
    fees = sweep(priority_fee_from_l1, samples, chunk=3_000).priority_fee_from_l1

    np.testing.assert_array_equal(fees, each)


@given(st.floats(0, 1e14), st.floats(0, 1e14), st.floats(0, 1e6), st.floats(0, 10))
def test_the_variable_cost_of_l1_fees_is_what_a_record_holds(base_fee, blob_base_fee, tip, margin):
    cost = recorded_variable_cost(base_fee, blob_base_fee, tip=tip, cost_margin=margin)
    double = feemodel.variable_cost(
        base_fee,
        tip,
        blob_base_fee,
        execution_gas=65_250,
        blob_gas=131_072,
        bytes_per_submission=131_072,
        margin=margin,
    )
    record = PricingRecord(fixed_cost=0, variable_cost=double, eth_gas_price=0).to_bytes()

    assert cost == PricingRecord.from_bytes(record).variable_cost <= MAX_KWEI * 1_000
    assert recorded_variable_cost(np.array([base_fee]), blob_base_fee, tip=tip, cost_margin=margin).tolist() == [cost]


@pytest.mark.parametrize(
    ("function", "samples", "error", "named"),
    [
        (feemodel.priority_fee, grid(compressed_size=[1, -2], gas=21_000, **COSTS), InvalidInput, "compressed_size"),
        (feemodel.priority_fee, grid(compressed_size=[1, 2**40], gas=1, variable_cost=2**40), Int64Overflow, "wrap"),
        (priority_fee_from_l1, grid(compressed_size=[1], gas=1, base_fee=[1.0, -1.0], blob_base_fee=1), InvalidInput,
         "base_fee"),
        (priority_fee_from_l1, grid(compressed_size=1, gas=0, base_fee=[1.0, 2.0], blob_base_fee=1), InvalidInput,
         "gas"),
    ],
)  # fmt: skip
def test_a_bad_input_is_named_by_the_formula(function, samples, error, named):
    with pytest.raises(error, match=named):
        sweep(function, samples)


#: One transaction of 128 bytes and 21,000 gas under three L1 fees: the kernel that forms costs and fees at once.
THREE_L1_FEES = {
    "base_fee": np.array([1e8, 2e8, 3e8]), "tip": np.array([1e8, 0.0, 5e7]), "blob_base_fee": np.array([1e6, 1.0, 5e7]),
    "compressed_size": 128, "gas": 21_000, "fixed_cost": 30_000_000,
}  # fmt: skip


def test_the_kernels_of_l1_fees_take_tips_and_the_default_margins():
    fees = np.empty(3, dtype=np.int64)

    assert priority_fees_from_l1(THREE_L1_FEES, fees)
    np.testing.assert_array_equal(fees, priority_fee_from_l1(**THREE_L1_FEES))
    assert fees.min() > 30_000_000


@pytest.mark.parametrize("name", ["base_fee", "tip", "blob_base_fee", "cost_margin", "execution_gas", "blob_gas"])
def test_the_kernels_of_l1_fees_leave_what_is_below_0_to_the_formula(name):
    assert not priority_fees_from_l1(THREE_L1_FEES | {name: -0.5}, np.empty(3, dtype=np.int64))


EXTREMES = st.sampled_from([2**31, 2**52, 2**53 + 1, 2**62, 2**63 - 1])


@given(st.data())
def test_the_twin_of_the_priority_fee_is_exact_or_declines(data):
    shape = data.draw(st.sampled_from([(3,), (2, 3), (1, 4), (4, 1), (2, 2, 3)]))
    numbers = {
        "compressed_size": st.integers(0, 2**42) | EXTREMES, "gas": st.integers(1, 2**42) | EXTREMES,
        "variable_cost": st.integers(0, 2**42) | EXTREMES, "fixed_cost": st.integers(0, 2**60) | EXTREMES,
    }  # fmt: skip
    inputs = {}
    for name, strategy in numbers.items():
        axes = tuple(data.draw(st.sampled_from([1, size])) for size in shape)
        count = int(np.prod(axes))
        inputs[name] = np.array(data.draw(st.lists(strategy, min_size=count, max_size=count))).reshape(axes)
    inputs["margin"] = data.draw(st.floats(0, 100))
    out = np.empty(shape, dtype=np.int64)
    if priority_fees(inputs, out):
        np.testing.assert_array_equal(out, np.broadcast_to(feemodel.priority_fee(**inputs), shape))


@pytest.mark.parametrize("place", [0, RUN - 1, RUN, 2 * RUN - 1, 2 * RUN])
def test_the_edges_of_compiled_runs_are_exact_or_refused_as_any_element(place):
    """A product just within the compiled range, one that only the formula computes, and one that a node would wrap."""
    sizes = np.ones(2 * RUN + 1, dtype=np.int64)
    out = np.empty_like(sizes)
    inputs = {"compressed_size": sizes, "gas": 2**20, "margin": 1.0, "fixed_cost": 0}
    for size, cost, compiled in ((2**31 - 1, 2**31 - 1, True), (2**32 - 1, 2**31 - 1, False)):
        sizes[place] = size
        inputs["variable_cost"] = np.full_like(sizes, cost)
        expected = np.full_like(sizes, cost // 2**20)
        expected[place] = size * cost // 2**20
        assert compiled == priority_fees(inputs, out)
        np.testing.assert_array_equal(feemodel.priority_fee(**inputs), expected)
        if compiled:
            np.testing.assert_array_equal(out, expected)

    sizes[place] = 2**33
    assert not priority_fees(inputs, out)
    with pytest.raises(Int64Overflow, match=rf"\[{place}\]: .* would wrap"):
        feemodel.priority_fee(**inputs)


REDUCED = monte_carlo(1_000, rng=1, **L1_FEES) | grid(t=WORKLOAD, margin=[1.0, 1.2], fixed_cost=30_000_000)


@pytest.mark.parametrize("samples", [monte_carlo(9, x=stats.norm()), sobol(8, x=(0.0, 1.0)), grid(x=[1.0, 2.0])])
def test_a_function_cannot_write_into_what_it_is_given(samples):
    def careless(x):
        x *= 2
        return x

    with pytest.raises(ValueError, match="read-only"):
        sweep(careless, samples)


def test_every_input_is_a_coordinate_with_units_or_described():
    full = sweep(priority_fee_from_l1, REDUCED)
    table = sweep(priority_fee_from_l1, REDUCED, reduce=over("sample", "transaction"))

    assert {*REDUCED} == {*full.coords}
    assert {str(full[name].attrs["units"]) for name in REDUCED} == {"wei / gas", "gas", "byte", "1"}
    assert full.priority_fee_from_l1.attrs["units"] == "wei / gas"
    assert set(table.coords) == {"margin", "tip", "fixed_cost"}
    assert sweep(twice, grid(x=[1.0, 5.0]), reduce=over("x")).attrs["x_values"] == "2 from 1.0 to 5.0"
    assert table.attrs["base_fee_drawn_from"] == "lognorm(s=1.0, scale=70000000.0)"
    assert table.attrs["seed"] == "1"
    assert table.attrs["gas_from"] == table.attrs["compressed_size_from"] == "50 some"
    assert table.attrs["feemodel"] == feemodel.__version__
    assert table.attrs["evaluations"] == 1_000 * 50 * 2


def test_a_recorded_seed_gives_the_run_again():
    first = sweep(twice, monte_carlo(100, x=stats.norm()))
    again = sweep(twice, monte_carlo(100, rng=int(first.attrs["seed"]), x=stats.norm()))

    assert again.identical(first)


def test_a_function_may_return_several_results_and_what_does_not_vary():
    found = sweep(twice, grid(x=[1.0, 2.0], y=[10.0, 20.0, 30.0]), units={"sum": "wei"})

    assert found["sum"].values.tolist() == [[11, 21, 31], [12, 22, 32]]
    assert found["double"].values.tolist() == [[2, 2, 2], [4, 4, 4]]
    assert found["sum"].attrs == {"units": "wei", "long_name": "sum"}


def calls_of_ours(call):
    """How many functions of the package a call passes, without comprehensions and the operators of exact integers."""
    call()  # loads what is not part of the path
    profile = cProfile.Profile(builtins=False)
    profile.runcall(call)
    ours = [entry for entry in profile.getstats() if entry.code.co_filename.startswith(feemodel.__path__[0])]
    ours = [entry for entry in ours if entry.code.co_name[0] != "<" and not entry.code.co_filename.endswith("exact.py")]
    return sum(entry.callcount for entry in ours)


@pytest.mark.parametrize(
    "axes",
    [
        {"gas": [21_000, 42_000], "margin": [1.0, 1.2]},
        {"variable_cost": [10**8, 10**9], "margin": [1.0, 1.2]},
        {"margin": [1.0, 1.1, 1.2, 1.3]},
        {"gas": [21_000, 42_000, 63_000, 84_000]},
    ],
    ids="-".join,
)
def test_a_sweep_of_four_numbers_passes_at_most_forty_calls(axes):
    samples = {"compressed_size": 128, "variable_cost": 10**9, "gas": 21_000, "margin": 1.2} | grid(**axes)

    assert calls_of_ours(lambda: feemodel.sweep(feemodel.priority_fee, samples)) <= 40
    assert calls_of_ours(lambda: sweep(twice, grid(x=[1.0, 2.0], y=[1.0, 2.0]))) <= 40


def narrowest(gas):
    return gas.astype(np.min_scalar_type(int(gas.max())))


def masked(gas):
    return np.ma.masked_greater(gas, 1)


@pytest.mark.parametrize(
    ("function", "named"), [(narrowest, "expected the type uint8 .* got 'uint16'"), (masked, "a mask")]
)
def test_no_result_is_cut_to_a_shorter_type_or_loses_its_mask(function, named):
    with pytest.raises(InvalidInput, match=named):
        sweep(function, grid(gas=[1, 300]), chunk=1)


def test_one_number_of_an_array_is_a_constant():
    gas = xr.DataArray([20_000, 22_000], dims="block")

    assert grid(gas=gas.max(), size=np.array(7), tip=gas.mean()) == {"gas": 22_000, "size": 7, "tip": 21_000.0}


@pytest.mark.parametrize(("chunk", "pieces"), [(30, [30, 30, 30, 10]), (1, [1] * 100)])
def test_progress_counts_every_evaluation_and_no_piece_passes_the_chunk(chunk, pieces):
    done = []
    sweep(twice, grid(x=np.arange(100.0)), chunk=chunk, progress=done.append)

    assert done == pieces


@pytest.mark.parametrize(
    ("function", "samples", "options", "named"),
    [
        (feemodel.priority_fee, grid(compresed_size=[1], gas=1), {}, "mean compressed_size.*got 'compresed_size'"),
        (feemodel.priority_fee, grid(zzz=[1], gas=1), {}, "it takes compressed_size, gas"),
        (feemodel.priority_fee, grid(gas=[1]), {}, "missing compressed_size, variable_cost"),
        (twice, grid(x=[1.0]), {"reduce": over("sampel")}, "reduce: expected dimensions"),
        (twice, {"x": [1.0, 2.0]}, {}, "samples: expected a DataArray or a number for x"),
        (twice, monte_carlo(4, x=stats.norm()) | monte_carlo(5, y=stats.norm()), {}, "equal coordinates along a"),
        (twice, grid(x=[1.0]) | {"y": xr.DataArray([1.0], coords={"x": [2.0]})}, {}, "equal coordinates along a"),
        (5, grid(x=[1.0]), {}, "function: expected a function, got 5"),
        (twice, grid(x=[1.0]), {"chunk": 0}, "chunk: expected an integer of at least 1, got 0"),
        (lambda x: np.ones(3), grid(x=[1.0, 2.0]), {}, "expected a result .* that can be broadcast to the shape"),
        (lambda x: "text", grid(x=[1.0, 2.0]), {}, "expected numbers in the result"),
        (lambda x: {"x": x}, grid(x=[1.0, 2.0]), {}, "expected a name that differs from all inputs"),
        (lambda x: x if x.flat[0] == 1 else x / 2, grid(x=[1, 2]), {"chunk": 1}, "expected the type int64 of"),
        (other_name_next, grid(x=[1, 2]), {"chunk": 1}, "expected the results a in every call"),
        (other_name_next, grid(x=[1, 2]), {"reduce": over("x"), "chunk": 1}, "expected the results a in every"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_sweep_is_named(function, samples, options, named):
    with pytest.raises(InvalidInput, match=named):
        sweep(function, samples, **options)


def test_a_result_beyond_memory_is_refused():
    with pytest.raises(LimitExceeded, match="10,000,000,000 evaluations are more than 1,073,741,824"):
        sweep(twice, grid(x=np.arange(1e5), y=np.arange(1e5)))


def test_a_result_is_saved_and_read_again(tmp_path):
    for result in (
        sweep(priority_fee_from_l1, REDUCED, reduce=over("transaction", quantile=[0.5], above=[1e8])),
        sweep(feemodel.priority_fee, SAMPLES["transactions under costs"]),
    ):
        write_dataset(result, tmp_path / "result.nc", overwrite=True)

        assert xr.load_dataset(tmp_path / "result.nc").identical(result)
    with pytest.raises(InvalidInput, match="the file exists"):
        write_dataset(result, tmp_path / "result.nc")
