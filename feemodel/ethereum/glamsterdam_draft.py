"""DRAFT: the gas of Ethereum's next upgrade, Glamsterdam, as proposed on 2026-08-22.

The numbers may change before the upgrade, and no mainnet date is set. Nothing in this package uses them by default;
these functions say what posting would cost under them.

    EIP-2780  the intrinsic gas of a transaction by what it does, instead of 21,000 for all
    EIP-7976  a calldata floor of 64 gas for each byte; EIP-7981 counts the data of access lists too
    EIP-8037  state gas: what grows the state is paid by its bytes, from a reservoir of its own
    EIP-8038  prices of access to accounts and storage
    EIP-7778  blocks count gas before refunds

Source: ethereum/EIPs at f767a1e (2026-08-22); ethereum/go-ethereum at 02b73d4 (2026-08-20): core/eip2780_test.go,
core/state_transition_test.go, core/vm/eip8038_test.go, core/eip8037_test.go.
"""

from collections.abc import Sequence
from typing import NamedTuple, overload

from feemodel.checks import ArrayLike, Numbers, Wholes, choice, whole, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum import fee_market
from feemodel.formula import formula
from feemodel.integers import Whole, add, multiply
from feemodel.records import printed_as_table

DATE = "2026-08-22"  # of the proposals that the numbers are from

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
SLOT_BYTES, ACCOUNT_BYTES, AUTHORIZATION_BYTES = 64, 120, 23
SLOT_STATE_GAS = SLOT_BYTES * GAS_PER_STATE_BYTE
ACCOUNT_STATE_GAS = ACCOUNT_BYTES * GAS_PER_STATE_BYTE
AUTHORIZATION_STATE_GAS = AUTHORIZATION_BYTES * GAS_PER_STATE_BYTE

MAX_EXECUTION_GAS = 16_777_216  # EIP-7825; what a gas limit says beyond it fills the reservoir
REFUND_QUOTIENT = 5
SYSTEM_CALL_GAS = 30_000_000 + 16 * SLOT_STATE_GAS

NEW_SLOT_GAS_TODAY, CHANGED_SLOT_GAS_TODAY = 22_100, 5_000  # of a cold slot, EIP-2929

KINDS = ("call", "self", "create")


@printed_as_table
class RecipientGas(NamedTuple):
    """What a transaction pays for its kind and its recipient, without calldata and the code that it runs [gas]."""

    intrinsic: int  #: before execution; the gas limit must cover it
    runtime_execution: int  #: when execution begins
    runtime_state: int  #: for an account that comes into being


@printed_as_table
class StorageGas(NamedTuple):
    """What a sequence of SSTOREs to one slot costs [gas]."""

    execution_gas: int
    state_gas: int
    refund: int


@printed_as_table
class PostingGas(NamedTuple):
    """The L1 gas of a posting transaction."""

    today: int  #: [gas]
    draft: int  #: [gas]


@printed_as_table
class TransactionGas(NamedTuple):
    """What a transaction pays for, and what it counts for in its block [gas]."""

    gas_used: int  #: in its receipt
    block_state: int
    block_execution: int


@overload
def intrinsic_gas(
    *, kind: str, has_value: bool, zero_bytes: int = ..., nonzero_bytes: int = ..., addresses: int = ...,
    storage_keys: int = ..., authorizations: int = ...
) -> int: ...  # fmt: skip
@overload
def intrinsic_gas(
    *, kind: str, has_value: bool, zero_bytes: Numbers[Wholes] = ..., nonzero_bytes: Numbers[Wholes] = ...,
    addresses: Numbers[Wholes] = ..., storage_keys: Numbers[Wholes] = ..., authorizations: Numbers[Wholes] = ...
) -> Wholes: ...  # fmt: skip
@formula
def intrinsic_gas(
    *,
    kind: str,
    has_value: bool,
    zero_bytes: ArrayLike = 0,
    nonzero_bytes: ArrayLike = 0,
    addresses: ArrayLike = 0,
    storage_keys: ArrayLike = 0,
    authorizations: ArrayLike = 0,
) -> Whole:
    """DRAFT: the execution gas of a transaction before its first opcode, EIP-2780.

    12,000; 3,000 for a recipient other than the sender; 6,000 for value to it; 12,000 for a creation, instead of
    both; 4 and 16 for each byte of calldata, 2 for each word of initialization code; 4,180 and 4,048 for each address
    and key of an access list; 7,816 for each authorization.

    Parameters
    ----------
    kind : "call", "self" (the sender is the recipient) or "create".
    has_value : whether it sends any.
    zero_bytes, nonzero_bytes : of its calldata [byte].
    addresses, storage_keys : in its access list [1].
    authorizations : EIP-7702 [1].

    All numbers broadcast. Returns int for scalars, an int64 array otherwise [gas]. Raises `InvalidInput` for another
    kind and for anything that is not a whole number of at least 0.

    15,000 + 2 · 4,180 + 3 · 4,048, go-ethereum's TestIntrinsicGas:

    >>> intrinsic_gas(kind="call", has_value=False, addresses=2, storage_keys=3)
    35504
    """
    zero, nonzero = whole("zero_bytes", zero_bytes, unit="bytes"), whole("nonzero_bytes", nonzero_bytes, unit="bytes")
    gas = add("gas", fee_market.calldata_gas(zero, nonzero), recipient_gas(kind=kind, has_value=has_value).intrinsic)
    if kind == "create":
        gas = add("gas", gas, multiply("gas", INIT_CODE_WORD, (add("bytes", zero, nonzero) + 31) // 32))
    data = access_list_data(addresses, storage_keys)
    return add(
        "gas",
        gas,
        multiply("addresses", whole("addresses", addresses), ACCESS_LIST_ADDRESS),
        multiply("storage_keys", whole("storage_keys", storage_keys), ACCESS_LIST_KEY),
        multiply("access list", data, DATA_GAS_PER_BYTE),
        multiply("authorizations", whole("authorizations", authorizations), AUTHORIZATION_EXECUTION),
    )


def recipient_gas(
    *,
    kind: str,
    has_value: bool,
    exists: bool = True,
    delegated: bool = False,
    delegation_target_warm: bool = False,
) -> RecipientGas:
    """DRAFT: the rows of EIP-2780's reference table.

    Parameters
    ----------
    kind, has_value : as in `intrinsic_gas`.
    exists : whether there is an account at the recipient's, or the created contract's, address.
    delegated : whether the recipient's code is a delegation, EIP-7702.
    delegation_target_warm : whether the account that it delegates to was accessed before.

    >>> recipient_gas(kind="call", has_value=True, exists=False)
    RecipientGas(intrinsic=21000, runtime_execution=0, runtime_state=183600)
    """
    choice("kind", kind, KINDS)
    intrinsic = TRANSACTION_BASE
    if kind == "create":
        intrinsic += CREATE_ACCESS
    elif kind == "call":
        intrinsic += COLD_ACCOUNT_ACCESS + (TRANSACTION_VALUE if has_value else 0)
    target = WARM_ACCESS if delegation_target_warm else COLD_ACCOUNT_ACCESS
    creates_account = not exists and (kind == "create" or (kind == "call" and has_value))
    return RecipientGas(intrinsic, target if delegated else 0, ACCOUNT_STATE_GAS if creates_account else 0)


@overload
def calldata_floor(length: int, *, base: int, addresses: int = ..., storage_keys: int = ...) -> int: ...
@overload
def calldata_floor(
    length: Numbers[Wholes], *, base: Numbers[Wholes], addresses: Numbers[Wholes] = ...,
    storage_keys: Numbers[Wholes] = ...
) -> Wholes: ...  # fmt: skip
@formula
def calldata_floor(
    length: ArrayLike, *, base: ArrayLike, addresses: ArrayLike = 0, storage_keys: ArrayLike = 0
) -> Whole:
    """DRAFT: the least that a transaction is charged: base + 64 · (length + 20 · addresses + 32 · keys) [gas].

    Parameters
    ----------
    length : of the calldata; zero bytes count as others [byte].
    base : the intrinsic gas for kind and recipient, 12,000 to 24,000 [gas].
    addresses, storage_keys : in the access list [1].

    Broadcasting, result and errors as `intrinsic_gas`.

    >>> calldata_floor(100, base=12_000, addresses=2, storage_keys=3)
    27104
    """
    counted = add("length", whole("length", length, unit="bytes"), access_list_data(addresses, storage_keys))
    return add("floor", multiply("floor", counted, DATA_GAS_PER_BYTE), whole("base", base, unit="gas"))


@overload
def access_list_data(addresses: int, storage_keys: int) -> int: ...
@overload
def access_list_data(addresses: Numbers[Wholes], storage_keys: Numbers[Wholes]) -> Wholes: ...
@formula
def access_list_data(addresses: ArrayLike, storage_keys: ArrayLike) -> Whole:
    """The bytes of an access list that count as data, EIP-7981: 20 · addresses + 32 · keys [byte].

    >>> access_list_data(2, 3)
    136
    """
    return add(
        "access list",
        multiply("addresses", whole("addresses", addresses), ADDRESS_BYTES),
        multiply("storage_keys", whole("storage_keys", storage_keys), KEY_BYTES),
    )


def storage_gas(original: int, values: Sequence[int]) -> StorageGas:
    """DRAFT: the cost of storing these values, one after the other, in a slot that was cold, EIP-8038.

    Parameters
    ----------
    original : what the slot held before the transaction.
    values : that are stored.

    The opcodes that push the operands are not counted. A slot set and reset in one transaction pays for no state.

    >>> storage_gas(0, [1])
    StorageGas(execution_gas=12100, state_gas=97920, refund=0)
    """
    first = current = whole_scalar("original", original)
    execution = state = refund = 0
    for place, value in enumerate(values):
        new = whole_scalar(f"values[{place}]", value)
        execution += COLD_STORAGE_ACCESS if place == 0 else WARM_ACCESS
        if new == current:
            continue
        if current == first:
            execution += STORAGE_WRITE
            state += SLOT_STATE_GAS if first == 0 else 0
        elif new == first:
            refund += STORAGE_WRITE
            state -= SLOT_STATE_GAS if first == 0 else 0
        if first != 0:
            refund += STORAGE_CLEAR_REFUND * ((new == 0) - (current == 0))
        current = new
    return StorageGas(execution, state, refund)


def deposited_code_gas(code_bytes: int) -> tuple[int, int]:
    """DRAFT: state gas and hash gas of a contract's code: 1,530 a byte, and 6 a word [gas].

    >>> deposited_code_gas(33)
    (50490, 12)
    """
    size = whole_scalar("code_bytes", code_bytes, unit="bytes")
    return size * GAS_PER_STATE_BYTE, (size + 31) // 32 * HASH_WORD


def split_gas_limit(gas_limit: int, intrinsic: int) -> tuple[int, int]:
    """DRAFT: a gas limit divided into execution gas and the reservoir of state gas, EIP-8037 [gas].

    >>> split_gas_limit(20_000_000, 24_000)
    (16753216, 3222784)
    """
    limit, spent = whole_scalar("gas_limit", gas_limit, unit="gas"), whole_scalar("intrinsic", intrinsic, unit="gas")
    if spent > min(limit, MAX_EXECUTION_GAS):
        raise InvalidInput("gas_limit", f"expected at least the intrinsic {spent:,} gas", limit)
    left = min(MAX_EXECUTION_GAS, limit) - spent
    return left, limit - spent - left


def transaction_gas(
    gas_limit: int, *, gas_left: int, reservoir: int, refund_counter: int, state_gas: int, floor: int
) -> TransactionGas:
    """DRAFT: what a transaction is charged at its end, and what its block counts, EIP-8037 with EIP-7778.

    before = gas_limit − gas_left − reservoir; gas_used = max(before − min(before // 5, refund_counter), floor);
    the block counts max(before − state_gas, floor) as execution, and state_gas.

    Parameters
    ----------
    gas_limit, gas_left, reservoir : of the transaction, the latter two at its end [gas].
    refund_counter : at its end [gas].
    state_gas : that it used [gas].
    floor : see `calldata_floor` [gas].

    Raises `InvalidInput` for more gas left than there was, and more state gas than was used.

    >>> transaction_gas(10**6, gas_left=400_000, reservoir=0, refund_counter=200_000, state_gas=97_920, floor=21_000)
    TransactionGas(gas_used=480000, block_state=97920, block_execution=502080)
    """
    before = (
        whole_scalar("gas_limit", gas_limit) - whole_scalar("gas_left", gas_left) - whole_scalar("reservoir", reservoir)
    )
    if before < 0:
        raise InvalidInput("gas_left", "expected no more left than the gas limit", gas_left)
    state, least = whole_scalar("state_gas", state_gas), whole_scalar("floor", floor)
    if state > before:
        raise InvalidInput("state_gas", f"expected at most the {before:,} gas that was used", state_gas)
    refund = min(before // REFUND_QUOTIENT, whole_scalar("refund_counter", refund_counter))
    return TransactionGas(max(before - refund, least), state, max(before - state, least))


def posting_gas(
    *, zero_bytes: int = 0, nonzero_bytes: int = 0, new_slots: int = 0, changed_slots: int = 0, other_gas: int = 0
) -> PostingGas:
    """DRAFT: the L1 gas of a transaction that posts a batch, today and under the draft; blob gas comes on top in both.

    The recipient gets no value and has code or not: both rules charge the same for it.

    Parameters
    ----------
    zero_bytes, nonzero_bytes : of its calldata [byte].
    new_slots, changed_slots : storage slots that it sets for the first time, and anew; each is cold [1].
    other_gas : of execution, taken to be the same in both [gas].

    Raises `InvalidInput` for anything that is not a whole number of at least 0.

    A blob transaction to an account without code, and 100,000 bytes of calldata:

    >>> posting_gas(), posting_gas(nonzero_bytes=100_000)
    (PostingGas(today=21000, draft=15000), PostingGas(today=4021000, draft=6415000))
    """
    new, changed = whole_scalar("new_slots", new_slots), whole_scalar("changed_slots", changed_slots)
    other = whole_scalar("other_gas", other_gas, unit="gas")
    zero, nonzero = whole_scalar("zero_bytes", zero_bytes), whole_scalar("nonzero_bytes", nonzero_bytes)
    data = int(fee_market.calldata_gas(zero, nonzero))
    slots = new * NEW_SLOT_GAS_TODAY + changed * CHANGED_SLOT_GAS_TODAY
    base = fee_market.TRANSACTION_GAS
    today = max(base + data + slots + other, base + fee_market.FLOOR_GAS_PER_TOKEN * (zero + 4 * nonzero))
    added, set_anew = storage_gas(0, [1]), storage_gas(1, [2])
    slots = new * (added.execution_gas + added.state_gas) + changed * set_anew.execution_gas
    own = int(intrinsic_gas(kind="call", has_value=False))
    return PostingGas(today, max(own + data + slots + other, int(calldata_floor(zero + nonzero, base=own))))


def block_gas(transactions: Sequence[tuple[int, int]]) -> int:
    """DRAFT: the gas used of a block's header: the larger of its execution and its state gas [gas].

    Parameters
    ----------
    transactions : execution and state gas of each, as `transaction_gas` gives them.

    A block is valid while this is at most its gas limit.

    >>> block_gas([(21_000, 183_600), (4_000_000, 97_920), (2_500, 0)])
    4023500
    """
    gas = [[whole_scalar(f"transactions[{i}]", one, unit="gas") for one in pair] for i, pair in enumerate(transactions)]
    return max(sum(execution for execution, _ in gas), sum(state for _, state in gas))
