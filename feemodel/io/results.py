"""Write results of experiments, and keep finished parts of a run in a folder, so that it can be resumed."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import InvalidInput
from feemodel.io.files import PathLike, parse_json, reading, written_whole

if TYPE_CHECKING:
    import pandas as pd
    import xarray

EXPERIMENT = "experiment.json"
SHOWN = 3  # maximum number of differences in an error message
DIGEST = re.compile(r" [0-9a-f]{64}\Z")  # of an array or of source code
DATASET_SUFFIXES: Final = (".nc", ".csv", ".parquet")


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
    ...     print(xarray.load_dataset(f"{folder}/fees.nc").fee.values.tolist())
    [7, 8]
    """
    suffix = Path(path).suffix.lower()
    if suffix not in DATASET_SUFFIXES:
        raise InvalidInput("out", f"expected a name that ends in {' or '.join(DATASET_SUFFIXES)}", str(path))
    table = None if suffix == ".nc" else _table(dataset, path)
    with written_whole(path, overwrite=overwrite) as file:
        if table is None:
            # HDF5 also reads from the file while writing, but `file` is open only for writing, so pass the name.
            dataset.to_netcdf(file.name, engine="h5netcdf")  # NetCDF 4, which has 64-bit integers, unlike SciPy's
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


class FinishedFolder:
    """Folder of one run: its description, and a file per finished piece of a `sweep` or path of a `simulate` run.

    Each file becomes visible only when it is complete. The folder is made if it does not exist.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parts = FinishedFolder(folder)
    ...     parts.open('{"margin": "1.2"}')
    ...     parts.put(2, {"fee": np.array([7, 8])})
    ...     print(parts.numbers(), parts.get(2)["fee"].tolist())
    ...     parts.open('{"margin": "1.5"}')  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: folder: expected a folder of this run: margin is 1.2 in the folder, 1.5 now, got '...'
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        with reading(self.folder):
            self.folder.mkdir(exist_ok=True)

    def open(self, experiment: str) -> None:
        """Set the description of the run, a JSON object; raises `InvalidInput` if the folder has another one."""
        path = self.folder / EXPERIMENT
        if not path.exists():
            if any(self.folder.iterdir()):
                raise InvalidInput("folder", "expected an empty folder, or the folder of this run", str(self.folder))
            with written_whole(path) as file:
                file.write(experiment.encode())
            return
        with reading(path):
            held, now = parse_json(path.read_bytes()), parse_json(experiment)
        told = []
        for key in (key for key in {**held, **now} if held.get(key) != now.get(key)):
            before, after = (DIGEST.sub("", one.get(key, "missing")) for one in (held, now))
            differs = f"is {before} in the folder, {after} now" if before != after else f"has changed: {after}"
            told.append(f"{key} {differs}")
        if told:
            raise InvalidInput("folder", f"expected a folder of this run: {'; '.join(told[:SHOWN])}", str(self.folder))

    def numbers(self) -> list[int]:
        """Return the numbers of the finished parts in ascending order."""
        return sorted(int(file.stem.removeprefix("part-")) for file in self.folder.glob("part-*.npz"))

    def get(self, number: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of a part by name."""
        with np.load(self._file(number)) as arrays:
            return dict(arrays)

    def put(self, number: int, arrays: Mapping[str, Any]) -> None:
        """Write the arrays of a finished part."""
        with written_whole(self._file(number)) as file:
            np.savez(file, **arrays)

    def _file(self, number: int) -> Path:
        return self.folder / f"part-{number:07d}.npz"
