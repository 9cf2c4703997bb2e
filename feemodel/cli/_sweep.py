"""`feemodel sweep`: evaluate a formula on a grid, Sobol points or random draws, as described in a TOML file."""

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from feemodel.cli._options import add_executor, add_resume, checked_resume
from feemodel.cli._output import add_out, checked_out, print_json, print_table
from feemodel.errors import InvalidInput

if TYPE_CHECKING:
    import xarray


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", metavar="SPEC.toml", help="file that describes the sweep; data/specs/ has examples")
    add_out(parser, "FILE", "write the result to a .nc (NetCDF), .csv or .parquet file")
    add_executor(parser)
    add_resume(parser, "blocks")


def run(options: argparse.Namespace) -> int:
    from feemodel.cli._sweep_spec import read_sweep_spec
    from feemodel.io._datasets import DATASET_SUFFIXES, write_dataset
    from feemodel.simulation._sweep import planned, sweep

    out = checked_out(options, DATASET_SUFFIXES)  # check the file name before the long computation
    finished = checked_resume(options)
    spec = read_sweep_spec(options.spec)
    plan = planned(spec.formula, spec.samples, spec.reduce)
    if out is not None and out.suffix.lower() != ".nc" and plan.levels:
        raise InvalidInput(
            "--out",
            "expected a file name that ends in .nc, because the result has histograms or quantiles",
            options.out,
        )
    then = (
        f"written to {out}"
        if out is not None
        else "printing only minimum, mean and maximum (--out FILE writes all values)"
    )
    print(f"feemodel: {plan}; {then}", file=sys.stderr)
    started = time.perf_counter()
    result = sweep(
        spec.formula,
        spec.samples,
        reduce=spec.reduce,
        executor=options.dask or options.executor,
        workers=options.workers,
        finished=finished,
        progress=not options.json,
    )
    seconds = time.perf_counter() - started
    if out is not None:
        write_dataset(result, out, overwrite=options.overwrite)
    if options.json:
        print_json(_answer(result, seconds, options.out))
    else:
        _print(result, seconds, options.out)
    return 0


def _answer(result: "xarray.Dataset", seconds: float, out: str | None) -> dict[str, Any]:
    return {
        "evaluations": result.attrs["evaluations"],
        "seconds": round(seconds, 3),
        "dimensions": dict(result.sizes),
        "results": {name: dict(zip(("min", "mean", "max"), row, strict=True)) for name, row in _ranges(result).items()},
        "attributes": result.attrs,
        "file": out,
    }


def _print(result: "xarray.Dataset", seconds: float, out: str | None) -> None:
    dims = " × ".join(f"{size:,} {name}" for name, size in result.sizes.items()) or "one value"
    rows = [
        (name, result[name].attrs.get("units", ""), *(f"{value:,.6g}" for value in row))
        for name, row in _ranges(result).items()
    ]
    evaluations = result.attrs["evaluations"]
    print(f"{evaluations:,} evaluations of {result.attrs['function']} in {seconds:.2f} s: {dims}")
    for name, value in result.attrs.items():
        if name not in ("evaluations", "function"):
            print(f"  {name}: {value}")
    print()
    print_table("Over all cells", ("result", "unit", "min", "mean", "max"), rows, right_from=2)
    if out is not None:
        print(f"written to {out}")


def _ranges(result: "xarray.Dataset") -> dict[str, tuple[float, float, float]]:
    return {
        str(name): (float(values.min()), float(values.mean()), float(values.max()))
        for name, values in result.data_vars.items()
    }
