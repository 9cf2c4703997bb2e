"""Verbs of the rollups' rules: `compare` and `report` price transactions; also `chains` and `max-send`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from feemodel import plots
from feemodel.cli import UsageError, parameters
from feemodel.cli.output import DATASETS, TABLES, Answer, Table, counted
from feemodel.cli.parameters import FLAT, Columns, Date, Gas, L1Fees, Settings, Sizing, Subject, parse_set, text, whole
from feemodel.cli.subjects import estimated_gas, is_file, read_subject, read_transaction_file
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput, UnknownParameter, UnreadableFile
from feemodel.ethereum._call import as_integer
from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI, camel
from feemodel.ethereum._transaction import LINEA_CHAIN_ID, Transaction, check_no_blobs, fill
from feemodel.ethereum._transaction_table import known_column
from feemodel.io.files import parse_json
from feemodel.io.reports import read_project
from feemodel.progress import reporting
from feemodel.rollups._chain_files import read_chains
from feemodel.rollups.chains import CHAINS, Chain, shown
from feemodel.rollups.rules import PUBDATA, parameters_of, rules_at
from feemodel.rollups.sending import Now, needs_l1_fees
from feemodel.rollups.sending import max_send as send

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from feemodel.rollups.factors import Rule
    from feemodel.rollups.tables import ComparisonRow
    from feemodel.sizes._codecs import Codec


@dataclass(frozen=True)
class Chains:
    """Chains to compare, and their parameters."""

    only: Annotated[str | None, text("names of chains or rules (default: all chains)", "NAME,…")] = None
    at: Date = None
    chains: Annotated[str | None, text("also use the chains of a folder of TOML files", "FOLDER")] = None
    set: Settings = ()  # type: ignore[assignment]

    def read(self) -> "tuple[tuple[Rule, ...], dict[str, InvalidInput]]":
        """Return the rules to compare, and the reasons why other chains have none."""
        known = CHAINS if self.chains is None else {**CHAINS, **read_chains(self.chains)}
        given, names = parse_set(self.set), None if self.only is None else self.only.split(",")
        if names is not None and (others := given.keys() - names):
            raise InvalidInput("set", "expected a parameter of a chain that is compared", f"{min(others)}.…")
        return rules_at(self.at, only=names, chains=known, parameters=given)


@verb(out=DATASETS, figure=True, what="the fee of each transaction")
def command(
    subject: Subject,
    /,
    *,
    columns: Columns = (),  # type: ignore[assignment]
    gas: Gas | None = None,
    l1: Annotated[L1Fees, FLAT] = L1Fees(),
    chains: Annotated[Chains, FLAT] = Chains(),
    sizing: Annotated[Sizing, FLAT] = Sizing(),
    file: Path | None = None,
) -> Answer:
    from feemodel.rollups.tables import MEASURED, compare, comparison, measured_sizes, with_columns

    (rules, without), codec = chains.read(), sizing.read()
    with reporting(is_file(subject), None, "measuring transactions"):
        if is_file(subject):
            set_code = all(one.no_set_code is None for one in rules)
            transactions, used, hashes, said = _file(subject, columns, gas, set_code=set_code)
        else:
            if columns:
                raise InvalidInput("--columns", "expected only with a file", columns[0])
            transactions, used, hashes, said = _inline(subject, gas)
        needed = {"gas", "length", "transaction_type", *(column for one in rules for column in one.columns)}
        table = measured_sizes(transactions, gas=used, linea_codec=codec, columns=[*needed.intersection(MEASURED)])
    if chains.only is None:
        rules, lacking = with_columns(rules, table)
        without |= lacking
    base_fee, blob_base_fee, dated = l1.read(chains.at)
    rows = comparison(table, base_fee=base_fee, blob_base_fee=blob_base_fee, rules=rules)
    rows = sorted(rows, key=lambda row: (row.total_eth is None, row.total_eth))
    said += _assumed(rules, codec)
    data = {
        "transactions": len(transactions), "gas": int(table["gas"].sum()), "signedBytes": int(table["length"].sum()),
        "l1BaseFeeWei": base_fee, "blobBaseFeeWei": blob_base_fee, "rules": [row._asdict() for row in rows],
        "without": {name: str(why) for name, why in without.items()}, "said": [dated, *said],
    }  # fmt: skip
    title = "{}, {signedBytes:,} bytes, {gas:,} gas; fees in gwei".format(counted(len(transactions)), **data)
    reference = f"of {'linea' if 'linea' in [one.name for one in rules] else rules[0].name}"
    digits = 3 if max(row.total_eth or 0 for row in rows) < 100_000 * WEI_PER_GWEI else 0  # fits 80 columns
    cells = [
        {**_fee_cells(row, digits),
         "in gwei of ETH": "" if row.total_eth is None else f"{row.total_eth / WEI_PER_GWEI:,.{digits}f}",
         reference: "" if row.ratio is None else f"{row.ratio:.3f}×"}
        for row in rows
    ]  # fmt: skip
    each: Any = None
    if file is not None:
        each = compare(table | hashes, {"base_fee": [base_fee], "blob_base_fee": [blob_base_fee]}, rules)
        each = each.squeeze("time", drop=True).drop_vars(["source", "remarks", "reason"])
        each = each.assign_coords(transaction=range(len(transactions)))
    notes = [dated, *_folded(without), *said]
    return Answer(data, [Table(title, cells)], notes, file=each, figure=lambda figure: _draw(figure, rows, dated))


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
    """PATHS are broadcasts of Foundry (broadcast/**/run-latest.json), or projects' folders with their latest ones."""
    from feemodel.rollups.tables import comparison, measured_sizes, with_columns

    (rules, without), codec = chains.read(), sizing.read()
    read = [read_project(path) for path in paths]
    uses, said = [use for one in read for use in one.uses], [text for one in read for text in one.said]
    if not uses:
        raise UnreadableFile(f"{', '.join(paths)}: expected transactions, found none{'; '.join(['', *said])}")
    base_fee, blob_base_fee, dated = l1.read(chains.at)
    rows, tables = list[dict[str, Any]](), list[Table]()
    sizes = measured_sizes([use.transaction for use in uses], gas=[use.gas_used for use in uses], linea_codec=codec)
    for place, use in enumerate(uses):
        row = {name: column[place : place + 1] for name, column in sizes.items()}
        carrying, lacking = with_columns(rules, row)
        without |= lacking
        tables.append(Table(f"{use.name}, {use.gas_used:,} gas; fees in gwei", []))
        for one in comparison(row, base_fee=base_fee, blob_base_fee=blob_base_fee, rules=carrying) if carrying else ():
            above = one.total_eth is not None and max_wei is not None and one.total_eth > max_wei
            tables[-1].rows.append(_fee_cells(one) | {"limit": "above" if above else ""})
            named = {"use": use.name, "source": use.source, "gas_used": use.gas_used}
            rows.append(named | one._asdict() | {"above": above})
    if not rows:
        raise next(iter(without.values()))
    unpriced = dict.fromkeys(row["rule"] for row in rows if max_wei is not None and row["total_eth"] is None)
    said += [f"not limited: {name}, the price of its token in ETH is not known" for name in unpriced]
    notes = [dated, *_folded(without), *said, *_assumed(rules, codec)]
    if count := sum(row["above"] for row in rows):
        notes.append(f"Above the limit: {count:,} of {counted(len(rows), 'fee')}.")
    data = {"l1BaseFeeWei": base_fee, "blobBaseFeeWei": blob_base_fee, "fees": rows, "said": notes}
    return Answer(data, tables, notes, file=rows, code=int(count > 0))


def _fee_cells(row: "ComparisonRow", digits: int = 3) -> dict[str, str]:
    """Return the cells of a fee: the rule (with a token other than ETH), the total, and the parts in gwei."""
    name = row.rule if row.token == "ETH" else f"{row.rule} [{row.token}]"
    fees = {"total": row.total, "L1 part": row.l1_fee, "L2 part": row.l2_fee}
    return {"rule": name, **{part: f"{fee / WEI_PER_GWEI:,.{digits}f}" for part, fee in fees.items()}}


def _assumed(rules: "Sequence[Rule]", codec: "Codec") -> list[str]:
    """Return what the fees of rules assume."""
    measured = {"pubdata": f"assumed pubdata {PUBDATA} bytes a transaction", "linea_size": f"sizes by {codec.name}"}
    return [
        f"{one.name}: {'; '.join([*one.remarks, *(measured[name] for name in measured if name in one.columns)])}"
        for one in rules
        if one.remarks or measured.keys() & one.columns
    ]


def _folded(without: Mapping[str, InvalidInput]) -> list[str]:
    """Return one sentence for all chains whose parameters are unknown, and one for each other chain without a fee."""
    unknown = {name: why for name, why in without.items() if isinstance(why, UnknownParameter)}
    said = [f"Without {name}: {why.reason}" for name, why in without.items() if name not in unknown]
    if unknown:
        advice = "`feemodel chains NAME` shows what is known, --set CHAIN.PARAMETER=VALUE gives the rest."
        said.insert(0, f"Parameters unknown, {counted(len(unknown), 'chain')}: {', '.join(unknown)}. {advice}")
    return said


def _inline(subject: str, gas: int | None) -> tuple[list[Transaction], list[int], dict[str, list[Any]], list[str]]:
    """Return the only transaction of a text or of standard input, and its gas used."""
    one = read_subject(subject)
    if gas is None and subject.strip().startswith("{"):  # the text may state the gas used, like a receipt
        stated = parse_json(subject)
        if (used := stated.get("gasUsed", stated.get("gas_used"))) is not None:
            gas = as_integer("gasUsed", used)
    used = estimated_gas(one, gas)
    if one.type is None:
        # Calls have no signature, so use a placeholder of the length of a signature, as nodes do for estimates.
        check_no_blobs(one)
        limit = used if one.gas_limit is None else one.gas_limit
        sent = replace(one, from_address=one.from_address or bytes(20))
        one = fill(sent, gas=limit, chain_id=LINEA_CHAIN_ID, set_code=True).with_placeholder_signature()
    return [one], [used], {}, []


def _file(
    path: str, columns: Sequence[str], gas: int | None, *, set_code: bool
) -> tuple[list[Transaction], list[int] | None, dict[str, list[Any]], list[str]]:
    """Return the transactions of a file, also of type 4 if asked; their gas used, if known; their hashes; and notes."""
    table, sent, said = read_transaction_file(path, columns, set_code=set_code, gas_used=gas is None)
    transactions = [one if one.signature else one.with_placeholder_signature() for one in sent]
    if bare := sum(one.signature is None for one in sent):
        said.append(f"assumed: placeholder signatures of {counted(bare)}")
    used = [gas] * len(transactions) if gas is not None else known_column(table, "gas_used")
    if used is None:
        said.append("assumed: gas limits in place of gas used")
    return transactions, used, {name: table[name].tolist() for name in table if name == "transaction_hash"}, said


def _draw(figure: "Figure", rows: "list[ComparisonRow]", dated: str) -> None:
    priced = [(row, row.total_eth / (row.total or 1)) for row in rows if row.total_eth is not None]
    if not priced:
        raise InvalidInput("--figure", "expected a token whose price in ETH is known", [row.token for row in rows])
    parts = [(row.rule, row.l1_fee * price, row.l2_fee * price) for row, price in priced]
    figure.set_size_inches(9, 1.2 + 0.38 * len(parts))
    totals = [label.get_text() for label in plots.plot_comparison(parts, figure.subplots()).texts]
    figure.suptitle(f"The same transactions pay {totals[0]} to {totals[-1]} gwei")
    figure.supxlabel(dated, x=1, ha="right")


@verb(out=TABLES)
def chains(
    chain: Annotated[str | None, text("print every dated row of this chain", "CHAIN")] = None,
    /,
    *,
    chains: Annotated[str | None, text("read a folder of TOML files instead of the package's", "FOLDER")] = None,
) -> Answer:
    known = CHAINS if chains is None else read_chains(chains)
    if chain is not None:
        parameters.check_known("chain", chain, list(known))
        return _timeline(known[chain])
    rows: list[dict[str, Any]] = []
    for one in known.values():
        now = one.at()
        unknown = [name for name in now.entries if not now.is_known(name)]
        rows.append({"chain": one.name, "id": one.chain_id, "family": one.family, "token": one.token,
                     "since": now.since[:10], "unknown": unknown})  # fmt: skip
    table = Table(counted(len(rows), "chain"), [row | {"unknown": len(row["unknown"]) or None} for row in rows])
    return Answer(rows, [table], file=[row | {"unknown": ", ".join(row["unknown"])} for row in rows])


def _timeline(chain: "Chain") -> Answer:
    fields = ("value", "status", "since", "confirmed")
    now = {name: {field: getattr(one, field) for field in fields} for name, one in chain.at().entries.items()}
    newest = [
        {"parameter": name, "value": shown(one.value) if one.last is None else f"before: {shown(one.last.value)}",
         "status": one.status, "since": one.since[:10], "confirmed": one.confirmed[:10]}
        for name, one in chain.at().entries.items()
    ]  # fmt: skip
    rows = [asdict(replace(row, values=dict(row.values))) for row in chain.rows]
    history = []
    for row in chain.rows:
        values = ", ".join(f"{name} {shown(value)}" for name, value in row.values.items())
        named = {name: getattr(row, name) for name in ("assumed", "unknown", "keeps")}
        lists = [f"{name}: {', '.join(parameters)}" for name, parameters in named.items() if parameters]
        words = "; ".join(filter(None, [values, *lists]))
        source = "; ".join(filter(None, [f"{row.source}, checked on {row.checked}", row.note]))
        history.append({"since": row.since, "values, and their source": f"{words}\n{source}"})
    tables = [Table(f"{chain.name} after its last row, in {chain.token}", newest), Table("Every row", history)]
    return Answer({"chain": chain.name, "now": now, "rows": rows}, tables, [chain.note] if chain.note else [])


@verb(out=TABLES)
def max_send(
    chain: Annotated[str, text("op-mainnet, base, arbitrum-one, …; `feemodel chains` lists them", "CHAIN")],
    call: Annotated[str, text('a call without a value: {"to": "0x…"}', "CALL")],
    /,
    *,
    balance: Annotated[int, whole("balance of the sender", "wei")],
    base_fee: Annotated[int, whole("base fee of the chain's newest block", "wei / gas")],
    l1: Annotated[L1Fees, FLAT] = L1Fees(),
    price_per_unit: Annotated[int | None, whole("price per unit of Arbitrum's L1 pricing", "wei")] = None,
    gas: Annotated[int, whole("gas of the call; on Arbitrum, without the gas for L1", "gas", minimum=1)] = 21_000,
    blocks_ahead: Annotated[int, whole("blocks until inclusion")] = parameters.default_of(send, "blocks_ahead"),
    priority_fee: Annotated[int, whole("priority fee", "wei / gas")] = parameters.default_of(send, "max_priority_fee"),
    at: Date = None,
    set: Settings = (),  # type: ignore[assignment]
) -> Answer:  # fmt: skip
    if needs_l1_fees(chain, price_per_unit):
        for name in ("l1_base_fee", "blob_base_fee"):
            if getattr(l1, name) is None:
                raise UsageError(f"--{name.replace('_', '-')}: required in wei, because {chain} charges for data")
    now = Now(
        base_fee=base_fee, l1_base_fee=l1.l1_base_fee or 0,
        blob_base_fee=1 if l1.blob_base_fee is None else l1.blob_base_fee, price_per_unit=price_per_unit,
    )  # fmt: skip
    document, given = parse_json(call, "call"), parse_set(set).get(chain, {})
    token = parameters_of(chain, at=at, parameters=given).chain.token
    found = send(
        chain, balance, document, now=now, gas_limit=gas, blocks_ahead=blocks_ahead, max_priority_fee=priority_fee,
        at=at, parameters=given,
    )  # fmt: skip
    amounts = {} if found.max_value is None else {"largest value": found.max_value}
    amounts |= {"reserved for fees": found.held, "data fee (L1 part)": found.l1_fee}
    amounts |= {"operator fee": found.operator_fee, "balance": balance}
    rows = [{"part": name, "wei": wei, token: f"{wei / WEI_PER_ETH:.9f}"} for name, wei in amounts.items()]
    title = f"{chain}, {counted(blocks_ahead, 'block')} ahead, {found.gas_limit:,} gas at {found.max_fee_per_gas:,} wei"
    notes = ["No value can be sent: the balance does not cover the fees."] if found.max_value is None else []
    data = {"chain": chain, "token": token} | {camel(name): part for name, part in found._asdict().items()}
    return Answer(data, [Table(title, rows)], notes)
