"""`feemodel report`: price every transaction and function of a project on every chain, and check a limit on fees."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from feemodel.cli import UsageError
from feemodel.cli.compare import Chains, folded, l1_sentence, with_columns
from feemodel.cli.output import TABLES, Answer, Table
from feemodel.cli.parameters import FLAT, L1Fees, Sizing, flag, one_of, real, text, whole
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI, to_hex, to_quantity
from feemodel.ethereum._transaction import Transaction, fill
from feemodel.io.reports import STATISTICS

if TYPE_CHECKING:
    from feemodel.io.reports import Use
    from feemodel.rollups.tables import Payment

WITHIN_0_1 = "expected a number from 0 to 1"


class Line(NamedTuple):
    """Fee of a transaction or function of the project under one rule."""

    use: "Use"
    payment: "Payment"
    usd: float | None  #: fee [USD]; `None` if the price of ETH or of the chain's token is not known
    is_above: bool  #: whether the fee is above `--max-wei` or `--max-usd`


class Limits(NamedTuple):
    """Limits on a fee, and the price of ETH."""

    eth_usd: float | None
    usd: float | None
    wei: int | None


@verb(out=TABLES)
def command(
    paths: Annotated[list[str], text("broadcast, gas report, or folder of a project", "PATH")],
    /,
    *,
    chains: Annotated[Chains, FLAT] = Chains(),
    quantile: Annotated[float, real("quantile of the L1 fees of the day or month")] = 0.5,
    l1: Annotated[L1Fees, FLAT] = L1Fees(),
    gas: Annotated[str, one_of("statistic of the gas of a function's calls", STATISTICS)] = "median",
    artifacts: Annotated[str | None, text("compiled contracts (default: out or artifacts next to PATH)", "FOLDER")]
    = None,
    eth_usd: Annotated[float | None, real("price of ETH", "USD", above=0)] = None,
    max_usd: Annotated[float | None, real("exit with 1 if a fee is above this limit", "USD", least=0)] = None,
    max_wei: Annotated[int | None, whole("exit with 1 if a fee is above this limit", "wei of ETH")] = None,
    markdown: Annotated[bool, flag("print Markdown, for a pull request")] = False,
    sizing: Annotated[Sizing, FLAT] = Sizing(),
    as_json: bool = False,
) -> Answer:  # fmt: skip
    """Price a project's transactions and functions on every chain, with an optional limit for CI.

    PATH is a broadcast of Foundry (broadcast/**/run-latest.json), the output of `forge test --gas-report --json`, the
    JSON file of hardhat-gas-reporter, or the folder of a Foundry project, of which the latest broadcasts are read.
    Functions of a gas report are priced with example arguments, deployments with the init code of the artifacts.
    """
    from feemodel.io.reports import read_project
    from feemodel.rollups.tables import MEASURED, payments

    limits = Limits(eth_usd, max_usd, max_wei)
    if not 0 <= quantile <= 1:
        raise InvalidInput("quantile", WITHIN_0_1, quantile)
    if max_usd is not None and eth_usd is None:
        raise UsageError("--eth-usd: required with --max-usd")
    if markdown and as_json:
        raise InvalidInput("markdown", "expected either --markdown or --json", "both")
    rules, without = chains.read()
    rules = with_columns(rules, MEASURED, without)
    if not rules:
        reason = "expected at least one rule that needs only the sizes and the gas of transactions"
        raise InvalidInput("only", reason, chains.only)
    read = [read_project(path, statistic=gas, artifacts=artifacts) for path in paths]
    uses = [use for one in read for use in one.uses]
    said = [text for one in read for text in one.said]
    if any(use.kind == "function" for use in uses):
        said.append("assumed: example arguments of the functions; a broadcast has the real ones")
    if any(use.kind == "deployment" for use in uses):
        said.append("assumed: deployments without constructor arguments")
    base_fee, blob_base_fee, dated = l1.read(chains.at, quantile)
    paid = []
    if uses:
        paid = payments(
            [transaction_of(use) for use in uses], rules, gas=[use.gas_used for use in uses],
            senders=[use.call.sender or bytes(20) for use in uses], base_fee=base_fee, blob_base_fee=blob_base_fee,
            pubdata=chains.pubdata, linea_codec=sizing.read(),
        )  # fmt: skip
    lines = [_line(use, one, limits) for use, each in zip(uses, paid, strict=True) for one in each]
    if max_wei is not None or max_usd is not None:
        unpriced = dict.fromkeys(line.payment.rule for line in lines if line.payment.total_eth is None)
        said += [f"not limited: {name}, the price of its token in ETH is not known" for name in unpriced]
    above = sum(line.is_above for line in lines)
    data = {
        "l1BaseFeeWei": base_fee, "blobBaseFeeWei": blob_base_fee, "l1Fees": dated,
        "uses": [
            {"kind": use.kind, "name": use.name, "gasUsed": use.gas_used, "source": use.source,
             "transaction": _sent(use),
             "fees": [line.payment._asdict() | {"usd": line.usd, "above": line.is_above}
                      for line in lines if line.use is use]}
            for use in uses
        ],
        "without": {name: str(why) for name, why in without.items()}, "said": said,
    }  # fmt: skip
    notes = [l1_sentence(base_fee, blob_base_fee, dated), *folded(without), *said]
    if above:
        notes.append(f"{above:,} of {len(lines):,} fees are above the limit.")
    file = [
        {"use": one.use.name, "gas_used": one.use.gas_used, **one.payment._asdict(), "usd": one.usd} for one in lines
    ]
    code = 1 if above else 0
    columns = ["rule", "L1 part", "L2 part", "total"] + ["USD"] * (eth_usd is not None) + ["limit"]
    tables = [
        Table(f"{use.name}, {use.gas_used:,} gas; fees in gwei", columns,
              [_cells(one, len(columns)) for one in lines if one.use is use])
        for use in uses
    ]  # fmt: skip
    if markdown:
        _print_markdown(tables, notes)
        return Answer(data, file=file, code=code)
    return Answer(data, tables, notes, file=file, code=code)


def transaction_of(use: "Use") -> Transaction:
    """Return the transaction with a placeholder signature."""
    filled = fill(use.call, gas=use.gas_limit, chain_id=use.chain_id, set_code=True)
    return filled.with_placeholder_signature()


def _line(use: "Use", payment: "Payment", limits: Limits) -> Line:
    wei = payment.total_eth
    usd = None if wei is None or limits.eth_usd is None else wei / WEI_PER_ETH * limits.eth_usd
    is_above = (limits.wei is not None and wei is not None and wei > limits.wei) or (
        limits.usd is not None and usd is not None and usd > limits.usd
    )
    return Line(use, payment, usd, is_above)


def _cells(line: Line, count: int) -> tuple[str, ...]:
    paid = line.payment
    fees = (f"{fee / WEI_PER_GWEI:,.3f}" for fee in (paid.l1_fee, paid.l2_fee, paid.total))
    usd = () if count == 5 else ("" if line.usd is None else f"{line.usd:,.6f}",)
    name = paid.rule if paid.token == "ETH" else f"{paid.rule} [{paid.token}]"
    return name, *fees, *usd, "above" if line.is_above else ""


def _print_markdown(tables: Sequence[Table], notes: Sequence[str]) -> None:
    print("### Fees of this project on rollups\n")
    for table in tables:
        print(f"{table.title}\n\n|{'|'.join(table.columns)}|\n|---{'|---:' * (len(table.columns) - 1)}|")
        for row in table.rows:
            cells = [cell.replace("|", "\\|") for cell in row]
            print(f"|{'|'.join(cells)}|")
        print()
    print(*(f"- {note}" for note in notes), sep="\n")


def _sent(use: "Use") -> dict[str, Any]:
    """Return the transaction with the field names of JSON-RPC, as `feemodel compare` reads it from a file."""
    one = transaction_of(use)
    found: dict[str, Any] = {
        "type": to_quantity(one.type), "chainId": to_quantity(use.chain_id), "nonce": to_quantity(one.nonce),
        "from": to_hex(use.call.sender or bytes(20)), "to": None if one.to is None else to_hex(one.to),
        "value": to_quantity(one.value), "input": to_hex(one.data), "gas": to_quantity(use.gas_limit),
        "gasUsed": to_quantity(use.gas_used),
    }  # fmt: skip
    if one.max_fee or one.max_priority_fee:
        found |= {"maxFeePerGas": to_quantity(one.max_fee), "maxPriorityFeePerGas": to_quantity(one.max_priority_fee)}
    else:
        found["gasPrice"] = to_quantity(one.gas_price)
    if one.access_list:
        found["accessList"] = [
            {"address": to_hex(address), "storageKeys": [to_hex(key) for key in keys]}
            for address, keys in one.access_list
        ]
    return found
