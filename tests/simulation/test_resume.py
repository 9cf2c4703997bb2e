"""A sweep that keeps its finished blocks goes on where it stopped, with the same result to the bit."""

import json
from functools import partial
from pathlib import Path

import pytest
from scipy import stats

from feemodel import priority_fee
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io import FinishedFolder
from feemodel.simulation._reduce import over
from feemodel.simulation._sweep import sweep
from feemodel.simulation.samples import grid, monte_carlo

DRAWN = {"size": stats.lognorm(s=1.0, scale=200.0), "gas": stats.randint(21_000, 900_000)}
SAMPLES = monte_carlo(50, rng=7, **DRAWN) * grid(margin=[1.0, 1.2, 1.5])
COUNTED = {"statistics": ["mean"], "edges": [0.0, 0.01, 1.0], "quantile": [0.5]}
REDUCTIONS = {
    "every evaluation": None,
    "sums": over("sample"),
    "values": over("sample", **COUNTED),
    "both": over("sample", "margin"),
}


def fees(size, gas, margin):
    return {"fee": size * margin / gas, "whole": gas // 2 + 0 * (size > 0) * (margin > 0)}


def stopped(count, calls):
    """Progress that interrupts after so many blocks."""

    def report(_):
        calls.append(1)
        if len(calls) == count:
            raise KeyboardInterrupt

    return report


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_an_interrupted_sweep_goes_on_with_the_same_result(tmp_path, reduce):
    check_an_interrupted_sweep_goes_on(tmp_path, reduce, "threads")


def check_an_interrupted_sweep_goes_on(tmp_path, reduce, executor):
    reduce = REDUCTIONS[reduce]
    whole = sweep(fees, SAMPLES, reduce=reduce, chunk=30)
    kept = FinishedFolder(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        sweep(fees, SAMPLES, reduce=reduce, chunk=30, finished=kept, progress=stopped(2, []))
    before = kept.numbers()
    resumed = sweep(fees, SAMPLES, reduce=reduce, chunk=30, finished=kept, executor=executor, workers=2)

    assert before == [0, 1]
    assert kept.numbers() == list(range(5))
    assert whole.identical(resumed)


def test_what_is_kept_is_not_computed_again(tmp_path):
    def counted(gas):
        with Path(tmp_path / "calls").open("a") as file:
            file.write("x")
        return gas * 2

    (tmp_path / "blocks").mkdir()
    samples, kept = grid(gas=range(100)), FinishedFolder(tmp_path / "blocks")
    first = sweep(counted, samples, chunk=10, finished=kept)
    calls = len((tmp_path / "calls").read_text())
    (tmp_path / "blocks" / "part-0000003.npz").unlink()
    again = sweep(counted, samples, chunk=10, finished=kept)

    assert first.identical(again)
    assert len((tmp_path / "calls").read_text()) - calls == 2  # one to try the function, one for the block


def other_fees(size, gas, margin):
    return {"fee": size * margin / gas, "whole": gas // 3 + 0 * (size > 0) * (margin > 0)}


MARGINS = grid(margin=[1.0, 1.2, 1.5])
OTHERS = {
    "another function": ({"function": other_fees}, "function"),
    "another seed": ({"samples": monte_carlo(50, rng=8, **DRAWN) * MARGINS}, "inputs"),
    "another distribution": (
        {"samples": monte_carlo(50, rng=7, **DRAWN | {"gas": stats.randint(21_000, 900_001)}) * MARGINS},
        "inputs",
    ),
    "another value": ({"samples": monte_carlo(50, rng=7, **DRAWN) * grid(margin=[1.0, 1.2, 1.6])}, "inputs"),
    "another chunk": ({"chunk": 60}, "chunk"),
    "a reduction": ({"reduce": over("sample")}, "reduce"),
}


@pytest.mark.parametrize(("changed", "named"), OTHERS.values(), ids=OTHERS)
def test_blocks_of_another_sweep_are_refused_by_what_differs(tmp_path, changed, named):
    arguments = {"function": fees, "samples": SAMPLES, "chunk": 30}
    sweep(**arguments, finished=FinishedFolder(tmp_path))

    with pytest.raises(InvalidInput, match=rf"not of another experiment \(it differs in .*{named}"):
        sweep(**arguments | changed, finished=FinishedFolder(tmp_path))


def factor(by):
    return lambda gas: gas * by


FUNCTIONS = {
    "a value closed over": (factor(2), factor(3)),
    "an argument set before": (partial(fees, margin=1), partial(fees, margin=2)),
}


@pytest.mark.parametrize(("one", "other"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_function_that_differs_in_a_value_is_refused(tmp_path, one, other):
    samples = grid(gas=[1, 2], size=3) if isinstance(one, partial) else grid(gas=[1, 2])
    sweep(one, samples, finished=FinishedFolder(tmp_path))

    with pytest.raises(InvalidInput, match=r"it differs in function"):
        sweep(other, samples, finished=FinishedFolder(tmp_path))


def test_blocks_of_another_version_are_refused(tmp_path):
    sweep(fees, SAMPLES, finished=FinishedFolder(tmp_path))
    held = json.loads((tmp_path / "experiment.json").read_text())
    old = json.loads(held["experiment"])
    old["versions[numpy]"] = "1.0"
    (tmp_path / "experiment.json").write_text(json.dumps(held | {"experiment": json.dumps(old)}))

    with pytest.raises(InvalidInput, match="it differs in versions"):
        sweep(fees, SAMPLES, finished=FinishedFolder(tmp_path))


def test_the_built_in_formulas_are_kept_too(tmp_path):
    samples = grid(compressed_size=range(100, 200), gas=21_000, variable_cost=10**9, margin=[1.0, 1.2])
    found = [sweep(priority_fee, samples, chunk=50, finished=FinishedFolder(tmp_path)) for _ in range(2)]

    assert found[0].identical(found[1])
    assert found[0].identical(sweep(priority_fee, samples))


def test_what_cannot_be_kept_is_named(tmp_path):
    samples = grid(gas=[1, 2])
    generator = (each for each in ())
    with pytest.raises(InvalidInput, match="closure generator: finished parts cannot be recognized"):
        sweep(lambda gas: gas + len(list(generator)), samples, finished=FinishedFolder(tmp_path))
    with pytest.raises(InvalidInput, match="finished: expected a store of finished parts"):
        sweep(fees, SAMPLES, finished=tmp_path)
    with pytest.raises(InvalidInput, match="folder: expected a folder that exists"):
        FinishedFolder(tmp_path / "nowhere")


@pytest.mark.parametrize("damage", ["cut", "emptied", "overwritten"])
def test_a_damaged_block_is_named(tmp_path, damage):
    sweep(fees, SAMPLES, chunk=30, finished=FinishedFolder(tmp_path))
    file = tmp_path / "part-0000002.npz"
    whole = file.read_bytes()
    file.write_bytes({"cut": whole[: len(whole) // 2], "emptied": b"", "overwritten": b"x" * len(whole)}[damage])

    with pytest.raises(UnreadableFile, match=r"part-0000002\.npz: not a finished part .*; remove this file"):
        sweep(fees, SAMPLES, chunk=30, finished=FinishedFolder(tmp_path))
    file.unlink()
    assert sweep(fees, SAMPLES, chunk=30, finished=FinishedFolder(tmp_path)).identical(sweep(fees, SAMPLES))
