"""`feemodel fetch`: write block headers of a node, and the tips paid in the blocks, to a Parquet file."""

import argparse

from feemodel.cli._options import above_0, count, default_of, number
from feemodel.cli._output import add_out, checked_out, print_json
from feemodel.errors import InvalidInput

LONGEST_TIMEOUT = 3_600  # seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from feemodel.io._fetch import fetch_blocks

    concurrency, timeout = default_of(fetch_blocks, "concurrency"), default_of(fetch_blocks, "timeout")
    parser.add_argument("--node", required=True, metavar="URL", help="URL of a JSON-RPC endpoint")
    parser.add_argument("--blocks", required=True, metavar="A:B", help="blocks from A to B, B not included")
    add_out(parser, "FILE.parquet", "file to write", required=True)
    parser.add_argument(
        "--tip-percentile",
        type=number,
        metavar="P",
        help="also download blob base fees, and tips at percentile P of the gas",
    )
    parser.add_argument("--concurrency", type=count, default=concurrency, help="number of requests at the same time")
    parser.add_argument("--timeout", type=above_0, default=timeout, metavar="SECONDS", help="time limit of one request")


def run(options: argparse.Namespace) -> int:
    from feemodel.io._fetch import fetch_blocks, parse_block_range

    checked_out(options, (".parquet",))
    if options.timeout > LONGEST_TIMEOUT:
        raise InvalidInput("--timeout", f"expected at most {LONGEST_TIMEOUT:,} s", options.timeout)
    blocks = parse_block_range(options.blocks)
    fetch_blocks(
        options.node,
        blocks,
        options.out,
        overwrite=options.overwrite,
        tip_percentile=options.tip_percentile,
        concurrency=options.concurrency,
        timeout=options.timeout,
        progress=not options.json,
    )
    if options.json:
        tips = {} if options.tip_percentile is None else {"tipPercentile": options.tip_percentile}
        written = {"file": options.out, "firstBlock": blocks[0], "lastBlock": blocks[-1], "blocks": len(blocks)}
        print_json(written | tips)
    else:
        print(f"{options.out}: {len(blocks):,} blocks, {blocks[0]:,} to {blocks[-1]:,}")
    return 0
