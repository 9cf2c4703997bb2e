"""Net changes of a block from an ordinary node: `debug_traceBlockByNumber` with the prestate tracer in diff mode.

The tracer shows the accounts and slots that each transaction changes, before and after it. A node also changes state
outside transactions: it credits withdrawals, and the system contracts of EIP-4788, EIP-2935, EIP-7002 and EIP-7251
write slots in each block. These balances and slots are read from the node after the block.

Source: `eth/tracers/native/prestate.go` of ethereum/go-ethereum at v1.17.10.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import (
    WORD_SIZE,
    address_bytes,
    from_hex,
    from_quantity,
    hash_bytes,
    slot_bytes,
    to_hex,
    to_quantity,
)
from feemodel.ledger.blocks import AccountChange, AccountFields, BlockChanges, SlotChange
from feemodel.ledger.store import Store

if TYPE_CHECKING:
    from feemodel.io.node import Node

TRACER = {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}}
BEACON_ROOTS = bytes.fromhex("000f3df6d732807ef1319fb7b8bb8522d0beac02")  # EIP-4788
HISTORY = bytes.fromhex("0000f90827f1c53a10cb7a02335b175320002935")  # EIP-2935
QUEUES = (
    bytes.fromhex("00000961ef480eb55e80d19ad83579a64c007002"),  # EIP-7002
    bytes.fromhex("0000bbddc7ce488642fb579f8b00f3a590007251"),  # EIP-7251
)
ROOTS, QUEUE_SLOTS = 8_191, range(4)  # length of the rings of EIP-4788 and EIP-2935; excess, count, head and tail


@dataclass
class _Account:
    """Account before and after the transactions so far: nonce, balance and code, or `None`; and its changed slots."""

    before: tuple[int, int, bytes] | None
    after: tuple[int, int, bytes] | None
    slots: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    cleared: bool = False


def traced_block(node: "Node", store: Store, number: int) -> BlockChanges:
    """Return the changes of the block after the head of a store, from a node with the `debug` methods.

    Raises `UpstreamError` for a response that is not a block or its traces.
    """
    name = to_quantity(number)
    header = node.call("eth_getBlockByNumber", [name, False])
    traces = node.call("debug_traceBlockByNumber", [name, TRACER])
    accounts: dict[bytes, _Account] = {}
    try:
        for trace in traces:
            _add(accounts, trace["result"]["pre"], trace["result"]["post"])
        _add_system(accounts, node, store, header)
        return BlockChanges(
            number=number,
            accounts=tuple(_change(store, address, account) for address, account in accounts.items()),
            hash=hash_bytes(header["hash"], "hash"),
            parent_hash=hash_bytes(header["parentHash"], "parentHash"),
        )
    except (KeyError, TypeError, AttributeError, InvalidInput) as error:
        raise UpstreamError(f"block {number}: expected a block and its traces in diff mode ({error!r})") from None


def _add(accounts: dict[bytes, _Account], pre: Mapping[str, Any], post: Mapping[str, Any]) -> None:
    """Add the changes of a transaction. An account that is only in `pre` was destroyed."""
    for text in {**pre, **post}:
        address, old, new = address_bytes(text), pre.get(text, {}), post.get(text)
        before = _state(old, (0, 0, b""))
        account = accounts.setdefault(address, _Account(before if any(before) else None, None))
        if new is None:
            account.cleared, account.after = True, None
            account.slots = {slot: (first, 0) for slot, (first, _) in account.slots.items()}
            continue
        account.after = _state(new, before)
        slots, changed = _slots(old), _slots(new)
        for slot in {**slots, **changed}:
            first, _ = account.slots.get(slot, (slots.get(slot, 0), 0))
            account.slots[slot] = first, changed.get(slot, 0)


def _state(fields: Mapping[str, Any], default: tuple[int, int, bytes]) -> tuple[int, int, bytes]:
    """Return nonce, balance and code; `pre` omits fields that are zero, and `post` fields that did not change."""
    nonce, balance, code = (fields.get(name) for name in ("nonce", "balance", "code"))
    if isinstance(nonce, str):
        nonce = from_quantity(nonce, "nonce")
    return (
        default[0] if nonce is None else nonce,
        default[1] if balance is None else from_quantity(balance, "balance"),
        default[2] if code is None else from_hex(code, "code"),
    )


def _slots(fields: Mapping[str, Any]) -> dict[bytes, int]:
    return {slot_bytes(slot): int(value, 16) for slot, value in (fields.get("storage") or {}).items()}


def _add_system(accounts: dict[bytes, _Account], node: "Node", store: Store, header: Mapping[str, Any]) -> None:
    """Add the accounts that the node changes outside transactions, as they are after the block."""
    number, time = (from_quantity(header[name], name) for name in ("number", "timestamp"))

    def account_of(address: bytes) -> _Account:
        stored = store.account(number - 1, address)
        fields = stored and (stored.nonce, stored.balance, (store.code(stored.keccak_code_hash) or b""))
        return accounts.setdefault(address, _Account(fields, fields))

    for address in {address_bytes(one["address"]) for one in header.get("withdrawals") or ()}:
        account = account_of(address)
        nonce, _, code = account.after or (0, 0, b"")
        balance = from_quantity(node.call("eth_getBalance", [to_hex(address), header["number"]]), "balance")
        account.after = nonce, balance, code
    written: dict[bytes, list[int]] = {}
    if header.get("parentBeaconBlockRoot") is not None:
        written[BEACON_ROOTS] = [time % ROOTS, time % ROOTS + ROOTS]
    if header.get("requestsHash") is not None:
        written |= {HISTORY: [(number - 1) % ROOTS], **{queue: [*QUEUE_SLOTS] for queue in QUEUES}}
    for address, numbers in written.items():
        if address not in accounts and store.account(number - 1, address) is None:
            continue
        account = account_of(address)
        for slot in (number.to_bytes(WORD_SIZE) for number in numbers):
            value = int(node.call("eth_getStorageAt", [to_hex(address), to_hex(slot), header["number"]]), 16)
            account.slots[slot] = store.slot(number - 1, address, slot), value


def _change(store: Store, address: bytes, account: _Account) -> AccountChange:
    """Return the net change of an account. An account that is empty after the block does not exist (EIP-161)."""
    before, after = account.before, account.after if account.after and any(account.after) else None
    cleared = account.cleared and before is not None
    head = store.head
    slots = []
    for slot, (first, last) in account.slots.items():
        if cleared and head:  # after a destruction, the trace shows cleared slots as 0
            first = store.slot(head.number, address, slot)
        slots.append(SlotChange(slot, first, last if after else 0))
    code = after[2] if after and after[2] and (before is None or cleared or after[2] != before[2]) else None
    return AccountChange(
        address, _fields(before), _fields(after), cleared=cleared, code=code,
        storage=tuple(one for one in slots if one.before != one.after or cleared) if before or after else (),
    )  # fmt: skip


def _fields(state: tuple[int, int, bytes] | None) -> AccountFields | None:
    return None if state is None else AccountFields(state[0], state[1], keccak256(state[2]))
