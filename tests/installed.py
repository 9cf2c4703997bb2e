"""What an installed wheel must do, in an environment that holds the wheel and the pins of the core alone.

`scripts/check-wheel` runs this from a folder without a checkout: `python -I installed.py SOURCE`.
"""

import json
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path

import feemodel

CALL = '{"to": "0x1111111111111111111111111111111111111111", "value": "0x1"}'
FEE = ("fee", "--size", "128", "--gas", "21000", "--json")
# What the extras bring: a module that needs one of these is not of the core.
EXTRAS = {
    "SALib", "aiohttp", "distributed", "ethereum", "httptools", "msgspec", "prometheus_client", "starlette", "uvicorn",
    "uvloop", "websockets",
}  # fmt: skip
MAY_NEED_EXTRAS = ("feemodel.execution.", "feemodel.io.async_node", "feemodel.server.")
SHIPPED = (
    "py.typed", "explorer/page.html", "simulation/corpus/linea.json", "data/linea_transactions.csv",
    "data/l1_fees_2026-01-07_2026-02-06.csv", "data/rollup_transactions.csv",
    "data/specs/cost-per-byte.toml", "data/development/genesis.json",
)  # fmt: skip


def run(*arguments: str) -> str:
    """The output of the installed command."""
    command = Path(sys.executable).with_name("feemodel")
    done = subprocess.run([command, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"feemodel {' '.join(arguments)} ended with {done.returncode}: {done.stderr}"
    return done.stdout


def it_is_installed() -> str:
    assert Path(sys.prefix) in Path(feemodel.__file__).parents, feemodel.__file__
    return str(Path(feemodel.__file__).parent)


def the_version_is_the_package_s_own() -> str:
    assert metadata.version("feemodel") == feemodel.__version__
    assert run("--version") == f"feemodel {feemodel.__version__}\n"
    return feemodel.__version__


def the_licence_is_in_it() -> str:
    licences = [str(path) for path in metadata.files("feemodel") or () if path.name == "LICENSE"]
    assert licences
    assert metadata.metadata("feemodel")["License-Expression"] == "Apache-2.0"
    return licences[0]


def the_data_and_the_page_are_in_it() -> str:
    package = Path(feemodel.__file__).parent
    missing = [name for name in SHIPPED if not (package / name).is_file()]
    assert missing == []
    return f"{len(SHIPPED)} files"


def every_file_of_the_source_is_in_it() -> str:
    """No module, template or table of the checkout was left out, and nothing else came with them."""
    source, package = Path(sys.argv[1]) / "feemodel", Path(feemodel.__file__).parent
    ours = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    here = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    ours, here = ({name for name in names if "__pycache__" not in name} for names in (ours, here))
    ours |= {f"data/{path.relative_to(source.parent / 'data')}" for path in (source.parent / "data").rglob("*.*")}
    assert ours ^ here == set()
    return f"{len(here)} files"


def every_module_of_the_core_imports_without_extras() -> str:
    imported, without = 0, []
    for found in pkgutil.walk_packages(feemodel.__path__, "feemodel.", onerror=_raise):
        if found.name.endswith(".__main__"):  # which runs a command
            continue
        try:
            import_module(found.name)
            imported += 1
        except ModuleNotFoundError as error:
            needed = (error.name or "").partition(".")[0]
            assert needed in EXTRAS, f"{found.name} needs {needed}"
            assert found.name.startswith(MAY_NEED_EXTRAS), f"{found.name} needs {needed}"
            without.append(found.name)
    return f"{imported} modules; {len(without)} wait for an extra"


def a_fee_comes_out_to_the_wei() -> str:
    assert json.loads(run(*FEE))["priorityFeePerGas"] == 43_314_285
    assert feemodel.priority_fee(128, 21_000, variable_cost=10**9, fixed_cost=30_000_000, margin=1.2) == 43_314_285
    return "43,314,285 wei"


def a_call_is_explained() -> str:
    explained = json.loads(run("explain", CALL, "--json"))
    assert explained
    return ", ".join(explained)


def the_demo_runs_on_the_data_of_the_wheel() -> str:
    figures = json.loads(run("demo", "--transactions", "2000", "--json"))["figures"]
    assert figures
    assert all(Path(figure).stat().st_size > 10_000 for figure in figures)
    return f"{len(figures)} figures"


def _raise(name: str) -> None:
    raise AssertionError(f"{name} does not import")


CHECKS: tuple[Callable[[], str], ...] = (
    it_is_installed, the_version_is_the_package_s_own, the_licence_is_in_it, the_data_and_the_page_are_in_it,
    every_file_of_the_source_is_in_it, every_module_of_the_core_imports_without_extras, a_fee_comes_out_to_the_wei,
    a_call_is_explained, the_demo_runs_on_the_data_of_the_wheel,
)  # fmt: skip


def main() -> int:
    failed = 0
    for check in CHECKS:
        name = check.__name__.replace("_", " ")
        try:
            print(f"  {name}: {check()}")
        except (AssertionError, ImportError, OSError, ValueError, subprocess.SubprocessError) as error:
            failed += 1
            print(f"  FAILED {name}: {type(error).__name__}: {error}")
    print(f"wheel: {len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
