"""Results of experiments as NetCDF files, with their coordinates, units and attributes."""

from typing import TYPE_CHECKING, Final

from feemodel.errors import UnreadableFile
from feemodel.io.files import PathLike, reading, written_whole

if TYPE_CHECKING:
    import xarray

ENGINE: Final = "h5netcdf"  # NetCDF 4, which has 64-bit integers; the format that SciPy writes has none


def write_dataset(dataset: "xarray.Dataset", path: PathLike, *, overwrite: bool = False) -> None:
    """A Dataset into a NetCDF file, which appears whole or not at all.

    Raises
    ------
    InvalidInput : the file exists and `overwrite` is not set, or its folder cannot be written.

    >>> import tempfile, xarray
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_dataset(xarray.Dataset({"fee": ("gas", [7, 8])}), f"{folder}/fees.nc")
    ...     print(read_dataset(f"{folder}/fees.nc").fee.values.tolist())
    [7, 8]
    """
    with written_whole(path, overwrite=overwrite) as file:
        # By its name, because HDF5 reads what it writes and `file` is open for writing alone.
        dataset.to_netcdf(file.name, engine=ENGINE)


def read_dataset(path: PathLike) -> "xarray.Dataset":
    """A Dataset from a NetCDF file, all of it in memory.

    Raises
    ------
    UnreadableFile : a missing file, or one that is no NetCDF.

    >>> read_dataset("no such file.nc")
    Traceback (most recent call last):
    feemodel.errors.UnreadableFile: no such file.nc: no such file
    """
    import xarray

    with reading(path):
        try:
            return xarray.load_dataset(path, engine=ENGINE)
        except (ValueError, KeyError) as error:
            raise UnreadableFile(f"{path}: not a NetCDF file: {error}") from None
