"""Optional packages: which extra installs each, and the command that installs it where this package came from."""

import platform
import shlex
import shutil
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from feemodel.errors import MissingExtra

#: Top-level module → the extra that installs it. A server estimates gas, so its extra comes with an engine.
EXTRAS = {
    **dict.fromkeys(
        ("uvicorn", "httptools", "uvloop", "websockets", "starlette", "aiohttp", "msgspec", "prometheus_client"),
        "serve,execution",
    ),
    **dict.fromkeys(
        ("pandas", "pyarrow", "xarray", "scipy", "numba", "llvmlite", "h5netcdf", "h5py", "urllib3", "tqdm"),
        "simulation",
    ),
    "matplotlib": "plots",
    **dict.fromkeys(("mcp", "mcp_types"), "mcp"),
    **dict.fromkeys(("distributed", "dask"), "dask"),
    **dict.fromkeys(("nbclient", "nbformat", "ipykernel"), "notebooks"),
    "ethereum": "execution",
    "SALib": "sensitivity",
    "feemodel_native": "native",
}


#: Instructions that `native/.cargo/config.toml` compiles for, as far as a processor may lack them.
NEEDED_FLAGS = frozenset(("avx2", "bmi2", "fma"))


@cache
def has_numba() -> bool:
    """Whether kernels are compiled; without numba their plain form runs."""
    return find_spec("numba") is not None


def need(needed_by: str, *packages: str) -> None:
    """Raise `MissingExtra` for the first of these packages that is not installed.

    >>> need("a sum", "numpy")
    """
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(needed_by, package, install_command(package))


def missing_extra(needed_by: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """The error to raise for a module that was not found: `MissingExtra` where an extra has it, else the same error."""
    package = (error.name or "").partition(".")[0]
    if isinstance(error, MissingExtra) or package not in EXTRAS:
        return error
    return MissingExtra(needed_by, package, install_command(package))


@cache
def has_native() -> bool:
    """Whether the compiled package is installed and this processor has the instructions that it is compiled for."""
    return find_spec("feemodel_native") is not None and _runs_native(platform.machine(), Path("/proc/cpuinfo"))


def _runs_native(machine: str, cpu_info: Path) -> bool:
    """Whether a processor has AVX2, as all of x86-64 since 2015; on other systems than Linux all that are supported."""
    if machine.lower() not in ("x86_64", "amd64") or not cpu_info.is_file():
        return True
    with cpu_info.open(encoding="utf-8", errors="replace") as lines:
        flags = next((line for line in lines if line.startswith("flags")), "")
    return set(flags.split()) >= NEEDED_FLAGS


def install_command(module: str) -> str:
    """The shell command that installs the package of a missing module.

    From a checkout it installs the checkout's extra, from anywhere else the released one.

    >>> install_command("no_extra_has_this.module").endswith("pip install no_extra_has_this")
    True
    """
    package = module.partition(".")[0]
    extra, checkout = EXTRAS.get(package), _checkout()
    if extra is None:
        arguments = package
    elif checkout is None:
        arguments = f"'feemodel[{extra}]'"
    elif extra == "native":  # a package of its own, not yet in an index
        arguments = "./native" if checkout == Path.cwd() else shlex.quote(str(checkout / "native"))
    else:
        arguments = f"-e '{'.' if checkout == Path.cwd() else checkout}[{extra}]'"
    return f"{_pip()} install {arguments}"


def engine_commands() -> str:
    """The commands that install an engine: the compiled one, or the reference, which needs no compiler."""
    return f"{install_command('feemodel_native')} (compiled; a checkout needs Rust) or {install_command('ethereum')}"


def _checkout() -> Path | None:
    """The folder of the checkout that this package is imported from, `None` where it is installed without one."""
    folder = Path(__file__).resolve().parents[1]
    return folder if (folder / "pyproject.toml").is_file() and (folder / "native").is_dir() else None


def _pip() -> str:
    """The pip of the interpreter that runs: `pip` where the shell finds that one, else the interpreter's module."""
    found = shutil.which("pip")
    if found is not None and Path(found).parent == Path(sys.executable).parent:
        return "pip"
    return f"{shlex.quote(sys.executable)} -m pip"
