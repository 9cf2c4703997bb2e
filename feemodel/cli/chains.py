"""`feemodel chains`: known chains, and the rows of one chain."""

from dataclasses import asdict, replace
from typing import Annotated, Any

from feemodel.cli.output import TABLES, Answer, Table
from feemodel.cli.parameters import check_known, text
from feemodel.cli.verb import verb
from feemodel.rollups._chain_files import read_chains
from feemodel.rollups.chains import CHAINS, Chain, shown

LISTS = ("assumed", "unknown", "keeps")  # fields of a row that name parameters


@verb(out=TABLES)
def command(
    chain: Annotated[str | None, text("print every dated row of this chain", "CHAIN")] = None,
    /,
    *,
    chains: Annotated[str | None, text("read a folder of TOML files instead of the package's", "FOLDER")] = None,
) -> Answer:
    known = CHAINS if chains is None else read_chains(chains)
    if chain is not None:
        check_known("chain", chain, list(known))
        return _timeline(known[chain])
    rows: list[dict[str, Any]] = []
    for one in known.values():
        parameters = one.at()
        unknown = [name for name in parameters.entries if not parameters.is_known(name)]
        rows.append({"chain": one.name, "id": one.chain_id, "family": one.family, "token": one.token,
                     "since": parameters.since[:10], "unknown": unknown})  # fmt: skip
    counted = [row | {"unknown": len(row["unknown"]) or None} for row in rows]
    file = [row | {"unknown": ", ".join(row["unknown"])} for row in rows]
    return Answer(rows, [Table(f"{len(rows)} chains", counted)], file=file)


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
        lists = [f"{name}: {', '.join(getattr(row, name))}" for name in LISTS if getattr(row, name)]
        words = "; ".join(filter(None, [values, *lists]))
        source = "; ".join(filter(None, [f"{row.source}, checked on {row.checked}", row.note]))
        history.append({"since": row.since, "values, and their source": f"{words}\n{source}"})
    tables = [Table(f"{chain.name} after its last row, in {chain.token}", newest), Table("Every row", history)]
    return Answer({"chain": chain.name, "now": now, "rows": rows}, tables, [chain.note] if chain.note else [])
