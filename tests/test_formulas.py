"""Every public formula: one function for scalars, arrays and broadcasts up to the limits of 64 bits, labels kept."""

import inspect
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import feemodel
from feemodel._extras import has_numba
from feemodel.errors import FeeModelError, Int64Overflow, InvalidInput
from tests.conftest import IN_CI, ROOT
from tests.helpers.formulas import FORMULAS, Formula, array_parameters, functions
from tests.helpers.optional import optional

pd = optional("pandas")
pa = optional("pyarrow")
xr = optional("xarray")
kernels = optional("feemodel.linea.kernels")

ROWS = 4
LIMITS = [
    0, 1, 2, 3, 7, 8, 100, 21_000, 10**9, 2**31 - 1, 2**31, 2**32, 2**51, 2**51 + 1, 2**52, 2**53 - 1, 2**53, 2**53 + 1,
    2**62 - 1, 2**62, 2**62 + 1, 2**63 - 2, 2**63 - 1,
]  # fmt: skip
#: Where a product with a constant passes 2**63 - 1.
EDGES = st.builds(lambda factor, more: 2**63 // factor + more, st.integers(1, 2**17), st.integers(-1, 1))
WHOLE = st.sampled_from(LIMITS) | st.integers(0, 10**6) | st.integers(0, 2**63 - 1) | EDGES.filter(lambda n: n < 2**63)
DOUBLE = st.sampled_from([0.0, 5e-324, 0.5, 1.0, 1.2, 2.0**53, 2.0**63, 1e18, 1e308]) | st.floats(0, 1e20)
TIME = st.integers(1_710_338_135, 2**40) | WHOLE
EVERY = pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: f"{formula.name}-{formula.arrays[0]}")


def outcome(formula: Formula, arguments: dict[str, Any]) -> Any:
    """The leaves of a result as a list, or the package's error; any other exception is a failure."""
    try:
        result = formula.function(**arguments)
    except FeeModelError as error:
        return error
    return leaves(result)


def leaves(result: Any) -> list[Any]:
    return [leaf for part in result for leaf in leaves(part)] if isinstance(result, tuple) else [result]


def rows_of(outcome: list[Any], shape: tuple[int, ...]) -> list[list[Any]]:
    columns = [np.broadcast_to(leaf, shape).reshape(-1).tolist() for leaf in outcome]
    return [list(row) for row in zip(*columns, strict=True)]


def same(one: list[Any], other: list[Any]) -> bool:
    pairs = zip(one, other, strict=True)
    return all(a == b or (isinstance(a, float) and math.isnan(a) and math.isnan(b)) for a, b in pairs)


def check_row(scalar: Any, row: Any) -> None:
    """An array of one element gives what the scalar gives, unless 64 bits hold it not."""
    if isinstance(row, Int64Overflow):
        return
    if isinstance(scalar, FeeModelError):
        assert isinstance(row, FeeModelError), (scalar, row)
        assert (type(scalar), scalar.name) == (type(row), row.name)
    else:
        assert not isinstance(row, FeeModelError), (scalar, row)
        assert same(scalar, row)


def values_of(formula: Formula) -> st.SearchStrategy[dict[str, list[Any]]]:
    doubles = formula.doubles
    kinds = {
        name: DOUBLE if name in doubles else TIME if name == "timestamp" else WHOLE for name in formula.arrays
    }  # fmt: skip
    return st.fixed_dictionaries({name: st.lists(kind, min_size=ROWS, max_size=ROWS) for name, kind in kinds.items()})


def array(values: list[Any]) -> np.ndarray:
    return np.array(values, dtype=np.float64 if isinstance(values[0], float) else np.int64)


@EVERY
@given(data=st.data())
@settings(max_examples=25 if IN_CI else 8)
def test_scalars_arrays_and_broadcasts_are_one_function(formula, data):
    columns = data.draw(values_of(formula))
    rest = {name: data.draw(st.sampled_from(values)) for name, values in formula.choices.items()}
    scalars = [outcome(formula, {n: v[i] for n, v in columns.items()} | rest) for i in range(ROWS)]
    singles = [outcome(formula, {n: array(v[i : i + 1]) for n, v in columns.items()} | rest) for i in range(ROWS)]
    single_rows = [one if isinstance(one, FeeModelError) else rows_of(one, (1,))[0] for one in singles]
    for scalar, row in zip(scalars, single_rows, strict=True):
        check_row(scalar, row)
    check_together(outcome(formula, {n: array(v) for n, v in columns.items()} | rest), single_rows, (ROWS,))

    across = formula.arrays[0]  # one input along an axis of its own
    grid = {n: array(v[:1]) for n, v in columns.items()} | {across: array(columns[across]).reshape(ROWS, 1)} | rest
    cells = [
        outcome(formula, {n: v[0] for n, v in columns.items()} | {across: value} | rest) for value in columns[across]
    ]
    found = outcome(formula, grid)
    if isinstance(found, FeeModelError):
        if not isinstance(found, Int64Overflow):
            assert any(isinstance(cell, FeeModelError) and cell.name == found.name for cell in cells)
    else:
        for cell, row in zip(cells, rows_of(found, (ROWS, 1)), strict=True):
            check_row(cell, row)


def check_together(found: Any, rows: list[Any], shape: tuple[int, ...]) -> None:
    if isinstance(found, FeeModelError):
        named = [(type(row), row.name) for row in rows if isinstance(row, FeeModelError)]
        assert (type(found), found.name) in named
    else:
        for row, expected in zip(rows_of(found, shape), rows, strict=True):
            assert not isinstance(expected, FeeModelError)
            assert same(expected, row)


COMPILED = [formula.function for formula in FORMULAS if hasattr(formula.function, "kernel")]


@pytest.mark.skipif(not has_numba(), reason="compiled forms need numba")
@pytest.mark.parametrize("function", COMPILED, ids=lambda function: function.__name__)
@given(data=st.data())
def test_compiled_formulas_give_the_same_or_leave_it_to_the_formula(function, data):
    formula = next(found for found in FORMULAS if found.function is function)
    columns = {name: array(values) for name, values in data.draw(values_of(formula)).items()}
    arguments = columns if data.draw(st.booleans()) else {n: v[:1] for n, v in columns.items() if n != "margin"}
    if "margin" not in arguments and "margin" in columns:
        arguments = arguments | {"margin": columns["margin"].reshape(ROWS, 1)}
    shape = np.broadcast_shapes(*map(np.shape, arguments.values()))
    out = np.empty(shape, dtype=np.int64)
    try:
        proven = function.kernel()(arguments, out)
    except FeeModelError:
        with pytest.raises(FeeModelError):
            function(**arguments)
        return
    if proven:
        np.testing.assert_array_equal(function(**arguments), out)


INTEGERS = {
    "int32": np.array([8, 9], dtype=np.int32), "uint64": np.array([8, 9], dtype=np.uint64),
    "big endian": np.array([8, 9], dtype=">i8"), "objects": np.array([8, 9], dtype=object),
    "reversed": np.array([9, 8])[::-1], "strided": np.array([8, 0, 9, 0])[::2], "list": [8, 9], "tuple": (8, 9),
    "NumPy scalars": [np.int64(8), np.uint8(9)], "unmasked": np.ma.masked_array([8, 9]), "read-only": np.frombuffer(
        np.array([8, 9]).tobytes(), dtype=np.int64), "index": pd.Index([8, 9]), "nullable": pd.array([8, 9]),
}  # fmt: skip


@EVERY
def test_integers_of_every_kind_are_the_same_numbers(formula):
    name = next(name for name in formula.arrays if name != "timestamp")
    typical = formula.typical()
    expected = [leaf.tolist() if isinstance(leaf, np.ndarray) else leaf
                for leaf in leaves(formula.function(**typical | {name: np.array([8, 9])}))]  # fmt: skip
    for kind, values in INTEGERS.items():
        found = leaves(formula.function(**typical | {name: values}))
        plain = [leaf.tolist() if isinstance(leaf, np.ndarray) else leaf for leaf in found]

        assert expected == plain, kind
    for eight in (np.int64(8), np.uint8(8), np.array(8), np.array(8, dtype=object)):
        assert leaves(formula.function(**typical | {name: 8})) == leaves(formula.function(**typical | {name: eight}))
    for empty in ([], np.array([], dtype=np.int64), pd.Series([], dtype=np.int64)):
        assert any(np.shape(leaf) == (0,) for leaf in leaves(formula.function(**typical | {name: empty})))


BAD = [
    True, None, "8", b"8", bytearray(b"8"), {}, {8}, 1j, Decimal(8), Fraction(8), math.nan, math.inf, -1,
    np.datetime64(8, "s"), pd.NA, object(), np.str_("8"), (item for item in [8]),
]  # fmt: skip


@EVERY
@pytest.mark.parametrize("name", ["first", "last"])
def test_what_is_no_number_is_refused_by_name_in_every_form(formula, name):
    name = formula.arrays[0] if name == "first" else formula.arrays[-1]
    typical, optional = formula.typical(), inspect.signature(formula.function).parameters
    for bad in BAD:
        if bad is None and name in optional and optional[name].default is None:
            continue
        if type(bad) is int and name in ("bips", "size_adjustment"):
            continue  # which may be negative
        for value in (bad, [8, bad]):
            with pytest.raises(InvalidInput) as caught:
                formula.function(**typical | {name: value})
            assert caught.value.name.startswith(name), (bad, caught.value)
    with pytest.raises(InvalidInput):
        formula.function(**typical | {name: np.ma.masked_array([8, 8], [False, True])})
    with pytest.raises(InvalidInput):
        formula.function(**typical | {name: pd.Series([8, None], dtype="Int64")})


@EVERY
def test_shapes_that_do_not_broadcast_are_named(formula):
    if len(formula.arrays) == 1:
        return
    first, second = formula.arrays[:2]
    typical = formula.typical()
    wrong = {first: np.full(2, typical[first]), second: [typical[second]] * 3}
    with pytest.raises(InvalidInput, match=r"expected shapes that can be broadcast together.*\(2,\).*\(3,\)") as caught:
        formula.function(**typical | wrong)
    assert set(wrong) <= set(caught.value.name.split(", "))


@EVERY
def test_integers_beyond_64_bits_beside_arrays_are_refused_by_name_or_answered(formula):
    typical = formula.typical()
    for name in formula.arrays:
        for huge in (2**63, 2**64, 10**30, 10**400):
            others = {other: np.full(2, typical[other]) for other in formula.arrays if other != name}
            outcome(formula, typical | others | {name: huge})  # a FeeModelError or a result: nothing else escapes
            outcome(formula, typical | {name: huge})
            outcome(formula, typical | {name: [huge, 8]})


@EVERY
def test_a_series_keeps_its_index(formula):
    index = pd.Index(["a", "b", "c"])
    typical = formula.typical()
    arrays = {name: np.full(3, typical[name]) for name in formula.arrays}
    plain = leaves(formula.function(**typical | arrays))
    found = leaves(formula.function(**typical | {name: pd.Series(v, index) for name, v in arrays.items()}))

    for expected, leaf in zip(plain, found, strict=True):
        if np.shape(expected):
            pd.testing.assert_series_equal(pd.Series(expected, index), leaf)
        else:
            assert expected == leaf
    if len(formula.arrays) > 1:
        series = [pd.Series(value) for value in arrays.values()]
        series[-1].index = index
        with pytest.raises(InvalidInput, match="equal indexes"):
            formula.function(**typical | dict(zip(arrays, series, strict=True)))
        frame = pd.DataFrame([arrays[next(iter(arrays))]])
        with pytest.raises(InvalidInput, match="Series or DataFrames, not both"):
            formula.function(**typical | dict(zip(arrays, [frame, *series[1:]], strict=True)))


@EVERY
def test_data_arrays_keep_dimensions_and_coordinates(formula):
    typical = formula.typical()
    first, *others = formula.arrays
    along = xr.DataArray(np.full(3, typical[first]), dims="block", coords={"block": [5, 6, 7]})
    across = {name: xr.DataArray(np.full(2, typical[name]), dims="case") for name in others}
    plain = leaves(
        formula.function(
            **typical | {first: along.values.reshape(3, 1)} | {n: v.values.reshape(1, 2) for n, v in across.items()}
        )
    )
    found = leaves(formula.function(**typical | {first: along} | across))

    for expected, leaf in zip(plain, found, strict=True):
        if not np.shape(expected):
            assert expected == leaf
            continue
        assert isinstance(leaf, xr.DataArray)
        np.testing.assert_array_equal(np.squeeze(expected), np.squeeze(leaf.values))
        if "block" in leaf.dims:
            assert leaf["block"].values.tolist() == [5, 6, 7]
    if not others:
        assert found[0].dims == ("block",)


def test_the_row_of_a_missing_or_bad_number_is_named():
    sizes = pd.Series([128, 256], index=["transfer", "swap"])
    for gas, message in [
        (
            pd.Series([21_000, pd.NA], sizes.index, dtype="Int64"),
            r"gas\[1\]: expected whole gas, not float64 in row swap, got nan",
        ),
        (pd.Series([21_000, 0], sizes.index), r"gas\[1\]: expected whole gas of at least 1 in row swap, got 0"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            feemodel.priority_fee(sizes, gas, variable_cost=10**9)
    blocks = xr.DataArray([21_000, 0], dims="block", coords={"block": [5, 6]})
    with pytest.raises(InvalidInput, match=r"gas\[1\]: expected whole gas of at least 1 at block=6, got 0"):
        feemodel.priority_fee(128, blocks, variable_cost=10**9)


@pytest.mark.parametrize(
    ("sizes", "place", "shown"),
    [
        (np.array([128.0, np.nan]), 1, "nan"),
        (np.array([128.0, 640.5]), 1, "640.5"),
        (np.array([128.0, np.inf]), 1, "inf"),
        (np.array([128.0, 640.0]), 0, "128.0"),
        (pa.array([128, None]), 1, "nan"),
    ],
)
def test_of_doubles_the_one_that_is_not_whole_is_named(sizes, place, shown):
    expected = rf"compressed_size\[{place}\]: expected whole bytes, not float64, got {shown}\Z"
    with pytest.raises(InvalidInput, match=expected):
        feemodel.priority_fee(sizes, 21_000, variable_cost=10**9)


def test_every_formula_takes_labels():
    """A function with an ArrayLike parameter without `@formula` would lose them."""
    missing = [name for name, function in functions()
               if array_parameters(function) and not hasattr(function, "__wrapped__")]  # fmt: skip
    assert missing == []
    assert len(FORMULAS) > 80


NUMPY_ALONE = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {"feemodel", "numpy"} | set(sys.stdlib_module_names):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
import feemodel
from feemodel.rollups import rules

costs = {"variable_cost": 10**9, "fixed_cost": 30_000_000, "margin": 1.2}
print(feemodel.priority_fee(128, 21_000, **costs), feemodel.priority_fee([128, 640], 21_000, **costs).tolist())
print(rules.rule("op-mainnet/jovian").fees({"fastlz_size": 100, "gas": 21_000}, base_fee=10**9, blob_base_fee=10**6).l1)
"""


@pytest.mark.parametrize("package", ["pandas", "xarray"])
def test_a_formula_is_computed_while_another_thread_imports_a_package(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, ModuleType(package))  # as it is before its names are there

    assert feemodel.priority_fee(128, 21_000, variable_cost=10**9, fixed_cost=30_000_000, margin=1.2) == 43_314_285


def test_formulas_need_no_more_than_numpy():
    """So they run where nothing else is compiled, such as in a browser."""
    found = subprocess.run([sys.executable, "-c", NUMPY_ALONE], capture_output=True, text=True, check=True, cwd=ROOT)

    assert found.stdout.split("\n")[:2] == ["43314285 [43314285, 72571428]", "8464621300"]
