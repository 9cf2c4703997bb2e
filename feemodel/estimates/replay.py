"""Real blocks executed again, transaction by transaction, each on the state that a capture recorded before it.

A capture records the accounts and slots that a transaction touched, before accounts that destroyed themselves are
removed. It does not record the code that a creation left, nor delegations. What the coinbase is paid is recorded only
where the transaction touched it. What a block writes into system contracts before its first transaction (EIP-4788,
EIP-2935) is left out: the recorded outcomes are those of an execution without it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from feemodel.checks import UINT64_MAX
from feemodel.errors import InvalidInput
from feemodel.ethereum.call import BLOB, SET_CODE, Call
from feemodel.ethereum.transaction import created_address
from feemodel.execution.clients import parse_message
from feemodel.execution.engines import Engine
from feemodel.execution.forks import Fork, fork_named
from feemodel.execution.message import Message, Request
from feemodel.execution.outcome import Outcome
from feemodel.execution.state import EMPTY, Account, Block, CallState
from feemodel.io.replay import Replay, ReplayBlock, ReplayState, ReplayTransaction
from feemodel.linea.node import offered_price

Accounts = Mapping[bytes, Account]

_DELEGATION = bytes.fromhex("ef0100")  # before the address, EIP-7702


@dataclass(frozen=True, slots=True)
class Step:
    """One transaction, its place in its block, and the state just before it."""

    block: ReplayBlock
    index: int
    transaction: ReplayTransaction
    call_state: CallState


def steps(replay: Replay, *, fork: str | None = None) -> Iterator[Step]:
    """Every transaction of the blocks in its order, each with the state just before it.

    Parameters
    ----------
    fork : the rules, if not those of the capture.
    """
    for block, index, call_state in _call_states(replay, fork):
        if index < len(block.transactions):
            yield Step(block, index, block.transactions[index], call_state)


def final_state(replay: Replay, *, fork: str | None = None) -> CallState:
    """The state after the last transaction, in the last block; parameters as in `steps`."""
    *_, (_, _, call_state) = _call_states(replay, fork)
    return call_state


def state_before(replay: Replay, before: tuple[int, int], *, fork: str | None = None) -> CallState:
    """The state just before a transaction, given by block number and index; other parameters as in `steps`."""
    for step in steps(replay, fork=fork):
        if (step.block.number, step.index) == tuple(before):
            return step.call_state
    raise InvalidInput("before", "expected the number of a captured block and an index in it", before)


def execute_again(step: Step, engine: Engine) -> tuple[Outcome, str]:
    """Execute a transaction again; return its outcome and the engine that executed it."""
    message, gas_limit = _message(step), step.transaction.gas_limit
    return engine.run(step.call_state, lambda execute: (execute(message, gas_limit), execute.engine))


def is_reproduced(step: Step, outcome: Outcome) -> bool:
    """Whether an execution came to the recorded end, and took the recorded gas.

    That is before refunds; some recorders also count the calldata floor, others do not.
    """
    return same_outcome(step, outcome) and step.transaction.gas_used in (outcome.gas_used, outcome.peak)


def offered(step: Step) -> int:
    """The price that a transaction offered in its block [wei / gas]."""
    transaction = step.transaction
    return int(
        offered_price(
            gas_price=transaction.gas_price,
            max_fee=transaction.max_fee,
            max_priority_fee=transaction.max_priority_fee,
            base_fee=step.block.base_fee,
        )
    )


def same_outcome(step: Step, outcome: Outcome) -> bool:
    """Whether an execution came to the recorded end: success or not, and what it returned."""
    recorded = step.transaction
    return (outcome.succeeded, outcome.output) == (recorded.succeeded, recorded.output)


def _call_states(replay: Replay, fork: str | None) -> Iterator[tuple[ReplayBlock, int, CallState]]:
    """The state before each transaction and after the last one of each block."""
    rules = fork_named(replay.fork if fork is None else fork)
    accounts = with_recorded({}, replay.state)
    for block in replay.blocks:
        surroundings = _block(replay, block, rules)
        for index, transaction in enumerate((*block.transactions, None)):
            yield block, index, CallState(accounts=accounts, block=surroundings, chain_id=replay.chain_id, fork=rules)
            if transaction is not None:
                accounts = after_transaction(accounts, transaction, chain_id=replay.chain_id, fork=rules)


def with_recorded(accounts: Accounts, state: ReplayState) -> Accounts:
    """The accounts with what a capture says of some of them; those given stay as they are."""
    slots: dict[bytes, dict[int, int]] = {}
    for address, slot, value in state.slots:
        slots.setdefault(address, {})[slot] = value
    after = dict(accounts)
    for address, balance, nonce, code in state.accounts:
        after[address] = Account(balance, nonce, code, accounts.get(address, EMPTY).storage)
    for address, written in slots.items():
        account = after.get(address, EMPTY)
        after[address] = replace(account, storage={**account.storage, **written})
    return after


def after_transaction(accounts: Accounts, transaction: ReplayTransaction, *, chain_id: int, fork: Fork) -> Accounts:
    """The accounts after a transaction that did what is recorded of it."""
    after = _with_delegations(accounts, transaction, chain_id)
    if transaction.to is None and transaction.succeeded:
        created = created_address(transaction.sender, transaction.nonce)
        balance = after.get(created, EMPTY).balance + transaction.value
        after = {**after, created: Account(balance=balance, nonce=1, code=transaction.output)}
    after = dict(with_recorded(after, transaction.state))
    for address in transaction.self_destructs:
        before = accounts.get(address, EMPTY)
        if fork.keeps_self_destructed and (before.nonce or before.code):
            continue  # EIP-6780: only what the same transaction created is removed
        after.pop(address, None)
    return after


def _with_delegations(accounts: Accounts, transaction: ReplayTransaction, chain_id: int) -> Accounts:
    """The accounts with the delegations of a transaction, which stay also where it reverts."""
    if not transaction.authorizations:
        return accounts
    after = {
        **accounts,
        transaction.sender: replace(accounts.get(transaction.sender, EMPTY), nonce=transaction.nonce + 1),
    }
    for authorization in transaction.authorizations:
        authority, nonce, address = authorization.authority(), authorization.nonce, authorization.address
        if authority is None or authorization.chain_id not in (0, chain_id):
            continue
        account = after.get(authority, EMPTY)
        if account.nonce != nonce or nonce >= UINT64_MAX or (account.code and not account.code.startswith(_DELEGATION)):
            continue
        code = _DELEGATION + address if any(address) else b""
        after[authority] = replace(account, nonce=nonce + 1, code=code)
    return after


def _block(replay: Replay, block: ReplayBlock, fork: Fork) -> Block:
    return Block(
        number=block.number,
        timestamp=block.timestamp,
        gas_limit=block.gas_limit,
        base_fee=block.base_fee,
        coinbase=block.coinbase,
        prev_randao=block.prev_randao,
        difficulty=block.difficulty,
        blob_base_fee=None if fork.blob_update_fraction is None else block.blob_base_fee,
        hashes=replay.block_hashes,
    )


def estimate_request(transaction: ReplayTransaction) -> Request:
    """Return the call for which a wallet would have asked an estimate: without gas and price.

    Raises `InvalidInput` for a type whose list the capture does not have.
    """
    if transaction.type == BLOB and not transaction.blob_hashes:
        raise InvalidInput("blobVersionedHashes", "expected at least one in a transaction of type BLOB", [])
    if transaction.type == SET_CODE and not transaction.authorizations:
        raise InvalidInput("authorizationList", "expected at least one in a transaction of type DELEGATE_CODE", [])
    return Request(call_of(transaction), transaction.authorizations, transaction.blob_hashes)


def call_of(transaction: ReplayTransaction) -> Call:
    """The call that a transaction makes, without gas and prices."""
    return Call(
        sender=transaction.sender,
        to=transaction.to,
        value=transaction.value,
        data=transaction.data,
        nonce=transaction.nonce,
        access_list=transaction.access_list or None,
    )


def _message(step: Step) -> Message:
    request = estimate_request(step.transaction)
    message = parse_message(request, gas_price=offered(step), base_fee=step.block.base_fee, pays=True)
    return message._replace(pays_for_blobs=bool(request.blob_hashes))
