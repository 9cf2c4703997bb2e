"""Trees without a file, and single changes of a tree, for tests and vectors."""

from pathlib import Path

from feemodel.ledger.database import Database
from feemodel.ledger.rows import SCHEMA, Rows, add_first_rows
from feemodel.ledger.scheme import Scheme, scheme_of
from feemodel.ledger.tree import Change, Edit, Tree, update_trees


def memory_rows(scheme: Scheme) -> Rows:
    """Rows in memory, with the rows of the empty tree."""
    database = Database(Path("memory"), "memory")  # type: ignore[arg-type]  # SQLite's name of no file
    for statement in SCHEMA.split(";"):
        database.one(statement)
    rows = Rows(database, scheme)
    add_first_rows(rows)
    return rows


def empty_tree(hashing: str = "poseidon2") -> Tree:
    """An empty tree in memory."""
    return Tree(memory_rows(scheme_of(hashing)))


def put(tree: Tree, hkey: bytes, hval: bytes, value: bytes = b"") -> None:
    """Insert a key, or update its value."""
    update_trees([Change(tree, [Edit(hkey, hval, value)])])


def remove(tree: Tree, hkey: bytes) -> None:
    """Remove a key of the tree."""
    update_trees([Change(tree, [Edit(hkey, None)])])
