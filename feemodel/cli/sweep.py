"""`feemodel sweep`: evaluate a formula on a grid, Sobol points or random draws, as described in a TOML file."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from feemodel._extras import need
from feemodel.cli.output import DATASETS, Answer, Table
from feemodel.cli.parameters import Resume, SpecFile, Workers, option
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput, UpstreamError

if TYPE_CHECKING:
    import xarray


SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")  # protocols of Dask


def _address(name: str, typed: str) -> str:
    parts = urlsplit(typed if "://" in typed else f"tcp://{typed}")
    if parts.scheme not in SCHEMES or not parts.hostname or not parts.netloc.rpartition(":")[2].isdecimal():
        raise InvalidInput(name, "expected an address such as tcp://host:8786", typed)
    return typed


@verb(out=DATASETS, what="all values")
def command(
    spec: SpecFile,
    /,
    *,
    workers: Workers = None,
    dask: Annotated[
        str | None, option(_address, "address of a Dask scheduler, such as tcp://host:8786", metavar="ADDRESS")
    ] = None,
    resume: Resume = None,
    file: Path | None = None,
    as_json: bool = False,
) -> Answer:
    """Evaluate a formula over a grid, Sobol points or random draws, as described in a file."""
    from feemodel.cli.sweep_spec import read_sweep_spec
    from feemodel.simulation.sweep import sweep

    finished = run_folder(resume)
    read = read_sweep_spec(spec)
    levels = read.reduce is not None and bool(read.reduce.quantile or read.reduce.above)
    if file is not None and file.suffix.lower() != ".nc" and levels:
        reason = "expected a file name that ends in .nc, because the result has quantiles or shares"
        raise InvalidInput("--out", reason, str(file))
    sizes = {dim: size for value in read.samples.values() for dim, size in getattr(value, "sizes", {}).items()}
    axes = " × ".join(f"{size:,} {name}" for name, size in sizes.items()) or "one value"
    then = (
        f"written to {file}"
        if file is not None
        else "printing only minimum, mean and maximum (--out FILE writes all values)"
    )
    print(f"feemodel: {prod(sizes.values()):,} evaluations of {read.formula.__name__}: {axes}; {then}", file=sys.stderr)
    started = time.perf_counter()
    with dask_client(dask) as executor:
        result = sweep(read.formula, read.samples, reduce=read.reduce, executor=executor, workers=workers,
                       finished=finished, progress=not as_json)  # fmt: skip
    seconds = time.perf_counter() - started
    ranges = _ranges(result)
    evaluations = result.attrs["evaluations"]
    data = {
        "evaluations": evaluations,
        "seconds": round(seconds, 3),
        "dimensions": dict(result.sizes),
        "results": {name: dict(zip(("min", "mean", "max"), row, strict=True)) for name, row in ranges.items()},
        "attributes": result.attrs,
        "file": None if file is None else str(file),
    }
    dims = " × ".join(f"{size:,} {name}" for name, size in result.sizes.items()) or "one value"
    title = f"{evaluations:,} evaluations of {result.attrs['function']} in {seconds:.2f} s: {dims}"
    rows = [
        (name, result[name].attrs.get("units", ""), *(f"{value:,.6g}" for value in row)) for name, row in ranges.items()
    ]
    notes = [f"{name}: {value}" for name, value in result.attrs.items() if name not in ("evaluations", "function")]
    return Answer(data, [Table(title, ("result", "unit", "min", "mean", "max"), rows, left=2)], notes, file=result)


def run_folder(path: str | None) -> Any:
    """Return the store of `--resume`, or `None` without the option; raises `InvalidInput` for a missing folder."""
    from feemodel.io import FinishedFolder

    if path is None:
        return None
    if not Path(path).is_dir():
        raise InvalidInput("resume", "expected a folder that exists", path)
    return FinishedFolder(path)


def _ranges(result: "xarray.Dataset") -> dict[str, tuple[float, float, float]]:
    return {
        str(name): (float(values.min()), float(values.mean()), float(values.max()))
        for name, values in result.data_vars.items()
    }


TIMEOUT = 5  # seconds until a scheduler that does not answer is an error


@contextmanager
def dask_client(address: str | None) -> Iterator[Any]:
    """Yield a client of the Dask scheduler at an address, or `None` without an address: the tasks run in threads."""
    if address is None:
        yield None
        return
    need("--dask", "distributed")
    import distributed

    client_of: Any = distributed.Client
    try:
        client = client_of(address, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UpstreamError(f"{address}: no Dask scheduler answers ({error})") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=TIMEOUT)
        except TimeoutError:
            raise UpstreamError(f"{address}: the Dask cluster has no workers") from None
        yield client
