"""`feemodel report`: price every transaction of a project on every chain, and check a limit on fees."""

from typing import Annotated, Any

from feemodel.cli.compare import Chains, fee_cells, folded
from feemodel.cli.output import TABLES, Answer, Table
from feemodel.cli.parameters import FLAT, L1Fees, Sizing, text, whole
from feemodel.cli.verb import verb
from feemodel.ethereum._transaction import SET_CODE
from feemodel.io.reports import read_project


@verb(out=TABLES)
def command(
    paths: Annotated[list[str], text("broadcast, or folder of a project", "PATH")],
    /,
    *,
    chains: Annotated[Chains, FLAT] = Chains(),
    l1: Annotated[L1Fees, FLAT] = L1Fees(),
    max_wei: Annotated[int | None, whole("exit with 1 if a fee is above this limit", "wei of ETH")] = None,
    sizing: Annotated[Sizing, FLAT] = Sizing(),
) -> Answer:
    """Price a project's transactions on every chain, with an optional limit for CI.

    PATH is a broadcast of Foundry (broadcast/**/run-latest.json), or the folder of a Foundry project, of which the
    latest broadcasts are read.
    """
    from feemodel.rollups.tables import comparison, measured_sizes

    rules, without = chains.read()
    read = [read_project(path) for path in paths]
    uses, said = [use for one in read for use in one.uses], [text for one in read for text in one.said]
    base_fee, blob_base_fee, dated = l1.read(chains.at)
    rows: list[dict[str, Any]] = []
    tables = []
    sizes = measured_sizes(
        [use.transaction for use in uses], gas=[use.gas_used for use in uses], linea_codec=sizing.read()
    )
    for place, use in enumerate(uses):
        row = {name: column[place : place + 1] for name, column in sizes.items()}
        carrying = [one for one in rules if use.transaction.type != SET_CODE or one.no_set_code is None]
        table = Table(f"{use.name}, {use.gas_used:,} gas; fees in gwei", [])
        paid = comparison(row, base_fee=base_fee, blob_base_fee=blob_base_fee, rules=carrying) if carrying else []
        for one in paid:
            above = one.total_eth is not None and max_wei is not None and one.total_eth > max_wei
            table.rows.append(fee_cells(one) | {"limit": "above" if above else ""})
            named = {"use": use.name, "source": use.source, "gas_used": use.gas_used}
            rows.append(named | one._asdict() | {"above": above})
        tables.append(table)
    if max_wei is not None:
        unpriced = dict.fromkeys(row["rule"] for row in rows if row["total_eth"] is None)
        said += [f"not limited: {name}, the price of its token in ETH is not known" for name in unpriced]
    notes = [dated, *folded(without), *said]
    if count := sum(row["above"] for row in rows):
        notes.append(f"{count:,} of {len(rows):,} fees are above the limit.")
    data = {"l1BaseFeeWei": base_fee, "blobBaseFeeWei": blob_base_fee, "fees": rows, "said": notes}
    return Answer(data, tables, notes, file=rows, code=1 if count else 0)
