"""`feemodel replay`: execute recorded blocks again and compare each transaction with the record."""

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any

from feemodel.cli._options import add_codec, read_codec
from feemodel.cli._output import print_json, print_table
from feemodel.errors import UnreadableFile
from feemodel.estimates._comparison import (
    CANDIDATE_FORKS,
    Comparison,
    compare_transactions,
    pricing_form,
    reproducing_forks,
)
from feemodel.estimates._replay import offered
from feemodel.ethereum._transaction import FORMS
from feemodel.execution._engines import ENGINES
from feemodel.execution._forks import FORKS
from feemodel.execution._search import SEARCHES, TOLERANCE
from feemodel.io._replay import DEFAULT_FORK, Replay, read_replay
from feemodel.progress import reporting

EXIT_CODES = """Exit codes:
  0  the gas, success and output of every transaction equal the record
  1  at least one transaction differs from the record, or could not be executed (a missing estimate or fee
     does not count)
  2  invalid input
  3  a file cannot be read
  70 unexpected error"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXIT_CODES
    parser.add_argument("file", help="capture of blocks and of the state that they access, plain or gzipped JSON")
    parser.add_argument(
        "--fork",
        type=str.lower,
        choices=tuple(FORKS),
        metavar="NAME",
        help=f"fork whose rules are used: {', '.join(FORKS)} (default: the fork in the file, or {DEFAULT_FORK}; if a "
        "transaction is not reproduced, the last line names the forks that reproduce all transactions)",
    )
    parser.add_argument("--engine", default="auto", choices=ENGINES, help="execution engine")
    parser.add_argument(
        "--search", default="besu", choices=tuple(SEARCHES), help="algorithm of the search for the gas limit"
    )
    parser.add_argument("--exact", action="store_true", help="find the exact gas limit (default: within 1.5 %%)")
    parser.add_argument("--form", default="signed", choices=FORMS, help="encoding of which the chain measured the size")
    add_codec(parser)


def run(options: argparse.Namespace) -> int:
    replay = read_replay(options.file)
    fork = options.fork or replay.fork
    if fork not in FORKS:
        known = ", ".join(FORKS)
        raise UnreadableFile(f"{options.file}: fork: expected one of {known}, got {fork!r}; --fork NAME replaces it")
    compared = compare_transactions(
        replay,
        codec=read_codec(options),
        measured=options.form,
        packed=options.packed,
        engine=options.engine,
        search=options.search,
        tolerance=0.0 if options.exact else TOLERANCE,
        fork=fork,
    )
    found: list[Comparison] = []
    with reporting(True, sum(len(block.transactions) for block in replay.blocks), "transactions") as advance:
        for row in compared:
            found.append(row)
            advance(1)
    all_reproduced = all(row.reproduced for row in found)
    searched = not all_reproduced and options.fork is None
    others = reproducing_forks(replay, found, fork=fork, engine=options.engine) if searched else None
    if options.json:
        print_json(_document(options, replay, found, others))
    else:
        _print(found)
        print("\n".join(_rules(options, replay, found, others)))
    return 0 if all_reproduced else 1


def _print(found: Sequence[Comparison]) -> None:
    columns, rows = _COLUMNS, [_row(row) for row in found]
    if any(row.failure is not None for row in found):
        columns = (*columns, "why no estimate")
        rows = [(*cells, row.failure or "") for cells, row in zip(rows, found, strict=True)]
    print_table("Transactions", columns, rows)
    print_table(f"Summary of {len(found):,} transactions", ("", "transactions"), _summary(found))
    unlike = [row for row in found if not row.reproduced]
    if unlike:
        columns = ("block", "index", "recorded gas", "gas", "outcome")
        print_table("Transactions that differ from the record", columns, [_unlike(row) for row in unlike], right_from=2)
    for stage, counts in _stages(found).items():
        print(f"{stage}: {counts[True]:,} of {counts.total():,} transactions pay enough")


_COLUMNS: tuple[str, ...] = (
    "block",
    "index",
    "recorded gas",
    "gas",
    "outcome",
    "estimate",
    "size",
    "priority fee",
    "paid",
)


def _row(row: Comparison) -> tuple[str, ...]:
    """Return the table row of one transaction. A cell without a value is empty."""
    paid = None if row.estimate is None else offered(row.step) - row.step.block.base_fee
    numbers = (
        None if row.gas is None else row.gas.gas_limit,
        row.size,
        None if row.estimate is None else int(row.estimate.fee.total),
        paid,
    )
    return (*_unlike(row), *("" if number is None else f"{number:,}" for number in numbers))


def _unlike(row: Comparison) -> tuple[str, ...]:
    recorded = (f"{row.step.block.number:,}", f"{row.step.index}", f"{row.step.transaction.gas_used:,}")
    if row.outcome is None:
        return (*recorded, "", f"not executed: {row.refusal}")
    return (*recorded, f"{row.outcome.gas_used:,}", "same" if row.same_outcome else "different")


def _rules(
    options: argparse.Namespace, replay: Replay, found: Sequence[Comparison], others: tuple[str, ...] | None
) -> list[str]:
    """Return lines that name the fork in use, and all forks under which every transaction is reproduced."""
    reproduced = sum(row.reproduced for row in found)
    said = "from the file" if replay.names_fork else "the default, because the file names no fork"
    lines = [
        f"rules: {options.fork or replay.fork} ({'--fork' if options.fork else said}), which reproduce "
        f"{reproduced:,} of {len(found):,} transactions"
    ]
    if others:
        lines.append(f"the rules of {', '.join(others)} reproduce all {len(found):,} transactions: --fork {others[0]}")
    elif others is not None:
        lines.append(f"none of the rules of {', '.join(CANDIDATE_FORKS)} reproduces all transactions")
    return lines


def _summary(found: Sequence[Comparison]) -> list[tuple[str, str]]:
    estimated = [(row.step.transaction, row.gas.gas_limit) for row in found if row.gas is not None]
    engines = Counter(row.engine for row in found if row.engine is not None)
    counts = {
        "gas and outcome reproduced": sum(row.reproduced for row in found),
        "reproduced contract creations": sum(row.reproduced and row.step.transaction.to is None for row in found),
        **{f"executed by the {name} engine": n for name, n in engines.items()},
        "estimated on the state before the transaction": len(estimated),
        "estimate at or above the recorded gas": sum(limit >= recorded.gas_used for recorded, limit in estimated),
        "estimate equal to the gas limit on the chain": sum(
            limit == recorded.gas_limit for recorded, limit in estimated
        ),
        "without a fee, because the block has no pricing record": sum(
            pricing_form(row.step.block) is None for row in found
        ),
        "recorded fee equal to a wallet's factor on the estimated fee": sum(row.wallet is not None for row in found),
    }
    return [(name, f"{count:,}") for name, count in counts.items()]


def _stages(found: Sequence[Comparison]) -> dict[str, Counter[bool]]:
    counts: dict[str, Counter[bool]] = {}
    for row in found:
        for verdict in row.stages:
            counts.setdefault(verdict.check.name, Counter())[verdict.accepted] += 1
    return counts


def _document(
    options: argparse.Namespace, replay: Replay, found: Sequence[Comparison], others: tuple[str, ...] | None
) -> dict[str, Any]:
    return {
        "fork": options.fork or replay.fork,
        "forkFrom": "option" if options.fork else "file" if replay.names_fork else "default",
        "reproducedBy": None if others is None else list(others),
        "chainId": replay.chain_id,
        "transactions": [_object(row) for row in found],
    }


def _object(row: Comparison) -> dict[str, Any]:
    recorded, estimate = row.step.transaction, row.estimate
    used = None if row.outcome is None else row.outcome.gas_used
    return {
        "block": row.step.block.number,
        "index": row.step.index,
        "type": recorded.type,
        "creates": recorded.to is None,
        "engine": row.engine,
        "gas": {
            "limit": recorded.gas_limit,
            "recorded": recorded.gas_used,
            "used": used,
            "estimated": None if row.gas is None else row.gas.gas_limit,
        },
        "reproduced": row.reproduced,
        "executionFailure": row.refusal,
        "estimateFailure": row.failure,
        "signedSize": row.size,
        "compressedSize": None if estimate is None else estimate.compressed_size,
        "priorityFeePerGas": None if estimate is None else int(estimate.fee.total),
        "paidPriorityFeePerGas": offered(row.step) - row.step.block.base_fee,
        "wallet": row.wallet,
        "stages": {verdict.check.name: verdict.accepted for verdict in row.stages},
    }
