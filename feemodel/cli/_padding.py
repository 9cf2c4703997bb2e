"""`feemodel padding`: the factor that makes the present fee sufficient for the next blocks."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from feemodel.cli._options import add_rules, read_rules_option, whole_numbers
from feemodel.cli._output import add_out, checked_out, print_json, print_table
from feemodel.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from feemodel.rollups.padding import BLOCKS

    blocks = ",".join(map(str, BLOCKS))
    parser.add_argument("--blocks", default=blocks, metavar="N,…", help="numbers of blocks until inclusion")
    parser.add_argument(
        "--chain", action="append", metavar="NAME", help="name of a chain; may be repeated (default: all chains)"
    )
    add_rules(parser)
    add_out(parser, "FILE", "draw the factors: .png, .svg or .pdf")


def run(options: argparse.Namespace) -> int:
    from feemodel.checks import choice
    from feemodel.ethereum.fee_market import MAINNET
    from feemodel.io.shipped import read_shipped_l1_fees
    from feemodel.rollups.chains import CHAINS
    from feemodel.rollups.padding import WALLETS, padding_table

    out = checked_out(options, (".png", ".svg", ".pdf"))
    blocks = whole_numbers("--blocks", options.blocks, "1,5,20,100")
    fees = read_shipped_l1_fees()[["base_fee", "blob_base_fee"]].round().astype("int64")
    what_if = read_rules_option(options)
    known = CHAINS if what_if is None else what_if.chains
    chains = {name: known[choice("chain", name, known)] for name in options.chain or known}
    schedule = MAINNET if what_if is None else what_if.schedule
    table = padding_table(fees, blocks=blocks, chains=chains, schedule=schedule)
    if not len(table):
        raise InvalidInput("--chain", "expected a chain whose parameters are known", options.chain)
    if out is not None:
        _draw(out, table)
    if options.json:
        print_json(table.astype(object).where(table.notna(), None).to_dict("records"))
        return 0
    cells = [
        (row["chain"], row["blocks"], "" if row["seconds"] != row["seconds"] else f"{row['seconds']:g}",
         "none" if row["bound"] != row["bound"] else f"{row['bound']:,.3f}", f"{row['quantile']:.3f}",
         *(f"{row[f'fails_{factor:g}']:.1%}" for factor in WALLETS))
        for row in table.to_dict("records")
    ]  # fmt: skip
    columns = ("chain", "blocks", "seconds", "bound", "99 % quantile", *(f"{factor:g} × fails" for factor in WALLETS))
    title = "Factors on the fee of a transfer that cover the fee some blocks later"
    print_table(title if what_if is None else f"{title}, under the rules of {what_if.name}", columns, cells)
    print("bound: the fee cannot rise by more than this factor; none: no bound is published.")
    print(
        "99 % quantile and fails: for ten-minute means of L1 fees of 2026-01-07 to 2026-02-06 and a constant base fee"
    )
    print("of the chain.")
    for factor in WALLETS:
        excess = table[f"excess_{factor:g}"].mean()
        print(f"{factor:g} × reserves {excess:.0%} of the fee more than needed, on average over all rows")
    return 0


def _draw(path: Path, table: "pd.DataFrame") -> None:
    from matplotlib.figure import Figure

    from feemodel.plots._figures import plot_padding

    figure = Figure(figsize=(9, 1.5 + 0.3 * len(table)), layout="constrained")
    plot_padding(table, figure.subplots())
    figure.savefig(path, dpi=120)
