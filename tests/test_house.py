"""The house: which room may import which, and that importing the package costs next to nothing."""

import ast
import importlib
import subprocess
import sys
from graphlib import TopologicalSorter

import pytest

import feemodel
from tests.conftest import ROOT
from tests.helpers.house import sizes

PACKAGE = ROOT / "feemodel"
GROUND = {
    "arguments", "errors", "checks", "compiled", "exact", "formula", "extras", "lazy", "progress",
    "quantities",
}  # fmt: skip
MAY_IMPORT = {
    "errors": set(),
    "compiled": {"extras"},
    "lazy": {"extras"},
    "extras": {"errors"},
    "progress": {"errors"},
    "checks": {"errors"},
    "exact": {"checks", "errors"},
    "quantities": {"checks", "errors", "exact"},
    "arguments": {"checks", "errors", "quantities"},
    "formula": {"arguments", "checks", "errors", "exact", "extras", "quantities"},
    "ethereum": GROUND,
    "sizes": GROUND,
    "linea": GROUND | {"ethereum", "sizes"},
    "rollups": GROUND | {"ethereum", "sizes", "linea"},
    "io": GROUND | {"ethereum"},
    "ledger": GROUND | {"ethereum", "io"},
    "execution": GROUND | {"ethereum"},
    "estimates": GROUND | {"ethereum", "sizes", "linea", "io", "execution", "ledger"},
    "simulation": GROUND | {"ethereum", "sizes", "linea", "rollups"},
    "plots": GROUND | {"ethereum"},
    "server": GROUND | {"ethereum", "sizes", "linea", "io", "ledger", "execution", "estimates", "explorer"},
    "explorer": GROUND | {"ethereum", "sizes", "linea", "rollups", "simulation", "io", "estimates"},
    "cli": None,  # the commands may import everything below them
}
#: Lines by room, and totals. A ceiling may only be lowered: what is added to a room takes the place of something.
CEILINGS = {
    "cli": 2_286,
    "estimates": 674,
    "ethereum": 1_980,
    "execution": 1_690,
    "explorer": 768,
    "io": 2_412,
    "ledger": 2_981,
    "linea": 1_896,
    "plots": 591,
    "rollups": 4_155,
    "server": 1_489,
    "simulation": 6_416,
    "sizes": 789,
    "top level": 1_539,
    "package": 29_666,
    "tests": 30_152,
    "Rust": 2_624,
    "JavaScript, CSS and HTML": 1_098,
    "modules": 186,
    "exported names": 181,
}
SLACK = 100  # a ceiling follows every reduction down
READS_SLEEPS_OR_SERVES = {"os.path", "pathlib", "time", "socket", "urllib3", "http", "sqlite3", "pandas", "io"}


def test_a_room_stays_below_its_ceiling_and_the_ceiling_close_to_its_room():
    measured = sizes(ROOT)

    assert list(CEILINGS) == list(measured)
    for room, ceiling in CEILINGS.items():
        assert ceiling - SLACK <= measured[room] <= ceiling, room


def imports_of(path):
    """The modules that a file imports, anywhere in it: by statement, and by name where the name is written out.

    `from feemodel import rollups` imports a room; `import feemodel`, or a public name of the package, every room.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name if "." in alias.name else f"{alias.name}.*" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "feemodel":
            for alias in node.names:
                if alias.name != "__version__":
                    known = (PACKAGE / alias.name).exists() or alias.name.removeprefix("_") in GROUND
                    yield f"feemodel.{alias.name if known else '*'}"
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in BY_NAME:
            yield from _named(node.args[:1])


BY_NAME = {"import_module", "__import__", "find_spec", "resolve_name", "LazyLoader"}


def _named(arguments):
    """The module that a call imports by name, as far as the name is written out."""
    for argument in arguments:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield argument.value.replace(":", ".")
        elif isinstance(argument, ast.JoinedStr) and isinstance(argument.values[0], ast.Constant):
            yield argument.values[0].value + "*"


def room_of(module):
    return module.split(".")[1].removeprefix("_") if "." in module else ""


MODULES = sorted(PACKAGE.rglob("*.py"))
FORMULAS = [
    path
    for path in MODULES
    if path.relative_to(PACKAGE).parts[0] in {"ethereum", "linea", "exact.py", "quantities.py", "rollups"}
    and path.stem not in {"_transaction_table", "_measure", "tables"}  # tables of transactions in
    and path.stem not in {"chains", "_chain_files", "_price_cap"}  # published tables in: chains, hours of the week
]


def test_a_room_imports_only_what_it_stands_on():
    for path in MODULES:
        room = path.relative_to(PACKAGE).with_suffix("").parts[0].removeprefix("_")
        if room in ("_init__", "_main__"):  # the command line runs `feemodel.cli`
            continue
        allowed = MAY_IMPORT[room]
        used = rooms_of(path) - {room}

        assert "cli" not in used, path
        assert allowed is None or used <= allowed, path


def rooms_of(path):
    return {room_of(name) for name in imports_of(path) if name.startswith("feemodel.")}


def test_the_list_of_rooms_has_no_circle():
    rooms = {room: allowed - {room} for room, allowed in MAY_IMPORT.items() if allowed is not None}
    order = tuple(TopologicalSorter(rooms).static_order())  # which raises CycleError

    assert set(rooms) <= set(order)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import feemodel.rollups.rules", {"rollups"}),
        ("from feemodel import rollups", {"rollups"}),
        ("from feemodel import priority_fee", {"*"}),
        ("import feemodel", {"*"}),
        ("import_module('feemodel.server.app')", {"server"}),
        ("importlib.util.find_spec('feemodel.cli')", {"cli"}),
        ("import_module(f'feemodel.server.{name}')", {"server"}),
        ("import_module(f'feemodel.{name}')", {"*"}),
        ("pkgutil.resolve_name('feemodel.linea:priority_fee')", {"linea"}),
    ],
)
def test_the_list_of_rooms_sees_every_kind_of_import(tmp_path, source, expected):
    (tmp_path / "module.py").write_text(source, encoding="utf-8")

    assert expected == rooms_of(tmp_path / "module.py")


def test_a_formula_neither_reads_nor_sleeps_nor_serves():
    for path in FORMULAS:
        assert not READS_SLEEPS_OR_SERVES & {name.split(".")[0] for name in imports_of(path)}, path


def test_importing_the_package_loads_nothing_heavy():
    heavy = {"numpy", "pandas", "numba", "matplotlib", "scipy", "xarray", "pyarrow", "backports", "aiohttp", "rich"}
    program = "import sys, feemodel.io; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()

    assert not heavy & set(loaded)


def test_every_public_name_is_there():
    assert feemodel.__all__
    for name in feemodel.__all__:
        assert getattr(feemodel, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'fee_priority'"):
        _ = feemodel.fee_priority


def test_no_public_name_is_hidden_by_a_module_of_that_name():
    """Importing `feemodel.a.b` binds `b` in `feemodel.a`, in place of a public name `b`."""
    for package in (path.parent for path in PACKAGE.rglob("__init__.py")):
        name = ".".join(package.relative_to(ROOT).parts)
        public = set(getattr(importlib.import_module(name), "__all__", ()))

        assert set() == public & {path.stem for path in package.iterdir()}
