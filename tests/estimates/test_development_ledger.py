"""The ledger that ships is the one that its genesis makes."""

import sqlite3
from contextlib import closing

from feemodel.estimates.chain import LEDGER, build_ledger, development_genesis
from feemodel.io.shipped import shipped_path


def rows_of(path):
    """Every row of every table, in an order of their own."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: sorted(map(repr, connection.execute(f"SELECT * FROM {name}"))) for name in names}


def test_the_ledger_that_ships_has_the_rows_that_its_genesis_makes(tmp_path):
    build_ledger(tmp_path / "made.db", development_genesis())

    assert rows_of(tmp_path / "made.db") == rows_of(shipped_path(LEDGER))
