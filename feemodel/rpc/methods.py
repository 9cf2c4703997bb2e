"""The methods of the server, by the names they have on the wire."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

import feemodel
from feemodel.errors import InvalidInput, LedgerDamaged, LimitExceeded, UnreadableFile
from feemodel.estimates.rollup import Measuring, priced
from feemodel.ethereum.quantities import from_quantity, to_quantity
from feemodel.execution.estimate import GasEstimate
from feemodel.execution.limits import Limits
from feemodel.execution.message import parse_request
from feemodel.ledger.proof import KEY_LIMIT, STEP, proof_steps
from feemodel.ledger.store import Store
from feemodel.rpc.begun import once
from feemodel.rpc.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    SERVER_ERROR,
    UNAVAILABLE,
    CallError,
    Methods,
    Unavailable,
)
from feemodel.rpc.keys import CALLER
from feemodel.rpc.parameters import Overrides, check_size, estimate_options, no_accounts
from feemodel.rpc.pass_through import PASSED, PassedOn
from feemodel.rpc.pricing import Pricing
from feemodel.rpc.upstream import Upstreams

PRODUCTION_PREFIX = "linea"  # under which today's clients call the two methods

Method = Callable[..., Any]
_log = logging.getLogger(__name__)


def both_names(prefix: str, name: str, method: Method) -> dict[str, Method]:
    """A method under the rollup's prefix and under production's.

    >>> sorted(both_names("rollup", "getProof", print))
    ['linea_getProof', 'rollup_getProof']
    """
    return {f"{prefix}_{name}": method, f"{PRODUCTION_PREFIX}_{name}": method}


def proof_methods(store: Store, *, key_limit: int = KEY_LIMIT, prefix: str = "rollup") -> dict[str, Method]:
    """`rollup_getProof` on a store, under its production name too."""
    one = asyncio.Lock()  # long proof at a time: many that grow side by side would hold all their memory at once

    async def rollup_get_proof(address: Any, storageKeys: Any, block: Any) -> dict[str, Any]:  # noqa: N803 the wire's name
        try:
            store.check_file()
            steps = proof_steps(store, address, storageKeys, block, key_limit=key_limit)
            proof = next(steps)
            if len(storageKeys) > STEP:
                async with one:
                    for _ in steps:  # which fill it
                        await asyncio.sleep(0)  # others are answered between the steps
            return proof
        except LimitExceeded as error:  # a parameter too long, not a server too busy
            raise CallError(INVALID_PARAMS, str(error)) from None
        except UnreadableFile as error:
            raise ledger_failed(error) from None

    return both_names(prefix, "getProof", rollup_get_proof)


def ledger_methods(store: Store) -> dict[str, Method]:
    """Which chain a ledger is of and its newest block, where nothing else is served that would say so."""

    def chain_id() -> str:
        try:
            stored = store.chain_id
        except UnreadableFile as error:
            raise ledger_failed(error) from None
        if stored is None:
            raise CallError(SERVER_ERROR, "the ledger does not say its chain id: feemodel follow --chain-id stores it")
        return to_quantity(stored)

    def block_number() -> str:
        try:
            store.check_file()
            head = store.head
        except UnreadableFile as error:
            raise ledger_failed(error) from None
        if head is None:
            raise CallError(SERVER_ERROR, "the ledger holds no block")
        return to_quantity(head.number)

    return {"eth_chainId": chain_id, "eth_blockNumber": block_number}


def ledger_failed(error: UnreadableFile) -> CallError:
    """The error that a caller gets for a ledger that cannot be read; the log has the file and the reason."""
    identity = secrets.token_hex(8)
    _log.error("ledger %s: %s", identity, error)
    damaged = isinstance(error, LedgerDamaged)
    return CallError(
        INTERNAL_ERROR if damaged else UNAVAILABLE,
        "the ledger is damaged" if damaged else "the ledger cannot be read",
        {"id": identity},
    )


def upstream_methods(
    upstream: Upstreams,
    pricing: Pricing,
    limits: Limits,
    *,
    override_accounts: int,
    override_slots: int,
    prefix: str = "rollup",
    more: Sequence[str] = (),
    **measuring: Any,
) -> dict[str, Method]:
    """`rollup_estimateGas` with a node's gas and this server's fee; everything else as the node answers it.

    Parameters
    ----------
    more : methods that are passed on besides `feemodel.rpc.pass_through.PASSED`.
    """

    async def estimate(call: Any, second: Any = None, third: Any = None, fourth: Any = None) -> dict[str, Any]:
        block, overrides, blocks, wants_details = estimate_options(second, third, fourth)
        if wants_details:
            raise InvalidInput("details", "expected false: a node's estimate has no details", True)
        check_size(overrides, accounts=override_accounts, slots=override_slots)
        gas, nonce, chain_id = await upstream.estimate(call, block, overrides, limits)
        if (caller := CALLER.get()) is not None:
            caller.charge(gas)
        # With the newest block, which came with the estimate.
        prices = pricing.current() if blocks is None else pricing.upper_bound(blocks)
        found = priced(
            GasEstimate(gas, gas, 0, "node"), parse_request(call).call, form=prices.form,
            margin=prices.preset.estimate_margin, nonce=nonce, chain_id=chain_id,
            measuring=Measuring(measuring["codec"], measuring["measured"], measuring["packed"]),
        )  # fmt: skip
        return found.reply()

    def passed(name: str) -> Method:
        return PassedOn(name, upstream.begin, upstream.begin_together)

    return {
        **{name: passed(name) for name in (*PASSED, *more)},
        **both_names(prefix, "estimateGas", estimate),
        **both_names(prefix, "getProof", passed(f"{PRODUCTION_PREFIX}_getProof")),
        "eth_accounts": no_accounts,
    }


def absent_methods(prefix: str = "rollup") -> dict[str, Method]:
    """Methods that are known and not answered here, with what would answer them."""
    node = "needs a node: feemodel serve --node URL passes it on"
    own = f"is not answered: it proves under a node's own state root; {prefix}_getProof proves under the rollup's"
    subscribe = "needs a WebSocket"
    return {
        **{name: Unavailable(f"{name} {node}") for name in PASSED},
        "eth_getProof": Unavailable(f"eth_getProof {own}"),
        **{name: Unavailable(f"{name} {subscribe}") for name in ("eth_subscribe", "eth_unsubscribe")},
    }


def common_methods(pricing: Pricing) -> dict[str, Method]:
    """What is answered whatever stands behind the server."""
    version = f"feemodel/{feemodel.__version__}"
    return {"web3_clientVersion": lambda: version, "feemodel_pricing": pricing.describe}


def gas_of(methods: Methods) -> Callable[[Mapping[str, Any], Overrides | None], Any]:
    """How the explorer has the gas of a call estimated: by the server's own `eth_estimateGas`."""

    async def estimate(call: Mapping[str, Any], overrides: Overrides | None) -> int:
        answer = await once(methods["eth_estimateGas"](call, "latest", *([overrides] if overrides else [])))
        if isinstance(answer, msgspec.Raw):  # as a node wrote it
            answer = msgspec.json.decode(answer)
        return from_quantity(answer, "eth_estimateGas")

    return estimate
