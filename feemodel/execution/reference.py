"""The reference engine executes messages with Ethereum's executable specification, by the rules since Prague.

The engine follows `process_transaction` of the specification, except for the steps that need a signature. Each
execution runs on a state of its own, which is discarded.

The engine runs in the caller's thread and holds the global interpreter lock. An execution cannot be interrupted, so
`REFERENCE_LIMITS` bounds its gas and thus its time.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from threading import Lock
from types import SimpleNamespace
from typing import Any

from ethereum_types.bytes import Bytes0, Bytes32
from ethereum_types.numeric import U8, U64, U256, Uint

from feemodel.errors import ExecutionFailed, InvalidInput
from feemodel.ethereum.fee_market import calldata_floor_gas
from feemodel.execution._engines import check_inputs
from feemodel.execution._limits import REFERENCE_LIMITS
from feemodel.execution._message import Message, intrinsic_gas
from feemodel.execution._outcome import Outcome, Status
from feemodel.execution._search import GasEstimate, Search, bisected
from feemodel.execution._state import Block, CallState, blob_base_fee


@contextmanager
def recursion_limit(limit: int | None = None) -> Iterator[None]:
    """Raise Python's recursion limit to at least `limit`, and restore the previous limit at the end.

    The raised limit must not remain in force, because deeply nested JSON could then crash the process.
    """
    before = sys.getrecursionlimit()
    if limit is not None:
        sys.setrecursionlimit(max(before, limit))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


with recursion_limit():  # importing the specification raises the recursion limit
    import ethereum  # noqa: F401

#: Calls nest up to 1,024 levels; the specification uses about ten Python frames for each level.
RECURSION_LIMIT = 20_000

_ONE_AT_A_TIME = Lock()  # the recursion limit is that of the process
_OVERFLOW = "an account would hold more than 2**256 - 1 wei"

#: Exceptional halts of the specification → error messages of geth's `core/vm/errors.go`.
_WORDS = {
    "StackUnderflowError": "stack underflow",
    "StackOverflowError": "stack limit reached 1024",
    "InvalidJumpDestError": "invalid jump destination",
    "StackDepthLimitError": "max call depth exceeded",
    "WriteInStaticContext": "write protection",
    "OutOfBoundsRead": "return data out of bounds",
    "InvalidContractPrefix": "invalid code: must not begin with 0xef",
    "AddressCollision": "contract address collision",
    "InvalidParameter": "precompiled contract failed",
    "KZGProofError": "precompiled contract failed",
}


class Reference:
    """Engine that executes EVM messages with the executable specification.

    >>> from feemodel.execution._state import CallState
    >>> Reference().execute(CallState(accounts={}), Message(to=bytes(20)), 21_000).gas_used
    21000
    """

    name, limits = "reference", REFERENCE_LIMITS

    def execute(self, call_state: CallState, message: Message, gas_limit: int) -> Outcome:
        """Return the outcome of a message, see `feemodel.execution._engines.Engine`."""
        check_inputs(call_state, message, gas_limit)
        if not call_state.fork.authorizations:
            raise InvalidInput("fork", "expected Prague or later on the reference engine", call_state.fork.name)
        blob_base_fee(call_state)  # raises an error for too much excess blob gas
        with _ONE_AT_A_TIME:
            return _executed(_rules(call_state.fork.name), call_state, message, gas_limit)

    def search(self, call_state: CallState, message: Message, search: Search) -> GasEstimate | Outcome:
        """Return the gas limit that a message needs, see `feemodel.execution._engines.Engine`."""
        return bisected(partial(self.execute, call_state), message, search)


@cache
def _rules(fork: str) -> Any:
    """Import a fork's package and its modules, and return the package."""
    package = f"ethereum.forks.{fork}"
    with recursion_limit():
        # The four modules below import all other modules of the fork.
        for module in ("fork", "utils.message", "vm.gas", "vm.interpreter"):
            import_module(f"{package}.{module}")
        return import_module(package)


def _executed(rules: Any, call_state: CallState, message: Message, gas_limit: int) -> Outcome:
    """Execute a message on the specification's form of the state."""
    intrinsic, zeros = intrinsic_gas(message, call_state.fork), message.data.count(0)
    floor = int(calldata_floor_gas.core(zeros, len(message.data) - zeros))
    if gas_limit < max(intrinsic, floor):
        return Outcome(Status.INTRINSIC, gas_used=0, floor=floor)
    state = _loaded(rules, call_state)
    block = _block_environment(rules, state, call_state, message.base_fee)
    due = gas_limit * message.gas_price if message.pays else 0
    _charge_sender(rules, state, message.sender, due)
    environment = _transaction_environment(rules, message, gas_limit - intrinsic, call_state)
    to = Bytes0() if message.to is None else rules.fork_types.Address(message.to)
    transaction = SimpleNamespace(to=to, data=message.data, value=U256(message.value))
    try:
        with recursion_limit(RECURSION_LIMIT):
            prepared = rules.utils.message.prepare_message(block, environment, transaction)
            end = rules.vm.interpreter.process_message_call(prepared)
    except OverflowError:  # an overflow is possible only with a state override
        raise ExecutionFailed(_OVERFLOW) from None
    status, halt = _ending(end.error)
    gas_used = gas_limit - int(end.gas_left)
    return Outcome(
        status=status,
        gas_used=gas_used,
        refund=min(gas_used // 5, int(end.refund_counter)),
        floor=floor,
        output=bytes(end.return_data),
        halt=halt,
    )


def _ending(error: Any) -> tuple[Status, str]:
    """Return the status of an execution, and geth's error message where `_WORDS` has it."""
    if error is None:
        return Status.SUCCESS, ""
    name = type(error).__name__
    if name == "Revert":
        return Status.REVERT, "execution reverted"
    if name == "OutOfGasError":
        return Status.OUT_OF_GAS, "out of gas"
    if name == "InvalidOpcode":
        code = error.code
        return Status.HALT, f"invalid opcode: {'INVALID' if code == 0xFE else f'opcode {code:#x} not defined'}"
    return Status.HALT, _WORDS.get(name, "halted")


def _loaded(rules: Any, call_state: CallState) -> Any:
    """Return the accounts in the specification's form."""
    state = rules.state.State()
    for key, account in call_state.accounts.items():
        address = rules.fork_types.Address(key)
        loaded = rules.fork_types.Account(
            nonce=Uint(account.nonce), balance=U256(account.balance), code=bytes(account.code)
        )
        if loaded == rules.fork_types.EMPTY_ACCOUNT and not account.storage:
            continue  # EIP-161 removed empty accounts
        rules.state.set_account(state, address, loaded)
        for slot, value in account.storage.items():
            rules.state.set_storage(state, address, Bytes32(slot.to_bytes(32, "big")), U256(value))
    return state


def _charge_sender(rules: Any, state: Any, key: bytes, due: int) -> None:
    sender = rules.fork_types.Address(key)
    rules.state.increment_nonce(state, sender)
    if due:
        balance = int(rules.state.get_account(state, sender).balance)
        rules.state.set_account_balance(state, sender, U256(balance - due))


def _block_environment(rules: Any, state: Any, call_state: CallState, base_fee: int) -> Any:
    block = call_state.block
    return rules.vm.BlockEnvironment(
        chain_id=U64(call_state.chain_id),
        state=state,
        block_gas_limit=Uint(block.gas_limit),
        block_hashes=_BlockHashes(block),
        coinbase=rules.fork_types.Address(block.coinbase),
        number=Uint(block.number),
        base_fee_per_gas=Uint(base_fee),
        time=U256(block.timestamp),
        prev_randao=Bytes32(block.prev_randao),
        excess_blob_gas=U64(block.excess_blob_gas),
        parent_beacon_block_root=Bytes32(bytes(32)),
    )


def _transaction_environment(rules: Any, message: Message, gas: int, call_state: CallState) -> Any:
    address = rules.fork_types.Address
    warm = {address(key) for key, _ in message.access_list} | {address(call_state.block.coinbase)}
    return rules.vm.TransactionEnvironment(
        origin=address(message.sender),
        gas_price=Uint(message.gas_price),
        gas=Uint(gas),
        access_list_addresses=warm,
        access_list_storage_keys={
            (address(key), Bytes32(slot)) for key, slots in message.access_list for slot in slots
        },
        transient_storage=rules.state.TransientStorage(),
        blob_versioned_hashes=tuple(Bytes32(blob) for blob in message.blob_hashes),
        authorizations=_authorizations(rules, message),
        index_in_block=Uint(0),
        tx_hash=None,
    )


def _authorizations(rules: Any, message: Message) -> tuple[Any, ...]:
    return tuple(
        rules.fork_types.Authorization(
            chain_id=U256(entry.chain_id),
            address=rules.fork_types.Address(entry.address),
            nonce=U64(entry.nonce),
            y_parity=U8(entry.y_parity),
            r=U256(entry.r),
            s=U256(entry.s),
        )
        for entry in message.authorizations
    )


class _BlockHashes:
    """Hashes of the blocks before the current block, indexed from the end, like the list in the specification."""

    def __init__(self, block: Block) -> None:
        self._block = block

    def __getitem__(self, index: int) -> bytes:
        number = self._block.number + int(index)
        try:
            return self._block.hashes[number]
        except KeyError:
            raise InvalidInput(
                "block.hashes", "expected the hash of this block, which BLOCKHASH requests", number
            ) from None
