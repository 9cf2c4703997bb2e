"""`feemodel compare`: price the same transaction, call or file of transactions with the fee rule of every rollup."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feemodel.cli._options import (
    add_codec,
    add_l1_fees,
    count,
    given_parameters,
    read_codec,
    whole_from_0,
    whole_numbers,
)
from feemodel.cli._output import add_out, checked_out, print_json, print_table
from feemodel.cli._subjects import add_transaction_file, estimated_gas, read_subject, read_transaction_file
from feemodel.errors import InvalidInput, UnknownParameter
from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.ethereum._transaction import SET_CODE, Transaction, check_no_blobs, fill

if TYPE_CHECKING:
    from feemodel.rollups.factors import Rule
    from feemodel.rollups.tables import ComparisonRow


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("subject", help="a signed transaction (0x…), a call ({…}), or a file of transactions")
    add_transaction_file(parser)
    parser.add_argument(
        "--gas", type=count, help="gas used by each transaction (default: the column of the file, or the gas limit)"
    )
    add_l1_fees(parser, "(default: median of the month in the package, or of the day --at)")
    parser.add_argument(
        "--only", metavar="NAME,…", help="names of rules, or `all` for every upgrade (default: the current rules)"
    )
    parser.add_argument(
        "--starknet-gas", metavar="DATA,L2", help="L1 data gas and L2 gas of the transaction's action on Starknet"
    )
    add_chains(parser)
    parser.add_argument(
        "--at", metavar="DATE", help="use the rules of this day, such as 2024-06-14 (default: the newest rules)"
    )
    parser.add_argument(
        "--reference", metavar="RULE", help="rule in the denominator of the ratio (default: linea, or the first rule)"
    )
    add_out(parser, "FILE", "draw the table: .png, .svg or .pdf")
    add_codec(parser)


def add_chains(parser: argparse.ArgumentParser) -> None:
    """Add the options for the chains that are compared, and for their parameters."""
    from feemodel.rollups.rules import PUBDATA

    parser.add_argument("--chains", metavar="FOLDER", help="also use the chains of a folder of TOML files")
    parser.add_argument(
        "--set", metavar="CHAIN.PARAMETER=VALUE", action="append", default=[],
        help="set a parameter; may be repeated",
    )  # fmt: skip
    text = "assumed number of bytes of pubdata on ZKsync"
    parser.add_argument("--pubdata", type=whole_from_0, default=PUBDATA, help=text)


def run(options: argparse.Namespace) -> int:
    import numpy as np

    from feemodel.rollups.tables import comparison, measured_sizes

    out = checked_out(options, (".png", ".svg", ".pdf"))
    rules, without = compared_rules(options)
    carried = [one for one in rules if one.no_set_code is None]
    transactions, gas, senders, said = _transactions(options, set_code=carried == rules)
    if options.only is None and carried and any(one.type == SET_CODE for one in transactions):
        without |= {one.name: one.no_set_code for one in rules if one.no_set_code is not None}
        rules = carried
    said += [f"{one.name}: {remark}" for one in rules for remark in one.remarks]
    table = measured_sizes(
        transactions, gas=gas, senders=senders, pubdata=options.pubdata, linea_codec=read_codec(options)
    )
    if options.starknet_gas is not None:
        table |= {name: np.full(len(transactions), gas) for name, gas in _starknet_gas(options.starknet_gas).items()}
    missing = {one.name: [column for column in one.columns if column not in table] for one in rules}
    if options.only is None:
        without |= {name: f"the rule needs {' and '.join(columns)}" for name, columns in missing.items() if columns}
        rules = [one for one in rules if not missing[one.name]]
    base_fee, blob_base_fee = compared_l1_fees(options)
    rows = comparison(table, base_fee=base_fee, blob_base_fee=blob_base_fee, rules=rules, reference=options.reference)
    answer = {
        **({} if options.at is None else {"at": options.at}),
        **({} if options.at is None and not without else {"without": {n: str(why) for n, why in without.items()}}),
        "transactions": len(transactions),
        "gas": int(table["gas"].sum()),
        "signedBytes": int(table["length"].sum()),
        "l1BaseFee": base_fee,
        "blobBaseFee": blob_base_fee,
        "rules": [row._asdict() | row.in_parts._asdict() for row in rows],
        "said": said,
    }
    if out is not None:
        _draw(out, rows, answer)
    if options.json:
        print_json(answer)
        return 0
    title = (
        f"Transactions: {answer['transactions']:,}, {answer['signedBytes']:,} bytes, {answer['gas']:,} gas; "
        f"L1 base fee {base_fee / WEI_PER_GWEI:g}, blob base fee {blob_base_fee / WEI_PER_GWEI:g}; all fees in gwei"
    )
    cells = [
        (row.rule, row.token,
         *(f"{fee / WEI_PER_GWEI:,.3f}" for fee in (row.l1_fee, row.l2_fee, row.total)),
         "" if row.total_eth is None else f"{row.total_eth / WEI_PER_GWEI:,.3f}",
         f"{row.per_byte / WEI_PER_GWEI:,.3f}", "" if row.ratio is None else f"{row.ratio:.3f}×")
        for row in rows
    ]  # fmt: skip
    unknown = {name: why for name, why in without.items() if isinstance(why, UnknownParameter)}
    cells += [(name, "", f"unknown since {why.since[:10]}", *[""] * 5) for name, why in unknown.items()]
    names = [rule.name for rule in rules]
    of = options.reference or ("linea" if "linea" in names else names[0])
    columns = ("rule", "token", "data fee (L1 part)", "execution fee (L2 part)", "total", "total in ETH", "per byte",
               f"of {of}")  # fmt: skip
    print_table(title, columns, cells, right_from=2)
    if unknown:
        print("`feemodel chains NAME` shows the known parameters; --set CHAIN.PARAMETER=VALUE sets an unknown one.")
    for name, reason in without.items():
        if name not in unknown:
            print(f"Without {name}: {reason}")
    for text in said:
        print(text)
    return 0


def compared_rules(options: argparse.Namespace) -> "tuple[list[Rule], dict[str, InvalidInput | str]]":
    """Return the rules to compare, and the reasons why other rules are left out."""
    from feemodel.rollups._chain_files import read_chains
    from feemodel.rollups.chains import CHAINS
    from feemodel.rollups.rules import all_rules, rule, rules_at

    own = {} if options.chains is None else read_chains(options.chains)
    given = given_by_chain(options.set)
    if options.only is None:
        found, without = rules_at(options.at, chains={**CHAINS, **own}, parameters=given)
        return list(found), dict(without)
    names = options.only.split(",")
    for chain in given:
        if chain not in names:
            raise InvalidInput("--set", "expected a parameter of a chain that is compared", f"{chain}.…")
    if options.only == "all" and options.at is None:
        return list(all_rules().values()), {}
    chosen = [rule(own.get(one, one), at=options.at, parameters=given.get(one, {})) for one in names]
    return chosen, {}


def given_by_chain(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Parse texts of the form `CHAIN.PARAMETER=VALUE`; return the parameters by chain.

    >>> given_by_chain(["mode.base_fee_scalar=20000"])
    {'mode': {'base_fee_scalar': 20000}}
    """
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        chain, dot, rest = text.partition(".")
        if not dot:
            raise InvalidInput("--set", "expected CHAIN.PARAMETER=VALUE, such as mode.base_fee_scalar=20000", text)
        found.setdefault(chain, {}).update(given_parameters([rest]))
    return found


def _starknet_gas(text: str) -> dict[str, int]:
    """Return two numbers from the command line as the inputs of Starknet's rule."""
    amounts = whole_numbers("--starknet-gas", text, "256,1100000")
    if len(amounts) != 2:
        raise InvalidInput("--starknet-gas", "expected two numbers such as 256,1100000", text)
    return {"l1_data_gas": amounts[0], "l2_gas": amounts[1]}


def _transactions(
    options: argparse.Namespace, *, set_code: bool
) -> tuple[list[Transaction], list[int] | None, list[bytes] | None, list[str]]:
    """Return the transactions, the gas used, the senders and notes on assumptions; `None` for unknown gas or senders.

    Transactions of type 4 in a file are included only with `set_code`, that is, if every rule has a price for them.
    """
    if options.subject != "-" and not options.subject.strip().startswith(("0x", "{")):
        return _file(options, set_code)
    subject = read_subject(options.subject)
    gas = estimated_gas(subject, options.gas)
    if isinstance(subject, Transaction):
        return [subject], [gas], None, []
    # Calls have no signature, so use a placeholder of the length of a signature, as nodes do for estimates.
    check_no_blobs(subject)
    signed = fill(subject, gas=gas, chain_id=options.chain_id, set_code=True).with_placeholder_signature()
    return [signed], [gas], [subject.sender or bytes(20)], []


def _file(
    options: argparse.Namespace, set_code: bool
) -> tuple[list[Transaction], list[int] | None, list[bytes] | None, list[str]]:
    read = read_transaction_file(options.subject, options.columns, options.chain_id, set_code=set_code)
    read = read if options.gas is not None else read.with_gas_used()
    transactions, said = [one.signed() for one in read.sent], list(read.said)
    if bare := sum(one.transaction.signature is None for one in read.sent):
        said.append(f"assumed: placeholder signatures of {bare:,} transactions")
    gas = [options.gas] * len(transactions) if options.gas is not None else read.gas_used()
    if gas is None:
        said.append("assumed: gas limits in place of gas used")
    senders = [one.sender for one in read.sent if one.sender is not None]
    return transactions, gas, senders if len(senders) == len(transactions) else None, said


def compared_l1_fees(options: argparse.Namespace, quantile: float = 0.5) -> tuple[int, int]:
    """Return the L1 base fee and blob base fee that the options give [wei / gas].

    If a fee is not given, the function takes the `quantile` of this fee over the day `--at`, or without `--at` over the
    month of L1 fees in the package.
    """
    from feemodel.io.shipped import day_l1_fees, month_l1_fees
    from feemodel.rollups.chains import timestamp

    given = options.l1_base_fee, options.blob_base_fee
    if None not in given:
        return given
    if options.at is None:
        found = month_l1_fees(quantile)
    else:
        found = day_l1_fees("--at", timestamp("at", options.at), quantile)
    base_fee, blob_base_fee = (m if fee is None else fee for fee, m in zip(given, found, strict=True))
    return base_fee, blob_base_fee


def _draw(path: Path, rows: Any, answer: dict[str, Any]) -> None:
    from matplotlib.figure import Figure

    from feemodel.plots._figures import plot_comparison

    figure = Figure(figsize=(9, 1.2 + 0.38 * len(rows)), layout="constrained")
    ax = figure.subplots()
    plot_comparison([_in_eth(row) for row in rows if row.total_eth is not None], ax)
    ax.set_title(
        f"Transactions: {answer['transactions']:,}, at an L1 base fee of {answer['l1BaseFee'] / WEI_PER_GWEI:g} gwei, "
        f"blob base fee {answer['blobBaseFee'] / WEI_PER_GWEI:g} gwei",
        fontsize=10,
    )
    figure.savefig(path, dpi=120)


def _in_eth(row: "ComparisonRow") -> tuple[str, float, float]:
    """Return the name of the rule, and the L1 and L2 parts of the fee in wei of ETH."""
    share = (row.total_eth or 0) / row.total if row.total else 0
    return row.rule, row.l1_fee * share, row.l2_fee * share
