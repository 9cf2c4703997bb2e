"""What an installed wheel must do, in an environment that holds the wheel and the pins of the core alone.

`scripts/check-wheel` runs this from a folder without a checkout: `python -I installed.py SOURCE`, and again with
`--with-simulation` where the extras `simulation` and `plots` are installed too.
"""

import json
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path

import feemodel
from feemodel._extras import EXTRAS
from feemodel.errors import MissingExtra

CALL = '{"to": "0x1111111111111111111111111111111111111111", "value": "0x1"}'
FEE = ("fee", "--size", "128", "--gas", "21000", "--json")
SUITES = ("estimates", "vectors")  # of the repository alone
MAX_MEGABYTES, MAX_PACKAGES = 128, 18  # of the core, this package included
NOT_OURS = {"pip", "setuptools", "wheel"}
MAX_IMPORTS = 360  # modules, those of Python and NumPy included: what decides how long a first fee takes
ROOMS = ("ethereum", "linea", "sizes", "rollups", "execution", "ledger", "estimates", "io", "simulation", "plots",
         "server", "explorer")  # fmt: skip
#: Verbs that answer with the core alone, each with the beginning of what it prints.
OF_THE_CORE = (
    ((*FEE[:-1],), "cost-per-byte"),
    (("explain", CALL), "call of 49 bytes"),
    (("compare", CALL), "1 transaction,"),
    (("compare", CALL, "--at", "2026-01-20"), "1 transaction,"),
    (("chains",), "30 chains"),
    (("chains", "op-mainnet"), "op-mainnet"),
    (("max-send", "op-mainnet", CALL.replace(', "value": "0x1"', ""), "--balance", "1000000000000000000", "--base-fee",
      "1000000", "--l1-base-fee", "1000000000", "--blob-base-fee", "1"), "op-mainnet"),
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


def every_file_of_the_source_is_in_it() -> str:
    """No module, template or table of the checkout was left out, and nothing else came with them."""
    source, package = Path(sys.argv[1]) / "feemodel", Path(feemodel.__file__).parent
    ours = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    here = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    ours, here = ({name for name in names if "__pycache__" not in name} for names in (ours, here))
    data = source.parent / "data"
    ours |= {
        f"data/{path.relative_to(data)}" for path in data.rglob("*.*") if path.relative_to(data).parts[0] not in SUITES
    }
    assert ours ^ here == set()
    return f"{len(here)} files"


def every_module_imports_or_needs_an_extra() -> str:
    imported, without = 0, []
    for found in pkgutil.walk_packages(feemodel.__path__, "feemodel.", onerror=lambda name: None):
        if found.name.endswith(".__main__"):  # which runs a command
            continue
        try:
            import_module(found.name)
            imported += 1
        except ModuleNotFoundError as error:
            needed = (error.name or "").partition(".")[0]
            assert needed in EXTRAS, f"{found.name} needs {needed}"
            without.append(found.name)
    return f"{imported} modules; {len(without)} wait for an extra"


def every_public_name_works_or_names_its_extra() -> str:
    works, named = 0, 0
    for package in ("feemodel", *(f"feemodel.{room}" for room in ROOMS)):
        module = import_module(package)
        for name in module.__all__:
            try:
                getattr(module, name)
            except MissingExtra as error:
                said = str(error)
            else:
                works += 1
                continue
            command = rf"{package}\.{name} needs the package \w+: \S+ (-m pip )?install 'feemodel\[[a-z,]+\]'"
            assert re.fullmatch(command, said), said
            named += 1
    return f"{works} names; {named} name the extra that they need"


def the_core_is_small() -> str:
    folder = Path(feemodel.__file__).parents[1]
    packages = {one.metadata["Name"].lower() for one in metadata.distributions()} - NOT_OURS
    size = 0
    for one in metadata.distributions():
        if one.metadata["Name"].lower() in packages:
            paths = {folder / str(path) for path in one.files or ()}
            size += sum(path.stat().st_size for path in paths if path.is_file())
    megabytes = size / 1e6
    assert len(packages) <= MAX_PACKAGES, packages
    assert megabytes <= MAX_MEGABYTES, f"{megabytes:.0f} MB"
    return f"{len(packages)} packages, {megabytes:.0f} MB"


def the_verbs_of_the_core_answer() -> str:
    for arguments, beginning in OF_THE_CORE:
        assert run(*arguments).lstrip().startswith(beginning), arguments
    return ", ".join(dict.fromkeys(arguments[0] for arguments, _ in OF_THE_CORE))


def every_codec_measures() -> str:
    payload = bytes(1000)
    sizes = {name: feemodel.compressed_size(payload, name) for name in ("zstd", "brotli", "fastlz")}
    sizes["lzss"] = feemodel.Lzss(b"").size(payload)
    assert sizes == {"zstd": 14, "brotli": 20, "fastlz": 21, "lzss": 19}, sizes
    return ", ".join(sizes)


def a_first_fee_imports_little() -> str:
    command = (Path(sys.executable).with_name("feemodel"), *FEE[:-1])
    environment = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, env=environment)
    modules = set(re.findall(r"^import time:.*\| *(\S+)$", done.stderr, re.MULTILINE))
    assert "feemodel.linea.priority" in modules
    assert len(modules) <= MAX_IMPORTS, sorted(modules)
    return f"{len(modules)} modules"


def a_verb_of_an_extra_names_it() -> str:
    command = Path(sys.executable).with_name("feemodel")
    done = subprocess.run([command, "demo"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, done
    assert re.search(r"needs the package \w+: .*install 'feemodel\[\w+\]'\n\Z", done.stderr), done.stderr
    return done.stderr.strip()


def a_fee_comes_out_to_the_wei() -> str:
    assert json.loads(run(*FEE))["priorityFeePerGas"] == 43_314_285
    assert feemodel.priority_fee(128, 21_000, variable_cost=10**9, fixed_cost=30_000_000, margin=1.2) == 43_314_285
    return "43,314,285 wei"


def the_demo_runs_on_the_data_of_the_wheel() -> str:
    figure = Path("recovery.png").resolve()
    assert json.loads(run("demo", "--json", "--figure", str(figure)))["transactions"] > 1_000
    assert figure.stat().st_size > 10_000
    return figure.name


CHECKS: tuple[Callable[[], str], ...] = (
    it_is_installed, the_version_is_the_package_s_own, the_licence_is_in_it,
    every_file_of_the_source_is_in_it, every_module_imports_or_needs_an_extra,
    every_public_name_works_or_names_its_extra, the_core_is_small, the_verbs_of_the_core_answer, every_codec_measures,
    a_first_fee_imports_little, a_verb_of_an_extra_names_it, a_fee_comes_out_to_the_wei,
)  # fmt: skip
WITH_SIMULATION = (the_demo_runs_on_the_data_of_the_wheel,)


def main() -> int:
    failed = 0
    checks = WITH_SIMULATION if "--with-simulation" in sys.argv else CHECKS
    for check in checks:
        name = check.__name__.replace("_", " ")
        try:
            print(f"  {name}: {check()}")
        except (AssertionError, ImportError, OSError, ValueError, subprocess.SubprocessError) as error:
            failed += 1
            print(f"  FAILED {name}: {type(error).__name__}: {error}")
    print(f"wheel: {len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
