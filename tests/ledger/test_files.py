"""Blocks from files: what a geth genesis, a line of state changes and a trie log say, and what is refused."""

import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from ethereum_rlp import rlp
from jsonschema import Draft202012Validator

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.estimates.chain import read_genesis_document
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import read_blocks, read_proof
from feemodel.ledger.blocks import AccountFields, SlotChange
from feemodel.ledger.files import parse_block, parse_genesis, parse_trie_log
from feemodel.ledger.scheme import EMPTY_KECCAK
from tests.conftest import ROOT
from tests.helpers.ledger_blocks import address, allocated, slot

A, B = to_hex(address(1)), to_hex(address(2))
EMPTY = to_hex(EMPTY_KECCAK)
BEFORE = {"nonce": "0x0", "balance": "0x5", "codeHash": EMPTY}
AFTER = {"nonce": "0x1", "balance": "0x3", "codeHash": EMPTY}
BLOCK = {
    "number": "0x1",
    "hash": "0x" + "11" * 32,
    "parentHash": "0x" + "00" * 32,
    "accounts": {
        A: {"before": BEFORE, "after": AFTER, "storage": {"0x1": ["0x0", "0xff"]}},
        B: {"before": None, "after": AFTER, "code": "0x6001", "cleared": True},
        to_hex(address(3)): {"storage": {to_hex(slot(2)): ["0x1", "0x0"]}},
    },
}
SCHEMA = Draft202012Validator(json.loads((ROOT / "docs/how-to/block.schema.json").read_text(encoding="utf-8")))
TRIE_LOG = (  # Consensys/shomei at 3f47bed, TrieLogLayerConverterTest
    "f8d6a0000000000000000000000000000000000000000000000000000000000000000001f847940000000000000000000000000000000000000000"
    "c98086feeddeadbeef8080e6e5a0290decd9548b62a8d60345a988386fc84ba6bc95484008f6362f93160ef3e56380018080f869940000000000"
    "0000000000000000000000deadbeef80f85080f84c80880de0b6b3a7640000a0c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfa"
    "d8045d85a470a0c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a4708080"
)


def test_a_line_of_state_changes(tmp_path):
    path = tmp_path / "blocks.jsonl"
    path.write_text(json.dumps(BLOCK) + "\n\n" + json.dumps({"number": "0x2", "accounts": {}}) + "\n")
    first, second = read_blocks(path)
    assert (first.number, first.hash, first.parent_hash) == (1, b"\x11" * 32, bytes(32))
    one, two, three = first.accounts
    assert one.before == AccountFields(0, 5, EMPTY_KECCAK)
    assert one.after == AccountFields(1, 3, EMPTY_KECCAK)
    assert one.storage == (SlotChange(slot(1), 0, 255),)
    assert (one.same, one.cleared, one.code) == (False, False, None)
    assert (two.before, two.cleared, two.code) == (None, True, b"\x60\x01")
    assert (three.same, three.storage) == (True, (SlotChange(slot(2), 1, 0),))
    assert second == (2, (), None, None)


def without(name):
    return {key: value for key, value in BLOCK.items() if key != name}


def with_account(**fields):
    return BLOCK | {"accounts": {A: fields}}


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ([], "block: expected an object"),
        (without("number"), "block: expected the field number"),
        (without("accounts"), "block: expected the field accounts"),
        (BLOCK | {"extra": 1}, "block: expected only the fields .*got 'extra'"),
        (BLOCK | {"number": 1}, "number: expected a quantity"),
        (BLOCK | {"number": "0x1" + "0" * 64}, "number: "),
        (BLOCK | {"accounts": {A[2:]: {}}}, "address: expected hexadecimal"),
        (BLOCK | {"hash": "0x11"}, "hash: expected 32 bytes"),
        (BLOCK | {"accounts": []}, "accounts: expected an object of addresses"),
        (BLOCK | {"accounts": {"0x12": {}}}, "address: expected an address of 20 bytes"),
        (with_account(before=BEFORE), "expected both before and after, or neither"),
        (with_account(after=AFTER), "expected both before and after, or neither"),
        (with_account(before=BEFORE, after={"nonce": "0x1"}), "after: expected the field balance"),
        (with_account(before=BEFORE, after=AFTER | {"root": 1}), "after: expected only the fields"),
        (with_account(before=BEFORE, after=AFTER | {"balance": hex(2**256)}), "less than 2\\*\\*256"),
        (with_account(before=BEFORE, after=AFTER | {"balance": 3}), "balance: expected a quantity"),
        (with_account(cleared="yes"), "cleared: expected true or false"),
        (with_account(code="6001"), "code: expected hexadecimal"),
        (with_account(storage=[]), "storage: expected an object of slots"),
        (with_account(storage={"0x1": ["0x2"]}), "expected the values before and after"),
        (with_account(storage={"0x1": ["0x1", 2]}), "0x1: expected a quantity"),
        (with_account(storage={"1": ["0x2", "0x3"]}), "expected hexadecimal of 1 to 32 bytes"),
        (with_account(stroage={}), "expected only the fields"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number_and_by_the_schema(block, message, tmp_path):
    assert SCHEMA.is_valid(BLOCK)
    assert not SCHEMA.is_valid(block)
    with pytest.raises(InvalidInput, match=message):
        parse_block(block)
    path = tmp_path / "blocks.jsonl"
    path.write_text(json.dumps(BLOCK) + "\n" + json.dumps(block) + "\n")
    blocks = read_blocks(path)
    assert next(blocks).number == 1
    with pytest.raises(UnreadableFile, match=r"blocks\.jsonl, line 2: "):
        next(blocks)


@pytest.mark.parametrize(
    "text", ["{", "{}}", "\xff", '{"number": "0x1", "number": "0x1", "accounts": {}}', "[" * 10**5]
)
def test_a_damaged_line_is_refused(text, tmp_path):
    path = tmp_path / "blocks.jsonl"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UnreadableFile, match=r"line 1: the document: (not JSON|expected each name only once)"):
        list(read_blocks(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UnreadableFile, match="nowhere"):
        list(read_blocks(tmp_path / "nowhere"))


def test_a_proof_file_is_the_object_or_a_response_with_it(tmp_path):
    path = tmp_path / "proof.json"
    proof = {"accountProof": {}, "storageProofs": []}
    for content in (proof, {"jsonrpc": "2.0", "id": 1, "result": proof}):
        path.write_text(json.dumps(content))
        assert read_proof(path) == proof
    error = {"code": -32600, "message": "BLOCK_MISSING_IN_CHAIN - block is missing"}
    for content in ([], 1, {}, {"jsonrpc": "2.0", "id": 1, "error": error}):
        path.write_text(json.dumps(content))
        with pytest.raises(UnreadableFile, match=r"proof\.json: proof: expected an object with accountProof"):
            read_proof(path)
    with pytest.raises(UnreadableFile, match="nowhere"):
        read_proof(tmp_path / "nowhere")


def test_a_geth_genesis():
    alloc = {
        A[2:]: {"balance": "0x10"},
        B: {"balance": "1000", "nonce": 1, "code": "0x6001", "storage": {to_hex(slot(1)): "0x02"}, "comment": "x"},
        to_hex(address(3)): {"balance": 7, "nonce": "0x2"},
    }
    assert list(parse_genesis({"config": {"chainId": 1337}, "alloc": alloc})) == [
        allocated(address(1), 0, 16),
        allocated(address(2), 1, 1000, b"\x60\x01", {slot(1): 2}),
        allocated(address(3), 2, 7),
    ]


def test_a_genesis_as_the_guides_of_besu_write_it():
    fields = {"balance": "0", "code": None, "nonce": None, "version": "0x1", "privateKey": "8f2a", "comment": "x"}
    storage = {slot(1).hex(): slot(255).hex(), to_hex(slot(4)): "0x0f4240"}

    assert list(parse_genesis({"alloc": {A.replace("0x", "0X"): fields | {"storage": storage}}})) == [
        allocated(address(1), 0, 0, b"", {slot(1): 255, slot(4): 1_000_000})
    ]
    assert list(parse_genesis({"alloc": {A: fields | {"storage": None}}})) == [allocated(address(1), 0, 0)]


def test_files_of_the_ledger_may_be_gzipped_or_pipes(tmp_path):
    alloc = {to_hex(address(n)): {"balance": n} for n in range(1, 40)}
    genesis = json.dumps({"config": {"chainId": 7}, "alloc": alloc}).encode()
    proof = {"accountProof": {}, "storageProofs": []}
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    for read, content in (
        (read_genesis_document, genesis),
        (lambda path: list(read_blocks(path)), json.dumps(BLOCK).encode() + b"\r\n"),
        (read_proof, json.dumps(proof).encode()),
    ):
        plain.write_bytes(content)
        packed.write_bytes(gzip.compress(content))
        assert read(packed) == read(plain)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(pipe.write_bytes, gzip.compress(json.dumps(BLOCK).encode()))
        assert len(list(read_blocks(pipe))) == 1
    packed.write_bytes(gzip.compress(genesis)[:-9])
    with pytest.raises(UnreadableFile, match="packed: damaged gzip data"):
        read_genesis_document(packed)


@pytest.mark.parametrize(
    ("genesis", "message"),
    [
        ([], "expected an object with alloc"),
        ({"alloc": []}, "expected an object with alloc"),
        ({"alloc": {A: {}}}, "expected an object with balance"),
        ({"alloc": {"0x12": {"balance": "1"}}}, "alloc 0x12: expected an address of 20 bytes"),
        ({"alloc": {A: {"balance": hex(2**256)}}}, r"balance: expected a (whole )?number"),
        ({"alloc": {A: {"balance": 1, "code": "6001"}}}, "code: expected hexadecimal"),
        ({"alloc": {A: {"balance": 1, "storage": []}}}, "storage: expected an object"),
        ({"alloc": {A: {"balance": 1, "storage": {"10": "0x1"}}}}, "storage: expected hexadecimal of 1 to 32 bytes"),
        ({"alloc": {A: {"balance": 1, "stroage": {"0x1": "0x1"}}}}, "did you mean storage.*got 'stroage'"),
        ({"alloc": {A: {"balance": 1, "Nonce": 1}}}, "did you mean nonce.*got 'Nonce'"),
        ({"alloc": {A: {"balance": 1, "storage": {"0x1": "0x" + "1" * 65}}}}, "storage: expected hexadecimal"),
    ],
)
def test_a_wrong_genesis_is_refused(genesis, message):
    with pytest.raises(InvalidInput, match=message):
        list(parse_genesis(genesis))


def test_the_published_trie_log():
    block = parse_trie_log(bytes.fromhex(TRIE_LOG))
    assert (block.number, block.hash) == (1, bytes(32))
    contract, user = block.accounts
    assert contract.address == address(0)
    assert (contract.same, contract.code) == (True, bytes.fromhex("feeddeadbeef"))
    assert contract.storage == (SlotChange(slot(0), 0, 1),)
    assert user.address == address(0xDEADBEEF)
    assert (user.before, user.after) == (None, AccountFields(0, 10**18, EMPTY_KECCAK))


def integer(number):
    return number.to_bytes((number.bit_length() + 7) // 8)


def side(nonce, balance):
    return [integer(nonce), integer(balance), bytes(32), EMPTY_KECCAK]


def log(*entries, rest=()):
    return rlp.encode([b"\x11" * 32, integer(258), *entries, *rest])


def test_a_trie_log_with_everything_in_it():
    slots = [[keccak256(slot(9)), integer(300), b"", b"", integer(9)], [keccak256(slot(0)), b"", b"\x05", b"", b""]]
    changed = [address(1), b"", [side(1, 300), side(2, 0), b""], slots]
    again = [address(2), [b"", b"\x60\x01", b"\x01"], [side(1, 1), side(1, 2), b"\x01"], b""]
    gone = [address(3), b"", [side(1, 1), b"", b""], [[keccak256(slot(5)), b"\x01", b"", b"\x01"]]]
    block = parse_trie_log(log(changed, again, gone, rest=[b"\x01", integer(1_700_000_000)]))
    assert (block.number, block.hash, block.parent_hash) == (258, b"\x11" * 32, None)
    one, two, three = block.accounts
    assert one.storage == (SlotChange(slot(9), 300, 0), SlotChange(slot(0), 0, 5))
    assert (one.before.balance, one.after.nonce, one.cleared) == (300, 2, False)
    assert (two.cleared, two.code) == (True, b"\x60\x01")
    assert (three.after, three.storage) == (None, ())


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ([address(1), b"", b""], "expected a trie log of Besu in RLP"),
        ([address(1)[1:], b"", b"", b""], "expected 20 bytes"),
        ([address(1), b"", [side(1, 1), b""], b""], "expected a trie log of Besu in RLP"),
        ([address(1), b"", [side(1, 1)[:3], b"", b""], b""], "expected a trie log of Besu in RLP"),
        ([address(1), b"\x60", b"", b""], "expected a trie log of Besu in RLP"),
        ([address(1), b"", b"", [b"\x01"]], "expected a trie log of Besu in RLP"),
        (
            [address(1), b"", b"", [[keccak256(slot(5)), b"\x01", b"\x02", b""]]],
            "expected the slot number with the hash",
        ),
        (
            [address(1), b"", b"", [[keccak256(slot(5)), b"\x01", b"\x02", b"", b"\x06"]]],
            "the slot number with the hash",
        ),
        ([address(1), b"", b"", [[keccak256(slot(5)), b"\x00\x01", b"", b"", b"\x05"]]], "without leading zeros"),
    ],
)
def test_a_wrong_trie_log_is_refused(entry, message):
    with pytest.raises(InvalidInput, match=message):
        parse_trie_log(log(entry))


@pytest.mark.parametrize("data", [b"", b"\xc0", b"\x80", b"\xf8", log()[:-1], log() + b"\x00"])
def test_what_is_not_a_trie_log_is_refused(data):
    with pytest.raises(InvalidInput, match="trieLog: expected"):
        parse_trie_log(data)


def test_a_file_of_trie_logs(tmp_path):
    element = {"blockNumber": 258, "blockHash": "0x" + "11" * 32, "trieLog": to_hex(log()), "syncing": False}
    path = tmp_path / "logs.jsonl"
    path.write_text("\n".join(json.dumps(element | {"blockNumber": number}) for number in (258, "0x102")))
    assert [block.number for block in read_blocks(path)] == [258, 258]
    for log_text, message in ((None, "expected hexadecimal"), ("0x", "expected a trie log")):
        path.write_text(json.dumps(element | {"trieLog": log_text}))
        with pytest.raises(UnreadableFile, match=f"line 1: .*{message}"):
            list(read_blocks(path))
