"""`feemodel report`: price every transaction and function of a project on every chain, and check a limit on fees."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from feemodel.cli._compare import add_chains, compared_l1_fees, compared_rules
from feemodel.cli._options import (
    MissingOption,
    above_0,
    add_codec,
    add_l1_fees,
    number,
    read_codec,
    whole_from_0,
)
from feemodel.cli._output import print_json, print_table
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI, to_hex, to_quantity
from feemodel.ethereum._transaction import Transaction, fill

if TYPE_CHECKING:
    from feemodel.io._gas_reports import Use
    from feemodel.rollups._report import Payment
    from feemodel.rollups.factors import Rule

STATISTICS = ("min", "mean", "median", "max")
EPILOG = """PATH is a broadcast of Foundry (broadcast/**/run-latest.json), the output of
`forge test --gas-report --json`, the JSON file of hardhat-gas-reporter, or the folder of a Foundry project, of which
the latest broadcasts are read. Functions of a gas report are priced with example arguments, and deployments with the
init code of the project's artifacts.

Exit codes: 0 success; 1 a fee is above --max-usd or --max-wei; 2 invalid input; 3 a file cannot be read; 70 unexpected
error."""


class Line(NamedTuple):
    """Fee of a transaction or function of the project under one rule."""

    use: "Use"
    payment: "Payment"
    usd: float | None  #: fee [USD]; `None` if the price of ETH or of the chain's token is not known
    is_above: bool  #: whether the fee is above `--max-wei` or `--max-usd`


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="broadcast, gas report, or folder of a project")
    parser.add_argument("--only", metavar="NAME,…", help="names of chains or rules (default: all current rules)")
    parser.add_argument(
        "--at",
        metavar="DATE",
        help="use the rules and L1 fees of this day (default: the newest rules, and the month in the package)",
    )
    parser.add_argument(
        "--quantile", type=number, default=0.5, metavar="Q", help="quantile of the L1 fees of the day or month"
    )
    add_l1_fees(parser, "(default: the quantile)")
    parser.add_argument(
        "--gas", default="median", choices=STATISTICS, help="statistic of the gas of a function's calls"
    )
    parser.add_argument(
        "--artifacts", metavar="FOLDER", help="folder of compiled contracts (default: out or artifacts next to PATH)"
    )
    parser.add_argument(
        "--eth-usd", type=above_0, metavar="PRICE", help="price of ETH in USD, for --max-usd and fees in USD"
    )
    parser.add_argument("--max-usd", type=number, metavar="USD", help="exit with 1 if a fee is above this limit")
    parser.add_argument(
        "--max-wei", type=whole_from_0, metavar="WEI", help="exit with 1 if a fee is above this limit, in wei of ETH"
    )
    parser.add_argument("--markdown", action="store_true", help="print Markdown, for a pull request")
    add_chains(parser)
    add_codec(parser)
    parser.epilog = EPILOG


def run(options: argparse.Namespace) -> int:
    from feemodel.io._gas_reports import read_project
    from feemodel.rollups._report import payments
    from feemodel.rollups.tables import MEASURED

    _check(options)
    rules, without = compared_rules(options)
    missing = {one.name: [column for column in one.columns if column not in MEASURED] for one in rules}
    without |= {name: f"the rule needs {' and '.join(columns)}" for name, columns in missing.items() if columns}
    rules = [one for one in rules if not missing[one.name]]
    if not rules:
        raise InvalidInput(
            "--only", "expected at least one rule that needs only the sizes and the gas of transactions", options.only
        )
    read = [read_project(path, statistic=options.gas, artifacts=options.artifacts) for path in options.paths]
    uses = [use for one in read for use in one.uses]
    said = [text for one in read for text in one.said]
    if any(use.kind == "function" for use in uses):
        said.append("assumed: example arguments of the functions; a broadcast has the real ones")
    if any(use.kind == "deployment" for use in uses):
        said.append("assumed: deployments without constructor arguments")
    base_fee, blob_base_fee = compared_l1_fees(options, options.quantile)
    paid = []
    if uses:
        paid = payments(
            [transaction_of(use) for use in uses], rules, gas=[use.gas_used for use in uses],
            senders=[use.call.sender or bytes(20) for use in uses], base_fee=base_fee, blob_base_fee=blob_base_fee,
            pubdata=options.pubdata, linea_codec=read_codec(options),
        )  # fmt: skip
    lines = [_line(use, one, options) for use, each in zip(uses, paid, strict=True) for one in each]
    said += _without_a_price(lines, rules, options)
    above = [line for line in lines if line.is_above]
    if options.json:
        _print_json(uses, lines, base_fee, blob_base_fee, {name: str(why) for name, why in without.items()}, said)
    else:
        title = f"{len(uses):,} uses; L1 base fee {base_fee / WEI_PER_GWEI:g}, blob base fee "
        title += f"{blob_base_fee / WEI_PER_GWEI:g}; fees in gwei of the chain's token"
        (_print_markdown if options.markdown else _print_lines)(title, lines)
        for name, reason in without.items():
            print(f"- without {name}: {reason}" if options.markdown else f"Without {name}: {reason}")
        for text in said:
            print(f"- {text}" if options.markdown else text)
        if above:
            print(f"{len(above):,} of {len(lines):,} fees are above the limit.")
    return 1 if above else 0


def transaction_of(use: "Use") -> Transaction:
    """Return the transaction with a placeholder signature."""
    filled = fill(use.call, gas=use.gas_limit, chain_id=use.chain_id, set_code=True)
    return filled.with_placeholder_signature()


def _check(options: argparse.Namespace) -> None:
    if not 0 <= options.quantile <= 1:
        raise InvalidInput("--quantile", "expected a number from 0 to 1", options.quantile)
    if options.max_usd is not None and options.max_usd < 0:
        raise InvalidInput("--max-usd", "expected a number of at least 0", options.max_usd)
    if options.max_usd is not None and options.eth_usd is None:
        raise MissingOption("--eth-usd", "required with --max-usd")
    if options.markdown and options.json:
        raise InvalidInput("--markdown", "expected either --markdown or --json", "both")


def _line(use: "Use", payment: "Payment", options: argparse.Namespace) -> Line:
    wei = payment.total_eth
    usd = None if wei is None or options.eth_usd is None else wei / WEI_PER_ETH * options.eth_usd
    is_above = (options.max_wei is not None and wei is not None and wei > options.max_wei) or (
        options.max_usd is not None and usd is not None and usd > options.max_usd
    )
    return Line(use, payment, usd, is_above)


def _without_a_price(lines: Sequence[Line], rules: "Sequence[Rule]", options: argparse.Namespace) -> list[str]:
    """Return a note for each chain whose fees cannot be compared with a limit in ETH or USD."""
    if options.max_wei is None and options.max_usd is None:
        return []
    unpriced = dict.fromkeys(line.payment.rule for line in lines if line.payment.total_eth is None)
    tokens = {one.name: one.token for one in rules}
    return [f"not limited: {name}, the price of {tokens[name]} in ETH is not known" for name in unpriced]


def _cells(line: Line, before: Line | None) -> tuple[str, ...]:
    """Return the cells of one row. The name and the gas of a transaction are shown only in its first row."""
    is_new = before is None or before.use is not line.use
    paid = line.payment
    return (
        line.use.name if is_new else "", f"{line.use.gas_used:,}" if is_new else "", paid.rule, paid.token,
        *(f"{fee / WEI_PER_GWEI:,.3f}" for fee in (paid.l1_fee, paid.l2_fee, paid.total)),
        "" if line.usd is None else f"{line.usd:,.6f}", "above" if line.is_above else "",
    )  # fmt: skip


COLUMNS = ("", "gas", "rule", "token", "data fee (L1 part)", "execution fee (L2 part)", "total", "USD", "limit")


def _rows(lines: Sequence[Line]) -> list[tuple[str, ...]]:
    return [_cells(line, before) for line, before in zip(lines, (None, *lines), strict=False)]


def _print_lines(title: str, lines: Sequence[Line]) -> None:
    print_table(title, COLUMNS, _rows(lines))


def _print_markdown(title: str, lines: Sequence[Line]) -> None:
    print(f"### Fees of this project on rollups\n\n{title}\n")
    print(f"|{'|'.join(COLUMNS)}|\n|---|---:|---|---|---:|---:|---:|---:|---|")
    for row in _rows(lines):
        cells = [cell.replace("|", "\\|") for cell in row]
        print(f"|{'|'.join(cells)}|")
    print()


def _print_json(
    uses: "Sequence[Use]", lines: Sequence[Line], base_fee: int, blob_base_fee: int, without: dict[str, str],
    said: list[str],
) -> None:  # fmt: skip
    def fees(use: "Use") -> list[dict[str, Any]]:
        return [line.payment._asdict() | {"usd": line.usd, "above": line.is_above} for line in lines if line.use is use]

    print_json({
        "l1BaseFee": base_fee,
        "blobBaseFee": blob_base_fee,
        "uses": [
            {"kind": use.kind, "name": use.name, "gasUsed": use.gas_used, "source": use.source,
             "transaction": _sent(use), "fees": fees(use)}
            for use in uses
        ],
        "without": without,
        "said": said,
    })  # fmt: skip


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
