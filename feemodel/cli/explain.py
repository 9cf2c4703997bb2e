"""`feemodel explain`: show the parts of a fee and the checks of a node for a transaction or a call."""

from typing import TYPE_CHECKING, Annotated, Any

from feemodel.cli.fee import part_rows
from feemodel.cli.output import TABLES, Answer, Table, in_eth
from feemodel.cli.parameters import FLAT, Gas, Genesis, Pricing, Sizing, Subject, flag
from feemodel.cli.subjects import estimated_gas, read_subject
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_GWEI, to_hex
from feemodel.ethereum._transaction import LINEA_CHAIN_ID, ZERO_ADDRESS, Transaction
from feemodel.linea._explanation import explain
from feemodel.linea._node import node_checks
from feemodel.quantities import MEANINGS

if TYPE_CHECKING:
    from feemodel.execution import CallState, GasEstimate

CHECKED = ("stage", "outcome", "margin", "gas", "requiredPricePerGas")  # fields of a check in the table


@verb(out=TABLES)
def command(
    subject: Subject,
    /,
    *,
    gas: Gas | None = None,
    genesis: Genesis = None,
    intact: Annotated[bool, flag(MEANINGS["intact"])] = False,
    sizing: Annotated[Sizing, FLAT] = Sizing(),
    pricing: Annotated[Pricing, FLAT] = Pricing(),
) -> Answer:
    """A call without gas is executed as rollup_estimateGas does, on the development chain or on --genesis FILE."""
    preset, form = pricing.read()
    codec, one = sizing.read(), read_subject(subject)
    if intact and gas is not None:
        raise InvalidInput("gas", "expected none with --intact, which searches for the gas", gas)
    executed = None if gas is not None else _executed(one, genesis, intact=intact)
    estimated = estimated_gas(one, gas) if executed is None else executed[1].gas_limit
    amounts = {"estimated": estimated, "limit": estimated if one.gas_limit is None else one.gas_limit}
    execution, nonce, chain_id, said = dict[str, Any](), 0, LINEA_CHAIN_ID, list[str]()
    if executed is not None:
        state, found = executed
        amounts["used"] = found.gas_used
        nonce, chain_id = state.account(one.from_address or ZERO_ADDRESS).nonce, state.chain_id
        execution, said = _execution(one, state, found)
    answer = execution | explain(
        one, amounts, form=form, checks=node_checks(preset), codec=codec, packed=sizing.packed, nonce=nonce,
        chain_id=chain_id,
    )  # fmt: skip
    amount = ", ".join(f"{amount:,} {kind}" for kind, amount in amounts.items())
    title = "{subject} of {measuredBytes:,} bytes ({form}), {compressedSize:,} by {codec}; gas: ".format(**answer)
    title += f"{amount}; {form.name}, margin {answer['margin']:g}"
    total, offered = answer["totalWei"], answer["offeredPricePerGas"]
    asked = "At the suggested fee" if offered is None else f"At the offered {offered / WEI_PER_GWEI:.9g} gwei per gas"
    tables = [
        Table(title, part_rows(answer["feePerGas"], estimated)),
        Table("What a wallet would set [wei per gas]", answer["wallets"]),
        Table(asked, [{name: row[name] for name in CHECKED} for row in answer["stages"]]),
    ]
    return Answer(answer, tables, [f"Total: {total:,} wei, {in_eth(total)}.", *said])


def _executed(one: Transaction, genesis: str | None, *, intact: bool) -> "tuple[CallState, GasEstimate] | None":
    """Execute a call; return the state and the estimate. Transactions, named gas and transfers need no execution."""
    from feemodel.estimates.chain import development_genesis, genesis_chain, read_genesis_document
    from feemodel.execution import estimate_gas

    is_asked = intact or genesis is not None
    if one.type is not None and is_asked:
        raise InvalidInput("genesis" if genesis else "intact", "expected a call, not a signed transaction", one.type)
    if one.gas_limit is not None and not is_asked:
        return None
    state = genesis_chain(development_genesis() if genesis is None else read_genesis_document(genesis)).call_state
    if not (is_asked or one.data or one.to is None or state.account(one.to).code):
        return None
    return state, estimate_gas(one, state, search="intact" if intact else "besu")


def _execution(one: Transaction, state: "CallState", found: "GasEstimate") -> tuple[dict[str, Any], list[str]]:
    """Return what is known of an execution: data for JSON, and notes."""
    said = [f"Executed on chain {state.chain_id}, block {state.block.number:,}."]
    if one.data and one.to is not None and not state.account(one.to).code:
        said.append(f"There is no code at {to_hex(one.to)}.")
    if found.intact is None:
        return {}, said
    place = found.prevented_by and {**found.prevented_by._asdict(), "address": to_hex(found.prevented_by.address)}
    because = ", because of {opcode} in frame {frame}, {address}".format(**place) if place else ""
    said.append(f"Every inner call intact: {found.intact}{because}.")
    return {"intact": found.intact, "preventedBy": place}, said
