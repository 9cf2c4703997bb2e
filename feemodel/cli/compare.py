"""Verbs that use every rollup's rule: `compare` prices a transaction, a call or a file, and `report` a project."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from feemodel.cli.output import TABLES, Answer, Table
from feemodel.cli.parameters import FLAT, Columns, Date, Gas, L1Fees, Settings, Sizing, Subject, parse_set, text, whole
from feemodel.cli.subjects import estimated_gas, is_file, read_subject, read_transaction_file
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput, UnknownParameter
from feemodel.ethereum._call import as_integer
from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.ethereum._transaction import LINEA_CHAIN_ID, SET_CODE, Transaction, check_no_blobs, fill
from feemodel.ethereum._transaction_table import known_column
from feemodel.io.files import parse_json
from feemodel.io.reports import read_project
from feemodel.progress import reporting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from feemodel.rollups.factors import Rule
    from feemodel.rollups.tables import ComparisonRow


@dataclass(frozen=True)
class Chains:
    """Chains to compare, and their parameters."""

    only: Annotated[str | None, text("names of chains or rules (default: all chains)", "NAME,…")] = None
    at: Date = None
    chains: Annotated[str | None, text("also use the chains of a folder of TOML files", "FOLDER")] = None
    set: Settings = ()  # type: ignore[assignment]

    def read(self) -> "tuple[list[Rule], dict[str, InvalidInput | str]]":
        """Return the rules to compare, and the reasons why other chains have none."""
        from feemodel.rollups._chain_files import read_chains
        from feemodel.rollups.chains import CHAINS
        from feemodel.rollups.rules import rules_at
        from feemodel.rollups.tables import MEASURED

        known = CHAINS if self.chains is None else {**CHAINS, **read_chains(self.chains)}
        given, names = parse_set(self.set), None if self.only is None else self.only.split(",")
        if names is not None and (others := given.keys() - names):
            raise InvalidInput("set", "expected a parameter of a chain that is compared", f"{min(others)}.…")
        found, errors = rules_at(self.at, only=names, chains=known, parameters=given)
        missing = {one.name: [column for column in one.columns if column not in MEASURED] for one in found}
        rules = [one for one in found if not missing[one.name]]
        if not rules:
            reason = "expected at least one rule that needs only the sizes and the gas of transactions"
            raise InvalidInput("only", reason, self.only)
        return rules, errors | {
            name: f"the rule needs {' and '.join(columns)}" for name, columns in missing.items() if columns
        }


@verb(out=TABLES, figure=True)
def command(
    subject: Subject,
    /,
    *,
    columns: Columns = (),  # type: ignore[assignment]
    gas: Gas | None = None,
    l1: Annotated[L1Fees, FLAT] = L1Fees(),
    chains: Annotated[Chains, FLAT] = Chains(),
    sizing: Annotated[Sizing, FLAT] = Sizing(),
) -> Answer:
    from feemodel.rollups.tables import MEASURED, comparison, measured_sizes

    rules, without = chains.read()
    carried = [one for one in rules if one.no_set_code is None]
    with reporting(is_file(subject), None, "measuring transactions"):
        if is_file(subject):
            transactions, used, said = _file(subject, columns, gas, set_code=carried == rules)
        else:
            one, spent = _inline(subject, gas)
            transactions, used, said = [one], [spent], []
        if chains.only is None and carried and any(one.type == SET_CODE for one in transactions):
            without |= {one.name: one.no_set_code for one in rules if one.no_set_code is not None}
            rules = carried
        needed = {"gas", "length", "transaction_type", *(column for one in rules for column in one.columns)}
        table = measured_sizes(
            transactions, gas=used, linea_codec=sizing.read(), columns=[name for name in MEASURED if name in needed]
        )
    base_fee, blob_base_fee, dated = l1.read(chains.at)
    rows = comparison(table, base_fee=base_fee, blob_base_fee=blob_base_fee, rules=rules)
    rows = sorted(rows, key=lambda row: (row.total_eth is None, row.total_eth))
    said += [f"{one.name}: {remark}" for one in rules for remark in one.remarks]
    data = {
        "transactions": len(transactions), "gas": int(table["gas"].sum()), "signedBytes": int(table["length"].sum()),
        "l1BaseFeeWei": base_fee, "blobBaseFeeWei": blob_base_fee, "rules": [row._asdict() for row in rows],
        "without": {name: str(why) for name, why in without.items()}, "said": [dated, *said],
    }  # fmt: skip
    title = "{transactions:,} transactions, {signedBytes:,} bytes, {gas:,} gas; fees in gwei".format(**data)
    reference = f"of {'linea' if 'linea' in [one.name for one in rules] else rules[0].name}"
    shown = [
        {**_fee_cells(row), "in gwei of ETH": "" if row.total_eth is None else f"{row.total_eth / WEI_PER_GWEI:,.3f}",
         reference: "" if row.ratio is None else f"{row.ratio:.3f}×"}
        for row in rows
    ]  # fmt: skip
    return Answer(
        data, [Table(title, shown)], [dated, *_folded(without), *said], file=data["rules"],
        figure=lambda figure: _draw(figure, rows, dated), size=(9, 1.2 + 0.38 * len(rows)),
    )  # fmt: skip


@verb(out=TABLES)
def report(
    paths: Annotated[list[str], text("broadcast, or folder of a project", "PATH")],
    /,
    *,
    chains: Annotated[Chains, FLAT] = Chains(),
    l1: Annotated[L1Fees, FLAT] = L1Fees(),
    max_wei: Annotated[int | None, whole("exit with 1 if a fee is above this limit", "wei of ETH")] = None,
    sizing: Annotated[Sizing, FLAT] = Sizing(),
) -> Answer:
    """PATH is a broadcast of Foundry (broadcast/**/run-latest.json), or a project's folder with its latest ones."""
    from feemodel.rollups.tables import comparison, measured_sizes

    rules, without = chains.read()
    read = [read_project(path) for path in paths]
    uses, said = [use for one in read for use in one.uses], [text for one in read for text in one.said]
    base_fee, blob_base_fee, dated = l1.read(chains.at)
    rows: list[dict[str, Any]] = []
    tables: list[Table] = []
    sizes = measured_sizes(
        [use.transaction for use in uses], gas=[use.gas_used for use in uses], linea_codec=sizing.read()
    )
    for place, use in enumerate(uses):
        row = {name: column[place : place + 1] for name, column in sizes.items()}
        carrying = [one for one in rules if use.transaction.type != SET_CODE or one.no_set_code is None]
        tables.append(Table(f"{use.name}, {use.gas_used:,} gas; fees in gwei", []))
        paid = comparison(row, base_fee=base_fee, blob_base_fee=blob_base_fee, rules=carrying) if carrying else []
        for one in paid:
            above = one.total_eth is not None and max_wei is not None and one.total_eth > max_wei
            tables[-1].rows.append(_fee_cells(one) | {"limit": "above" if above else ""})
            named = {"use": use.name, "source": use.source, "gas_used": use.gas_used}
            rows.append(named | one._asdict() | {"above": above})
    if max_wei is not None:
        unpriced = dict.fromkeys(row["rule"] for row in rows if row["total_eth"] is None)
        said += [f"not limited: {name}, the price of its token in ETH is not known" for name in unpriced]
    notes = [dated, *_folded(without), *said]
    if count := sum(row["above"] for row in rows):
        notes.append(f"{count:,} of {len(rows):,} fees are above the limit.")
    data = {"l1BaseFeeWei": base_fee, "blobBaseFeeWei": blob_base_fee, "fees": rows, "said": notes}
    return Answer(data, tables, notes, file=rows, code=1 if count else 0)


def _fee_cells(row: "ComparisonRow") -> dict[str, str]:
    """Return the cells of a fee: the rule (with a token other than ETH), the total, and the parts in gwei."""
    name = row.rule if row.token == "ETH" else f"{row.rule} [{row.token}]"
    fees = {"total": row.total, "L1 part": row.l1_fee, "L2 part": row.l2_fee}
    return {"rule": name, **{part: f"{fee / WEI_PER_GWEI:,.3f}" for part, fee in fees.items()}}


def _folded(without: Mapping[str, InvalidInput | str]) -> list[str]:
    """Return one sentence for all chains whose parameters are unknown, and one for each other chain without a fee."""
    unknown = {name: why for name, why in without.items() if isinstance(why, UnknownParameter)}
    said = [f"Without {name}: {why}" for name, why in without.items() if name not in unknown]
    if unknown:
        advice = "`feemodel chains NAME` shows what is known, --set CHAIN.PARAMETER=VALUE gives the rest."
        said.insert(0, f"Parameters unknown, {len(unknown)} chains: {', '.join(unknown)}. {advice}")
    return said


def _inline(subject: str, gas: int | None) -> tuple[Transaction, int]:
    """Return the only transaction of a text or of standard input, and its gas used."""
    one = read_subject(subject)
    if gas is None and subject.strip().startswith("{"):  # the text may state the gas used, like a receipt
        stated = parse_json(subject)
        if (used := stated.get("gasUsed", stated.get("gas_used"))) is not None:
            gas = as_integer("gasUsed", used)
    used = estimated_gas(one, gas)
    if one.type is not None:
        return one, used
    # Calls have no signature, so use a placeholder of the length of a signature, as nodes do for estimates.
    check_no_blobs(one)
    limit = used if one.gas_limit is None else one.gas_limit
    sent = replace(one, from_address=one.from_address or bytes(20))
    return fill(sent, gas=limit, chain_id=LINEA_CHAIN_ID, set_code=True).with_placeholder_signature(), used


def _file(
    path: str, columns: Sequence[str], gas: int | None, *, set_code: bool
) -> tuple[list[Transaction], list[int] | None, list[str]]:
    """Return the transactions of a file, also of type 4 if asked, their gas used (`None` if unknown), and notes."""
    table, sent, said = read_transaction_file(path, columns, set_code=set_code, gas_used=gas is None)
    transactions = [one if one.signature else one.with_placeholder_signature() for one in sent]
    if bare := sum(one.signature is None for one in sent):
        said.append(f"assumed: placeholder signatures of {bare:,} transactions")
    used = [gas] * len(transactions) if gas is not None else known_column(table, "gas_used")
    if used is None:
        said.append("assumed: gas limits in place of gas used")
    return transactions, used, said


def _draw(figure: "Figure", rows: "list[ComparisonRow]", dated: str) -> None:
    from feemodel.plots import plot_comparison

    priced = [(row, row.total_eth / (row.total or 1)) for row in rows if row.total_eth is not None]
    shown = [(row.rule, row.l1_fee * price, row.l2_fee * price) for row, price in priced]
    totals = [label.get_text() for label in plot_comparison(shown, figure.subplots()).texts]
    figure.suptitle(f"The same transactions pay {totals[0]} to {totals[-1]} gwei")
    figure.supxlabel(dated, x=1, ha="right")
