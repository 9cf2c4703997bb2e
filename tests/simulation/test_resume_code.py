"""Runs that resume from a folder: equal code goes on wherever it stands, what cannot be compared is refused.

The user's own code is a module on disk, as it is in practice: a change is another text of that module, imported anew.
"""

import importlib
import itertools
import json
import sys

import numpy as np
import pandas as pd
import pytest

from feemodel import grid, sweep
from feemodel.errors import InvalidInput
from feemodel.io import FinishedFolder
from feemodel.simulation import Demand, Posting, simulate
from feemodel.simulation._fingerprint import description
from feemodel.simulation._reduce import over
from feemodel.simulation.scenarios import replay

HELPERS = """
FACTOR = 2.0
TABLE = {"low": [1, 2], "high": [3]}

def scaled(value):
    return value * FACTOR

class Rounding:
    digits = 3
    def __call__(self, value):
        return round(value, self.digits)
"""
OWN = """
import functools
import numba
import numpy as np
import helpers
from helpers import Rounding, scaled

SHIFT = 5.0
ROUNDING = Rounding()

@numba.njit
def compiled(value):
    return value * 3.0 + SHIFT

def factory(power):
    def raised(value):
        return value ** power
    return raised

raised = factory(2)

def base(value, extra=1.0, *, more=2.0):
    return value + extra + more

set_before = functools.partial(base, extra=4.0)

class Model:
    def __init__(self, rate):
        self.rate = rate
    def of(self, value):
        return self.rate * value
    @property
    def doubled(self):
        return 2 * self.rate

MODEL = Model(1.5)

def fee(gas):
    inner = [each + SHIFT for each in (1, 2)]
    total = scaled(gas) + helpers.FACTOR + compiled(1.0) + raised(2.0) + set_before(1.0) + MODEL.of(1.0) + MODEL.doubled
    return total + sum(inner) + len(helpers.TABLE["low"]) + ROUNDING(0.12345) + np.sqrt(4.0)

class Policy:
    margin = 1.1
    level = 1.0

    def __init__(self, price):
        self.price = price

    def start(self, setting):
        return np.array([self.price, MODEL.rate])

    @staticmethod
    def announce(state, seen, price):
        price.per_byte = scaled(state[0]) + compiled(0.0) + raised(1.0) + set_before(0.0) + len(helpers.TABLE["low"])

    @staticmethod
    def settle(state, settled):
        state[0] += 0.0 * helpers.FACTOR + 0.0 * MODEL.of(MODEL.doubled) + 0.0 * ROUNDING(1.0)
"""
numbers = itertools.count()


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Import the two modules anew, with a part of their texts replaced."""

    def loaded(changed=None, before="", now=""):
        folder = tmp_path / f"code-{next(numbers)}"
        folder.mkdir()
        for name, text in (("helpers", HELPERS), ("own", OWN)):
            assert changed != name or before in text
            (folder / f"{name}.py").write_text(text.replace(before, now) if changed == name else text)
            monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.syspath_prepend(str(folder))
        importlib.invalidate_caches()
        return importlib.import_module("own")

    return loaded


@pytest.fixture
def blocks(tmp_path):
    (tmp_path / "blocks").mkdir()
    return tmp_path / "blocks"


def swept(own, folder, **changed):
    given = {"samples": grid(gas=[1.0, 2.0, 3.0]), "chunk": 2} | changed
    return sweep(own.fee, given.pop("samples"), finished=FinishedFolder(folder), **given)


ROWS = {"timestamp": [0, 12, 24], "base_fee": [7e7, 8e7, 8e7], "blob_base_fee": [4e6, 5e6, 5e6]}


def followed(own, folder, **changed):
    given = {"rows": ROWS, "pricing": own.Policy(3.0), "posting": Posting(), "demand": Demand()} | changed
    fees = replay(given.pop("rows"), source="by hand")
    return simulate(fees, given.pop("pricing"), given.pop("posting"), given.pop("demand"),
                    finished=FinishedFolder(folder), **given)  # fmt: skip


@pytest.mark.parametrize("run", [swept, followed])
def test_the_same_code_in_another_folder_goes_on(load, blocks, run):
    assert run(load(), blocks).identical(run(load(), blocks))


@pytest.mark.parametrize("run", [swept, followed])
def test_comments_and_blank_lines_are_no_change(load, blocks, run):
    run(load(), blocks)
    run(load("own", "SHIFT = 5.0", "# a comment\n\nSHIFT = 5.0"), blocks)


UNTOLD = {
    "a generator": "def fee(gas, source=(each for each in ())):\n    return gas\n",
    "a lock": "import threading\nLOCK = threading.Lock()\ndef fee(gas):\n    return gas + 0 * LOCK.locked()\n",
    "modules by name": "import sys\ndef fee(gas):\n    return gas * sys.modules['math'].pi\n",
    "code that is evaluated": "def fee(gas):\n    return eval('gas * 2')\n",
}


@pytest.mark.parametrize("code", UNTOLD.values(), ids=UNTOLD)
def test_what_cannot_be_compared_is_refused_with_a_remedy(load, blocks, code):
    own = load("own", OWN, code)

    with pytest.raises(InvalidInput, match="or omit `finished`"):
        swept(own, blocks)


def test_attributes_that_code_looks_up_by_name_are_compared(load, blocks):
    code = "import helpers\ndef fee(gas):\n    return gas * getattr(helpers, 'FAC' + 'TOR')\n"
    swept(load("own", OWN, code), blocks)
    own = load("own", OWN, code)
    own.helpers.FACTOR = 7.0

    with pytest.raises(InvalidInput, match=r"it differs in .*FACTOR: 2.0 in the folder, 7.0 now"):
        swept(own, blocks)


REACHED = {
    "a dictionary of the module": "import helpers\ndef fee(gas):\n    return gas * helpers.__dict__['FAC' + 'TOR']\n",
    "a function that takes an attribute": (
        "import helpers\nfrom operator import attrgetter\nFACTOR_OF = attrgetter('FACTOR')\n"
        "def fee(gas):\n    return gas * FACTOR_OF(helpers)\n"
    ),
    "another name of the module": (
        "import helpers\ndef fee(gas):\n    it = [helpers]\n    return gas * it[0].__getattribute__('FACTOR')\n"
    ),
}


@pytest.mark.parametrize("code", REACHED.values(), ids=REACHED)
def test_modules_that_code_uses_as_a_whole_are_compared(load, blocks, code):
    swept(load("own", OWN, code), blocks)
    own = load("own", OWN, code)
    own.helpers.FACTOR = 7.0

    with pytest.raises(InvalidInput, match=r"it differs in .*FACTOR: 2.0 in the folder, 7.0 now"):
        swept(own, blocks)


def test_columns_and_indexes_of_pandas_are_described():
    values = [pd.Series([1, 2]), pd.Series([1, 3]), pd.Series([1, 2], index=["a", "b"]), pd.Series([1, 2], name="x"),
              pd.Index([1, 2]), pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"b": [1, 2]})]  # fmt: skip
    told = [tuple(description(value=one).items()) for one in values]

    assert len(set(told)) == len(values)
    assert description(value=pd.Series([1, 2])) == description(value=values[0])


def test_names_imported_in_a_function_are_compared(load, blocks):
    code = "def fee(gas):\n    from helpers import FACTOR as by\n    return gas * by\n"
    swept(load("own", OWN, code), blocks)
    own = load("own", OWN, code)
    importlib.import_module("helpers").FACTOR = 7.0

    with pytest.raises(InvalidInput, match=r"it differs in .*FACTOR: 2.0 in the folder, 7.0 now"):
        swept(own, blocks)


def test_keys_that_read_alike_are_told_apart():
    one, other = description(table={1: "a", "1": "b"}), description(table={"1": "a", 1: "b"})

    assert one != other
    assert description(table={"a.b": 1}) != description(table={"a": {"b": 1}})


class Memory:
    """A store of the user's own."""

    def __init__(self):
        self.held = {}

    def open(self, experiment):
        json.dumps(experiment)

    def numbers(self):
        return [*self.held]

    def get(self, number):
        return self.held.get(number)

    def put(self, number, part):
        self.held[number] = part


@pytest.mark.parametrize("reduce", [None, over("gas", quantile=[0.5]), over("gas")])
def test_arrays_of_other_shapes_and_types_are_refused(load, reduce):
    own, store, samples = load(), Memory(), grid(gas=[1.0, 2.0, 3.0], margin=[1.0, 2.0])

    def fee(gas, margin):
        return gas * margin

    first = sweep(fee, samples, reduce=reduce, chunk=2, finished=store)
    assert first.identical(sweep(fee, samples, reduce=reduce, chunk=2, finished=store))
    for name, array in store.held[0].items():
        for other in (array[None], array.astype(np.float32), None):
            changed = {one: each for one, each in store.held[0].items() if one != name}
            kept = Memory()
            kept.held = store.held | {0: changed if other is None else changed | {name: other}}
            with pytest.raises(InvalidInput, match=r"finished: expected the array .* of part 0"):
                sweep(fee, samples, reduce=reduce, chunk=2, finished=kept)

    paths = Memory()
    simulate(replay(ROWS, source="by hand"), own.Policy(3.0), finished=paths)
    for name, wrong in {"days": paths.held[0]["days"][:-1], "summary": paths.held[0]["summary"].tolist()}.items():
        changed = Memory()
        changed.held = {0: paths.held[0] | {name: wrong}}
        with pytest.raises(InvalidInput, match=f"finished: expected the array {name} of part 0 as "):
            simulate(replay(ROWS, source="by hand"), own.Policy(3.0), finished=changed)
    paths.held[0] = None
    with pytest.raises(InvalidInput, match="finished: expected a mapping from names to the arrays of part 0"):
        simulate(replay(ROWS, source="by hand"), own.Policy(3.0), finished=paths)


def test_a_result_says_the_parameters_of_its_policy(load, tmp_path):
    found = simulate(replay(ROWS, source="by hand"), load().Policy(3.0))
    expected = {"kind": "Policy", "price": 3.0, "level": 1.0, "margin": 1.1}

    assert json.loads(found.attrs["pricing"]) == expected
    found.to_netcdf(tmp_path / "found.nc", engine="h5netcdf")
    import xarray

    with xarray.open_dataset(tmp_path / "found.nc", engine="h5netcdf") as read:
        assert json.loads(read.attrs["pricing"]) == expected
