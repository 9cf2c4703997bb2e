"""Read blocks from files: geth genesis files, and text files with one block per line.

Each line of a text file contains either the state changes or the trie log of a block. State changes are a JSON object,
whose schema is docs/how-to/block.schema.json. The object contains the net changes of the block, and the values before
the block. The values before the block must match the ledger:

    {"number": "0x1", "hash": "0x…", "parentHash": "0x…", "accounts": {
        "0x<address>": {
            "before": {"nonce": "0x0", "balance": "0x5", "codeHash": "0x…"},
            "after": {"nonce": "0x1", "balance": "0x3", "codeHash": "0x…"},
            "code": "0x…",
            "cleared": true,
            "storage": {"0x<slot>": ["0x<before>", "0x<after>"]}}}}

`before` is `null` if the account does not exist before the block, and `after` is `null` if the account does not exist
after the block. Both `before` and `after` are omitted if only the storage of the account changes. `codeHash` is the
Keccak-256 of the code, and `code` is the new code if the code changes. `cleared` is true if the block destroyed the
account, even if the block created the account again. `hash`, `parentHash`, `code`, `cleared` and `storage` are
optional. Numbers are hexadecimal quantities.

Source of the trie logs: `TrieLogLayerConverter` of Consensys/shomei at 3f47bed; besu-shomei-plugin 1.0.6.
"""

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ethereum_rlp import rlp
from ethereum_rlp.exceptions import RLPException

from feemodel.checks import UINT256_MAX, instance
from feemodel.errors import InvalidInput
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import (
    ADDRESS_SIZE,
    WORD_SIZE,
    address_bytes,
    from_hex,
    from_number,
    from_quantity,
    hash_bytes,
    slot_bytes,
    to_hex,
)
from feemodel.ethereum._transaction_fields import misspelt
from feemodel.io.files import contents, opened, parse_json, reading
from feemodel.ledger.blocks import AccountChange, AccountFields, BlockChanges, SlotChange
from feemodel.ledger.scheme import EMPTY_KECCAK

BLOCK_FIELDS = {"number", "hash", "parentHash", "accounts"}
GENESIS_FIELDS = {"balance", "nonce", "code", "storage"}
ACCOUNT_FIELDS = {"before", "after", "code", "cleared", "storage"}


def read_blocks(path: str | Path) -> Iterator[BlockChanges]:
    """Read the blocks of a file, one block per line.

    Parameters
    ----------
    path : plain or gzipped text; "-" is standard input. Each line has the state changes of a block, or its trie log: an
        element of the result of `shomei_getTrieLogsByRange`.

    Returns
    -------
    Iterator over the blocks, in the order of the file.

    Raises
    ------
    UnreadableFile : the file is missing, or a line is not a valid block; the message names the file and the line.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "blocks.jsonl")
    ...     _ = path.write_text('{"number": "0x1", "accounts": {}}')
    ...     [block.number for block in read_blocks(path)]
    [1]
    """
    is_input = str(path) == "-"
    name = "standard input" if is_input else path
    with reading(name), nullcontext(sys.stdin.buffer) if is_input else opened(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                with reading(f"{name}, line {number}"):
                    value = parse_json(line)
                    is_log = isinstance(value, dict) and "trieLog" in value
                    block = parse_trie_log_element(value) if is_log else parse_block(value)
                yield block


def read_proof(path: str | Path) -> dict[str, Any]:
    """Read a proof from a JSON file.

    Parameters
    ----------
    path : plain or gzipped JSON: the result of `rollup_getProof`, or the whole JSON-RPC response.

    Returns
    -------
    The result of `rollup_getProof`, in the form that `check_proof` accepts.

    Raises
    ------
    UnreadableFile : the file is missing, its JSON is invalid, or the object has no `accountProof`.

    >>> read_proof("no such file.json")
    Traceback (most recent call last):
    feemodel.errors.UnreadableFile: no such file.json: no such file
    """
    with reading(path):
        proof = parse_json(contents(path))
        if isinstance(proof, dict) and "jsonrpc" in proof:
            proof = proof.get("result", proof.get("error"))
        if not isinstance(proof, dict) or "accountProof" not in proof:
            raise InvalidInput("proof", "expected an object with accountProof and storageProofs", proof)
    return proof


def parse_genesis(genesis: Any) -> Iterator[AccountChange]:
    """Parse the allocation of a geth genesis object, as changes of block 0.

    Numbers may be decimal or hexadecimal, as in geth. Slots and values of 64 digits may be written without 0x, as in
    Besu's documentation. Unknown fields, such as a comment, are ignored. `import_genesis` refuses an address or a slot
    that occurs twice.

    Raises `InvalidInput` for an invalid account, or a field that is probably misspelt.

    >>> [account] = parse_genesis({"alloc": {"11" * 20: {"balance": "5"}}})
    >>> account.address == b"\\x11" * 20, account.after.balance
    (True, 5)
    """
    alloc = genesis.get("alloc") if isinstance(genesis, dict) else None
    if not isinstance(alloc, dict):
        raise InvalidInput("genesis", "expected an object with alloc", genesis)
    for text, fields in alloc.items():
        yield _genesis_account(text, fields)


def _genesis_account(text: str, fields: Any) -> AccountChange:
    name = f"alloc {text}"
    if not isinstance(fields, dict) or "balance" not in fields:
        raise InvalidInput(name, "expected an object with balance", fields)
    for field in () if GENESIS_FIELDS.issuperset(fields) else fields.keys() - GENESIS_FIELDS:
        if (meant := misspelt(field, GENESIS_FIELDS - fields.keys())) is not None:
            raise InvalidInput(name, f"unknown field, did you mean {meant}?", field)
    nonce, code, storage = fields.get("nonce"), fields.get("code"), fields.get("storage")
    code = from_hex("0x" if code is None else code, f"{name} code")
    if not isinstance(storage, dict | None):
        raise InvalidInput(f"{name} storage", "expected an object of slots", storage)
    words = [[_genesis_word(word, f"{name} storage") for word in pair] for pair in (storage or {}).items()]
    return AccountChange(
        address=address_bytes("0x" + (text[2:] if text[:2] in ("0x", "0X") else text), name),
        after=AccountFields(
            nonce=from_number(0 if nonce is None else nonce, f"{name} nonce", maximum=UINT256_MAX),
            balance=from_number(fields["balance"], f"{name} balance", maximum=UINT256_MAX),
            keccak_code_hash=keccak256(code) if code else EMPTY_KECCAK,
        ),
        code=code or None,
        storage=tuple(SlotChange(slot, 0, int.from_bytes(value)) for slot, value in words),
    )


def genesis_chain_id(genesis: Any) -> int | None:
    """Return the `chainId` in the `config` of a geth genesis object, or `None` if there is no `chainId`.

    >>> genesis_chain_id({"config": {"chainId": 1337}})
    1337
    """
    config = genesis.get("config") if isinstance(genesis, dict) else None
    if not isinstance(config, dict) or config.get("chainId") is None:
        return None
    return from_number(config["chainId"], "config.chainId", maximum=UINT256_MAX)


def parse_block(block: Any) -> BlockChanges:
    """Parse the changes of one block from a JSON object in the format that this module's documentation describes.

    Raises `InvalidInput` for a missing, unknown or invalid field.

    >>> block = parse_block({"number": "0x1", "accounts": {"0x" + "00" * 20: {"storage": {"0x1": ["0x0", "0x2"]}}}})
    >>> block.number, block.accounts[0].same, block.accounts[0].storage[0].after
    (1, True, 2)
    """
    _check_fields("block", block, {"number", "accounts"}, BLOCK_FIELDS)
    accounts = block["accounts"]
    if not isinstance(accounts, dict):
        raise InvalidInput("accounts", "expected an object of addresses", accounts)
    return BlockChanges(
        number=_quantity("number", block["number"]),
        accounts=tuple(_account(text, change) for text, change in accounts.items()),
        hash=hash_bytes(block["hash"], "hash") if "hash" in block else None,
        parent_hash=hash_bytes(block["parentHash"], "parentHash") if "parentHash" in block else None,
    )


def _account(text: str, change: Any) -> AccountChange:
    _check_fields(text, change, set(), ACCOUNT_FIELDS)
    if ("before" in change) != ("after" in change):
        raise InvalidInput(text, "expected both before and after, or neither of them", sorted(change))
    return AccountChange(
        address=address_bytes(text),
        before=_fields(f"{text} before", change.get("before")),
        after=_fields(f"{text} after", change.get("after")),
        same="before" not in change,
        cleared=instance(f"{text} cleared", change.get("cleared", False), bool),
        code=from_hex(change["code"], f"{text} code") if "code" in change else None,
        storage=_slots(f"{text} storage", change.get("storage", {})),
    )


def _fields(name: str, fields: Any) -> AccountFields | None:
    if fields is None:
        return None
    names = {"nonce", "balance", "codeHash"}
    _check_fields(name, fields, names, names)
    return AccountFields(
        nonce=_quantity(f"{name} nonce", fields["nonce"]),
        balance=_quantity(f"{name} balance", fields["balance"]),
        keccak_code_hash=hash_bytes(fields["codeHash"], f"{name} codeHash"),
    )


def _slots(name: str, storage: Any) -> tuple[SlotChange, ...]:
    if not isinstance(storage, dict):
        raise InvalidInput(name, "expected an object of slots", storage)
    changes = []
    for text, pair in storage.items():
        if not isinstance(pair, list) or len(pair) != 2:
            raise InvalidInput(f"{name} {text}", "expected the values before and after", pair)
        before, after = (_quantity(f"{name} {text}", value) for value in pair)
        changes.append(SlotChange(slot_bytes(text, name), before, after))
    return tuple(changes)


def _genesis_word(text: Any, name: str) -> bytes:
    is_bare = isinstance(text, str) and len(text) == 2 * WORD_SIZE and not text.startswith("0x")
    return slot_bytes("0x" + text if is_bare else text, name)


def _quantity(name: str, text: Any) -> int:
    number = from_quantity(text, name)
    if number > UINT256_MAX:
        raise InvalidInput(name, "expected less than 2**256", text)
    return number


def _check_fields(name: str, value: Any, needed: set[str], known: set[str]) -> None:
    if not isinstance(value, dict):
        raise InvalidInput(name, "expected an object", value)
    for field in sorted(needed - value.keys()):
        raise InvalidInput(name, f"expected the field {field}", sorted(value))
    for field in sorted(value.keys() - known):
        raise InvalidInput(name, f"expected only the fields {', '.join(sorted(known))}", field)


def parse_trie_log(data: bytes) -> BlockChanges:
    """Parse the changes of one block from a trie log of Besu with the Shomei plug-in.

    A trie log is an RLP list: [block hash, block number, account entry …, zkCompare?, timestamp?]. An account entry is
    [address, code | empty, account | empty, storage | empty]. In an account entry, code is [prior, new, cleared];
    account is [prior, new, cleared], where prior and new are [nonce, balance, EVM storage root, Keccak code hash] or
    empty; and storage is a list of [Keccak of the slot, prior, new, cleared, slot?].

    Raises `InvalidInput` if the data is not a trie log. Also raises `InvalidInput` if the log contains a slot only as a
    hash, although the slot's account exists after the block.
    """
    try:
        items: Any = rlp.decode(data)
        block_hash, number, *rest = items
        accounts = tuple(_logged_account(*entry) for entry in rest if isinstance(entry, list))
        return BlockChanges(_integer(number), accounts, _sized(block_hash, WORD_SIZE))
    except InvalidInput:
        raise
    except (RLPException, RecursionError, TypeError, ValueError):
        raise InvalidInput("trieLog", "expected a trie log of Besu in RLP", to_hex(data)) from None


def parse_trie_log_element(element: Any) -> BlockChanges:
    """Parse an element of the result of `shomei_getTrieLogsByRange`; the trie log contains the number and the hash."""
    if not isinstance(element, dict) or "trieLog" not in element:
        raise InvalidInput("trie log", "expected an object with trieLog", element)
    return parse_trie_log(from_hex(element["trieLog"], "trieLog"))


def _logged_account(address: Any, code: Any, account: Any, storage: Any) -> AccountChange:
    prior, new, cleared = account or (b"", b"", b"")
    before, after, is_cleared = _logged_fields(prior), _logged_fields(new), bool(cleared)
    gone = bool(account) and (is_cleared or after is None)
    slots = [_logged_slot(gone, *slot) for slot in storage]
    _, new_code, _ = code or (b"", b"", b"")
    return AccountChange(
        address=_sized(address, ADDRESS_SIZE),
        before=before,
        after=after,
        same=not account,
        cleared=is_cleared,
        code=_bytes(new_code) or None,
        storage=tuple(slot for slot in slots if slot is not None),
    )


def _logged_fields(side: Any) -> AccountFields | None:
    if not side:
        return None
    nonce, balance, _, code_hash = side
    return AccountFields(_integer(nonce), _integer(balance), _sized(code_hash, WORD_SIZE))


def _logged_slot(account_gone: bool, hashed: Any, prior: Any, new: Any, _: Any, known: Any = b"") -> SlotChange | None:
    before, after, slot = _integer(prior), _integer(new), _bytes(known).rjust(WORD_SIZE, b"\0")
    if keccak256(slot) == _sized(hashed, WORD_SIZE):  # an empty `known` means slot number 0, or an unknown slot
        return SlotChange(slot, before, after)
    if account_gone and not after:
        return None
    raise InvalidInput("trieLog slot", f"expected the slot number with the hash {to_hex(hashed)}", to_hex(slot))


def _integer(item: Any) -> int:
    if len(_bytes(item)) > WORD_SIZE or item.startswith(b"\0"):
        raise InvalidInput("trieLog", "expected an integer of at most 32 bytes without leading zeros", item)
    return int.from_bytes(item)


def _sized(item: Any, size: int) -> bytes:
    if len(_bytes(item)) != size:
        raise InvalidInput("trieLog", f"expected {size} bytes", item)
    return bytes(item)


def _bytes(item: Any) -> bytes:
    if not isinstance(item, bytes):
        raise InvalidInput("trieLog", "expected bytes", item)
    return item
