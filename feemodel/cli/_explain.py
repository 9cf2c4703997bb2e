"""`feemodel explain`: show the parts of a fee and the checks of a node for transactions and calls."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from feemodel.cli._options import add_codec, add_form, add_pricing, count, read_codec, read_pricing, whole_from_0
from feemodel.cli._output import in_eth, in_gwei, print_json, print_table
from feemodel.cli._subjects import (
    Item,
    add_columns,
    as_call,
    estimated_gas,
    gas_limit,
    read_columns,
    read_subjects,
    signing_fields,
)
from feemodel.errors import FeeModelError, UnreadableFile
from feemodel.ethereum._call import Call
from feemodel.ethereum._transaction import LINEA_CHAIN_ID, Transaction
from feemodel.linea._explanation import explain
from feemodel.linea._node import node_checks

if TYPE_CHECKING:
    from feemodel.estimates._chain import ChainState


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("subject", help="a signed transaction (0x…), a call ({…}), a file of transactions or calls"
                        " in a format of `feemodel sizes`, or - for standard input")  # fmt: skip
    add_columns(parser)
    parser.add_argument("--gas", type=count, help="gas estimate (default: the gas limit, or the gas of a transfer)")
    parser.add_argument("--gas-used", type=count, help="gas used by the execution, for the check after execution")
    parser.add_argument("--nonce", type=whole_from_0, help="nonce, for a call without a nonce (default: 0)")
    parser.add_argument(
        "--chain-id", type=whole_from_0, help=f"chain id, for a call without a chain id (default: {LINEA_CHAIN_ID})"
    )
    add_form(parser)
    parser.add_argument(
        "--genesis", metavar="FILE", help="execute on a geth genesis file; print the gas limit and the gas used"
    )
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 if a check of the node would reject the transaction"
    )
    add_codec(parser)
    add_pricing(parser)


def run(options: argparse.Namespace) -> int:
    preset, form = read_pricing(options)
    measuring = {"codec": read_codec(options), "measured": options.form, "packed": options.packed}
    chain = _chain(options)

    def explained(subject: Call | Transaction | FeeModelError) -> dict[str, Any]:
        return _explained(subject, options, chain, form=form, checks=node_checks(preset), **measuring)

    subjects = read_subjects(options.subject, read_columns(options.columns))
    if not subjects:
        raise UnreadableFile(f"{options.subject}: expected transactions, found none")
    if [position for position, _ in subjects] != [""]:
        return _each(subjects, explained, options)
    answer = explained(subjects[0][1])
    if options.json:
        print_json(answer)
    else:
        _print(answer)
    return 1 if options.check and not _is_accepted(answer) else 0


def _explained(
    subject: Call | Transaction | FeeModelError, options: argparse.Namespace, chain: "ChainState | None", **priced: Any
) -> dict[str, Any]:
    """Explain one transaction or call."""
    if isinstance(subject, FeeModelError):
        raise subject
    nonce, chain_id = signing_fields(subject, options.nonce, options.chain_id)
    return explain(subject, _gas(subject, options, chain), nonce=nonce, chain_id=chain_id, **priced)


def _is_accepted(answer: dict[str, Any]) -> bool:
    return all(stage["accepted"] for stage in answer["stages"])


def _each(
    subjects: list[Item], explained: Callable[[Call | Transaction | FeeModelError], dict[str, Any]],
    options: argparse.Namespace,
) -> int:  # fmt: skip
    """Explain every transaction of a file. If a transaction cannot be read or priced, its row shows the error."""
    rows: list[dict[str, Any]] = []
    for position, subject in subjects:
        try:
            rows.append({"position": position, **explained(subject)})
        except FeeModelError as error:
            rows.append({"position": position, "error": str(error)})
    failed = [row for row in rows if "error" in row]
    if len(failed) == len(rows):
        pass  # if every row has an error, the first error is raised below
    elif options.json:
        print_json({"transactions": rows, "failed": len(failed)})
    else:
        columns = ("", "measured", "compressed", "gas", "priority fee per gas [wei]", "fee [gwei]", "outcome")
        print_table(f"{len(rows):,} transactions", columns, map(_row, rows))
    if failed:
        first = f"{failed[0]['position']}: {failed[0]['error']}"
        name = "standard input" if options.subject == "-" else options.subject
        raise UnreadableFile(f"{name}: {len(failed):,} of {len(rows):,} items have no fee; the first is {first}")
    return 1 if options.check and not all(map(_is_accepted, rows)) else 0


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    if "error" in row:
        return (row["position"], "", "", "", "", "", row["error"])
    numbers = (row["measuredBytes"], row["compressedSize"], row["gas"]["estimated"], row["priorityFeePerGas"])
    refused = (stage["outcome"] for stage in row["stages"] if not stage["accepted"])
    fee = in_gwei(row["totalWei"]).removesuffix(" gwei")
    return (row["position"], *map(_grouped, numbers), fee, next(refused, "accepted"))


def _print(answer: dict[str, Any]) -> None:
    size, measured = f"{answer['compressedSize']:,}", f"{answer['measuredBytes']:,} bytes ({answer['form']})"
    gas = ", ".join(f"{amount:,} {kind}" for kind, amount in answer["gas"].items())
    print(f"A {answer['subject']} of {measured}, {size} by {answer['codec']}; gas: {gas}\n")
    _print_fee(answer)
    named = answer["transactionFee"]
    execution, data, priority = (f"{named[part]:,}" for part in ("executionFee", "dataFee", "priorityFee"))
    print(f"RIP-7759, in wei: execution fee {execution} (base, fixed), data fee {data} (size), priority fee {priority}")
    wallets = [tuple(_grouped(cell) for cell in row.values()) for row in answer["wallets"]]
    print_table("What a wallet would set", ("wallet", "maxPriorityFeePerGas", "maxFeePerGas"), wallets)
    offered = answer["offeredPricePerGas"]
    title = "At the suggested fee" if offered is None else f"At the offered {in_gwei(offered)} per gas"
    columns = ("stage", "margin", "gas", "requiredPricePerGas", "outcome")
    checks = [tuple(_grouped(row[column]) for column in columns) for row in answer["stages"]]
    print_table(title, ("check", "margin", "gas", "required wei per gas", "outcome"), checks)
    if "used" not in answer["gas"]:
        print("The check after execution needs --gas-used.")


def _print_fee(answer: dict[str, Any]) -> None:
    total = answer["totalWei"]
    rows = [
        (part, f"{per_gas:,}", f"{answer['feeWei'][part]:,}", f"{answer['feeWei'][part] / total:.1%}")
        for part, per_gas in answer["feePerGas"].items()
        if per_gas
    ]
    rows.append(("total", f"{sum(answer['feePerGas'].values()):,}", f"{total:,}", in_eth(total)))
    title = f"Fee, {answer['pricing']} form, margin {answer['margin']:g}"
    print_table(title, ("part", "wei per gas", "wei", "share"), rows)


def _grouped(cell: Any) -> str:
    return f"{cell:,}" if isinstance(cell, (int, float)) else str(cell)


def _gas(subject: Call | Transaction, options: argparse.Namespace, chain: "ChainState | None") -> dict[str, int]:
    given, used = options.gas, options.gas_used
    if chain is not None:
        given, executed = _executed(subject, chain, given)
        used = executed if used is None else used
    estimated, limit = estimated_gas(subject, given), gas_limit(subject)
    gas = {"estimated": estimated, "limit": limit if limit is not None else estimated}
    return gas if used is None else gas | {"used": used}


def _chain(options: argparse.Namespace) -> "ChainState | None":
    """Return a chain with the state that the options name, or `None` if the options name no state."""
    if options.genesis is None:
        return None
    from feemodel.estimates._chain import genesis_chain, read_genesis_document

    return genesis_chain(read_genesis_document(options.genesis))


def _executed(subject: Call | Transaction, chain: "ChainState", given: int | None) -> tuple[int, int]:
    """Execute a call or transaction on the chain's state; return the gas limit and the gas used, as in a receipt [gas].

    If no gas limit is given, the gas limit is estimated with Besu's search.
    """
    from feemodel.execution._clients import node_named
    from feemodel.execution._engines import engine_named
    from feemodel.execution._estimate import gas_estimate
    from feemodel.execution._failures import failure
    from feemodel.execution._message import parse_request
    from feemodel.execution._search import TOLERANCE

    request = parse_request(subject if isinstance(subject, Call) else as_call(subject))
    engine = engine_named("auto")
    prepared = node_named("besu").prepare(request, chain.call_state, tolerance=TOLERANCE, limits=engine.limits)
    limit = gas_estimate(prepared, engine).gas_limit if given is None else given
    outcome = engine.run(prepared.call_state, lambda execute: execute(prepared.message, limit))
    if not outcome.succeeded:
        raise failure(outcome, limit, estimating=True)
    return limit, outcome.charged
