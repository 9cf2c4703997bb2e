"""Read a NetCDF file in a separate process. The process is killed if reading takes too much time or memory.

The HDF5 library never returns for some damaged files, and crashes on others. The command `python -m
feemodel.io._netcdf_process FILE` writes the pickled Dataset, or the text of an error, to standard output.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from feemodel.errors import UnreadableFile
from feemodel.io._bounds import SECONDS, max_bytes, max_seconds, too_large
from feemodel.io._files import PathLike, check_regular

if TYPE_CHECKING:
    import xarray

ENGINE: Final = "h5netcdf"  # writes NetCDF 4, which has 64-bit integers, unlike the format that SciPy writes
WORKING_MEMORY = 1 << 28  # memory that the libraries themselves may need [byte]
COPIES = 4  # number of copies of the data in memory while the process reads and responds


def read_netcdf(path: PathLike) -> "xarray.Dataset":
    """Return the Dataset of a NetCDF file.

    Raises `UnreadableFile` for a file that is not NetCDF or exceeds the limits of `feemodel.io._bounds`, and `OSError`
    for a missing file.
    """
    check_regular(path)
    with Path(path).open("rb"):  # raises `OSError` if the file cannot be opened
        pass
    command = [sys.executable, "-m", "feemodel.io._netcdf_process", os.fspath(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    seconds = max_seconds()
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env=environment, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        bound = f"the environment variable {SECONDS} raises the bound"
        raise UnreadableFile(f"{path}: not read within {seconds:,} s: damaged, or large; {bound}") from None
    if done.returncode:
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        raise UnreadableFile(f"{path}: a damaged NetCDF file: the process that read it ended with {how}")
    found = pickle.loads(done.stdout)  # unpickling is safe, because this module wrote the bytes
    if isinstance(found, str):
        raise UnreadableFile(found)
    return found  # type: ignore[no-any-return]


def answer(path: str) -> "xarray.Dataset | str":
    """Limit the memory of this process, and return the Dataset of a file or the text of an error."""
    import h5netcdf  # noqa: F401 (imported before memory is limited)
    import xarray

    maximum = max_bytes()
    _bound_memory(COPIES * maximum + WORKING_MEMORY)
    try:
        with xarray.open_dataset(path, engine=ENGINE) as held:
            if held.nbytes > maximum:
                return str(too_large(path, maximum))
            return held.load()
    except MemoryError:
        return str(too_large(path, maximum))
    except Exception as error:
        return f"{path}: not a NetCDF file: {type(error).__name__}: {error}"


def _bound_memory(maximum: int) -> None:
    """Limit the memory that this process may take from now on, if the system supports it."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        return
    bound = pages * resource.getpagesize() + maximum
    resource.setrlimit(resource.RLIMIT_AS, (bound, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.stdout.buffer.write(pickle.dumps(answer(sys.argv[1]), protocol=5))
