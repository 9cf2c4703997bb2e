"""
Posting under the Glamsterdam draft
===================================

The cost of a batch on L1 under the gas rules proposed for Ethereum's next upgrade, as of 2026-08-22. The numbers may
change before the upgrade, and no mainnet date is set. The package does not use these rules by default. To compute fees
with the gas of Linea's submission under the draft, pass `data/rules/glamsterdam-draft.toml` to `--rules`.

- EIP-2780: the intrinsic gas depends on the kind of transaction, instead of 21,000 for all transactions
- EIP-7976: the calldata floor is 64 gas per byte; with EIP-7981, it includes the data of access lists
- EIP-8037: new bytes in the state are charged in "state gas", from a separate reservoir
- EIP-8038: new prices of access to accounts and storage
- EIP-7778: blocks count gas before refunds

Sources: ethereum/EIPs at f767a1e (2026-08-22); ethereum/go-ethereum at 02b73d4 (2026-08-20): core/eip2780_test.go,
core/state_transition_test.go, core/vm/eip8038_test.go, core/eip8037_test.go.
"""

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt

from feemodel.ethereum import fee_market
from feemodel.plots import plot_posting

TRANSACTION_BASE = 12_000
TRANSACTION_VALUE = 6_000
COLD_ACCOUNT_ACCESS = 3_000
WARM_ACCESS = 100
COLD_STORAGE_ACCESS = 2_100
STORAGE_WRITE = 10_000
STORAGE_CLEAR_REFUND = 11_616
CREATE_ACCESS = 12_000
ACCESS_LIST_ADDRESS, ACCESS_LIST_KEY = 2_900, 2_000
ADDRESS_BYTES, KEY_BYTES = 20, 32
DATA_GAS_PER_BYTE = 64  # EIP-7976, EIP-7981
AUTHORIZATION_EXECUTION = 7_816
INIT_CODE_WORD = 2  # EIP-3860
HASH_WORD = 6

GAS_PER_STATE_BYTE = 1_530
SLOT_STATE_GAS = 64 * GAS_PER_STATE_BYTE
ACCOUNT_STATE_GAS = 120 * GAS_PER_STATE_BYTE
AUTHORIZATION_STATE_GAS = 23 * GAS_PER_STATE_BYTE

MAX_EXECUTION_GAS = 16_777_216  # EIP-7825; gas above this limit goes to the reservoir
REFUND_QUOTIENT = 5
SYSTEM_CALL_GAS = 30_000_000 + 16 * SLOT_STATE_GAS

NEW_SLOT_GAS_TODAY, CHANGED_SLOT_GAS_TODAY = 22_100, 5_000  # for a cold slot, EIP-2929


# %%
# The gas of a transaction before its first opcode
# ------------------------------------------------


class RecipientGas(NamedTuple):
    """Gas of a transaction that depends on its kind and recipient, without calldata and execution of code [gas]."""

    intrinsic: int  # charged before execution; the gas limit must cover it
    runtime_execution: int  # charged when execution starts
    runtime_state: int  # for a new account


def recipient_gas(
    *, kind: str, has_value: bool, exists: bool = True, delegated: bool = False, delegation_target_warm: bool = False
) -> RecipientGas:
    """Return a row of EIP-2780's reference table; `kind` is "call", "self" or "create"."""
    intrinsic = TRANSACTION_BASE
    if kind == "create":
        intrinsic += CREATE_ACCESS
    elif kind == "call":
        intrinsic += COLD_ACCOUNT_ACCESS + (TRANSACTION_VALUE if has_value else 0)
    target = WARM_ACCESS if delegation_target_warm else COLD_ACCOUNT_ACCESS
    creates_account = not exists and (kind == "create" or (kind == "call" and has_value))
    return RecipientGas(intrinsic, target if delegated else 0, ACCOUNT_STATE_GAS if creates_account else 0)


def access_list_data(addresses: int, storage_keys: int) -> int:
    """Return the bytes of an access list that count as data, EIP-7981 [byte]."""
    return ADDRESS_BYTES * addresses + KEY_BYTES * storage_keys


def intrinsic_gas(
    *, kind: str, has_value: bool, zero_bytes: int = 0, nonzero_bytes: int = 0, addresses: int = 0,
    storage_keys: int = 0, authorizations: int = 0,
) -> int:  # fmt: skip
    """Return the execution gas of a transaction before its first opcode, EIP-2780 [gas]."""
    gas = recipient_gas(kind=kind, has_value=has_value).intrinsic
    gas += fee_market.calldata_gas(zero_bytes, nonzero_bytes)
    if kind == "create":
        gas += INIT_CODE_WORD * -(-(zero_bytes + nonzero_bytes) // 32)
    gas += addresses * ACCESS_LIST_ADDRESS + storage_keys * ACCESS_LIST_KEY
    gas += access_list_data(addresses, storage_keys) * DATA_GAS_PER_BYTE
    return gas + authorizations * AUTHORIZATION_EXECUTION


def calldata_floor(length: int, *, base: int, addresses: int = 0, storage_keys: int = 0) -> int:
    """Return the minimum charge: base + 64 · (length + 20 · addresses + 32 · keys) [gas]."""
    return base + (length + access_list_data(addresses, storage_keys)) * DATA_GAS_PER_BYTE


# %%
# Storage and code
# ----------------


class StorageGas(NamedTuple):
    """Gas of a sequence of SSTOREs to one slot [gas]."""

    execution_gas: int
    state_gas: int
    refund: int


def storage_gas(original: int, values: Sequence[int]) -> StorageGas:
    """Return the gas of storing these values, one after the other, in a cold slot, EIP-8038.

    The opcodes that push the operands are not included. A slot that is set and reset in one transaction costs no state
    gas.
    """
    current, execution, state, refund = original, 0, 0, 0
    for place, new in enumerate(values):
        execution += COLD_STORAGE_ACCESS if place == 0 else WARM_ACCESS
        if new == current:
            continue
        if current == original:
            execution += STORAGE_WRITE
            state += SLOT_STATE_GAS if original == 0 else 0
        elif new == original:
            refund += STORAGE_WRITE
            state -= SLOT_STATE_GAS if original == 0 else 0
        if original != 0:
            refund += STORAGE_CLEAR_REFUND * ((new == 0) - (current == 0))
        current = new
    return StorageGas(execution, state, refund)


def deposited_code_gas(code_bytes: int) -> tuple[int, int]:
    """Return state gas and hash gas of a contract's code: 1,530 per byte and 6 per word [gas]."""
    return code_bytes * GAS_PER_STATE_BYTE, -(-code_bytes // 32) * HASH_WORD


# %%
# Limits and the gas used of a block
# ----------------------------------


class TransactionGas(NamedTuple):
    """Gas charged to a transaction, and its gas in the block's totals [gas]."""

    gas_used: int  # in the receipt
    block_state: int
    block_execution: int


def split_gas_limit(gas_limit: int, intrinsic: int) -> tuple[int, int]:
    """Divide a gas limit into execution gas and the reservoir of state gas, EIP-8037 [gas]."""
    left = min(MAX_EXECUTION_GAS, gas_limit) - intrinsic
    return left, gas_limit - intrinsic - left


def transaction_gas(
    gas_limit: int, *, gas_left: int, reservoir: int, refund_counter: int, state_gas: int, floor: int
) -> TransactionGas:
    """Return the charge of a transaction and its gas in the block's totals, EIP-8037 with EIP-7778."""
    before = gas_limit - gas_left - reservoir
    refund = min(before // REFUND_QUOTIENT, refund_counter)
    return TransactionGas(max(before - refund, floor), state_gas, max(before - state_gas, floor))


def block_gas(transactions: Sequence[tuple[int, int]]) -> int:
    """Return the gas used in a block's header: the maximum of its execution gas and its state gas [gas]."""
    return max(sum(execution for execution, _ in transactions), sum(state for _, state in transactions))


# %%
# Posting, today and under the draft
# ----------------------------------
# Blob gas is not included. The transaction transfers no value. Both sets of rules charge the same whether the recipient
# has code or not.


class PostingGas(NamedTuple):
    """L1 gas of a posting transaction [gas]."""

    today: int
    draft: int


def posting_gas(
    *, zero_bytes: int = 0, nonzero_bytes: int = 0, new_slots: int = 0, changed_slots: int = 0, other_gas: int = 0
) -> PostingGas:
    """Return the L1 gas of a transaction that posts a batch.

    `new_slots` is the number of cold storage slots that are set for the first time, and `changed_slots` of those that
    are changed. `other_gas` is execution gas that is assumed to be equal under both sets of rules.
    """
    data = fee_market.calldata_gas(zero_bytes, nonzero_bytes) + other_gas
    slots = new_slots * NEW_SLOT_GAS_TODAY + changed_slots * CHANGED_SLOT_GAS_TODAY
    floor = fee_market.calldata_floor_gas(zero_bytes, nonzero_bytes)
    today = max(fee_market.TRANSACTION_GAS + data + slots, floor)
    added, set_anew = storage_gas(0, [1]), storage_gas(1, [2])
    slots = new_slots * (added.execution_gas + added.state_gas) + changed_slots * set_anew.execution_gas
    own = intrinsic_gas(kind="call", has_value=False)
    return PostingGas(today, max(own + data + slots, calldata_floor(zero_bytes + nonzero_bytes, base=own)))


rows = [
    ("blobs to an account without code (OP Stack)", posting_gas()),
    ("blobs to a contract that sets one slot anew", posting_gas(changed_slots=1, nonzero_bytes=500)),
    ("blobs to a contract that stores a commitment, one new slot", posting_gas(new_slots=1, nonzero_bytes=500)),
    ("blobs to a contract that sets three new slots", posting_gas(new_slots=3, nonzero_bytes=1_000)),
    ("a batch of 10,000 bytes in calldata", posting_gas(nonzero_bytes=10_000)),
    ("a batch of 100,000 bytes in calldata", posting_gas(nonzero_bytes=100_000)),
]
for label, gas in rows:
    print(f"{label}: {gas.today:,} gas today, {gas.draft:,} under the draft, {gas.draft / gas.today - 1:+.1%}")
fig, ax = plt.subplots(figsize=(10, 3.8), layout="constrained")
plot_posting([(label, *gas) for label, gas in rows], ax)
ax.set_title("Posting under the Glamsterdam draft of 2026-08-22, blob gas apart", fontsize=10)
