"""Blocks of state changes from files: JSON Lines, trie logs, genesis allocations."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ethereum_rlp import rlp

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger.blocks import AccountChange, AccountFields, BlockChanges, GenesisAccount, SlotChange
from feemodel.ledger.files import parse_block, parse_trie_log, read_blocks, read_genesis, read_trie_logs
from feemodel.ledger.scheme import EMPTY_KECCAK
from tests.fuzz.mutators import mutated_json, mutated_lines, mutated_rlp
from tests.fuzz.target import Target, as_file, check, check_equal

ADDRESSES = [bytes([first]) * 20 for first in (0x11, 0xAB)]
GETH_NUMBER = re.compile("0[xX][0-9a-fA-F]+|[0-9]+", re.ASCII)
CODE = bytes.fromhex("6001600055")


def _fromas_file(read: Callable[[Path], Iterable[Any]]) -> Callable[[bytes], list[Any]]:
    return lambda data: list(read(as_file(data)))


def _check_state_diff(data: bytes, blocks: list[BlockChanges]) -> None:
    """What the lines say is said again by lines written from it."""
    check(len(blocks) <= data.count(b"\n") + 1, "more blocks than lines")
    for block in blocks:
        _check_block(block)
        if _is_written_in_one_way(block):
            check_equal(block, parse_block(json.loads(json.dumps(_block_object(block)))), "the block written again")


def _is_written_in_one_way(block: BlockChanges) -> bool:
    """No address and no slot twice, as in capitals and lower case: the import refuses those."""
    slots = [[slot for slot, *_ in change.storage] for change in block.accounts]
    return all(len(set(keys)) == len(keys) for keys in ([change.address for change in block.accounts], *slots))


def _check_block(block: BlockChanges) -> None:
    """Sizes and ranges, on which the ledger relies."""
    check(block.number >= 0 and (block.hash is None or len(block.hash) == 32), "the head of the block")
    for change in block.accounts:
        check(isinstance(change.address, bytes) and len(change.address) == 20, "an address")
        check(change.code is None or isinstance(change.code, bytes), "code")
        check(isinstance(change.cleared, bool) and isinstance(change.same, bool), "a flag")
        check(not change.same or (change.before, change.after) == (None, None), "an account that is said to stay")
        for fields in filter(None, (change.before, change.after)):
            check(isinstance(fields.keccak_code_hash, bytes) and len(fields.keccak_code_hash) == 32, "a hash of code")
            check(0 <= fields.nonce < 2**256 and 0 <= fields.balance < 2**256, "nonce or balance")
        for slot, before, after in change.storage:
            check(isinstance(slot, bytes) and len(slot) == 32, f"a slot of {len(slot)} bytes")
            check(0 <= before < 2**256 and 0 <= after < 2**256, "the value of a slot")


def _block_object(block: BlockChanges) -> dict[str, Any]:
    written: dict[str, Any] = {"number": hex(block.number)}
    for name, value in (("hash", block.hash), ("parentHash", block.parent_hash)):
        if value is not None:
            written[name] = to_hex(value)
    return written | {"accounts": {to_hex(change.address): _change_object(change) for change in block.accounts}}


def _change_object(change: AccountChange) -> dict[str, Any]:
    storage = {to_hex(slot): [hex(before), hex(after)] for slot, before, after in change.storage}
    written: dict[str, Any] = {"cleared": change.cleared, "storage": storage}
    if not change.same:
        written |= {"before": _fields_object(change.before), "after": _fields_object(change.after)}
    return written | ({} if change.code is None else {"code": to_hex(change.code)})


def _fields_object(fields: AccountFields | None) -> dict[str, str] | None:
    if fields is None:
        return None
    return {
        "nonce": hex(fields.nonce),
        "balance": hex(fields.balance),
        "codeHash": to_hex(fields.keccak_code_hash),
    }


def _sample_block(number: int, *, gone: bool = False) -> BlockChanges:
    """A block that does everything once: a change, a creation, a destruction, slots."""
    first, second = ADDRESSES
    before, after = AccountFields(1, 300, EMPTY_KECCAK), AccountFields(2, 0, EMPTY_KECCAK)
    slots = tuple(SlotChange(key.to_bytes(32), old, new) for key, old, new in ((0, 0, 5), (9, 300, 0)))
    created = AccountFields(1, 0, keccak256(CODE))
    return BlockChanges(
        number=number,
        accounts=(
            AccountChange(first, before, None if gone else after, storage=() if gone else slots),
            AccountChange(second, None, created, cleared=gone, code=CODE),
            AccountChange(bytes(20), same=True, storage=slots[:1]),
        ),
        hash=b"\x11" * 32,
        parent_hash=None if gone else bytes(32),
    )


def _state_diff_seeds() -> list[bytes]:
    lines = [json.dumps(_block_object(_sample_block(number, gone=gone))) for number, gone in ((1, False), (2, True))]
    return ["\n".join(lines).encode(), (lines[1] + "\n\n").encode(), b'{"number": "0x2", "accounts": {}}', b""]


def _check_trie_log(data: bytes, block: BlockChanges) -> None:
    """What a log says is said again by a log written from it."""
    _check_block(block)
    check_equal(block, parse_trie_log(_log(block)), "the log written again")
    _, _, *entries = rlp.decode(data)
    kinds = [isinstance(entry, list) for entry in entries]
    check_equal(sum(kinds), len(block.accounts), "accounts")
    check(kinds == sorted(kinds, reverse=True) and len(kinds) - sum(kinds) <= 2, "items that are no accounts")


def _log(block: BlockChanges) -> bytes:
    return rlp.encode([block.hash, _number(block.number), *map(_log_entry, block.accounts)])


def _log_entry(change: AccountChange) -> list[Any]:
    sides = [_log_fields(change.before), _log_fields(change.after), b"\x01" if change.cleared else b""]
    return [
        change.address,
        b"" if change.code is None else [b"", change.code, b""],
        b"" if change.same else sides,
        [[keccak256(slot), _number(old), _number(new), b"", slot] for slot, old, new in change.storage],
    ]


def _log_fields(fields: AccountFields | None) -> Any:
    if fields is None:
        return b""
    return [_number(fields.nonce), _number(fields.balance), bytes(32), fields.keccak_code_hash]


def _number(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8)


def _trie_log_seeds() -> list[bytes]:
    whole = _log(_sample_block(1))
    extended = rlp.encode([*rlp.decode(whole), b"\x01", _number(1_700_000_000)])
    short = rlp.encode([b"\x11" * 32, b"\1", [ADDRESSES[0], b"", b"", [[keccak256(bytes(32)), b"\5", b"", b""]]]])
    return [whole, extended, _log(_sample_block(2, gone=True)), short, _log(BlockChanges(0, (), bytes(32)))]


def _check_trie_log_lines(data: bytes, blocks: list[BlockChanges]) -> None:
    """Every line is the log that it holds, with the number and the hash that stand beside it."""
    lines = [json.loads(line) for line in data.split(b"\n") if line.strip()]
    check_equal(len(lines), len(blocks), "blocks")
    for line, block in zip(lines, blocks, strict=True):
        check_equal(block, parse_trie_log(bytes.fromhex(line["trieLog"][2:])), "the log")
        number = line["blockNumber"]
        check_equal(block.number, number if type(number) is int else int(number, 16), "the number")
        check_equal(to_hex(block.hash or b""), line["blockHash"].lower(), "the hash")


def _trie_log_lines_seeds() -> Iterator[bytes]:
    logs = [(number, _log(_sample_block(number, gone=number > 1))) for number in (1, 2)]
    elements = [
        {"blockNumber": hex(number) if number > 1 else 1, "blockHash": "0x" + "11" * 32, "trieLog": to_hex(log)}
        for number, log in logs
    ]
    yield "\n".join(json.dumps(element | {"isSyncing": False}) for element in elements).encode()
    yield json.dumps(elements[0]).encode()


def _check_genesis(data: bytes, accounts: list[GenesisAccount]) -> None:
    """The allocation is the same when it is written out and read again."""
    for account in accounts:
        check(isinstance(account.address, bytes) and len(account.address) == 20, "an address")
        check(0 <= account.balance < 2**256 and 0 <= account.nonce < 2**256, "balance or nonce")
        check(isinstance(account.code, bytes), "code")
        check(all(len(slot) == 32 and 0 <= value < 2**256 for slot, value in account.storage.items()), "storage")
    listed = json.loads(data)["alloc"]
    check_equal([len(fields.get("storage", ())) for fields in listed.values()], _slots(accounts), "slots")
    check_equal(len(accounts), len({account.address for account in accounts}), "addresses")
    for fields in listed.values():
        for number in (fields["balance"], fields.get("nonce", 0)):
            check(bool(GETH_NUMBER.fullmatch(str(number))), f"a number that geth does not write: {number!r:.100}")
    written = json.dumps({"alloc": dict(map(_allocation, accounts))}).encode()
    check_equal(accounts, list(read_genesis(as_file(written))), "the allocation written again")


def _slots(accounts: list[GenesisAccount]) -> list[int]:
    return [len(account.storage) for account in accounts]


def _allocation(account: GenesisAccount) -> tuple[str, dict[str, Any]]:
    storage = {to_hex(slot): hex(value) for slot, value in account.storage.items()}
    fields = {"nonce": hex(account.nonce), "balance": str(account.balance), "code": to_hex(account.code)}
    return account.address.hex(), fields | {"storage": storage}


def _genesis_seeds() -> list[bytes]:
    first, second = (address.hex() for address in ADDRESSES)
    storage = {"0x1": "0x02", "0x" + "aB" * 32: "0x" + "00" * 31 + "7"}
    full = {"balance": "1000", "nonce": 1, "code": to_hex(CODE), "storage": storage, "comment": "x"}
    alloc = {first: {"balance": "0x10"}, "0x" + second: full, "00" * 20: {"balance": 7, "nonce": "0x2"}}
    return [json.dumps(genesis).encode() for genesis in ({"config": {"chainId": 1}, "alloc": alloc}, {"alloc": {}})]


TARGETS = {
    "state_diff": Target(
        _fromas_file(read_blocks), (UnreadableFile,), _check_state_diff, _state_diff_seeds, mutated_lines
    ),
    "trie_log": Target(parse_trie_log, (InvalidInput,), _check_trie_log, _trie_log_seeds, mutated_rlp(0)),
    "trie_log_lines": Target(
        _fromas_file(read_trie_logs), (UnreadableFile,), _check_trie_log_lines, _trie_log_lines_seeds, mutated_lines
    ),
    "genesis": Target(_fromas_file(read_genesis), (UnreadableFile,), _check_genesis, _genesis_seeds, mutated_json),
}
