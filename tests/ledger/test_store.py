"""The store: blocks in one transaction each, every block's state kept, readers beside the writer."""

import os
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feemodel.errors import InvalidInput, LedgerDamaged, NotFinalized, UnreadableFile
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, get_proof, import_block, import_genesis
from feemodel.ledger.scheme import MIMC, POSEIDON2
from feemodel.ledger.store import StoredBlock
from feemodel.ledger.tree import Change, Edit
from tests.helpers.ledger_blocks import (
    CODE,
    CODE_KECCAK,
    address,
    allocated,
    block,
    block_hash,
    change,
    fields,
    slot,
    touch,
)

CONTRACT = 7
GENESIS = [
    allocated(address(1), balance=100),
    allocated(address(2), nonce=3, balance=5),
    allocated(address(CONTRACT), 1, 0, CODE, {slot(1): 11, slot(2): 22}),
]


@pytest.fixture(params=["poseidon2", "mimc"])
def store(request, tmp_path):
    with Store(tmp_path / "ledger.db", hashing=request.param) as store:
        import_genesis(store, GENESIS, block_hash=block_hash(0))
        yield store


@pytest.fixture
def fast_store(tmp_path):
    with Store(tmp_path / "ledger.db") as store:
        import_genesis(store, GENESIS, block_hash=block_hash(0))
        yield store


def test_the_genesis_is_block_0(store):
    assert store.head == (0, block_hash(0), store.accounts(0).root)
    assert store.finalized is None
    assert store.account(0, address(2)).nonce == 3
    assert store.account(0, address(99)) is None
    assert store.slot(0, address(CONTRACT), slot(2)) == 22
    assert store.slot(0, address(CONTRACT), slot(3)) == 0
    assert store.slot(0, address(99), slot(3)) == 0
    assert store.code(CODE_KECCAK) == CODE
    assert store.code(bytes(32)) is None


def test_an_empty_block_has_the_root_of_its_parent(store):
    root = store.head.root
    assert import_block(store, block(1)).root == root
    assert import_block(store, block(2, change(1, fields(0, 100), fields(0, 100)))).root == root


def test_an_account_created_and_destroyed_within_a_block_does_nothing(store):
    root = store.head.root
    assert import_block(store, block(1, change(50, None, None, cleared=True))).root == root


def test_an_account_destroyed_and_created_again_gets_a_new_leaf_and_empty_storage(store):
    key = store.scheme.account_key(address(CONTRACT))
    [[old]] = store.accounts(0).prove([key])
    again = change(
        CONTRACT, fields(1, 0, CODE), fields(1, 5, CODE), cleared=True, code=CODE, storage=[(1, 11, 11), (2, 22, 0)]
    )
    import_block(store, block(1, again))
    [[new]] = store.accounts(1).prove([key])
    assert new.leaf_index > old.leaf_index
    assert store.accounts(1).next_free == store.accounts(0).next_free + 1
    storage = store.tree(store.account(1, address(CONTRACT)).storage_root)
    assert storage.next_free == 3
    assert [store.slot(1, address(CONTRACT), slot(place)) for place in (1, 2)] == [11, 0]
    assert store.slot(0, address(CONTRACT), slot(2)) == 22


def test_storage_whose_slots_are_all_deleted_is_not_an_empty_tree(store):
    import_block(store, block(1, touch(CONTRACT, (1, 11, 0), (2, 22, 0))))
    root = store.account(1, address(CONTRACT)).storage_root
    assert root != store.scheme.empty_root
    assert store.tree(root).version.sub_root == store.scheme.empty_sub_root


def test_code_may_come_with_a_later_block_and_is_kept_by_hash(fast_store):
    other = CODE + b"\x01"
    import_block(fast_store, block(1, change(1, fields(0, 100), fields(1, 100, other), code=other)))
    import_block(fast_store, block(2, change(30, None, fields(1, 0, other))))
    account = fast_store.account(2, address(30))
    assert (account.code_size, account.code_hash) == (len(other), POSEIDON2.code_hash(other))
    import_block(fast_store, block(3, change(1, fields(1, 100, other), fields(2, 100))))
    assert fast_store.account(3, address(1)).code_hash == POSEIDON2.empty_code_hash


@pytest.mark.parametrize(
    ("accounts", "message"),
    [
        ([change(1, fields(0, 99), fields(0, 1))], "expected the current fields of the account"),
        ([change(1, None, fields(0, 1))], "expected the current fields of the account"),
        ([change(60, fields(), fields(0, 1))], "expected the current fields of the account, None"),
        ([touch(60, (1, 0, 1))], "expected an account that exists"),
        ([touch(CONTRACT, (1, 12, 1))], "expected the current value of the slot, 0xb"),
        ([touch(CONTRACT, (1, 11, 1), (1, 11, 2))], "expected each key only once"),
        ([touch(1), touch(1)], "expected each key only once"),
        (
            [change(1, fields(0, 100), None, storage=[(1, 0, 1)])],
            "expected only zeros, because the account does not exist",
        ),
        ([change(1, fields(0, 100), fields(0, 100, b"new"))], "expected the code with this hash"),
        ([change(1, fields(0, 100), fields(0, 100, b"new"), code=b"old")], "expected code with the Keccak-256 hash"),
    ],
)
def test_a_block_that_does_not_fit_the_state_changes_nothing(fast_store, accounts, message):
    good = change(2, fields(3, 5), fields(4, 5))
    with pytest.raises(InvalidInput, match=f"block 1: .*{message}"):
        import_block(fast_store, block(1, good, *accounts))
    assert fast_store.head.number == 0
    assert import_block(fast_store, block(1, good)).number == 1
    assert fast_store.account(1, address(2)).nonce == 4


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (block(2), "expected 1, the successor of the head 0, got 2"),
        (block(0), "expected 1, the successor of the head 0, got 0"),
        (block(1, parent_hash=bytes(32)), "the chain was reorganised"),
    ],
)
def test_a_gap_and_a_reorganisation_stop_the_import(fast_store, wrong, message):
    with pytest.raises(InvalidInput, match=message):
        import_block(fast_store, wrong)
    assert fast_store.head.number == 0


def test_an_import_needs_its_genesis_and_takes_one_only(tmp_path):
    with Store(tmp_path / "ledger.db") as store:
        assert store.head is None
        with pytest.raises(InvalidInput, match="the genesis of an empty store"):
            import_block(store, block(1))
        import_genesis(store, GENESIS)
        with pytest.raises(InvalidInput, match="expected 1"):
            import_genesis(store, GENESIS)


def test_an_empty_genesis_has_the_empty_root(tmp_path):
    with Store(tmp_path / "ledger.db") as store:
        assert import_genesis(store, []).root == POSEIDON2.empty_root


def test_finality_goes_forward_only(fast_store):
    for number in (1, 2, 3):
        import_block(fast_store, block(number))
    fast_store.finalize(2)
    assert fast_store.finalized == 2
    with pytest.raises(InvalidInput, match="at least 2, the newest final block"):
        fast_store.finalize(1)
    for unknown in (4, 2**64):
        with pytest.raises(NotFinalized, match="not in the store, which has 0 to 3"):
            fast_store.finalize(unknown)
    fast_store.finalize(2)
    fast_store.finalize(3)
    assert fast_store.finalized == 3


def test_a_reader_sees_whole_blocks_while_a_transaction_is_open(fast_store):
    with Store(fast_store.path, read_only=True) as reader:
        with fast_store.transaction():
            accounts = fast_store.accounts(0)
            key = POSEIDON2.account_key(address(80))
            edit = Edit(key, bytes(32), bytes(192))
            fast_store.update_trees([Change(accounts, [edit])])
            fast_store.save_block(StoredBlock(1, None, accounts.root), final=False)
            assert reader.head.number == 0
        assert reader.head.number == 1
        with pytest.raises(UnreadableFile, match="readonly"):
            import_block(reader, block(2))


def test_a_store_opens_as_it_was_closed(tmp_path):
    path = tmp_path / "ledger.db"
    with Store(path, hashing="mimc") as store:
        root = import_genesis(store, GENESIS).root
        store.finalize(0)
    for options in ({}, {"read_only": True}, {"hashing": "mimc"}):
        with Store(path, **options) as store:
            assert (store.head.root, store.finalized, store.scheme) == (root, 0, MIMC)


def test_what_is_not_a_ledger_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.db"
    with pytest.raises(UnreadableFile, match="no such ledger"):
        Store(path, read_only=True)
    path.write_bytes(b"not a database, but long enough to look at" * 100)
    with pytest.raises(UnreadableFile, match="not a database"):
        Store(path)
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(UnreadableFile, match="not a ledger of format 8"):
            Store(path, read_only=read_only)
    assert path.read_bytes() == before
    with pytest.raises(UnreadableFile, match="unable to open"):
        Store(tmp_path / "no" / "folder.db")
    Store(tmp_path / "ledger.db").close()
    with pytest.raises(InvalidInput, match="expected poseidon2"):
        Store(tmp_path / "ledger.db", hashing="mimc")
    with pytest.raises(InvalidInput, match="one of poseidon2, mimc"):
        Store(tmp_path / "new.db", hashing="sha256")
    assert not (tmp_path / "new.db").exists()


def test_a_ledger_that_is_cut_short_while_it_is_read_is_an_error(tmp_path):
    path = tmp_path / "ledger.db"
    with Store(path) as store:
        import_genesis(store, [allocated(address(number), 0, number) for number in range(1, 2_000)])
        store.finalize(0)
    with Store(path, read_only=True) as reader:
        get_proof(reader, to_hex(address(1)), [], "finalized")
        os.truncate(path, path.stat().st_size // 2)
        with pytest.raises(LedgerDamaged, match="malformed"):
            get_proof(reader, to_hex(address(2)), [], "finalized")


def test_an_account_that_a_genesis_gives_twice_is_refused(tmp_path):
    accounts = [allocated(address(number), 0, number) for number in range(1, 20)]
    with Store(tmp_path / "ledger.db") as store:
        with pytest.raises(InvalidInput, match=f"accounts: expected each key only once, got '{to_hex(address(3))}'"):
            import_genesis(store, [*accounts, allocated(address(3), 1, 1)])
        assert store.head is None
        with pytest.raises(InvalidInput, match="address: expected 20 bytes, got '0x07'"):
            import_genesis(store, [*accounts, allocated(b"\x07")])
        assert import_genesis(store, accounts).number == 0


def test_an_unknown_root_has_no_tree(fast_store):
    with pytest.raises(LedgerDamaged, match=r"the tree 0{64} is missing"):
        fast_store.tree(bytes(32))


@settings(max_examples=15, deadline=None)
@given(st.sets(st.integers(1, 10**6), max_size=60), st.sets(st.integers(1, 10**6), max_size=60))
def test_a_genesis_equals_the_same_accounts_imported_as_a_block(tmp_path_factory, first, second):
    """Where one set is added after the other, the leaf indices differ and so does the root."""
    folder = tmp_path_factory.mktemp("stores")
    with Store(folder / "one") as one, Store(folder / "two") as two:
        root = import_genesis(one, [allocated(address(number), 0, number) for number in first]).root
        import_genesis(two, [])
        added = import_block(two, block(1, *(change(number, None, fields(0, number)) for number in first)))
        assert added.root == root
        later = [change(number, None, fields(0, number)) for number in second - first]
        assert import_block(one, block(1, *later)).root == import_block(two, block(2, *later)).root
