"""`feemodel sizes`: measure the compressed sizes of a file of transactions with one or all codecs."""

import argparse
from typing import Any

from feemodel.cli._options import add_codec, add_form, count, read_codec
from feemodel.cli._output import add_out, checked_out, print_json, print_table
from feemodel.cli._subjects import FILE_HELP, add_transaction_file, read_transaction_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help=FILE_HELP)
    add_transaction_file(parser)
    add_form(parser)
    parser.add_argument("--all", action="store_true", help="measure with every codec (lzss only with --dictionary)")
    parser.add_argument("--threads", type=count, help="number of threads (default: the number of processors)")
    add_out(parser, "FILE.csv", "write the size of every transaction")
    add_codec(parser)


def run(options: argparse.Namespace) -> int:
    import numpy as np
    import pandas as pd

    from feemodel.io._files import written_whole
    from feemodel.sizes._codecs import CODECS, compressed_sizes
    from feemodel.sizes._lzss import packed_size

    out = checked_out(options, (".csv",))
    read = read_transaction_file(options.file, options.columns, options.chain_id)
    payloads, said = read.payloads(options.form), list(read.said)
    if options.form == "signed" and (bare := sum(one.transaction.signature is None for one in read.sent)):
        said.append(f"assumed: placeholder signatures of {bare:,} transactions")
    named = CODECS if options.all else {}
    codecs = [*named.values(), *([] if options.codec in named else [read_codec(options)])]
    lengths = np.fromiter(map(len, payloads), np.int64, len(payloads))
    table = pd.DataFrame({"length": lengths}, index=read.rows)
    for codec in codecs:
        sizes = compressed_sizes(payloads, codec, threads=options.threads, progress=True)
        table[codec.name] = packed_size(sizes) if options.packed else sizes
    if out is not None:
        with written_whole(out, overwrite=options.overwrite) as file:
            table.to_csv(file, index_label="row")
    rows = [_summary(str(name), table[name], int(lengths.sum())) for name in table]
    if options.json:
        print_json(
            {"transactions": len(table), "form": options.form, "packed": options.packed, "codecs": rows, "said": said}
        )
        return 0
    title = f"{len(table):,} transactions, {options.form}{', packed' if options.packed else ''} [bytes]"
    cells = [(r["codec"], *(f"{r[c]:,}" for c in _COUNTS), f"{r['ofLength']:.1%}", f"{r['mean']:,.1f}") for r in rows]
    print_table(title, ("", "total", "min", "median", "p95", "max", "of length", "mean"), cells)
    for text in said:
        print(text)
    return 0


_COUNTS = ("total", "min", "median", "p95", "max")


def _summary(name: str, sizes: Any, length: int) -> dict[str, Any]:
    if sizes.empty:
        return {"codec": name, **dict.fromkeys(_COUNTS, 0), "ofLength": 0.0, "mean": 0.0}
    middle, high = sizes.quantile([0.5, 0.95], interpolation="lower")
    counts = (sizes.sum(), sizes.min(), middle, high, sizes.max())
    found = dict(zip(_COUNTS, map(int, counts), strict=True))
    return {"codec": name, **found, "ofLength": found["total"] / length, "mean": float(sizes.mean())}
