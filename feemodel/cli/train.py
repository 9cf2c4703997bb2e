"""`feemodel train`: train a zstd dictionary on a file of transactions."""

from pathlib import Path
from typing import Annotated

from feemodel.cli.output import Answer
from feemodel.cli.parameters import FLAT, FileOptions, MissingOption, SizedForm, TransactionsFile, default_of, whole
from feemodel.cli.subjects import read_transaction_file
from feemodel.cli.verb import verb
from feemodel.sizes._codecs import Zstd, compressed_sizes, train_dictionary


@verb(out=(), what="the dictionary")
def command(
    transactions: TransactionsFile,
    /,
    *,
    files: Annotated[FileOptions, FLAT] = FileOptions(),
    size: Annotated[int, whole("size of the dictionary", "byte", minimum=1)] = default_of(train_dictionary, "size"),
    form: SizedForm = "sender_unsigned",
    every: Annotated[int, whole("train on every n-th transaction, test on the rest", minimum=1)] = 2,
    file: Path | None = None,
    overwrite: bool = False,
) -> Answer:
    """Train a zstd dictionary on a file of transactions."""
    from feemodel.io.files import written_whole

    if file is None:
        raise MissingOption("--out", "required: the file of the dictionary")
    read = read_transaction_file(transactions, files)
    payloads = read.payloads(form)
    samples = payloads[::every]
    rest = [payload for index, payload in enumerate(payloads) if index % every]
    dictionary = train_dictionary(samples, size=size)
    with written_whole(file, overwrite=overwrite) as stream:
        stream.write(dictionary)
    plain, trained = (int(compressed_sizes(rest, codec).sum()) for codec in (Zstd(), Zstd(dictionary=dictionary)))
    data = {"dictionary": str(file), "bytes": len(dictionary), "trainedOn": len(samples), "said": read.said,
            "testedOn": len(rest), "zstdBytes": plain, "zstdBytesWithDictionary": trained}  # fmt: skip
    notes = [f"{file}: {len(dictionary):,} bytes, trained on {len(samples):,} transactions."]
    if rest:
        change = f"{trained:,} with the dictionary ({trained / plain - 1:+.1%})"
        notes.append(f"{len(rest):,} other transactions: {plain:,} bytes with zstd, {change}.")
    return Answer(data, notes=[*notes, *read.said])
