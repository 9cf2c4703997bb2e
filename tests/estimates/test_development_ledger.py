"""The ledger that ships is the one that its genesis makes."""

import sqlite3
from contextlib import closing

from feemodel.estimates.chain import LEDGER, build_ledger, development_genesis
from feemodel.io.shipped import shipped_path


def dump_of(path):
    """The schema and every row, in an order of their own."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return sorted(connection.iterdump())


def test_the_ledger_that_ships_has_the_rows_that_its_genesis_makes(tmp_path):
    build_ledger(tmp_path / "made.db", development_genesis())

    assert dump_of(tmp_path / "made.db") == dump_of(shipped_path(LEDGER))
