"""Read the arrays of an `.npz` file, and check their sizes before memory is allocated."""

import zipfile
import zlib
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from feemodel.errors import UnreadableFile
from feemodel.io._bounds import max_bytes, too_large
from feemodel.io._files import PathLike, check_regular, reading

SUFFIX = ".npy"
#: Exceptions that NumPy and zipfile raise for files that are damaged, encrypted, or compressed by an unknown method.
DAMAGE = (ValueError, EOFError, KeyError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error)
MAX_HEADER = 10_000  # maximum number of characters in the header of an array, as in NumPy


def read_arrays(path: PathLike) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of an `.npz` file by name.

    Raises `UnreadableFile` if the file is damaged, if an array contains Python objects, or if all arrays together
    exceed the limit of `feemodel.io._bounds`.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".npz") as file:
    ...     np.savez_compressed(file.name, fees=np.array([7, 8]))
    ...     read_arrays(file.name)["fees"].tolist()
    [7, 8]
    """
    maximum = max_bytes()
    with reading(path):
        check_regular(path)
        try:
            with zipfile.ZipFile(path) as held:
                members = held.infolist()
                names = [member.filename.removesuffix(SUFFIX) for member in members]
                if len({*names}) < len(names):
                    raise UnreadableFile(f"{path}: duplicate array")
                if sum(member.file_size for member in members) > maximum:
                    raise too_large(path, maximum)
                arrays = {}
                for name, member in zip(names, members, strict=True):
                    with held.open(member) as file:
                        _check_header(file, member)
                    with held.open(member) as file:
                        arrays[name] = npy.read_array(file, allow_pickle=False, max_header_size=MAX_HEADER)
                        if file.read(1):
                            raise ValueError(f"{member.filename}: bytes after the array")
                return arrays
        except UnreadableFile:
            raise
        except DAMAGE as error:
            raise UnreadableFile(f"{path}: not a file of arrays: {error}") from None


def _check_header(file: IO[bytes], member: zipfile.ZipInfo) -> None:
    """Raise `ValueError` if the shape and data type in a header do not match the number of bytes after the header."""
    version = npy.read_magic(file)
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if read is None:
        raise ValueError(f"{member.filename}: version {version} of the format, expected 1.0 or 2.0")
    shape, _, dtype = read(file, max_header_size=MAX_HEADER)
    if dtype.hasobject:
        raise ValueError(f"{member.filename}: objects, expected numbers or text")
    count = dtype.itemsize
    for length in shape:
        count *= length
    if min(shape, default=0) < 0 or count != member.file_size - file.tell():
        raise ValueError(f"{member.filename}: shape {shape} of {dtype} does not match the data after the header")
