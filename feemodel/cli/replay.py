"""`feemodel replay`: real blocks executed again, and every transaction held against what the chain recorded."""

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any

from feemodel.cli.options import add_codec, read_codec
from feemodel.cli.output import print_json, print_table
from feemodel.execution.replay import Comparison, compare_transactions, offered
from feemodel.execution.search import SEARCHES, TOLERANCE
from feemodel.io.replay import read_replay
from feemodel.progress import reporting
from feemodel.transaction import FORMS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="a capture of blocks with the state that they touch, plain or gzipped JSON")
    parser.add_argument("--engine", default="auto", choices=("auto", "fast", "reference"))
    parser.add_argument("--search", default="besu", choices=tuple(SEARCHES), help="whose (%(default)s)")
    parser.add_argument("--exact", action="store_true", help="search to the last gas, not to 1.5 %%")
    parser.add_argument("--form", default="signed", choices=FORMS, help="what was measured then (%(default)s)")
    add_codec(parser)


def run(options: argparse.Namespace) -> int:
    replay = read_replay(options.file)
    compared = compare_transactions(
        replay,
        codec=read_codec(options),
        measured=options.form,
        packed=options.packed,
        engine=options.engine,
        search=options.search,
        tolerance=0.0 if options.exact else TOLERANCE,
    )
    found: list[Comparison] = []
    with reporting(True, sum(len(block.transactions) for block in replay.blocks), "transactions") as advance:
        for row in compared:
            found.append(row)
            advance(1)
    if options.json:
        print_json({"fork": replay.fork, "chainId": replay.chain_id, "transactions": [_object(row) for row in found]})
    else:
        _print(found)
    return 0 if all(row.reproduced for row in found) else 1


def _print(found: Sequence[Comparison]) -> None:
    print_table(f"{len(found):,} transactions executed again", ("", "transactions"), _summary(found))
    unlike = [row for row in found if not row.reproduced]
    if unlike:
        columns = ("block", "index", "recorded gas", "gas", "outcome")
        print_table("Not as recorded", columns, [_unlike(row) for row in unlike], right_from=2)
    failed = [(f"{row.step.block.number:,}", row.step.index, row.failure) for row in found if row.failure is not None]
    if failed:
        print_table("No estimate", ("block", "index", "because"), failed, right_from=3)
    for stage, counts in _stages(found).items():
        print(f"{stage}: {counts[True]:,} of {counts.total():,} pay what it asks")


def _unlike(row: Comparison) -> tuple[str, ...]:
    gas = (row.step.transaction.gas_used, row.outcome.gas_used)
    place = (f"{row.step.block.number:,}", f"{row.step.index}")
    return (*place, *(f"{amount:,}" for amount in gas), "same" if row.same_outcome else "another")


def _summary(found: Sequence[Comparison]) -> list[tuple[str, str]]:
    estimated = [(row.step.transaction, row.estimate.gas.gas_limit) for row in found if row.estimate is not None]
    counts = {
        "recorded gas and outcome reproduced": sum(row.reproduced for row in found),
        "of them contract creations": sum(row.reproduced and row.step.transaction.to is None for row in found),
        **{f"executed by the {name} engine": n for name, n in Counter(row.engine for row in found).items()},
        "estimated on the state before them": len(estimated),
        "estimate at or above the recorded gas": sum(limit >= recorded.gas_used for recorded, limit in estimated),
        "estimate equal to the gas limit on the chain": sum(
            limit == recorded.gas_limit for recorded, limit in estimated
        ),
        "fees on the chain that a wallet makes of the estimated one": sum(row.wallet is not None for row in found),
    }
    return [(name, f"{count:,}") for name, count in counts.items()]


def _stages(found: Sequence[Comparison]) -> dict[str, Counter[bool]]:
    counts: dict[str, Counter[bool]] = {}
    for row in found:
        for verdict in row.stages:
            counts.setdefault(verdict.stage.name, Counter())[verdict.accepted] += 1
    return counts


def _object(row: Comparison) -> dict[str, Any]:
    recorded, estimate = row.step.transaction, row.estimate
    gas = {"limit": recorded.gas_limit, "recorded": recorded.gas_used, "used": row.outcome.gas_used}
    return {
        "block": row.step.block.number,
        "index": row.step.index,
        "creates": recorded.to is None,
        "engine": row.engine,
        "gas": gas | {"estimated": None if estimate is None else estimate.gas.gas_limit},
        "reproduced": row.reproduced,
        "estimateFailure": row.failure,
        "compressedSize": None if estimate is None else estimate.compressed_size,
        "priorityFeePerGas": None if estimate is None else int(estimate.fee.total),
        "paidPriorityFeePerGas": offered(row.step) - row.step.block.base_fee,
        "wallet": row.wallet,
        "stages": {verdict.stage.name: verdict.accepted for verdict in row.stages},
    }
