"""`feemodel report`: price every transaction and function of a project on every chain, and check a limit on fees."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from feemodel.cli import UsageError
from feemodel.cli.compare import Chains, fee_cells, folded, l1_sentence, with_columns
from feemodel.cli.output import TABLES, Answer, Table
from feemodel.cli.parameters import FLAT, L1Fees, Sizing, flag, one_of, real, text, whole
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_ETH, to_hex, to_quantity
from feemodel.ethereum._transaction import SET_CODE
from feemodel.io.reports import STATISTICS, Use, read_project

if TYPE_CHECKING:
    from feemodel.rollups.tables import ComparisonRow


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
    from feemodel.rollups.tables import MEASURED, comparison, measured_sizes

    if not 0 <= quantile <= 1:
        raise InvalidInput("quantile", "expected a number from 0 to 1", quantile)
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
        sent, used = [use.transaction for use in uses], [use.gas_used for use in uses]
        sizes = measured_sizes(sent, gas=used, pubdata=chains.pubdata, linea_codec=sizing.read())
    for place, use in enumerate(uses):
        row = {name: column[place : place + 1] for name, column in sizes.items()}
        carrying = [one for one in rules if use.transaction.type != SET_CODE or one.no_set_code is None]
        paid.append(comparison(row, base_fee=base_fee, blob_base_fee=blob_base_fee, rules=carrying) if carrying else [])

    def fee(payment: "ComparisonRow") -> dict[str, Any]:
        """Return a fee with its amount in USD, and whether it is above a limit."""
        usd = None if payment.total_eth is None or eth_usd is None else payment.total_eth / WEI_PER_ETH * eth_usd
        limits = ((payment.total_eth, max_wei), (usd, max_usd))
        above = any(amount is not None and limit is not None and amount > limit for amount, limit in limits)
        return payment._asdict() | {"usd": usd, "above": above}

    fees = [[fee(one) for one in each] for each in paid]
    rows = [row for each in fees for row in each]
    if max_wei is not None or max_usd is not None:
        unpriced = dict.fromkeys(row["rule"] for row in rows if row["total_eth"] is None)
        said += [f"not limited: {name}, the price of its token in ETH is not known" for name in unpriced]
    above = sum(row["above"] for row in rows)
    data = {
        "l1BaseFeeWei": base_fee, "blobBaseFeeWei": blob_base_fee, "l1Fees": dated,
        "uses": [
            {"kind": use.kind, "name": use.name, "gasUsed": use.gas_used, "source": use.source,
             "transaction": _sent(use), "fees": each}
            for use, each in zip(uses, fees, strict=True)
        ],
        "without": {name: str(why) for name, why in without.items()}, "said": said,
    }  # fmt: skip
    notes = [l1_sentence(base_fee, blob_base_fee, dated), *folded(without), *said]
    if above:
        notes.append(f"{above:,} of {len(rows):,} fees are above the limit.")
    file = [
        {"use": use.name, "gas_used": use.gas_used, **row} for use, each in zip(uses, fees, strict=True) for row in each
    ]
    columns = ["rule", "total", "L1 part", "L2 part", *["USD"] * (eth_usd is not None), "limit"]
    tables = []
    for use, each, of_use in zip(uses, paid, fees, strict=True):
        cells = []
        for one, row in zip(each, of_use, strict=True):
            usd = "" if row["usd"] is None else f"{row['usd']:,.6f}"
            cells.append([*fee_cells(one), *[usd] * (eth_usd is not None), "above" if row["above"] else ""])
        tables.append(Table(f"{use.name}, {use.gas_used:,} gas; fees in gwei", columns, cells))
    if markdown:
        _print_markdown(tables, notes)
        tables, notes = [], []
    return Answer(data, tables, notes, file=file, code=1 if above else 0)


def _print_markdown(tables: Sequence[Table], notes: Sequence[str]) -> None:
    print("### Fees of this project on rollups\n")
    for table in tables:
        print(f"{table.title}\n\n|{'|'.join(table.columns)}|\n|---{'|---:' * (len(table.columns) - 1)}|")
        for row in table.rows:
            cells = [cell.replace("|", "\\|") for cell in row]
            print(f"|{'|'.join(cells)}|")
        print()
    print(*(f"- {note}" for note in notes), sep="\n")


def _sent(use: Use) -> dict[str, Any]:
    """Return the transaction with the field names of JSON-RPC, as `feemodel compare` reads it from a file."""
    one = use.transaction
    fields: dict[str, Any] = {
        "type": one.type, "chainId": one.chain_id, "nonce": one.nonce, "from": one.sender(), "value": one.value,
        "input": one.data, "gas": one.gas_limit, "gasUsed": use.gas_used,
    }  # fmt: skip
    if one.max_fee or one.max_priority_fee:
        fields |= {"maxFeePerGas": one.max_fee, "maxPriorityFeePerGas": one.max_priority_fee}
    else:
        fields["gasPrice"] = one.gas_price
    accesses = [
        {"address": to_hex(address), "storageKeys": [to_hex(key) for key in keys]}
        for address, keys in one.access_list or ()
    ]
    found: dict[str, Any] = {"to": None if one.to is None else to_hex(one.to)}
    for name, value in fields.items():
        if value is not None:
            found[name] = to_hex(value) if isinstance(value, bytes) else to_quantity(value)
    return found | ({"accessList": accesses} if accesses else {})
