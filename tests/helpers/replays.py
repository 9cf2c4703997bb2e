"""Repeated execution of captured blocks: each transaction runs on the state recorded for that transaction.

A capture records the accounts and slots that a transaction touched, before self-destructed accounts are removed. A
capture does not record created code or delegations. A capture records payments to the coinbase only if the transaction
touched the coinbase. The writes of a block to system contracts before its first transaction (EIP-4788, EIP-2935) are
left out, because the recorded outcomes do not include these writes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from feemodel.checks import UINT64_MAX
from feemodel.errors import InvalidInput
from feemodel.ethereum._hashes import Authorization, Signature, keccak256
from feemodel.ethereum._transaction import BLOB, SET_CODE, Transaction, rlp_encoded, signer
from feemodel.ethereum.fee_market import excess_behind
from feemodel.execution._clients import message_of
from feemodel.execution._engines import Engine
from feemodel.execution._forks import FORKS, Fork, fork_named
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome
from feemodel.execution._state import EMPTY, Account, Block, CallState
from feemodel.linea._node import offered_price
from tests.helpers.captures import Replay, ReplayBlock, ReplayState, ReplayTransaction
from tests.helpers.development import creation_address

Accounts = Mapping[bytes, Account]

SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
BEFORE_CANCUN = [*FORKS][: [*FORKS].index("cancun")]
_DELEGATION = bytes.fromhex("ef0100")  # prefix of the address in the code of a delegated account, EIP-7702


@dataclass(frozen=True, slots=True)
class Step:
    """A transaction, its index in its block, and the state just before it."""

    block: ReplayBlock
    index: int
    transaction: ReplayTransaction
    call_state: CallState


def steps(replay: Replay, *, fork: str | None = None) -> Iterator[Step]:
    """Yield every transaction of the blocks in order, with the state just before it.

    Parameters
    ----------
    replay : the captured blocks.
    fork : name of the rules; `None` for the rules of the capture.
    """
    for block, index, call_state in _call_states(replay, fork):
        if index < len(block.transactions):
            yield Step(block, index, block.transactions[index], call_state)


def execute_again(step: Step, engine: Engine) -> tuple[Outcome, str]:
    """Execute a transaction again; return the outcome and the name of the engine that was used."""
    message, gas_limit = _message(step), step.transaction.sent.gas_limit
    return engine.execute(step.call_state, message, gas_limit), engine.name


def is_reproduced(step: Step, outcome: Outcome) -> bool:
    """Return whether an execution has the recorded status, returned data and gas.

    The recorded gas is the gas before refunds. Some capture tools record the calldata floor where the floor is higher
    than this gas, so the gas with and the gas without the floor are accepted.
    """
    return same_outcome(step, outcome) and step.transaction.gas_used in (outcome.gas_used, outcome.peak)


def offered(step: Step) -> int:
    """Return the gas price that a transaction offered in its block [wei / gas]."""
    transaction = step.transaction
    return int(
        offered_price(
            gas_price=transaction.sent.gas_price,
            max_fee=transaction.sent.max_fee,
            max_priority_fee=transaction.sent.max_priority_fee,
            base_fee=step.block.base_fee,
        )
    )


def same_outcome(step: Step, outcome: Outcome) -> bool:
    """Return whether an execution has the recorded status and returned data."""
    recorded = step.transaction
    return (outcome.succeeded, outcome.output) == (recorded.succeeded, recorded.output)


def _call_states(replay: Replay, fork: str | None) -> Iterator[tuple[ReplayBlock, int, CallState]]:
    """Yield the state before each transaction, and the state after the last transaction of each block."""
    rules = fork_named(replay.fork if fork is None else fork)
    accounts = with_recorded({}, replay.state)
    for block in replay.blocks:
        surroundings = _block(replay, block, rules)
        for index, transaction in enumerate((*block.transactions, None)):
            yield block, index, CallState(accounts=accounts, block=surroundings, chain_id=replay.chain_id, fork=rules)
            if transaction is not None:
                accounts = after_transaction(accounts, transaction, chain_id=replay.chain_id, fork=rules)


def with_recorded(accounts: Accounts, state: ReplayState) -> Accounts:
    """Return the accounts updated with recorded values; the given mapping is not modified."""
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
    """Return the accounts after a transaction, with the recorded effects of the transaction."""
    after = _with_delegations(accounts, transaction, chain_id)
    if transaction.sent.to is None and transaction.succeeded:
        created = creation_address(transaction.sent.from_address, transaction.sent.nonce)
        balance = after.get(created, EMPTY).balance + transaction.sent.value
        after = {**after, created: Account(balance=balance, nonce=1, code=transaction.output)}
    after = dict(with_recorded(after, transaction.state))
    for address in transaction.self_destructs:
        before = accounts.get(address, EMPTY)
        if fork.name not in BEFORE_CANCUN and (before.nonce or before.code):
            continue  # EIP-6780: only contracts created by this transaction are removed
        after.pop(address, None)
    return after


def authority_of(authorization: Authorization) -> bytes | None:
    """Return the address of the account that signed, 20 bytes; `None` if the signature is not valid."""
    if authorization.y_parity > 1 or not 0 < authorization.s <= SECP256K1_ORDER // 2:
        return None
    signed = [authorization.chain_id, authorization.address, authorization.nonce]
    try:
        signature = Signature(v=authorization.y_parity, r=authorization.r, s=authorization.s)
        return signer(keccak256(b"\x05" + rlp_encoded(signed)), signature)
    except InvalidInput:
        return None


def _with_delegations(accounts: Accounts, transaction: ReplayTransaction, chain_id: int) -> Accounts:
    """Return the accounts after the delegations of a transaction; a delegation persists if the transaction reverts."""
    if not transaction.sent.authorizations:
        return accounts
    after = {
        **accounts,
        transaction.sent.from_address: replace(
            accounts.get(transaction.sent.from_address, EMPTY), nonce=transaction.sent.nonce + 1
        ),
    }
    for authorization in transaction.sent.authorizations:
        authority, nonce, address = authority_of(authorization), authorization.nonce, authorization.address
        if authority is None or authorization.chain_id not in (0, chain_id):
            continue
        account = after.get(authority, EMPTY)
        if account.nonce != nonce or nonce >= UINT64_MAX or (account.code and not account.code.startswith(_DELEGATION)):
            continue
        code = _DELEGATION + address if any(address) else b""
        after[authority] = replace(account, nonce=nonce + 1, code=code)
    return after


def _block(replay: Replay, block: ReplayBlock, fork: Fork) -> Block:
    fraction = fork.blob_update_fraction
    return Block(
        number=block.number,
        timestamp=block.timestamp,
        gas_limit=block.gas_limit,
        base_fee=block.base_fee,
        coinbase=block.coinbase,
        prev_randao=block.prev_randao,
        difficulty=block.difficulty,
        excess_blob_gas=0 if fraction is None else excess_behind(block.blob_base_fee or 1, fraction),
        hashes=replay.block_hashes,
    )


def estimate_call(transaction: ReplayTransaction) -> Transaction:
    """Return the call that a wallet would have sent for an estimate: without gas and gas price.

    Raises `InvalidInput` for a blob or set-code transaction whose hashes or authorizations are not in the capture.
    """
    sent = transaction.sent
    if sent.sent_type == BLOB and not sent.blob_hashes:
        raise InvalidInput("blobVersionedHashes", "expected at least one hash in a transaction of type BLOB", [])
    if sent.sent_type == SET_CODE and not sent.authorizations:
        raise InvalidInput(
            "authorizationList", "expected at least one authorization in a transaction of type DELEGATE_CODE", []
        )
    unpriced = dict.fromkeys(("sent_type", "gas_limit", "gas_price", "max_fee", "max_priority_fee", "signature"))
    return replace(sent, **unpriced)


def _message(step: Step) -> Message:
    call = estimate_call(step.transaction)
    return message_of(call, gas_price=offered(step), base_fee=step.block.base_fee)
