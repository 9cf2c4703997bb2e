"""What an operator does with a ledger: copy it while it grows, prune it, take blocks back, export its blocks."""

import json
import os
import signal

import pytest
from jsonschema import Draft202012Validator

from feemodel.cli import main
from feemodel.errors import InvalidInput, LedgerDamaged, NotFinalized
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, check_proof, get_proof, import_block, import_genesis
from feemodel.ledger._files import parse_block, show_block
from feemodel.ledger._maintenance import back_up, prune, verify
from feemodel.ledger.blocks import get_stored_blocks
from tests.conftest import ROOT
from tests.helpers.kill_import import ACCOUNTS, GENESIS, forked_import, next_block
from tests.helpers.ledger_blocks import CODE, address, block, change, fields


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


def proven_roots(store, numbers):
    """The roots under which an account and its slots are proven."""
    for number in numbers:
        for asked in (to_hex(address(number + 1)), to_hex(address(ACCOUNTS + 5))):
            proof = get_proof(store, asked, ["0x0", "0x1"], hex(number))
            check_proof(proof, root=store.block(number).root, address=asked, storage_keys=["0x0", "0x1"])
        yield store.block(number).root


def test_a_backup_is_the_ledger(grown, ledger):
    with Store(ledger, read_only=True) as copy:
        assert verify(copy).findings == []
        assert (copy.head.number, copy.finalized) == (12, 9)
        assert list(proven_roots(copy, range(10))) == grown[1][:10]


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
                assert verify(restored).findings == []
                if head is not None:
                    import_block(restored, next_block(restored))
                    heads.append(head.number)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(signs)
    assert heads == sorted(heads)


def test_pruning_keeps_the_newest_states_and_all_roots(grown, ledger):
    with Store(ledger) as store, Store(ledger, read_only=True) as reader:
        assert list(proven_roots(reader, [3])) == [grown[1][3]]
        size = ledger.stat().st_size
        pruned = prune(store, keep=5)
        assert pruned.oldest == 8
        assert pruned.rows > 100
        assert ledger.stat().st_size < size
        for each in (store, reader):
            assert [each.block(number).root for number in range(13)] == grown[1]
            assert list(proven_roots(each, (8, 9))) == grown[1][8:10]
            with pytest.raises(NotFinalized, match="block 3 was pruned: the store has the state from block 8 on"):
                get_proof(each, to_hex(address(4)), [], "0x3")
        assert verify(reader).findings == []
        import_block(store, next_block(store))
        assert verify(reader).findings == []
        assert prune(store, keep=5) == (9, pytest.approx(100, abs=99_999))
        assert prune(store, keep=5).rows == 0
    with Store(ledger, read_only=True) as store:
        assert store.oldest == 9


def test_the_newest_final_block_is_never_pruned(ledger):
    with Store(ledger) as store:
        assert prune(store, keep=1).oldest == 9
        assert prune(store, keep=100).oldest == 9, "what is gone does not come back"
        with pytest.raises(InvalidInput, match="keep: expected at least 1 block, got 0"):
            prune(store, keep=0)


def test_nothing_is_pruned_while_no_block_is_final(tmp_path):
    with Store(tmp_path / "ledger.db") as store:
        with pytest.raises(InvalidInput, match="expected a store with a genesis block"):
            prune(store, keep=1)
        import_genesis(store, GENESIS)
        import_block(store, next_block(store))
        assert prune(store, keep=1).rows > 0, "two hundred storage trees that are one"
        assert prune(store, keep=1) == (0, 0)
        assert store.account(0, address(1)).balance == 1


def test_damage_in_a_pruned_ledger_is_found(ledger):
    with Store(ledger) as store:
        prune(store, keep=5)
        store.database.run("DELETE FROM leaf WHERE id = (SELECT max(id) FROM leaf)")
    with Store(ledger) as store:
        [finding] = verify(store).findings
        assert "leaf" in finding
        assert "is missing" in finding
        with pytest.raises(LedgerDamaged, match="is missing"):
            prune(store, keep=4)


def test_rollback_removes_blocks_that_are_not_final(grown, ledger):
    with Store(ledger) as store, Store(ledger, read_only=True) as reader:
        assert reader.head.number == 12
        assert store.rollback(10) == 2
        assert (store.head.number, store.head.root) == (10, grown[1][10])
        with pytest.raises(InvalidInput, match="expected at least 9, the newest final block, got 8"):
            store.rollback(8)
        with pytest.raises(NotFinalized, match="block 11 is not in the store, which has 0 to 10"):
            store.rollback(11)
        other = block(11, change(1000, None, fields(0, 5)), parent_hash=None)
        import_block(store, other)
        assert reader.head.hash == other.hash
        assert reader.head.root not in grown[1]
        assert verify(reader).findings == []
        pruned = prune(store, keep=12)
        assert pruned.oldest == 0
        assert pruned.rows > 0, "what the removed blocks left behind"
        assert reader.account(11, address(1000)).balance == 5
        assert verify(reader).findings == []


def test_exported_blocks_make_the_same_ledger(grown, ledger, tmp_path):
    with Store(ledger) as store, Store(tmp_path / "again.db") as again:
        for changes in get_stored_blocks(store):
            assert parse_block(json.loads(json.dumps(show_block(changes)))) == changes
            import_block(again, changes)
        assert [again.block(number).root for number in range(13)] == grown[1]
        prune(store, keep=4)
        assert [changes.number for changes in get_stored_blocks(store)] == [10, 11, 12]
        with pytest.raises(InvalidInput, match="expected at least 10, the oldest block with known changes, got 4"):
            list(get_stored_blocks(store, 4))


def test_the_schema_of_blocks_takes_what_is_exported_and_refuses_what_is_refused(ledger):
    schema = json.loads((ROOT / "docs/how-to/block.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    with Store(ledger, read_only=True) as store:
        for changes in get_stored_blocks(store):
            validator.validate(show_block(changes))
    whole = {"nonce": "0x1", "balance": "0x0", "codeHash": to_hex(bytes(32))}
    account = {"before": None, "after": whole, "code": "0x6001", "cleared": True, "storage": {"0x01": ["0x0", "0x1"]}}
    good = {"number": "0x1", "hash": to_hex(bytes(32)), "accounts": {"0x" + "Ab" * 20: account}}
    assert parse_block(good).number == 1
    assert validator.is_valid(good)
    wrong = [good | {"number": value} for value in (1, "1", "0x", "0x01", "0x1" + "0" * 64, None)]
    wrong += [good | {"hash": "0x12"}, good | {"parenthash": to_hex(bytes(32))}, {"number": "0x1"}, []]
    wrong += [good | {"accounts": accounts} for accounts in ({"0x12": account}, [account], {"ab" * 20: account})]
    changes = [
        {"before": None}, {"after": whole}, {"cleared": 1}, {"code": "0x1"}, {"storage": []}, {"balance": "0x1"},
        {"storage": {"0x1": ["0x1"]}}, {"storage": {"0x1": ["0x1", 2]}}, {"storage": {"1": ["0x1", "0x2"]}},
        {"before": None, "after": {"nonce": "0x1", "balance": "0x1"}}, {"before": None, "after": whole | {"a": "0x1"}},
    ]  # fmt: skip
    wrong += [good | {"accounts": {"0x" + "11" * 20: change}} for change in changes]
    for each in wrong:
        assert not validator.is_valid(each), each
        with pytest.raises(InvalidInput):
            parse_block(each)


def test_an_export_tells_of_code_and_of_accounts_that_are_gone_or_exist_again(tmp_path):
    blocks = [
        block(0, change(1, None, fields(1, 5, CODE), code=CODE, storage=[(1, 0, 7), (2, 0, 8)]),
              change(2, None, fields(0, 1)), parent_hash=None),
        block(1, change(1, fields(1, 5, CODE), fields(1, 5), cleared=True, storage=[(1, 7, 7), (2, 8, 0)])),
        block(2, change(1, fields(1, 5), None, storage=[(1, 7, 0)]), change(2, fields(0, 1), fields(0, 2))),
        block(3),
    ]  # fmt: skip
    with Store(tmp_path / "ledger.db") as store:
        for each in blocks:
            import_block(store, each)
        assert list(get_stored_blocks(store, 1)) == blocks[1:]
        assert next(get_stored_blocks(store)) == blocks[0]._replace(parent_hash=None)


def run(capsys, *arguments):
    code = main([*map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_commands_of_a_ledger(ledger, tmp_path, capsys, monkeypatch):
    lines, copy, again = (tmp_path / name for name in ("lines.jsonl", "copy.db", "again.db"))
    store = ("--store", ledger)
    info = json.loads(run(capsys, "ledger", "info", *store, "--json")[1])
    assert (info["head"], info["oldestState"], info["statesHeld"], info["finalized"]) == (12, 0, 13, 9)
    assert info["rows"]["leaf"] > ACCOUNTS
    assert run(capsys, "ledger", "export", *store, "--out", lines)[0] == 0
    assert run(capsys, "ledger", "backup", *store, "--out", copy)[0] == 0
    assert run(capsys, "ledger", "rollback", *store, "--to", "11")[0] == 0
    assert run(capsys, "ledger", "prune", *store, "--keep", "2")[0] == 0
    assert run(capsys, "ledger", "verify", *store)[0] == 0
    assert run(capsys, "ledger", "info", *store)[0] == 0
    with lines.open("rb") as file:
        monkeypatch.setattr("sys.stdin", type("Input", (), {"buffer": file}))
        assert run(capsys, "follow", "--store", again, "--blocks", "-")[0] == 0
    root = json.loads(run(capsys, "ledger", "info", "--store", again, "--json")[1])["stateRoot"]
    assert root == info["stateRoot"]
    assert run(capsys, "follow", "--store", again, "--blocks", lines)[0] == 0, "lines that are there are skipped"
    wrong = json.loads(lines.read_text().splitlines()[5])
    next(iter(wrong["accounts"].values()))["after"]["nonce"] = "0x99"
    changed = tmp_path / "changed.jsonl"
    changed.write_text(json.dumps(wrong))
    code, _, said = run(capsys, "follow", "--store", again, "--blocks", changed)
    assert (code, "expected the fields in the ledger" in said) == (2, True)
    code, _, said = run(capsys, "ledger", "rollback", *store, "--to", "3")
    assert (code, "expected at least 9, the newest final block" in said) == (2, True)
    for arguments, expected in (
        (("prune",), "--keep: required with prune"),
        (("info", "--keep", "3"), "--keep: expected only with prune"),
        (("backup", "--out", copy), "the file exists"),
        (("export", "--out", lines), "the file exists"),
    ):
        code, out, said = run(capsys, "ledger", *arguments, *store)
        assert (code, out) == (2, "")
        assert expected in said
