"""A ledger whose file is damaged, replaced or of an older format: the right answer, or one named error."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from feemodel.errors import InvalidInput, LedgerDamaged, UnreadableFile
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, get_proof, import_block, import_genesis
from feemodel.ledger.maintenance import verify
from feemodel.server.settings import Settings
from tests.helpers.ledger_blocks import CODE, address, allocated, block, change, fields, slot, touch
from tests.server.parts import opened

ACCOUNTS, BLOCKS = 60, 6
CONTRACTS = (7, 8)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A ledger of some blocks, with code, storage, and accounts that come and go."""
    path = tmp_path_factory.mktemp("built") / "ledger.db"
    contracts = [allocated(address(n), 1, 0, CODE, {slot(s): s for s in range(1, 20)}) for n in CONTRACTS]
    plain = [allocated(address(n), 0, n) for n in range(20, ACCOUNTS)]
    with Store(path, hashing="poseidon2") as store:
        import_genesis(store, [*contracts, *plain])
        for number in range(1, BLOCKS):
            import_block(store, block(
                number,
                touch(CONTRACTS[0], (number, number, 0), (100 + number, 0, number)),
                change(20 + number, fields(0, 20 + number), None),
                change(200 + number, None, fields(0, number)),
            ))  # fmt: skip
        store.set_chain_id(1337)
        store.finalize(BLOCKS - 2)
    return path


def altered(path, statement):
    """Execute a statement that a damaged disk might have executed."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"{statement}; PRAGMA wal_checkpoint(TRUNCATE)")


def ask(path):
    """Ask a ledger for proofs of what is there and what is not."""
    with Store(path, read_only=True) as store:
        store.block(4)
        for number in (7, 8, *range(20, 60), 201, 5_000):
            get_proof(store, to_hex(address(number)), ["0x1", "0x3e7"] if number < 10 else [], "finalized")


def verified(path):
    with Store(path, read_only=True) as store:
        verify(store)


@pytest.fixture
def ledger(built, tmp_path):
    return shutil.copy(built, tmp_path / "ledger.db")


DAMAGE = {
    "a balance": "UPDATE leaf SET value = zeroblob(192) WHERE length(value) = 192",
    "a hash of a value": "UPDATE leaf SET hval = randomblob(32)",
    "the hashes below a node": "UPDATE node SET nodes = zeroblob(length(nodes)) WHERE id > 1",
    "hashes of no field element": "UPDATE node SET nodes = "
    "CAST(replace(hex(zeroblob(length(nodes) / 2)), '0', char(127)) AS BLOB)",
    "a node that is too short": "UPDATE node SET nodes = zeroblob(5) WHERE id > 1",
    "a missing node": "DELETE FROM node WHERE id > 5",
    "all leaves": "DELETE FROM leaf",
    "a key": "UPDATE leaf SET hkey = randomblob(32)",
    "a link": "UPDATE leaf SET following = following + 1",
    "an index above 2**40": "UPDATE page SET entries = "
    "CAST(substr(entries, 1, 74) || x'01' || substr(entries, 76) AS BLOB) WHERE height = 0",
    "an index without keys": "UPDATE page SET entries = zeroblob(0)",
    "an index of one key": "UPDATE page SET entries = zeroblob(40) WHERE height = 0",
    "an index in a circle": "UPDATE page SET height = 1",
    "a root": "UPDATE tree SET root = randomblob(32)",
    "a next free index": "UPDATE tree SET next_free = next_free + 1",
    "a top page": "UPDATE tree SET page = 1",
    "no chain": "DELETE FROM chain",
    "the root of a block": "UPDATE block SET root = randomblob(32)",
    "no block": "DELETE FROM block WHERE number < 5",
    "no table": "DROP TABLE leaf",
}


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_one_named_error_and_the_verification_finds_it(ledger, statement):
    altered(ledger, statement)

    with pytest.raises(LedgerDamaged):
        ask(ledger)
    with pytest.raises(LedgerDamaged):
        verified(ledger)


def test_the_verification_finds_another_last_byte_of_an_indexed_key(ledger):
    entries = "CAST(substr(entries, 1, 71) || x'ff' || substr(entries, 73) AS BLOB)"
    altered(ledger, f"UPDATE page SET entries = {entries} WHERE length(entries) > 40 AND height = 0")
    with pytest.raises(LedgerDamaged, match="does not have the keys of its leaves"):
        verified(ledger)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_a_file_that_was_copied_in_part_is_a_named_error(ledger, share):
    os.truncate(ledger, int(ledger.stat().st_size * share))
    with pytest.raises(UnreadableFile):
        ask(ledger)


def test_a_block_is_not_imported_on_damage(ledger):
    with Store(ledger) as store:
        head = store.head.number
    altered(ledger, "DELETE FROM leaf")
    with Store(ledger) as store:
        with pytest.raises(LedgerDamaged):
            import_block(store, block(head + 1, touch(8, (1, 1, 2))))
        assert head == store.head.number


@pytest.mark.parametrize("found", [3, 7, 9])
def test_a_ledger_of_another_format_is_refused(ledger, found):
    altered(ledger, f"PRAGMA user_version = {found}")
    for options in ({}, {"read_only": True}):
        with pytest.raises(UnreadableFile, match=f"not a ledger of format 8: its format is {found}"):
            Store(ledger, **options)


def test_another_process_that_writes_is_waited_for_and_named(ledger, monkeypatch):
    monkeypatch.setattr("feemodel.ledger.database.BUSY_SECONDS", 0.05)
    with Store(ledger) as one, Store(ledger) as two, one.transaction():
        with pytest.raises(UnreadableFile, match="another process writes to it"):
            two.finalize(5)
        with pytest.raises(UnreadableFile, match="another process writes to it"):
            import_block(two, block(6))


def test_a_chain_id_is_stored(ledger):
    with Store(ledger) as store:
        assert store.chain_id == 1337
        with pytest.raises(InvalidInput, match="expected 1337, the chain of"):
            store.set_chain_id(1)


def test_a_ledger_alone_only_proves(ledger):
    with opened(Settings(store=str(ledger)), store=ledger, started=False) as client:
        message = client.error("eth_chainId")["message"]

    assert message == "the method eth_chainId does not exist/is not available"


def test_a_caller_is_told_of_damage_without_the_name_of_the_file(ledger):
    asked = to_hex(address(30)), [], "finalized"
    with opened(Settings(store=str(ledger)), store=ledger, started=False) as client:
        assert "accountProof" in client.result("rollup_getProof", *asked)
    altered(ledger, DAMAGE["the hashes below a node"])
    with opened(Settings(store=str(ledger)), store=ledger, started=False) as client:
        assert client.error("rollup_getProof", *asked)["code"] == -32603
