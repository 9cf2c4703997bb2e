"""A run that keeps its finished parts in a folder goes on where it stopped, with the same result to the bit."""

from unittest.mock import Mock

import pytest
from scipy import stats

from feemodel import grid, monte_carlo, over, sweep
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io import FinishedFolder

DRAWN = monte_carlo(50, rng=7, size=stats.lognorm(s=1.0, scale=200.0), gas=stats.randint(21_000, 900_000))
SAMPLES = DRAWN | grid(margin=[1.0, 1.2, 1.5])
REDUCTIONS = {
    "every evaluation": None,
    "sums": over("sample"),
    "counts": over("sample", quantile=[0.5], above=[0.01]),
    "both dimensions": over("sample", "margin"),
}


def fees(size, gas, margin):
    return {"fee": size * margin / gas, "whole": gas // 2 + 0 * (size > 0) * (margin > 0)}


def other_fees(size, gas, margin):
    return {"fee": size * margin / gas, "whole": gas // 3 + 0 * (size > 0) * (margin > 0)}


@pytest.mark.parametrize("reduce", REDUCTIONS.values(), ids=REDUCTIONS)
def test_an_interrupted_sweep_goes_on_with_the_same_result(tmp_path, reduce):
    """On other workers than before: `test_executors.py` shows that their results are the same."""
    whole = sweep(fees, SAMPLES, reduce=reduce, chunk=30)
    kept = FinishedFolder(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        sweep(
            fees, SAMPLES, reduce=reduce, chunk=30, finished=kept, progress=Mock(side_effect=[None, KeyboardInterrupt])
        )
    before = kept.numbers()
    resumed = sweep(fees, SAMPLES, reduce=reduce, chunk=30, finished=kept, workers=2)

    assert before == [0, 1]
    assert kept.numbers() == list(range(5))
    assert whole.identical(resumed)


def test_what_is_kept_is_not_computed_again(tmp_path):
    def counted(gas):
        with (tmp_path / "calls").open("a") as file:
            file.write("x")
        return gas * 2

    samples, kept = grid(gas=range(100)), FinishedFolder(tmp_path / "parts")
    first = sweep(counted, samples, chunk=10, finished=kept)
    assert len((tmp_path / "calls").read_text()) == 10  # no evaluation only to try the function
    (tmp_path / "parts" / "part-0000003.npz").unlink()

    assert first.identical(sweep(counted, samples, chunk=10, finished=kept))
    assert len((tmp_path / "calls").read_text()) == 11


OTHERS = {
    "another function": ({"function": other_fees}, "function is "),
    "another value": (
        {"samples": DRAWN | grid(margin=[1.0, 1.2, 1.6])},
        r"samples\.margin\.values is \[1\.0, 1\.2, 1\.5\] .* in the folder, \[1\.0, 1\.2, 1\.6\] .* now",
    ),
    "another chunk": ({"chunk": 60}, "chunk"),
    "a reduction": ({"reduce": over("sample")}, "reduce"),
}


@pytest.mark.parametrize(("changed", "named"), OTHERS.values(), ids=OTHERS)
def test_parts_of_another_sweep_are_refused_by_what_differs(tmp_path, changed, named):
    arguments = {"function": fees, "samples": SAMPLES, "chunk": 30}
    sweep(**arguments, finished=FinishedFolder(tmp_path))

    with pytest.raises(InvalidInput, match=rf"expected a folder of this run: .*{named}"):
        sweep(**arguments | changed, finished=FinishedFolder(tmp_path))


def test_what_cannot_be_kept_is_named(tmp_path):
    scope = {}
    exec("def typed(gas): return gas", scope)  # no file has its source
    with pytest.raises(InvalidInput, match="function: expected a function whose source can be read"):
        sweep(scope["typed"], grid(gas=[1, 2]), finished=FinishedFolder(tmp_path))
    with pytest.raises(InvalidInput, match="finished: expected a store of finished parts"):
        sweep(fees, SAMPLES, finished=tmp_path)
    with pytest.raises(UnreadableFile, match="nowhere"):
        FinishedFolder(tmp_path / "nowhere" / "run")
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InvalidInput, match="folder: expected an empty folder"):
        sweep(fees, SAMPLES, finished=FinishedFolder(tmp_path))
