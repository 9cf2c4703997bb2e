"""A node that answers in place of a chain of our own: estimates, counts and headers come from it, with its errors."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.execution.estimate import Limits, check_rollup_call
from feemodel.execution.message import parse_request
from feemodel.execution.world import parse_overrides
from feemodel.io.node import Node, NodeError
from feemodel.rpc.parameters import Overrides
from feemodel.rpc.polled import Polled
from feemodel.units import from_hex, from_quantity, to_hex, to_quantity

CONNECTIONS = 16

#: What is passed on as it came; the rest is answered here or refused.
PASSED = (
    "eth_chainId", "eth_blockNumber", "eth_getBlockByNumber", "eth_getTransactionCount", "eth_getBalance",
    "eth_getCode", "eth_call", "eth_estimateGas", "eth_gasPrice", "eth_maxPriorityFeePerGas", "eth_feeHistory",
    "net_version",
)  # fmt: skip


class Upstream:
    """One node, asked from threads so that nobody waits for it but who asked.

    Parameters
    ----------
    url : see `feemodel.io.node.Node`; one retry, as somebody waits.
    timeout : of a call, in which there is an answer or an error [s].
    poll_seconds : between two looks at its newest block [s].
    max_age : of the newest block, beyond which it is not given out [s]; `None` for any age.
    """

    def __init__(self, url: str, *, timeout: float, poll_seconds: float, max_age: float | None = None) -> None:
        self.node = Node(url, timeout=timeout, retries=1, connections=CONNECTIONS)
        self.threads = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="upstream")
        self.head: Polled[Mapping[str, Any]] = Polled(
            "the newest block", self._fetch_head, every=poll_seconds, max_age=max_age, threads=self.threads,
            node=self.node.name,
        )  # fmt: skip
        self._chain_id: int | None = None

    async def call(self, method: str, params: Sequence[Any]) -> Any:
        """The node's answer; raises `NodeError` with the node's error, `UpstreamError` where there is no answer."""
        return await self._asked(self.node.call, method, params)

    async def estimate(
        self, call: Any, block: Any, overrides: Overrides | None, limits: Limits
    ) -> tuple[int, int, int]:
        """The gas limit of a call by the node, the sender's nonce, and the chain's id.

        Without a block the node's pending one, as production has it.

        Raises `InvalidInput` for a call or override that cannot be read, before the node is asked.
        """
        request = parse_request(call)
        check_rollup_call(request.call, limits)
        parse_overrides(overrides)
        at = "pending" if block is None else _in_hex(block)
        estimated = [_in_hex(call), at, _in_hex(overrides)] if overrides else [_in_hex(call), at]
        asked: list[tuple[str, list[Any]]] = [("eth_estimateGas", estimated)]
        if request.call.sender is not None and request.call.nonce is None:
            asked.append(("eth_getTransactionCount", [to_hex(request.call.sender), at]))
        answers = await self._asked(self.node.batch, asked)
        gas, *count = (self._quantity(method, answer) for (method, _), answer in zip(asked, answers, strict=True))
        return gas, count[0] if count else request.call.nonce or 0, await self.chain_id()

    async def chain_id(self) -> int:
        """The chain's id, asked for once."""
        if self._chain_id is None:
            self._chain_id = self._quantity("eth_chainId", await self.call("eth_chainId", []))
        return self._chain_id

    def extra_data(self) -> bytes:
        """The extra data of the newest block, where its pricing record stands."""
        return from_hex(self.head.value.get("extraData") or "0x", "extraData")

    def close(self) -> None:
        """Close the connections."""
        self.node.close()
        self.threads.shutdown(wait=False, cancel_futures=True)

    async def _asked(self, ask: Callable[..., Any], *what: Any) -> Any:
        try:
            async with asyncio.timeout(self.node.timeout):  # for the node's own time-out is of each of its attempts
                return await asyncio.get_running_loop().run_in_executor(self.threads, ask, *what)
        except NodeError:
            raise
        except TimeoutError:
            raise UpstreamError(f"the node: no answer in {self.node.timeout:g} s") from None
        except UpstreamError as error:  # where the node stands is not for every caller
            raise UpstreamError(str(error).replace(self.node.name, "the node")) from None

    def _fetch_head(self) -> Mapping[str, Any]:
        head = self.node.call("eth_getBlockByNumber", ["latest", False])
        if not isinstance(head, Mapping):
            raise UpstreamError(f"{self.node.name}: eth_getBlockByNumber: expected a block, got {head!r:.120}")
        return head

    def _quantity(self, method: str, answer: Any) -> int:
        try:
            return from_quantity(answer, method)
        except InvalidInput as error:
            raise UpstreamError(f"the node: {error}") from None


def _in_hex(value: Any) -> Any:
    """A parameter with its integers as quantities: nodes do not take those of JSON."""
    if isinstance(value, int) and not isinstance(value, bool):
        return to_quantity(value)
    if isinstance(value, Mapping):
        return {name: _in_hex(part) for name, part in value.items()}
    return [_in_hex(part) for part in value] if isinstance(value, list) else value
