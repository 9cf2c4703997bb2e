"""`feemodel train`: train a zstd dictionary on a file of transactions."""

import argparse

from feemodel.cli._options import add_form, count, default_of
from feemodel.cli._output import add_out, checked_out, print_json
from feemodel.cli._subjects import FILE_HELP, add_transaction_file, read_transaction_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from feemodel.sizes._codecs import train_dictionary

    parser.add_argument("file", help=FILE_HELP)
    add_transaction_file(parser)
    add_out(parser, "DICTIONARY", "file to write", required=True)
    size = default_of(train_dictionary, "size")
    parser.add_argument("--size", type=count, default=size, metavar="BYTES", help="size of the dictionary")
    add_form(parser)
    parser.add_argument("--every", type=count, default=2, help="train on every n-th transaction, test on the rest")


def run(options: argparse.Namespace) -> int:
    from feemodel.io._files import written_whole
    from feemodel.sizes._codecs import Zstd, compressed_sizes, train_dictionary

    checked_out(options)
    read = read_transaction_file(options.file, options.columns, options.chain_id)
    payloads = read.payloads(options.form)
    samples = payloads[:: options.every]
    rest = [payload for index, payload in enumerate(payloads) if index % options.every]
    dictionary = train_dictionary(samples, size=options.size)
    with written_whole(options.out, overwrite=options.overwrite) as file:
        file.write(dictionary)
    plain, trained = (int(compressed_sizes(rest, codec).sum()) for codec in (Zstd(), Zstd(dictionary=dictionary)))
    answer = {"dictionary": options.out, "bytes": len(dictionary), "trainedOn": len(samples)}
    answer |= {"said": read.said, "testedOn": len(rest), "zstdBytes": plain, "zstdBytesWithDictionary": trained}
    if options.json:
        print_json(answer)
        return 0
    print(f"{options.out}: {len(dictionary):,} bytes, trained on {len(samples):,} transactions")
    if rest:
        print(
            f"{len(rest):,} other transactions: {plain:,} bytes with zstd, "
            f"{trained:,} with the dictionary ({trained / plain - 1:+.1%})"
        )
    for text in read.said:
        print(text)
    return 0
