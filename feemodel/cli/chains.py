"""`feemodel chains`: known chains, and the rows of one chain."""

from typing import TYPE_CHECKING, Annotated, Any

from feemodel.cli.output import TABLES, Answer, Table
from feemodel.cli.parameters import check_known, text
from feemodel.cli.verb import verb

if TYPE_CHECKING:
    from feemodel.rollups.chains import Chain

ROW = ("since", "assumed", "unknown", "keeps", "source", "checked", "note")  # fields of a row, except its values


@verb(out=TABLES)
def command(
    chain: Annotated[str | None, text("print every dated row of this chain", "CHAIN")] = None,
    /,
    *,
    chains: Annotated[str | None, text("read a folder of TOML files instead of the package's", "FOLDER")] = None,
) -> Answer:
    """List the known chains, or the dated rows of one chain."""
    from feemodel.rollups._chain_files import read_chains
    from feemodel.rollups.chains import CHAINS

    known = CHAINS if chains is None else read_chains(chains)
    if chain is not None:
        check_known("chain", chain, list(known))
        return _timeline(known[chain])
    found = [(one, one.at()) for one in known.values()]
    rows: list[dict[str, Any]] = [
        {"chain": one.name, "id": one.chain_id, "family": one.family, "token": one.token, "since": parameters.since,
         "unknown": [name for name in parameters.entries if not parameters.is_known(name)]}
        for one, parameters in found
    ]  # fmt: skip
    shown = [row | {"since": row["since"][:10], "unknown": len(row["unknown"]) or None} for row in rows]
    file = [row | {"unknown": ", ".join(row["unknown"])} for row in rows]
    return Answer(rows, [Table(f"{len(rows)} chains", shown)], file=file)


def _timeline(chain: "Chain") -> Answer:
    from feemodel.rollups.chains import shown

    parameters = chain.at()
    rows = [{name: getattr(row, name) for name in ROW} | {"values": dict(row.values)} for row in chain.rows]
    now = {
        name: {"value": one.value, "status": one.status, "since": one.since, "confirmed": one.confirmed}
        for name, one in parameters.entries.items()
    }
    data = {"chain": chain.name, "id": chain.chain_id, "family": chain.family, "token": chain.token,
            "note": chain.note, "rows": rows, "now": now}  # fmt: skip
    newest = [
        {"parameter": name, "value": shown(one.value) if one.last is None else f"before: {shown(one.last.value)}",
         "status": one.status, "since": one.since[:10], "confirmed": one.confirmed[:10]}
        for name, one in parameters.entries.items()
    ]  # fmt: skip
    history = []
    for row in chain.rows:
        values = ", ".join(f"{name} {shown(value)}" for name, value in row.values.items())
        marks = [f"{name}: {', '.join(getattr(row, name))}" for name in ROW[1:4] if getattr(row, name)]
        source = [f"{row.source}, checked on {row.checked}", *([row.note] if row.note else [])]
        text = f"{'; '.join([values, *marks])}\n{'; '.join(source)}"
        history.append({"since": row.since, "values, and their source": text})
    tables = [
        Table(f"{chain.name} after its last row, in {chain.token}", newest),
        Table("Every row", history),
    ]
    return Answer(data, tables, [chain.note] if chain.note else [])
