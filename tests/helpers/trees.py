"""Single changes of a tree, for tests and vectors."""

from feemodel.ledger.tree import Change, Edit, Tree, update_trees


def put(tree: Tree, hkey: bytes, hval: bytes, value: bytes = b"") -> None:
    """Insert a key, or update its value."""
    update_trees([Change(tree, [Edit(hkey, hval, value)])])


def remove(tree: Tree, hkey: bytes) -> None:
    """Remove a key of the tree."""
    update_trees([Change(tree, [Edit(hkey, None)])])
