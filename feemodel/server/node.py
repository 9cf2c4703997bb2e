"""Client of the server's node, to get the newest block and to forward the methods that the server does not have."""

from collections.abc import Mapping
from typing import Any

import msgspec

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.estimates.json_types import Quantity
from feemodel.estimates.prices import reward
from feemodel.estimates.rollup import EstimateOptions, Gas
from feemodel.ethereum._quantities import to_hex, to_quantity
from feemodel.ethereum._transaction import Transaction
from feemodel.io.node import AsyncNode, Call, NodeError
from feemodel.io.polled import ChainId, Head, Polled, check_block_hash, quantity_in
from feemodel.ledger.store import StoredBlock
from feemodel.server.dispatch import Method
from feemodel.server.errors import METHOD_NOT_FOUND, CallError
from feemodel.server.execute import limits_of
from feemodel.server.prices import CurrentPrices
from feemodel.server.settings import Settings

CHAIN_ID: Call = ("eth_chainId", [])
NEWEST_BLOCK: Call = ("eth_getBlockByNumber", ["latest", False])
NEXT_BASE_FEE: Call = ("eth_feeHistory", ["0x1", "latest", []])

QUEUE = 1_024  # maximum requests that wait for a node
ANSWER_BYTES = 32 << 20  # maximum size of an answer of a node [byte]

#: Namespaces that are not forwarded: their methods control the node, or take the node more time than a call does.
REFUSED_NAMESPACES = frozenset(("admin", "clique", "debug", "engine", "les", "miner", "personal", "txpool"))
#: Methods that are not forwarded, because they would use accounts of the node, or its own prices.
REFUSED = frozenset((
    "eth_fillTransaction", "eth_sendTransaction", "eth_sign", "eth_signTransaction", "eth_signTypedData",
    "eth_signTypedData_v4",
))  # fmt: skip


def opened_node(settings: Settings, url: str, called: str = "the node") -> AsyncNode:
    """Return a client for a node, with the limits in the settings; `called` is its name in errors."""
    return AsyncNode(
        url, timeout=settings.node_timeout, queue=QUEUE, max_bytes=ANSWER_BYTES, called=called
    )  # fmt: skip


def call_object(call: Transaction) -> dict[str, Any]:
    """Return a parsed call as a JSON-RPC call object for a node.

    >>> call_object(Transaction(type=None, to=bytes.fromhex("11" * 20), value=1))["value"]
    '0x1'
    """
    fields = {
        "from": call.from_address, "to": call.to, "gas": call.gas_limit,
        "gasPrice": call.gas_price, "maxFeePerGas": call.max_fee, "maxPriorityFeePerGas": call.max_priority_fee,
        "maxFeePerBlobGas": call.max_fee_per_blob_gas,
        "value": call.value or None, "nonce": call.nonce, "chainId": call.chain_id, "data": call.data or None,
        "blobVersionedHashes": call.blob_hashes or None,
        "accessList": call.access_list and [
            {"address": address, "storageKeys": keys} for address, keys in call.access_list
        ],
        "authorizationList": [
            {"chainId": one.chain_id, "address": one.address, "nonce": one.nonce, "yParity": one.y_parity,
             "r": one.r, "s": one.s} for one in call.authorizations
        ] or None,
    }  # fmt: skip
    found: dict[str, Any] = in_hex({name: value for name, value in fields.items() if value is not None})
    return found


def in_hex(value: Any) -> Any:
    """Return a JSON value with integers and bytes as hexadecimal text, because nodes do not accept JSON integers.

    >>> in_hex({"keys": [5, b"ab", True]})
    {'keys': ['0x5', '0x6162', True]}
    """
    if isinstance(value, bytes):
        return to_hex(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return to_quantity(value)
    if isinstance(value, Mapping):
        return {name: in_hex(part) for name, part in value.items()}
    return [in_hex(part) for part in value] if isinstance(value, list | tuple) else value


class Upstream:
    """The node to which the server forwards requests.

    Parameters
    ----------
    settings : settings with the node's address and the limits on polls.
    chain_id : chain id that the node must have; `None` if it is not known.
    held : newest block of the ledger; the node's block with this number must have the same hash.
    """

    def __init__(self, settings: Settings, chain_id: int | None, held: StoredBlock | None) -> None:
        assert settings.node is not None
        self._held, self.chain_id, self.node = held, ChainId(chain_id), opened_node(settings, settings.node)
        self.limits = limits_of(settings)
        self.head = Polled(
            "the newest block", self._fetch_head,
            every=settings.poll_seconds, max_age=settings.max_age, name=self.node.name,
        )  # fmt: skip

    async def forward(self, method: str, params: Any) -> msgspec.Raw:
        """Return the node's answer to a method that the server does not implement."""
        namespace = method.partition("_")[0]
        if method in REFUSED or namespace in REFUSED_NAMESPACES:
            raise CallError(METHOD_NOT_FOUND, f"{method} is not forwarded to the node")
        await self.check()
        return await self.node.forward(method, params)

    async def check(self) -> None:
        """Raise `UpstreamError` if the node has not answered yet, or served another chain and still does."""
        if self.head.last is None:
            await self.head.refresh()
        if self.head.last is None:
            raise UpstreamError(self.head.error)

    async def ask(self, method: str, params: list[Any]) -> Any:
        """Return the node's answer as a decoded JSON value."""
        return msgspec.json.decode(await self.forward(method, params))

    async def ask_with_head(self, calls: list[Call]) -> tuple[int, list[Any]]:
        """Return the chain id and the outcomes of calls, requested in one batch together with the newest block."""
        await self.check()
        chain_id, head, history, *found = await self.node.outcomes([CHAIN_ID, NEWEST_BLOCK, NEXT_BASE_FEE, *calls])
        try:
            known = self.chain_id.check(self.node.own(chain_id))
            self.head.note(Head.parse(self.node.own(head), history))
        except UpstreamError as error:
            self.head.fail(error)
            raise
        return known, found

    async def gas(self, call: Transaction, asked: EstimateOptions) -> Gas:
        """Return the gas limit that the node estimates, and what it knows of the sender and of the chain."""
        if asked.intact:
            raise InvalidInput("search", "expected none, because the node searches", "intact")
        block, overrides = asked.block, asked.overrides
        place = "pending" if block is None else in_hex(block.given)
        params = [call_object(call), place, *([in_hex(overrides.given)] if overrides else [])]
        calls: list[Call] = [("eth_estimateGas", params)]
        if call.from_address is not None and call.nonce is None:
            calls.append(("eth_getTransactionCount", [to_hex(call.from_address), place]))
        chain_id, (found, *count) = await self.ask_with_head(calls)
        if isinstance(found, NodeError):
            raise found
        nonce = quantity_in("eth_getTransactionCount", self.node.own(count[0])) if count else 0
        limit = quantity_in("eth_estimateGas", found)
        if not limit:
            raise UpstreamError("the node: eth_estimateGas: expected a gas limit of at least 1, got 0x0")
        return Gas(limit=limit, nonce=nonce, chain_id=chain_id)

    async def _fetch_head(self) -> Head:
        asked = [CHAIN_ID, NEWEST_BLOCK, NEXT_BASE_FEE]
        if self._held is not None:
            asked.append(("eth_getBlockByNumber", [to_quantity(self._held.number), False]))
        node = self.node
        chain_id, head, history, *block = await node.outcomes(asked)
        self.chain_id.check(node.own(chain_id))
        if self._held is not None and isinstance(block[0], Mapping):
            check_block_hash(self._held.number, self._held.hash or b"", block[0])
        return Head.parse(node.own(head), history)


class NodeMethods:
    """Gas prices for wallets that do not use an estimate: the node's, but at least what the rollup requires.

    Parameters
    ----------
    upstream : node whose prices are raised.
    pricing : current prices of the rollup.
    typical_size : compressed size of a transaction of 21,000 gas for which the prices must be enough [byte].
    """

    def __init__(self, upstream: Upstream, pricing: CurrentPrices, typical_size: int) -> None:
        self._upstream, self._pricing, self._size = upstream, pricing, typical_size

    def methods(self) -> dict[str, Method]:
        """Return the methods by name."""
        found = (self.eth_gasPrice, self.eth_maxPriorityFeePerGas, self.eth_feeHistory)
        return {method.__name__: Method(method) for method in found}

    async def eth_gasPrice(self) -> Quantity:
        """Return the node's gas price, but at least the rollup's for a typical transaction."""
        price = quantity_in("eth_gasPrice", await self._upstream.ask("eth_gasPrice", []))
        prices = self._pricing.now
        return to_quantity(max(price, prices.form.base_fee + reward(prices, self._size)))

    async def eth_maxPriorityFeePerGas(self) -> Quantity:
        """Return the node's priority fee, but at least the rollup's for a typical transaction."""
        try:
            tip = quantity_in("eth_maxPriorityFeePerGas", await self._upstream.ask("eth_maxPriorityFeePerGas", []))
        except NodeError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
            tip = 0
        return to_quantity(max(tip, reward(self._pricing.now, self._size)))

    async def eth_feeHistory(
        self, blockCount: Any, newestBlock: Any, rewardPercentiles: list[float] | None = None
    ) -> dict[str, Any]:
        """Return the node's fee history, in which rewards and next base fee are at least the rollup's."""
        history = await self._upstream.ask("eth_feeHistory", [blockCount, newestBlock, rewardPercentiles or []])
        if not isinstance(history, dict):
            raise UpstreamError("the node: eth_feeHistory: expected an object")
        prices = self._pricing.now

        def raised(name: str, fee: Any, least: int) -> Quantity:
            return to_quantity(max(quantity_in(f"eth_feeHistory: {name}", fee), least))

        least = reward(prices, self._size)
        if history.get("reward"):
            history["reward"] = [[raised("reward", fee, least) for fee in row or ()] for row in history["reward"]]
        if history.get("baseFeePerGas"):
            *past, following = history["baseFeePerGas"]
            history["baseFeePerGas"] = [*past, raised("baseFeePerGas", following, prices.form.base_fee)]
        return history
