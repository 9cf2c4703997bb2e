"""Read a NetCDF file in a process of its own, which is ended when it takes too much time or memory.

The HDF5 library reads some damaged files without end, and ends the process on others. Run as
`python -m feemodel.io.netcdf_process FILE`, this module writes the pickled Dataset, or the text of an error, to
standard output.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from feemodel.errors import UnreadableFile
from feemodel.io.bounds import SECONDS, most_bytes, most_seconds, too_large
from feemodel.io.files import PathLike, check_regular

if TYPE_CHECKING:
    import xarray

ENGINE: Final = "h5netcdf"  # NetCDF 4, which has 64-bit integers; the format that SciPy writes has none
WORKING_MEMORY = 1 << 28  # bytes, of the libraries
COPIES = 4  # of the data in memory while the process reads and answers


def read_netcdf(path: PathLike) -> "xarray.Dataset":
    """The Dataset of a NetCDF file.

    Raises `UnreadableFile` for what is no NetCDF file, and for one that is not read within the bounds of
    `feemodel.io.bounds`; `OSError` for a missing file.
    """
    check_regular(path)
    with Path(path).open("rb"):  # the system's own error where it cannot be read
        pass
    command = [sys.executable, "-m", "feemodel.io.netcdf_process", os.fspath(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    seconds = most_seconds()
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env=environment, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        bound = f"the environment variable {SECONDS} raises the bound"
        raise UnreadableFile(f"{path}: not read within {seconds:,} s: damaged, or large; {bound}") from None
    if done.returncode:
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        raise UnreadableFile(f"{path}: a damaged NetCDF file: its reader ended with {how}")
    found = pickle.loads(done.stdout)  # written by this module
    if isinstance(found, str):
        raise UnreadableFile(found)
    return found  # type: ignore[no-any-return]


def answer(path: str) -> "xarray.Dataset | str":
    """The Dataset of a file, or the text of an error; what this process may take of memory is bounded from then on."""
    import h5netcdf  # noqa: F401 (before memory is bounded)
    import xarray

    most = most_bytes()
    _bound_memory(COPIES * most + WORKING_MEMORY)
    try:
        with xarray.open_dataset(path, engine=ENGINE) as held:
            if held.nbytes > most:
                return str(too_large(path, most))
            return held.load()
    except MemoryError:
        return str(too_large(path, most))
    except Exception as error:
        return f"{path}: not a NetCDF file: {type(error).__name__}: {error}"


def _bound_memory(most: int) -> None:
    """Let this process take so many bytes more than it has, where the system can tell and can refuse."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        return
    bound = pages * resource.getpagesize() + most
    resource.setrlimit(resource.RLIMIT_AS, (bound, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.stdout.buffer.write(pickle.dumps(answer(sys.argv[1]), protocol=5))
