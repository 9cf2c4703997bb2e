"""Write the results of experiments to NetCDF, CSV or Parquet files, and read results from NetCDF files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io._files import PathLike, check_regular, reading, written_whole

if TYPE_CHECKING:
    import pandas as pd
    import xarray

DATASET_SUFFIXES: Final = (".nc", ".csv", ".parquet")
ENGINE: Final = "h5netcdf"  # writes NetCDF 4, which has 64-bit integers, unlike the format that SciPy writes


def write_dataset(dataset: "xarray.Dataset", path: PathLike, *, overwrite: bool = False) -> None:
    """Write a Dataset to a file in the format of its suffix. The file becomes visible only when complete.

    Parameters
    ----------
    dataset : Dataset to write.
    path : name of the file. `.nc` (NetCDF 4) stores the whole Dataset. `.csv` and `.parquet` store one row per cell,
        with the coordinates of the cell. Parquet also stores the attributes, under the metadata key "feemodel".
    overwrite : whether to replace a file that exists.

    Raises
    ------
    InvalidInput : the suffix is unknown; the format is CSV or Parquet, but the variables have different dimensions; the
        file exists and `overwrite` is not set; or the folder is not writable.

    >>> import tempfile, xarray
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_dataset(xarray.Dataset({"fee": ("gas", [7, 8])}), f"{folder}/fees.nc")
    ...     print(read_dataset(f"{folder}/fees.nc").fee.values.tolist())
    [7, 8]
    """
    suffix = Path(path).suffix.lower()
    if suffix not in DATASET_SUFFIXES:
        raise InvalidInput("out", f"expected a name that ends in {' or '.join(DATASET_SUFFIXES)}", str(path))
    table = None if suffix == ".nc" else _table(dataset, path)
    with written_whole(path, overwrite=overwrite) as file:
        if table is None:
            # HDF5 also reads from the file while writing, but `file` is open only for writing, so pass the name.
            dataset.to_netcdf(file.name, engine=ENGINE)
        elif suffix == ".csv":
            table.to_csv(file, index=False)
        else:
            _write_parquet(table, dataset, file)


def _table(dataset: "xarray.Dataset", path: PathLike) -> "pd.DataFrame":
    """Return a table with one row per combination of coordinates. The first columns are the coordinates."""
    dims = {tuple(values.dims) for values in dataset.data_vars.values()}
    if len(dims) != 1:
        reason = "expected a name that ends in .nc: results over different dimensions are not one table"
        raise InvalidInput("out", reason, str(path))
    if not dataset.dims:
        dataset = dataset.expand_dims("row")
    table = dataset.to_dataframe().reset_index()
    coordinates = [name for name in table if name in dataset.coords and name != "row"]
    return table[[*coordinates, *dataset.data_vars]]


def _write_parquet(table: "pd.DataFrame", dataset: "xarray.Dataset", file: BinaryIO) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    units = {str(name): values.attrs["units"] for name, values in dataset.variables.items() if "units" in values.attrs}
    described = json.dumps({"attributes": dataset.attrs, "units": units}, default=str).encode()
    columns = pa.Table.from_pandas(table, preserve_index=False)
    pq.write_table(columns.replace_schema_metadata({**(columns.schema.metadata or {}), b"feemodel": described}), file)


def _check_alone(path: PathLike) -> None:
    """Raise `UnreadableFile` if HDF5 would read data of the file from other files."""
    import h5py  # type: ignore[import-untyped]

    def check(group: h5py.Group) -> None:
        for name in group:
            link = group.get(name, getlink=True)
            member = group[name] if isinstance(link, h5py.HardLink) else None
            if isinstance(link, h5py.ExternalLink) or (isinstance(member, h5py.Dataset) and member.external):
                raise UnreadableFile(f"{path}: {name}: refers to data in another file")
            if isinstance(member, h5py.Group):
                check(member)

    with h5py.File(path) as file:
        check(file)


def read_dataset(path: PathLike) -> "xarray.Dataset":
    """Read a Dataset from a NetCDF file into memory.

    Parameters
    ----------
    path : NetCDF 4 file.

    Returns
    -------
    The Dataset, with its coordinates and attributes.

    Raises
    ------
    UnreadableFile : the file is missing, is not NetCDF, or refers to data in other files.

    >>> read_dataset("no such file.nc")
    Traceback (most recent call last):
    feemodel.errors.UnreadableFile: no such file.nc: no such file
    """
    import xarray

    with reading(path):
        check_regular(path)
        try:
            _check_alone(path)
            with xarray.open_dataset(path, engine=ENGINE) as dataset:
                return dataset.load()
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise UnreadableFile(f"{path}: not a NetCDF file: {type(error).__name__}: {error}") from None
