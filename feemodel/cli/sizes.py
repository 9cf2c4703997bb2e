"""`feemodel sizes`: measure the compressed sizes of a file of transactions with one or all codecs."""

from typing import Annotated, Any

from feemodel.cli.output import TABLES, Answer, Table
from feemodel.cli.parameters import FLAT, FileOptions, SizedForm, Sizing, TransactionsFile, Workers, flag
from feemodel.cli.subjects import read_transaction_file
from feemodel.cli.verb import verb

COUNTS = ("total", "min", "median", "p95", "max")


@verb(out=TABLES, what="the sizes of every transaction")
def command(
    transactions: TransactionsFile,
    /,
    *,
    files: Annotated[FileOptions, FLAT] = FileOptions(),
    form: SizedForm = "sender_unsigned",
    all: Annotated[bool, flag("measure with every codec (lzss only with --dictionary)")] = False,
    threads: Workers = None,
    sizing: Annotated[Sizing, FLAT] = Sizing(),
) -> Answer:
    """Measure a file of transactions with one or all codecs."""
    import numpy as np
    import pandas as pd

    from feemodel.sizes._codecs import CODECS, compressed_sizes
    from feemodel.sizes._lzss import packed_size

    read = read_transaction_file(transactions, files)
    payloads, said = read.payloads(form), list(read.said)
    if form == "signed" and (bare := sum(one.transaction.signature is None for one in read.sent)):
        said.append(f"assumed: placeholder signatures of {bare:,} transactions")
    named = CODECS if all else {}
    codecs = [*named.values(), *([] if sizing.codec in named else [sizing.read()])]
    lengths = np.fromiter(map(len, payloads), np.int64, len(payloads))
    table = pd.DataFrame({"row": read.rows, "length": lengths})
    for codec in codecs:
        sizes = compressed_sizes(payloads, codec, threads=threads, progress=True)
        table[codec.name] = packed_size(sizes) if sizing.packed else sizes
    rows = [_summary(str(name), table[name], int(lengths.sum())) for name in table if name != "row"]
    title = f"{len(table):,} transactions, {form}{', packed' if sizing.packed else ''} [bytes]"
    cells = [(r["codec"], *(f"{r[c]:,}" for c in COUNTS), f"{r['ofLength']:.1%}", f"{r['mean']:,.1f}") for r in rows]
    data = {"transactions": len(table), "form": form, "packed": sizing.packed, "codecs": rows, "said": said}
    return Answer(data, [Table(title, ("", *COUNTS, "of length", "mean"), cells)], said, file=table)


def _summary(name: str, sizes: Any, length: int) -> dict[str, Any]:
    middle, high = sizes.quantile([0.5, 0.95], interpolation="lower")
    counts = (sizes.sum(), sizes.min(), middle, high, sizes.max())
    found = dict(zip(COUNTS, map(int, counts), strict=True))
    return {"codec": name, **found, "ofLength": found["total"] / length, "mean": float(sizes.mean())}
