"""What an operator does with a ledger: describe it, check it, copy it while it grows."""

import os
import signal

import pytest

from feemodel.cli import main
from feemodel.errors import InvalidInput
from feemodel.ledger import Store, import_block, import_genesis
from feemodel.ledger.maintenance import back_up, verify
from tests.helpers.kill_import import GENESIS, forked_import, next_block
from tests.helpers.ledger_blocks import address, allocated, block, change, fields


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A ledger of twelve blocks, of which the first nine are final."""
    path = tmp_path_factory.mktemp("grown") / "ledger.db"
    with Store(path) as store:
        import_genesis(store, GENESIS)
        for _ in range(12):
            import_block(store, next_block(store))
        store.finalize(9)
        roots = [store.block(number).root for number in range(13)]
    return path, roots


@pytest.fixture
def ledger(grown, tmp_path):
    path = tmp_path / "ledger.db"
    with Store(grown[0], read_only=True) as store:
        back_up(store, path)
    return path


def test_a_backup_is_the_ledger(grown, ledger):
    with Store(ledger, read_only=True) as copy:
        verify(copy)
        assert (copy.head.number, copy.finalized) == (12, 9)
        assert [copy.block(number).root for number in range(13)] == grown[1]


def test_a_ledger_of_trees_with_three_levels_of_nodes_is_sound(tmp_path):
    with Store(tmp_path / "ledger.db") as store:
        import_genesis(store, [allocated(address(number), 0, number) for number in range(1, 600)])
        import_block(store, block(1, change(5, fields(0, 5), fields(1, 2)), change(700, None, fields(0, 9))))
        verify(store)


def test_a_backup_does_not_replace_a_file(grown, ledger):
    with Store(grown[0], read_only=True) as store:
        with pytest.raises(InvalidInput, match="the file exists"):
            back_up(store, ledger)
        with pytest.raises(InvalidInput, match="cannot be written"):
            back_up(store, ledger.parent / "missing" / "copy.db")


def test_backups_during_an_import_are_whole_blocks(tmp_path):
    path = tmp_path / "ledger.db"
    child, signs = forked_import(path)
    try:
        heads = []
        for count in range(4):
            copy = tmp_path / f"{count}.db"
            with Store(path, read_only=True) as store:
                head = back_up(store, copy)
            with Store(copy) as restored:
                verify(restored)
                if head is not None:
                    import_block(restored, next_block(restored))
                    heads.append(head.number)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(signs)
    assert heads == sorted(heads)


def run(capsys, *arguments):
    code = main([*map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_commands_of_a_ledger(ledger, tmp_path, capsys):
    copy, store = tmp_path / "copy.db", ("--store", ledger)
    assert run(capsys, "ledger", "backup", *store, "--out", copy)[0] == 0
    with Store(copy, read_only=True) as restored:
        assert (restored.head.number, restored.finalized) == (12, 9)
    for arguments, expected in (
        (("backup",), "--out: required with backup"),
        (("info", "--out", copy), "--out: expected only with backup"),
        (("backup", "--out", copy), "the file exists"),
    ):
        code, out, said = run(capsys, "ledger", *arguments, *store)
        assert (code, out) == (2, "")
        assert expected in said
