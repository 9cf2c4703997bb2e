"""Execute captured blocks again and compare each transaction with the record: `scripts/replay`.

python -m tests.helpers.replay FILE [--fork NAME] [--json]

Exits with 1 if a transaction differs from the record or could not be executed.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from feemodel.errors import FeeModelError
from feemodel.estimates.codec_file import read_codec
from feemodel.ethereum._transaction import FORMS
from feemodel.execution._engines import ENGINES
from feemodel.execution._forks import FORKS, fork_named
from feemodel.execution._search import TOLERANCE
from tests.helpers.captures import Replay, read_replay
from tests.helpers.replay_comparison import Comparison, compare_transactions, pricing_form, reproducing_forks
from tests.helpers.replays import offered


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/replay", description=__doc__.splitlines()[0])
    parser.add_argument("file", help="capture of blocks and of the state that they access, plain or gzipped JSON")
    parser.add_argument(
        "--fork", type=str.lower, choices=tuple(FORKS), metavar="NAME", help="rules (default: the file's)"
    )
    parser.add_argument("--engine", default="auto", choices=ENGINES)
    parser.add_argument("--search", default="besu", choices=("geth", "besu"))
    parser.add_argument("--exact", action="store_true", help="find the exact gas limit (default: within 1.5 %%)")
    parser.add_argument("--form", default="signed", choices=FORMS, help="encoding of which the chain measured the size")
    parser.add_argument("--codec", default="zstd")
    parser.add_argument("--dictionary", metavar="FILE", help="dictionary, required for lzss and optional for zstd")
    parser.add_argument(
        "--packed", action="store_true", help="round sizes up to whole 32-byte field elements of a blob"
    )
    parser.add_argument("--json", action="store_true", help="print every transaction (default: a summary)")
    options = parser.parse_args(arguments)
    try:
        return run(options)
    except FeeModelError as error:
        print(f"scripts/replay: {error}", file=sys.stderr)
        return 2


def run(options: argparse.Namespace) -> int:
    replay = read_replay(options.file)
    fork = fork_named(options.fork or replay.fork).name
    found = list(
        compare_transactions(
            replay,
            codec=read_codec(options.codec, options.dictionary),
            measured=options.form,
            packed=options.packed,
            engine=options.engine,
            search=options.search,
            tolerance=0.0 if options.exact else TOLERANCE,
            fork=fork,
        )
    )
    all_reproduced = all(row.reproduced for row in found)
    searched = not all_reproduced and options.fork is None
    others = reproducing_forks(replay, found, fork=fork, engine=options.engine) if searched else None
    if options.json:
        print(json.dumps(_document(options, replay, found, others), indent=2))
    else:
        print("\n".join(f"{count:7,}  {name}" for name, count in _summary(found).items()))
    return 0 if all_reproduced else 1


def _summary(found: Sequence[Comparison]) -> dict[str, int]:
    estimated = [(row.step.transaction, row.gas.gas_limit) for row in found if row.gas is not None]
    accepted = Counter(verdict.check.name for row in found for verdict in row.stages if verdict.accepted)
    return {
        "transactions": len(found),
        "gas and outcome reproduced": sum(row.reproduced for row in found),
        "reproduced contract creations": sum(row.reproduced and row.step.transaction.sent.to is None for row in found),
        "estimate at or above the recorded gas": sum(limit >= recorded.gas_used for recorded, limit in estimated),
        "estimate equal to the gas limit on the chain": sum(
            limit == recorded.sent.gas_limit for recorded, limit in estimated
        ),
        "without a fee, because the block has no pricing record": sum(
            pricing_form(row.step.block) is None for row in found
        ),
        "recorded fee equal to a wallet's factor on the estimated fee": sum(row.wallet is not None for row in found),
        **{f"{stage}: pay enough": count for stage, count in accepted.items()},
    }


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
        "type": recorded.sent.sent_type,
        "creates": recorded.sent.to is None,
        "engine": row.engine,
        "gas": {
            "limit": recorded.sent.gas_limit,
            "recorded": recorded.gas_used,
            "used": used,
            "estimated": None if row.gas is None else row.gas.gas_limit,
        },
        "reproduced": row.reproduced,
        "executionFailure": row.refusal,
        "estimateFailure": row.failure,
        "signedSize": row.size,
        "compressedSize": None if estimate is None else estimate.compressed_size,
        "priorityFeePerGas": None if estimate is None else estimate.priority_fee,
        "paidPriorityFeePerGas": offered(row.step) - row.step.block.base_fee,
        "wallet": row.wallet,
        "stages": {verdict.check.name: verdict.accepted for verdict in row.stages},
    }


if __name__ == "__main__":
    sys.exit(main())
