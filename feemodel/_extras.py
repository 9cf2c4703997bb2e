"""Optional packages, the extras that contain the packages, and the commands that install the extras."""

import platform
import shlex
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from feemodel.errors import MissingExtra

#: Top-level module → the extras that install the module. A server also needs an engine, to estimate gas.
EXTRAS = {
    **dict.fromkeys(("uvicorn", "httptools", "uvloop", "starlette", "prometheus_client"), "serve,execution"),
    **dict.fromkeys(
        ("pandas", "pyarrow", "xarray", "scipy", "numba", "h5netcdf", "h5py", "aiohttp", "msgspec"), "simulation"
    ),
    "matplotlib": "plots",
    **dict.fromkeys(("distributed", "dask"), "dask"),
    **dict.fromkeys(("nbclient", "nbformat", "ipykernel"), "notebooks"),
    "ethereum": "execution",
    "feemodel_native": "native",
}

NO_EXECUTION = (3, 13)  # first version of Python without wheels of what the extra `execution` requires

#: Instruction sets that `native/.cargo/config.toml` requires, and that some x86-64 processors lack.
NEEDED_FLAGS = frozenset(("avx2", "bmi2", "fma"))


@cache
def has_numba() -> bool:
    """Return whether numba is installed; without numba, kernels run as plain Python."""
    return find_spec("numba") is not None


def need(needed_by: str, *packages: str) -> None:
    """Raise `MissingExtra` for the first package in `packages` that is not installed.

    >>> need("a sum", "numpy")
    """
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(needed_by, package, install_command(package))


def missing_extra(needed_by: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return `MissingExtra` if an extra installs the module that was not found, else the given error."""
    package = (error.name or "").partition(".")[0]
    if isinstance(error, MissingExtra) or package not in EXTRAS:
        return error
    return MissingExtra(needed_by, package, install_command(package))


@cache
def has_native() -> bool:
    """Return whether the native package is installed and this processor has the `NEEDED_FLAGS`."""
    return find_spec("feemodel_native") is not None and _runs_native(platform.machine(), Path("/proc/cpuinfo"))


def _runs_native(machine: str, cpu_info: Path) -> bool:
    """Return whether this processor has the `NEEDED_FLAGS`; `True` if it is not x86-64 or `cpu_info` is missing."""
    if machine.lower() not in ("x86_64", "amd64") or not cpu_info.is_file():
        return True
    with cpu_info.open(encoding="utf-8", errors="replace") as lines:
        flags = next((line for line in lines if line.startswith("flags")), "")
    return set(flags.split()) >= NEEDED_FLAGS


def install_command(module: str) -> str:
    """Return the shell command that installs a missing module: its extra, if there is one, or else its package.

    The extra `execution` cannot be installed on Python 3.13, see `pyproject.toml`. The native engine is a package of
    its own, not yet on PyPI, which a checkout has.

    >>> install_command("xarray.core"), install_command("no_extra_has_this.module")
    ("pip install 'feemodel[simulation]'", 'pip install no_extra_has_this')
    """
    package = module.partition(".")[0]
    extra, engine = EXTRAS.get(package), Path(__file__).resolve().parents[1] / "native"
    if extra is None:
        return f"pip install {package}"
    if extra == "native" and engine.is_dir():
        return f"pip install {shlex.quote(str(engine))}"
    if sys.version_info >= NO_EXECUTION:
        if extra == "execution":
            return f"python3.12 -m pip install 'feemodel[{extra}]'"
        extra = extra.removesuffix(",execution")
    return f"pip install 'feemodel[{extra}]'"
