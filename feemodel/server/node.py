"""Client of the server's node, to get the newest block and to forward the methods that the server does not have."""

from typing import Any

import msgspec

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.estimates.json_types import call_object, in_hex
from feemodel.estimates.rollup import EstimateOptions, Gas
from feemodel.ethereum._quantities import to_hex
from feemodel.ethereum._transaction import Transaction
from feemodel.io.node import AsyncNode, Call, NodeError
from feemodel.io.polled import ChainId, Head, Polled, quantity_in
from feemodel.server.dispatch import METHOD_NOT_FOUND, CallError
from feemodel.server.settings import Settings

CHAIN_ID: Call = ("eth_chainId", [])
NEWEST_BLOCK: Call = ("eth_getBlockByNumber", ["latest", False])
#: What a poll asks; the fee history announces the next base fee.
STATE = (CHAIN_ID, NEWEST_BLOCK, ("eth_feeHistory", ["0x1", "latest", []]))

QUEUE = 1_024  # maximum requests that wait for a node
ANSWER_BYTES = 32 << 20  # maximum size of an answer of a node [byte]

#: Methods that are not forwarded: they control the node, take more time than a call, or use the node's accounts or
#: its own prices. All names with these prefixes are refused.
NAMESPACES = ("admin_", "clique_", "debug_", "engine_", "les_", "miner_", "personal_", "txpool_")
REFUSED = (*NAMESPACES, "eth_fillTransaction", "eth_sendTransaction", "eth_sign")


def opened_node(settings: Settings, url: str, called: str = "the node") -> AsyncNode:
    """Return a client for a node, with the limits in the settings; `called` is its name in errors."""
    return AsyncNode(url, timeout=settings.node_timeout, queue=QUEUE, max_bytes=ANSWER_BYTES, called=called)


class Upstream:
    """The node that estimates gas, and to which the server forwards the methods that it does not have."""

    def __init__(self, settings: Settings, url: str, chain_id: int | None) -> None:
        self.chain_id, self.node = ChainId(chain_id), opened_node(settings, url)
        self.head = Polled(
            "the newest block", self._fetch_head, node=self.node, every=settings.poll_seconds, max_age=settings.max_age
        )

    async def forward(self, method: str, params: Any) -> msgspec.Raw:
        """Return the node's answer to a method that the server does not implement."""
        if method.startswith(REFUSED):
            raise CallError(METHOD_NOT_FOUND, f"{method} is not forwarded to the node")
        await self._check()
        return await self.node.forward(method, params)

    async def ask(self, method: str, params: list[Any]) -> Any:
        """Return the node's answer as a decoded JSON value, without the node's address if no parameters were sent."""
        await self._check()
        answer = await self.node.call(method, params)
        return answer if params else self.node.anonymous(answer)

    async def gas(self, call: Transaction, asked: EstimateOptions) -> Gas:
        """Return the gas limit that the node estimates, with the sender's nonce and the chain id."""
        if asked.intact:
            raise InvalidInput("search", "expected none, because the node searches", "intact")
        place = "pending" if asked.block is None else in_hex(asked.block.given)
        params = [call_object(call), place, *([in_hex(asked.overrides.given)] if asked.overrides else [])]
        calls: list[Call] = [("eth_estimateGas", params)]
        if call.from_address is not None and call.nonce is None:
            calls.append(("eth_getTransactionCount", [to_hex(call.from_address), place]))
        await self._check()
        chain_id, head, history, found, *count = await self.node.outcomes([*STATE, *calls])
        try:
            known, newest = self._read(chain_id, head, history)
        except UpstreamError as error:
            self.head.fail(error)
            raise
        self.head.note(newest)
        if isinstance(found, NodeError):
            raise found
        limit = quantity_in("eth_estimateGas", self.node.anonymous(found))
        if not limit:
            raise UpstreamError("the node: eth_estimateGas: expected a gas limit of at least 1, got 0x0")
        nonce = quantity_in("eth_getTransactionCount", self.node.anonymous(self.node.own(count[0]))) if count else 0
        return Gas(limit=limit, nonce=nonce, chain_id=known)

    async def _check(self) -> None:
        """Raise `UpstreamError` if no newest block of the served chain is known, and none can be fetched."""
        if self.head.last is None:
            await self.head.refresh()
        if self.head.last is None:
            raise UpstreamError(self.head.error)

    async def _fetch_head(self) -> Head:
        return self._read(*await self.node.outcomes(STATE))[1]

    def _read(self, chain_id: Any, head: Any, history: Any) -> tuple[int, Head]:
        """Check the chain id; return it and the newest block, from the outcomes of `STATE`."""
        try:
            return self.chain_id.check(self.node.own(chain_id)), Head.parse(self.node.own(head), history)
        except UpstreamError as error:
            raise type(error)(self.node.anonymous(str(error))) from None
