"""The state of a capture from one transaction to the next: what is recorded, and what follows from it by the rules.

A capture records the accounts and slots that a transaction touched, before accounts that destroyed themselves are
removed. It does not record the code that a creation left, nor delegations. What the coinbase is paid is recorded only
where the transaction touched it. What a block writes into system contracts before its first transaction (EIP-4788,
EIP-2935) is left out: the recorded outcomes are those of an execution without it.
"""

from collections.abc import Mapping
from dataclasses import replace

from feemodel.ethereum.transaction import created_address
from feemodel.execution.forks import Fork
from feemodel.execution.state import EMPTY, UINT64_MAX, Account
from feemodel.io.replay import ReplayState, ReplayTransaction

Accounts = Mapping[bytes, Account]

_DELEGATION = bytes.fromhex("ef0100")  # before the address, EIP-7702


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
