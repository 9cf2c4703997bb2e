"""Access list of a call, computed as geth's `eth_createAccessList` does.

The call is executed repeatedly until the access list no longer changes. The list of each execution has the accounts and
slots that the previous execution touched. The sender, the target, the precompiles and the accounts of authorizations
are warm without a list. An account that is warm without a list is listed only if its slots are touched. If the caller
lists an account that is not warm without a list, the account stays in the list.

Source: ethereum/go-ethereum at v1.17.10, internal/ethapi/api.go `AccessList`, transaction_args.go
`setFeeDefaults` and `CallDefaults`, eth/tracers/logger/access_list_tracer.go.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

from ethereum_rlp import rlp

from feemodel.checks import UINT64_MAX
from feemodel.errors import ExecutionFailed, InvalidInput
from feemodel.ethereum._call import ACCESS_LIST, BLOB, DYNAMIC_FEE, LEGACY, SET_CODE, AccessList, Call
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import minimal_bytes, to_hex, to_quantity
from feemodel.ethereum._transaction import ZERO_ADDRESS, created_address
from feemodel.execution._clients import Geth, check_chain
from feemodel.execution._engines import Engine, Execute, engine_of
from feemodel.execution._forks import Fork
from feemodel.execution._gas_parts import too_little_gas
from feemodel.execution._limits import DEFAULT_LIMITS, Budget, Limits
from feemodel.execution._message import Message, Request, parse_request
from feemodel.execution._outcome import Outcome, Status
from feemodel.execution._state import CallState, blob_base_fee

_CLIENT = Geth()


@dataclass(frozen=True, slots=True)
class AccessListFound:
    """An access list, and the outcome of the call with this list."""

    access_list: AccessList
    outcome: Outcome  #: outcome of the execution with this access list
    executions: int

    def reply(self) -> dict[str, Any]:
        """Return the result in geth's JSON form; if the call fails, the result has an additional field `error`."""
        answer: dict[str, Any] = {
            "accessList": list_reply(self.access_list), "gasUsed": to_quantity(self.outcome.charged),
        }  # fmt: skip
        return answer if self.outcome.succeeded else {**answer, "error": self.outcome.halt}


def list_reply(access_list: AccessList) -> list[dict[str, Any]]:
    """Return an access list in its JSON-RPC form."""
    return [{"address": to_hex(account), "storageKeys": list(map(to_hex, keys))} for account, keys in access_list]


def create_access_list(
    call: Request | Call | Mapping[str, Any],
    call_state: CallState,
    *,
    tip: int = 0,
    overrides: Mapping[Any, Any] | None = None,
    engine: str | Engine = "auto",
    limits: Limits = DEFAULT_LIMITS,
) -> AccessListFound:
    """Return the access list of a call, as geth's `eth_createAccessList` does.

    Parameters
    ----------
    call : a JSON-RPC call object, or a parsed call. A call without `gas` gets the gas limit `limits.gas_cap`, for which
        the sender must be able to pay.
    call_state : the accounts and the block on which the call is executed; not modified.
    tip : priority fee for a call without a priority fee: the fee that the node would suggest [wei / gas].
    overrides : state override for this call, see `feemodel.execution.parse_overrides`.
    engine : "auto", "native", "reference", or an engine object such as `EnginePool(...)`.
    limits : limits on gas and time of all executions together.

    Returns
    -------
    AccessListFound : the access list, the outcome with this list, and the number of executions; also for a call that
        reverts or halts.

    Raises
    ------
    ExecutionFailed : geth would refuse to execute the call; the message is geth's.
    LimitExceeded : the executions together took more gas or time than `limits` allows.
    InvalidInput : the call or an override is not valid, or the fork is before Berlin and has no access lists.

    >>> reader = {"0x" + "22" * 20: {"code": "0x5f5460015400"}, bytes(20): {"balance": 10**18}}
    >>> found = create_access_list({"to": "0x" + "22" * 20}, CallState(accounts={}), overrides=reader)
    >>> len(found.access_list[0][1]), found.outcome.charged, found.executions
    (2, 27405, 2)
    """
    changed = call_state.overridden(overrides)
    if not call_state.fork.access_lists:
        raise InvalidInput("fork", "expected Berlin or later for an access list", call_state.fork.name)
    request = _with_fees(parse_request(call), changed, tip)
    given = request.call
    gas_limit = limits.gas_cap if given.gas is None else min(given.gas, limits.gas_cap)
    nonce = changed.account(given.sender or ZERO_ADDRESS).nonce if given.nonce is None else given.nonce
    request = request._replace(call=given._replace(gas=gas_limit, nonce=nonce))
    check_chain(_CLIENT, request.call, changed)
    excluded = warm_accounts(request, changed)
    listed = _outside(request.call.access_list or (), excluded)
    try:
        message = _CLIENT.admitted(request, changed, gas_limit)._replace(access_list=listed)
        found = engine_of(engine).run(
            changed, lambda execute: fixed_point(execute, message, gas_limit, excluded, limits)
        )
        if found.outcome.status is Status.INTRINSIC:
            listed = found.access_list
            raise too_little_gas(message._replace(access_list=listed), found.outcome, gas_limit, call_state.fork)
    except ExecutionFailed as error:
        # geth's error contains the hash of the call, which is encoded as an unsigned transaction.
        call = request.call._replace(access_list=listed, chain_id=call_state.chain_id)
        digest = to_hex(keccak256(_encoded_transaction(request._replace(call=call))))
        raise ExecutionFailed(f"failed to apply transaction: {digest} err: {error.message}") from None
    return found


def fixed_point(
    execute: Execute, message: Message, gas_limit: int, excluded: Set[bytes], limits: Limits
) -> AccessListFound:
    """Return an access list that contains everything that an execution with this list touches.

    Parameters
    ----------
    message : the message, with the access list supplied by the caller.
    gas_limit : gas limit of every execution [gas].
    excluded : accounts that are listed only if their slots are touched.
    limits : limits on all executions together.
    """
    budget, tried = Budget(limits), [message.access_list]
    left_out: Set[bytes] = excluded
    while True:
        budget.check()
        inspected = execute.inspect(message, gas_limit)
        budget.spent += inspected.outcome.gas_used
        touched = _union(_outside(message.access_list, left_out), without(inspected.touched, excluded))
        if touched == message.access_list:
            return AccessListFound(message.access_list, inspected.outcome, len(tried))
        if touched in tried:  # geth's search would never end here; this search keeps all entries from now on
            left_out, touched = frozenset(), _union(message.access_list, touched)
        tried.append(touched)
        message = message._replace(access_list=touched)


def warm_accounts(request: Request, call_state: CallState) -> frozenset[bytes]:
    """Return the accounts that are warm without a list: sender, target, precompiles, signers of authorizations."""
    call = request.call
    sender = call.sender or ZERO_ADDRESS
    target = created_address(sender, call.nonce or 0) if call.to is None else call.to
    signers = (
        entry.authority()
        for entry in request.authorizations
        if entry.chain_id in (0, call_state.chain_id) and entry.nonce < UINT64_MAX
    )
    authorities = {authority for authority in signers if authority is not None}
    return frozenset({sender, target, *precompiles(call_state.fork), *authorities})


def precompiles(fork: Fork) -> list[bytes]:
    """Return the addresses of a fork's precompiles; the fork is Berlin or later.

    >>> from feemodel.execution._forks import fork_named
    >>> len(precompiles(fork_named("osaka"))), len(precompiles(fork_named("london")))
    (18, 9)
    """
    last = 17 if fork.calldata_floor else 9 if fork.blob_update_fraction is None else 10  # Prague, London, Cancun
    numbers = [*range(1, last + 1), *([0x100] if fork.max_transaction_gas is not None else [])]  # Osaka: P-256
    return [number.to_bytes(20, "big") for number in numbers]


def without(access_list: AccessList, excluded: Set[bytes]) -> AccessList:
    """Return the list with one entry for each account; excluded accounts without slots are removed."""
    return tuple((account, keys) for account, keys in _union(access_list, ()) if keys or account not in excluded)


def _outside(access_list: AccessList, excluded: Set[bytes]) -> AccessList:
    """Return the entries of accounts that are not excluded; these entries stay even if the call does not use them."""
    return _union([entry for entry in access_list if entry[0] not in excluded], ())


def _union(one: Iterable[tuple[bytes, tuple[bytes, ...]]], other: AccessList) -> AccessList:
    accounts: dict[bytes, dict[bytes, None]] = {}
    for account, keys in (*one, *other):
        accounts.setdefault(account, {}).update(dict.fromkeys(keys))
    return tuple((account, tuple(sorted(keys))) for account, keys in sorted(accounts.items()))


def _with_fees(request: Request, call_state: CallState, tip: int) -> Request:
    """Return the call with geth's default for each missing fee; a call without any fee field pays nothing."""
    call = request.call
    if call.gas_price is call.max_fee is call.max_priority_fee is call.max_fee_per_blob_gas is None:
        return request
    if call.max_fee_per_blob_gas == 0:
        raise ExecutionFailed("maxFeePerBlobGas, if specified, must be non-zero")
    if request.blob_hashes and call.max_fee_per_blob_gas is None:
        call = call._replace(max_fee_per_blob_gas=2 * blob_base_fee(call_state))
    if call.gas_price is not None:
        if call.gas_price == 0:
            raise ExecutionFailed("gasPrice must be non-zero after london fork")
        return request._replace(call=call)
    if call.max_fee == 0 and call.max_priority_fee is not None:
        raise ExecutionFailed("maxFeePerGas must be non-zero")
    priority = tip if call.max_priority_fee is None else call.max_priority_fee
    cap = priority + 2 * call_state.block.base_fee if call.max_fee is None else call.max_fee
    if cap < priority:
        words = f"maxFeePerGas ({to_quantity(cap)}) < maxPriorityFeePerGas ({to_quantity(priority)})"
        raise ExecutionFailed(words)
    return request._replace(call=call._replace(max_fee=cap, max_priority_fee=priority))


def _transaction_type(request: Request) -> int:
    """Return the transaction type that geth gives a call: 2, unless the fields of the call require another type."""
    if request.call.gas_price is not None:
        return LEGACY if request.call.access_list is None else ACCESS_LIST
    if request.authorizations:
        return SET_CODE
    return BLOB if request.blob_hashes else DYNAMIC_FEE


def _encoded_transaction(request: Request) -> bytes:
    """Return the EIP-2718 encoding of the call, as a transaction whose signature is zeros."""
    call, kind = request.call, _transaction_type(request)
    gas, target, value = minimal_bytes(call.gas or 0), call.to or b"", minimal_bytes(call.value or 0)
    common = [gas, target, value, call.data]
    if kind == LEGACY:
        return rlp.encode([minimal_bytes(call.nonce or 0), minimal_bytes(call.gas_price or 0), *common, b"", b"", b""])
    prices = (call.gas_price or 0,) if kind == ACCESS_LIST else (call.max_priority_fee or 0, call.max_fee or 0)
    numbers = (call.chain_id or 0, call.nonce or 0, *prices)
    listed = [[address, list(keys)] for address, keys in call.access_list or ()]
    items: list[Any] = [*map(minimal_bytes, numbers), *common, listed]
    if kind == BLOB:
        items += [minimal_bytes(call.max_fee_per_blob_gas or 0), list(request.blob_hashes)]
    elif kind == SET_CODE:
        entries = request.authorizations
        items.append([[one if isinstance(one, bytes) else minimal_bytes(one) for one in entry] for entry in entries])
    return bytes([kind]) + rlp.encode([*items, b"", b"", b""])
