"""Verbs of compressed sizes: `sizes` measures a file of transactions, `train` trains a dictionary on one."""

from pathlib import Path
from typing import Annotated

from feemodel.cli.output import TABLES, Answer, Table, counted
from feemodel.cli.parameters import FLAT, Columns, SizedForm, Sizing, TransactionsFile, default_of, flag, whole
from feemodel.cli.subjects import read_transaction_file
from feemodel.cli.verb import verb
from feemodel.sizes._codecs import CODECS, Zstd, compressed_sizes, train_dictionary


@verb(out=TABLES, what="the sizes of every transaction")
def command(
    transactions: TransactionsFile,
    /,
    *,
    columns: Columns = (),  # type: ignore[assignment]
    form: SizedForm = "sender_unsigned",
    all: Annotated[bool, flag("measure with every codec (lzss only with --dictionary)")] = False,
    sizing: Annotated[Sizing, FLAT] = Sizing(),
) -> Answer:
    import pandas as pd

    from feemodel.sizes._lzss import packed_size

    read, sent, said = read_transaction_file(transactions, columns)
    payloads = [one.measured(form) for one in sent]
    if form == "signed" and (bare := sum(one.signature is None for one in sent)):
        said.append(f"assumed: placeholder signatures of {counted(bare)}")
    table = pd.DataFrame({"row": read.index, "length": [*map(len, payloads)]})
    codecs = [*CODECS.values()] if all else []
    if not all or sizing.codec not in CODECS:
        codecs.append(sizing.read())
    for codec in codecs:
        sizes = compressed_sizes(payloads, codec, progress=True)
        table[codec.name] = packed_size(sizes) if sizing.packed else sizes
    rows = []
    for name, column in table.drop(columns="row").items():
        total, points = int(column.sum()), column.quantile([0, 0.5, 0.95, 1], interpolation="lower")
        counts = dict(zip(("min", "median", "p95", "max"), map(int, points), strict=True))
        share = total / int(table["length"].sum())
        rows.append({"codec": str(name), "total": total, **counts, "ofLength": share, "mean": float(column.mean())})
    title = f"{counted(len(table))}, {form}{', packed' if sizing.packed else ''} [bytes]"
    data = {"transactions": len(table), "form": form, "packed": sizing.packed, "codecs": rows, "said": said}
    return Answer(data, [Table(title, rows)], said, file=table)


@verb(out=(), what="the dictionary", required=True)
def train(
    transactions: TransactionsFile,
    /,
    *,
    columns: Columns = (),  # type: ignore[assignment]
    size: Annotated[int, whole("size of the dictionary", "byte", minimum=1)] = default_of(train_dictionary, "size"),
    file: Path,
) -> Answer:
    """The dictionary is trained on every second transaction, and tested on the others."""
    _, sent, said = read_transaction_file(transactions, columns)
    payloads = [one.measured("sender_unsigned") for one in sent]
    samples, rest = payloads[::2], payloads[1::2]
    dictionary = train_dictionary(samples, size=size)
    plain, trained = (int(compressed_sizes(rest, codec).sum()) for codec in (Zstd(), Zstd(dictionary=dictionary)))
    data = {"dictionary": str(file), "bytes": len(dictionary), "trainedOn": len(samples), "said": said,
            "testedOn": len(rest), "zstdBytes": plain, "zstdBytesWithDictionary": trained}  # fmt: skip
    change = f"{trained:,} with the dictionary ({trained / plain - 1:+.1%})"
    notes = [f"{file}: {len(dictionary):,} bytes, trained on {counted(len(samples))}.",
             f"{counted(len(rest), 'other transaction')}: {plain:,} bytes with zstd, {change}."]  # fmt: skip
    return Answer(data, notes=[*notes, *said], file=dictionary)
