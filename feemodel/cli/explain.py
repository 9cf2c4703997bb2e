"""`feemodel explain`: show the parts of a fee and the checks of a node for a transaction or a call."""

from typing import Annotated

from feemodel.cli.fee import part_rows
from feemodel.cli.output import TABLES, Answer, Table, in_eth
from feemodel.cli.parameters import FLAT, Gas, Pricing, Sizing, Subject, flag, whole
from feemodel.cli.subjects import estimated_gas, read_subject
from feemodel.cli.verb import verb
from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.linea._explanation import explain
from feemodel.linea._node import node_checks

CHECKED = ("stage", "outcome", "margin", "gas", "requiredPricePerGas")  # fields of a check in the table


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
    checked = [{name: row[name] for name in CHECKED} for row in answer["stages"]]
    amount = ", ".join(f"{amount:,} {kind}" for kind, amount in amounts.items())
    title = (
        f"{answer['subject']} of {answer['measuredBytes']:,} bytes ({answer['form']}), {answer['compressedSize']:,} "
        f"by {answer['codec']}; gas: {amount}; {form.name}, margin {answer['margin']:g}"
    )
    total, offered = answer["totalWei"], answer["offeredPricePerGas"]
    asked = "At the suggested fee" if offered is None else f"At the offered {offered / WEI_PER_GWEI:.9g} gwei per gas"
    tables = [
        Table(title, part_rows(answer["feePerGas"], estimated)),
        Table("What a wallet would set [wei per gas]", answer["wallets"]),
        Table(asked, checked),
    ]
    notes = [
        f"Total: {total:,} wei, {in_eth(total)}.",
        "RIP-7759, in wei: execution fee {executionFee:,} (base, fixed), data fee {dataFee:,} (size), priority fee "
        "{priorityFee:,}.".format(**answer["transactionFee"]),
    ]
    if gas_used is None:
        notes.append("The check after execution needs --gas-used.")
    refused = not all(stage["accepted"] for stage in answer["stages"])
    return Answer(answer, tables, notes, code=1 if check and refused else 0)
