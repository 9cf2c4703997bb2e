"""What must not move while calls run: all accounts, and what an engine answers of them."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from feemodel.errors import InvalidInput
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import to_hex
from feemodel.execution import CallState, Message
from feemodel.ledger.scheme import POSEIDON2, account_hashes
from feemodel.ledger.scheme import AccountLeaf as LedgerAccount
from tests.helpers.engine_differences import push
from tests.helpers.execution_engines import address
from tests.helpers.trees import empty_tree, put

PLENTY = 5_000_000
SLOTS = (*range(12), 2**200)
PROBE, PROBER = address(0x9E0BE), address(0x9E0BE2)


def word(value: int) -> bytes:
    return value.to_bytes(32)


def digest(call_state: CallState) -> str:
    """Of every account, its storage included, and of the block."""
    accounts = [
        (key, account.balance, account.nonce, account.code, sorted(account.storage.items()))
        for key, account in sorted(call_state.accounts.items())
    ]
    return hashlib.sha256(
        repr((accounts, call_state.block, call_state.chain_id, call_state.overrides)).encode()
    ).hexdigest()


def root(call_state: CallState) -> bytes:
    """The root of the accounts in the ledger's tree."""
    accounts = empty_tree()
    for key, account in call_state.accounts.items():
        storage = empty_tree()
        for slot, value in account.storage.items():
            if value:
                put(storage, POSEIDON2.word_hash(word(slot)), POSEIDON2.word_hash(word(value)), word(value))
        code = POSEIDON2.code_hash(account.code)
        numbers = (account.nonce, account.balance)
        value = LedgerAccount(*numbers, storage.root, code, keccak256(account.code), len(account.code)).to_bytes()
        put(accounts, POSEIDON2.account_key(key), account_hashes(POSEIDON2, [value])[0], value)
    return accounts.root


def reads_accounts(addresses: list[bytes]) -> bytes:
    """Code that returns balance, size and hash of the code of every account."""
    code = b""
    for place, key in enumerate(addresses):
        for number, opcode in enumerate((0x31, 0x3B, 0x3F)):  # BALANCE, EXTCODESIZE, EXTCODEHASH
            code += b"\x73" + key + bytes([opcode]) + push(32 * (3 * place + number), 2) + b"\x52"
    return code + push(96 * len(addresses), 2) + b"\x5f\xf3"


READS_SLOTS = b"".join(push(slot) + b"\x54" + push(32 * place, 2) + b"\x52" for place, slot in enumerate(SLOTS))
READS_SLOTS += push(32 * len(SLOTS), 2) + b"\x5f\xf3"


def probes(engine: Any, call_state: CallState, addresses: list[bytes]) -> list[Any]:
    """What the engine answers to calls that read everything: how it ended, gas and output."""
    readers = [call_state.overridden({PROBE: {"code": to_hex(reads_accounts(addresses))}})]
    readers += [call_state.overridden({key: {"code": to_hex(READS_SLOTS)}}) for key in addresses]
    targets = [PROBE, *addresses]
    asked = [(Message(sender=PROBER, to=target), reader) for target, reader in zip(targets, readers, strict=True)]
    return [_outcome(engine, reader, message) for message, reader in asked]


def _outcome(engine: Any, call_state: CallState, message: Message) -> Any:
    try:
        return engine.execute(call_state, message, PLENTY)
    except InvalidInput as error:
        return type(error)


@contextmanager
def unmoved(engine: Any, call_state: CallState, addresses: list[bytes]) -> Iterator[None]:
    """Fail if the state is another one afterwards."""
    before = digest(call_state), root(call_state), probes(engine, call_state, addresses)
    yield
    after = digest(call_state), root(call_state), probes(engine, call_state, addresses)
    assert before == after
