"""`feemodel explain`: show the parts of a fee and the checks of a node for transactions and calls."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from feemodel.cli import STDIN
from feemodel.cli.output import TABLES, Answer, Table, in_eth, in_gwei, shown
from feemodel.cli.parameters import (
    FLAT,
    ChainId,
    Columns,
    Gas,
    Genesis,
    Pricing,
    SizedForm,
    Sizing,
    Subject,
    flag,
    read_columns,
    whole,
)
from feemodel.cli.subjects import Item, as_call, estimated_gas, read_subjects, signing_fields
from feemodel.cli.verb import verb
from feemodel.errors import FeeModelError, InvalidInput, UnreadableFile
from feemodel.ethereum._transaction import Transaction
from feemodel.linea._explanation import explain
from feemodel.linea._node import node_checks
from feemodel.progress import reporting
from feemodel.quantities import MEANINGS

if TYPE_CHECKING:
    from feemodel.estimates.chain import ChainState


@verb(out=TABLES)
def command(
    subject: Subject,
    /,
    *,
    columns: Columns = (),  # type: ignore[assignment]
    gas: Gas | None = None,
    gas_used: Annotated[int | None, whole("gas used, for the check after execution", "gas", minimum=1)] = None,
    nonce: Annotated[int | None, whole("nonce, for a call without one (default: 0)")] = None,
    chain_id: ChainId | None = None,
    form: SizedForm = "sender_unsigned",
    genesis: Genesis = None,
    intact: Annotated[bool, flag(MEANINGS["intact"])] = False,
    check: Annotated[bool, flag("exit with 1 if a check of the node would reject the transaction")] = False,
    sizing: Annotated[Sizing, FLAT] = Sizing(),
    pricing: Annotated[Pricing, FLAT] = Pricing(),
) -> Answer:  # fmt: skip
    """Explain transactions or calls: size, gas, parts of the fee, and the checks of a node."""
    if intact and (genesis is None or gas is not None):
        raise InvalidInput("--intact", "expected --genesis too, and no --gas, because the call is executed", intact)
    preset, priced = pricing.read()
    codec, chain = sizing.read(), None
    if genesis is not None:
        from feemodel.estimates.chain import genesis_chain, read_genesis_document

        chain = genesis_chain(read_genesis_document(genesis))

    def explained(one: Transaction | FeeModelError) -> dict[str, Any]:
        if isinstance(one, FeeModelError):
            raise one
        fields = signing_fields(one, nonce, chain_id)
        return explain(
            one, _gas(one, gas, gas_used, chain, intact=intact), nonce=fields[0], chain_id=fields[1], form=priced,
            checks=node_checks(preset), codec=codec, measured=form, packed=sizing.packed,
        )  # fmt: skip

    subjects = read_subjects(subject, read_columns(columns))
    if not subjects:
        raise UnreadableFile(f"{subject}: expected transactions, found none")
    if [position for position, _ in subjects] != [""]:
        return _each(subjects, explained, "standard input" if subject == STDIN else subject, check=check)
    answer = explained(subjects[0][1])
    return Answer(
        answer, _tables(answer), _notes(answer), file=[_flat(answer)],
        code=1 if check and not _is_accepted(answer) else 0,
    )  # fmt: skip


def _is_accepted(answer: dict[str, Any]) -> bool:
    return all(stage["accepted"] for stage in answer["stages"])


def _flat(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a transaction in the file of `--out`."""
    return {
        "subject": answer["subject"], "measured_bytes": answer["measuredBytes"],
        "compressed_size": answer["compressedSize"], "gas": answer["gas"]["estimated"],
        "priority_fee_per_gas": answer["priorityFeePerGas"], "total_wei": answer["totalWei"],
        "accepted": _is_accepted(answer),
    }  # fmt: skip


def _each(
    subjects: list[Item], explained: Callable[[Transaction | FeeModelError], dict[str, Any]], name: str, *,
    check: bool,
) -> Answer:  # fmt: skip
    """Explain every transaction of a file. The command ends with an error if a transaction cannot be priced."""
    rows: list[dict[str, Any]] = []
    with reporting(True, len(subjects), "transactions") as advance:
        for position, subject in subjects:
            try:
                rows.append({"position": position, **explained(subject)})
            except FeeModelError as error:
                rows.append({"position": position, "error": str(error)})
            advance(1)
    failed = [row for row in rows if "error" in row]
    said = ""
    if failed:
        first = f"{failed[0]['position']}: {failed[0]['error']}"
        said = f"{name}: {len(failed):,} of {len(rows):,} items have no fee; the first is {first}"
    if len(failed) == len(rows):
        raise UnreadableFile(said)
    columns = ("", "outcome", "measured", "compressed", "gas", "wei per gas", "fee [gwei]")
    return Answer(
        {"transactions": rows, "failed": len(failed)},
        [Table(f"{len(rows):,} transactions", columns, [_row(row) for row in rows], left=2)],
        file=[{"position": row["position"], **_flat(row)} for row in rows if "error" not in row],
        error=UnreadableFile(said) if failed else None,
        code=1 if check and not all(map(_is_accepted, rows)) else 0,
    )


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    if "error" in row:
        return (row["position"], row["error"], "", "", "", "", "")
    numbers = (row["measuredBytes"], row["compressedSize"], row["gas"]["estimated"], row["priorityFeePerGas"])
    refused = (stage["outcome"] for stage in row["stages"] if not stage["accepted"])
    fee = in_gwei(row["totalWei"]).removesuffix(" gwei")
    return (row["position"], next(refused, "accepted"), *map(shown, numbers), fee)


def _tables(answer: dict[str, Any]) -> list[Table]:
    total = answer["totalWei"]
    rows = [("total", f"{sum(answer['feePerGas'].values()):,}", f"{total:,}", in_eth(total))]
    rows += [
        (part, f"{per_gas:,}", f"{answer['feeWei'][part]:,}", f"{answer['feeWei'][part] / total:.1%}")
        for part, per_gas in answer["feePerGas"].items()
        if per_gas
    ]
    gas = ", ".join(f"{amount:,} {kind}" for kind, amount in answer["gas"].items())
    title = (
        f"{answer['subject']} of {answer['measuredBytes']:,} bytes ({answer['form']}), {answer['compressedSize']:,} "
    )
    title += f"by {answer['codec']}; gas: {gas}; {answer['pricing']}, margin {answer['margin']:g}"
    wallets = [tuple(map(shown, row.values())) for row in answer["wallets"]]
    offered = answer["offeredPricePerGas"]
    checks = [
        (row["stage"], row["outcome"], f"{row['margin']:g}", f"{row['gas']:,}", f"{row['requiredPricePerGas']:,}")
        for row in answer["stages"]
    ]
    asked = "At the suggested fee" if offered is None else f"At the offered {in_gwei(offered)} per gas"
    return [
        Table(title, ("part", "wei per gas", "wei", "share"), rows),
        Table("What a wallet would set [wei per gas]", ("wallet", "priority fee", "max fee"), wallets),
        Table(asked, ("check", "outcome", "margin", "gas", "wei per gas"), checks, left=2),
    ]


def _notes(answer: dict[str, Any]) -> list[str]:
    named = answer["transactionFee"]
    execution, data, priority = (f"{named[part]:,}" for part in ("executionFee", "dataFee", "priorityFee"))
    notes = [
        f"RIP-7759, in wei: execution fee {execution} (base, fixed), data fee {data} (size), priority fee {priority}."
    ]
    return notes if "used" in answer["gas"] else [*notes, "The check after execution needs --gas-used."]


def _gas(
    subject: Transaction, given: int | None, used: int | None, chain: "ChainState | None", *, intact: bool
) -> dict[str, int]:
    if chain is not None:
        given, executed = _executed(subject, chain, given, intact=intact)
        used = executed if used is None else used
    estimated, limit = estimated_gas(subject, given), subject.gas_limit
    gas = {"estimated": estimated, "limit": limit if limit is not None else estimated}
    return gas if used is None else gas | {"used": used}


def _executed(subject: Transaction, chain: "ChainState", given: int | None, *, intact: bool) -> tuple[int, int]:
    """Execute a call or transaction on the chain's state; return the gas limit and the gas used, as in a receipt [gas].

    If no gas limit is given, the gas limit is estimated with Besu's search, or with every inner call intact.
    """
    from feemodel.execution._clients import node_named
    from feemodel.execution._engines import engine_named
    from feemodel.execution._estimate import gas_estimate
    from feemodel.execution._failures import failure
    from feemodel.execution._search import TOLERANCE

    call = subject if subject.type is None else as_call(subject)
    engine = engine_named("auto")
    prepared = node_named("intact" if intact else "besu").prepare(
        call, chain.call_state, tolerance=TOLERANCE, limits=engine.limits
    )
    limit = gas_estimate(prepared, engine).gas_limit if given is None else given
    outcome = engine.execute(prepared.call_state, prepared.message, limit)
    if not outcome.succeeded:
        raise failure(outcome, limit, estimating=True)
    return limit, outcome.charged
