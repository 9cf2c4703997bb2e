"""Client of the server's node, to get the newest block and to forward the methods that the server does not have."""

from collections.abc import Mapping
from typing import Any

import msgspec

from feemodel.errors import UpstreamError
from feemodel.ethereum._quantities import to_quantity
from feemodel.io._async_node import AsyncNode, Call
from feemodel.io._polled import ChainId, Head, OtherChain, Polled, check_block_hash
from feemodel.ledger._store import StoredBlock
from feemodel.server.errors import METHOD_NOT_FOUND, CallError
from feemodel.server.settings import Settings

CHAIN_ID: Call = ("eth_chainId", [])
NEWEST_BLOCK: Call = ("eth_getBlockByNumber", ["latest", False])
NEXT_BASE_FEE: Call = ("eth_feeHistory", ["0x1", "latest", []])

#: Namespaces that are not forwarded: their methods control the node, or take the node more time than a call does.
REFUSED_NAMESPACES = frozenset(("admin", "clique", "debug", "engine", "les", "miner", "personal", "txpool"))
#: Methods that are not forwarded, because they would use accounts of the node.
REFUSED = frozenset(
    ("eth_sendTransaction", "eth_sign", "eth_signTransaction", "eth_signTypedData", "eth_signTypedData_v4")
)


def opened_node(settings: Settings, url: str) -> AsyncNode:
    """Return a client for a node, with the limits in the settings."""
    return AsyncNode(
        url, timeout=settings.node_timeout, requests=settings.node_requests, queue=settings.node_queue,
        max_bytes=settings.node_bytes, called="the node",
    )  # fmt: skip


class Upstream:
    """The node to which the server forwards requests.

    Parameters
    ----------
    settings : settings with `node` and `fallback_node`. While `node` does not answer, the newest block comes from
        `fallback_node`.
    chain_id : chain id that the node must have; `None` if it is not known.
    held : newest block of the ledger; the node's block with this number must have the same hash.
    """

    def __init__(self, settings: Settings, chain_id: int | None, held: StoredBlock | None) -> None:
        assert settings.node is not None
        self._held, self.chain_id, self.node = held, ChainId(chain_id), opened_node(settings, settings.node)
        self.refusal: OtherChain | None = None  #: reason why no request is sent to the node
        self.nodes = [self.node]
        if settings.costs == "record" and settings.fallback_node is not None:
            self.nodes.append(opened_node(settings, settings.fallback_node))
        self.head = Polled(
            "the newest block", [lambda node=node: self._fetch_head(node) for node in self.nodes],  # type: ignore[misc]
            every=settings.poll_seconds, max_age=settings.max_age, name=self.node.name,
        )  # fmt: skip

    async def forward(self, method: str, params: Any) -> msgspec.Raw:
        """Return the node's answer to a method that the server does not implement."""
        namespace = method.partition("_")[0]
        if method in REFUSED or namespace in REFUSED_NAMESPACES:
            raise CallError(METHOD_NOT_FOUND, f"{method} is not forwarded to the node")
        if self.chain_id.known is None:
            await self.refresh()
        await self.check()
        return await self.node.forward(method, params)

    async def check(self) -> None:
        """Raise `OtherChain` if the node served another chain and still does."""
        if self.refusal is not None:
            await self.head.refresh()
        if self.refusal is not None:
            raise self.refusal

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
            if isinstance(error, OtherChain):
                self.refusal = error
            raise
        return known, found

    async def refresh(self) -> None:
        """Request the newest block now; raises `UpstreamError` if the node's chain id is still not known."""
        await self.head.refresh()
        if self.chain_id.known is None:
            raise UpstreamError(self.head.error or "the node: its chain id is not known")

    async def _fetch_head(self, node: AsyncNode) -> Head:
        asked = [CHAIN_ID, NEWEST_BLOCK, NEXT_BASE_FEE]
        if self._held is not None:
            asked.append(("eth_getBlockByNumber", [to_quantity(self._held.number), False]))
        chain_id, head, history, *block = await node.outcomes(asked)
        try:
            self.chain_id.check(node.own(chain_id))
            if self._held is not None and isinstance(block[0], Mapping):
                check_block_hash(self._held.number, self._held.hash or b"", block[0])
        except OtherChain as error:
            self.refusal = error
            raise
        self.refusal = None
        return Head.parse(node.own(head), history)
