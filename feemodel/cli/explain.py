"""`feemodel explain`: show the parts of a fee and the checks of a node for a transaction or a call."""

from typing import Annotated, Any

from feemodel.cli.output import TABLES, Answer, Table, in_eth, in_gwei, shown
from feemodel.cli.parameters import FLAT, Gas, Pricing, Sizing, Subject, flag, whole
from feemodel.cli.subjects import estimated_gas, read_subject
from feemodel.cli.verb import verb
from feemodel.linea._explanation import explain
from feemodel.linea._node import node_checks


@verb(out=TABLES)
def command(
    subject: Subject,
    /,
    *,
    gas: Gas | None = None,
    gas_used: Annotated[int | None, whole("gas used, for the check after execution", "gas", minimum=1)] = None,
    check: Annotated[bool, flag("exit with 1 if a check of the node would reject the transaction")] = False,
    sizing: Annotated[Sizing, FLAT] = Sizing(),
    pricing: Annotated[Pricing, FLAT] = Pricing(),
) -> Answer:
    """Explain one transaction or call: size, gas, parts of the fee, and the checks of a node."""
    preset, form = pricing.read()
    codec, one = sizing.read(), read_subject(subject)
    estimated = estimated_gas(one, gas)
    amounts = {"estimated": estimated, "limit": estimated if one.gas_limit is None else one.gas_limit}
    if gas_used is not None:
        amounts["used"] = gas_used
    answer = explain(
        one, amounts, form=form, checks=node_checks(preset), codec=codec, packed=sizing.packed,
    )  # fmt: skip
    notes = [
        "RIP-7759, in wei: execution fee {executionFee:,} (base, fixed), data fee {dataFee:,} (size), priority fee "
        "{priorityFee:,}.".format(**answer["transactionFee"])
    ]
    if gas_used is None:
        notes.append("The check after execution needs --gas-used.")
    parts = [{"part": part, "wei_per_gas": fee, "wei": fee * estimated} for part, fee in answer["feePerGas"].items()]
    refused = not all(stage["accepted"] for stage in answer["stages"])
    return Answer(answer, _tables(answer), notes, file=parts, code=1 if check and refused else 0)


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
        f"by {answer['codec']}; gas: {gas}; {answer['pricing']}, margin {answer['margin']:g}"
    )
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
