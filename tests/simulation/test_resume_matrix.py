"""A folder of finished parts is refused after any change that decides a result, by sweeps and by paths alike."""

import importlib
import itertools
import json
import sys

import numpy as np
import pytest

from feemodel import grid, sweep
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io import FinishedFolder
from feemodel.simulation import Demand, simulate
from feemodel.simulation.scenarios import replay

#: A user's module, in which one thing at a time is changed.
SOURCE = """
import functools
import numba
import numpy as np
import {helper} as helper

RATE = 1.0
TABLE = np.array([1.0, 2.0])
SETTINGS = {{"slope": 1.0, "names": ("a", "b")}}

@numba.njit
def compiled(x):
    return x * 1.0

class Base:
    def raised(self, x):
        return x + 0.0

class Scale(Base):
    offset = 0.0

    def __init__(self):
        self.by = 1.0

    def __call__(self, x):
        return self.raised(x) * self.by + self.offset

scale = Scale()
doubled = functools.partial(lambda x, by: x * by, by=1.0)
bound = scale.raised
chosen = lambda x: x - 0.0

def made(power):
    def inner(x):
        return x ** power
    return inner

raised_to = made(1.0)

def total(x, default=0.0):
    def nested(y):
        return y + 0.0
    x = nested(x) * RATE + TABLE[0] * 0.0 + SETTINGS["slope"] * 0.0
    return raised_to(chosen(bound(doubled(scale(compiled(helper.deep(x))))))) + default

class Policy:
    l1_lag = 0

    def __init__(self, price=1e8):
        self.price = price

    def start(self, setting):
        return np.array([self.price])

    def announce(self, state, seen, price):
        price.per_byte = total(state[0])

    def settle(self, state, settled):
        state[0] += 0.0

policy = Policy()
"""
HELPER = """
FACTOR = 1.0

def deeper(x):
    return x * FACTOR

def deep(x):
    return deeper(x)
"""
CHANGES = {
    "the function's own code": ("x = nested(x) * RATE", "x = nested(x) * 1.5 * RATE"),
    "a constant of the module": ("RATE = 1.0", "RATE = 2.0"),
    "an array of the module": ("np.array([1.0, 2.0])", "np.array([1.0, 3.0])"),
    "an array's type": ("np.array([1.0, 2.0])", "np.array([1.0, 2.0], dtype=np.float32)"),
    "a value in a mapping": ('"slope": 1.0', '"slope": 2.0'),
    "a value in a tuple of a mapping": ('("a", "b")', '("a", "c")'),
    "what numba compiled": ("return x * 1.0", "return x * 2.0"),
    "options of numba": ("@numba.njit\n", "@numba.njit(fastmath=True)\n"),
    "an inherited method": ("return x + 0.0", "return x + 1.0"),
    "an attribute of a class": ("offset = 0.0", "offset = 1.0"),
    "an attribute of an object": ("self.by = 1.0", "self.by = 2.0"),
    "a method": ("* self.by + self.offset", "* self.by - self.offset"),
    "an argument of a partial": ("by=1.0)", "by=2.0)"),
    "a lambda": ("lambda x: x - 0.0", "lambda x: x - 1.0"),
    "a value closed over": ("raised_to = made(1.0)", "raised_to = made(2.0)"),
    "a default": ("default=0.0", "default=1.0"),
    "a nested function": ("return y + 0.0", "return y + 1.0"),
    "a constant of another module": ("FACTOR = 1.0", "FACTOR = 2.0"),
    "a function of another module": ("return x * FACTOR", "return FACTOR"),
    "a function on the way to it": ("return deeper(x)", "return 2 * deeper(x)"),
}
OF_PATHS = {
    "the policy's parameter": ("price=1e8", "price=2e8"),
    "the starting state": ("np.array([self.price])", "np.array([2.0 * self.price])"),
    "a lag": ("l1_lag = 0", "l1_lag = 1"),
    "announce": ("price.per_byte = total(state[0])", "price.per_byte = 2.0 * total(state[0])"),
    "settle": ("state[0] += 0.0", "state[0] += 1.0"),
}
COUNTER = itertools.count()
NAME, OTHER = "own_module_of_a_user", "own_helper_of_a_user"


def module(folder, change=("", "")):
    """The user's module as a new process would import it, changed in one place."""
    one, other = (text.replace(*change) if change[0] else text for text in (SOURCE.format(helper=OTHER), HELPER))
    if change[0]:
        assert (one, other) != (SOURCE.format(helper=OTHER), HELPER)
    place = folder / f"module-{next(COUNTER)}"
    place.mkdir()
    (place / f"{NAME}.py").write_text(one)
    (place / f"{OTHER}.py").write_text(other)
    sys.path.insert(0, str(place))
    try:
        for name in (NAME, OTHER):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module(NAME)
    finally:
        sys.path.remove(str(place))


def fees(factor=1.0, start=0):
    rows = {"timestamp": [start + 12 * k for k in range(20)], "blob_base_fee": [4e6] * 20}
    return replay(rows | {"base_fee": [7e7 * factor] * 20}, source="by hand")


def swept(found, folder, values=(1.0, 2.0)):
    return sweep(found.total, grid(x=[*values]), finished=FinishedFolder(folder))


def simulated(found, folder, l1_fees=None, demand=None, **options):
    return simulate(l1_fees or fees(), found.policy, demand=demand, finished=FinishedFolder(folder), **options)


KINDS = {"sweep": swept, "paths": simulated}


@pytest.fixture
def parts(tmp_path):
    (tmp_path / "parts").mkdir()
    return tmp_path / "parts"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished sweep and of finished paths; every refusal leaves them as they are."""
    folders = {}
    for kind, run in KINDS.items():
        folder = tmp_path_factory.mktemp("finished")
        folders[kind] = folder / "parts"
        folders[kind].mkdir()
        run(module(folder), folders[kind])
        assert run(module(folder), folders[kind]).sizes  # nothing changed: the folder is taken
    return folders


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_change_of_what_the_code_reaches_is_refused(tmp_path, finished, kind, change):
    with pytest.raises(InvalidInput, match=r"not of another experiment \(it differs in .* in the folder, .* now"):
        KINDS[kind](module(tmp_path, change), finished[kind])


@pytest.mark.parametrize("change", OF_PATHS.values(), ids=OF_PATHS)
def test_a_change_of_the_policy_is_refused(tmp_path, finished, change):
    with pytest.raises(InvalidInput, match="it differs in"):
        simulated(module(tmp_path, change), finished["paths"])


INPUTS = {
    "fees": {"l1_fees": fees(2.0)},
    "times": {"l1_fees": fees(start=86_400)},
    "demand": {"demand": Demand(rate=2.0)},
    "seed": {"rng": 2},
    "what is recorded": {"record": 1},
}


@pytest.mark.parametrize("changed", INPUTS.values(), ids=INPUTS)
def test_a_change_of_a_simulations_inputs_is_refused(tmp_path, finished, changed):
    with pytest.raises(InvalidInput, match="it differs in"):
        simulated(module(tmp_path), finished["paths"], **changed)


def test_fees_with_equal_weighted_sums_are_told_apart(tmp_path, parts):
    """Sums weighted by the place are equal: 1·2 + 2·1 is 4, and so is 1·0.5 + 2·1.75."""
    one, other = fees(), fees()
    one["base_fee"].values[0, :2], other["base_fee"].values[0, :2] = (2e7, 1e7), (0.5e7, 1.75e7)
    simulated(module(tmp_path), parts, one)

    with pytest.raises(InvalidInput, match=r"it differs in l1_fees\.base_fee"):
        simulated(module(tmp_path), parts, other)


@pytest.mark.parametrize("run", KINDS.values(), ids=KINDS)
def test_altered_values_are_refused(tmp_path, parts, run):
    run(module(tmp_path), parts)
    file = next(parts.glob("*.npz"))
    with np.load(file) as held:
        columns = dict(held)
    for name, values in columns.items():
        if name != "sha256" and values.dtype.kind == "f":
            columns[name] = values + 1.0
    np.savez(file, **columns)

    with pytest.raises(UnreadableFile, match=f"{file.name}: not a finished .*checksum"):
        run(module(tmp_path), parts)


def test_a_part_of_another_number_is_refused(tmp_path, parts):
    found, samples = module(tmp_path), grid(x=[1.0, 2.0, 3.0, 4.0])
    sweep(found.total, samples, chunk=2, finished=FinishedFolder(parts))
    (parts / "part-0000001.npz").write_bytes((parts / "part-0000000.npz").read_bytes())

    with pytest.raises(UnreadableFile, match="part-0000001"):
        sweep(found.total, samples, chunk=2, finished=FinishedFolder(parts))


def test_the_result_says_the_parameters_of_an_own_policy(tmp_path):
    found = simulate(fees(), module(tmp_path).policy)

    assert json.loads(found.attrs["pricing"]) == {"kind": "Policy", "price": 1e8, "l1_lag": 0}
