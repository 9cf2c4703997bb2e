"""A node behind the server: its newest block is polled, and estimates and all other calls are answered from it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum.quantities import from_quantity, hash_bytes, to_hex, to_quantity
from feemodel.execution.estimate import Limits, check_rollup_call
from feemodel.execution.message import parse_request
from feemodel.execution.state import parse_overrides
from feemodel.io.node import Node, NodeError
from feemodel.ledger.store import Block
from feemodel.rpc.head import ChainId, Head, OtherChain
from feemodel.rpc.parameters import Overrides
from feemodel.rpc.pass_through import PassThrough
from feemodel.rpc.polled import Polled

CONNECTIONS = 16
MAX_RESPONSE = 32 << 20  # bytes of one answer, of which as many as there are connections may come at a time
_HEAD = ("eth_getBlockByNumber", ["latest", False])
_FEE_HISTORY: tuple[str, list[Any]] = ("eth_feeHistory", ["0x1", "latest", []])
_CHAIN_ID: tuple[str, list[Any]] = ("eth_chainId", [])


class Upstream:
    """One node, asked from threads so that nobody waits for it but who asked.

    Parameters
    ----------
    url : see `feemodel.io.node.Node`; one retry, as somebody waits.
    timeout : of a call, in which there is an answer or an error [s].
    poll_seconds : between two looks at its newest block [s].
    max_age : of the newest block and of the last look at it, beyond which it is not given out [s].
    chain : whose id the node must have.
    held : the newest block of the ledger that is served with it, which must be the node's where the node has one of
        that number; its hash is compared, for a rollup's header has another tree's state root.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float,
        poll_seconds: float,
        max_age: float,
        chain: ChainId | None = None,
        held: Block | None = None,
    ) -> None:
        self.node = Node(url, timeout=timeout, retries=1, connections=CONNECTIONS, max_response=MAX_RESPONSE)
        self.threads = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="upstream")
        self.head: Polled[Head] = Polled(
            "the newest block", self._fetch_head, every=poll_seconds, max_age=max_age, threads=self.threads,
            node=self.node,
        )  # fmt: skip
        self.chain = chain or ChainId()
        self._held = held  # until the node has shown its own
        self.latency = 0.0  #: of the last looks at its newest block, averaged [s]
        self.is_looked_at = False  #: whether `look` is waiting for the node
        self.passing = PassThrough(self.node, url, self.chain, self.head.fail)

    async def estimate(
        self, call: Any, block: Any, overrides: Overrides | None, limits: Limits
    ) -> tuple[int, int, int]:
        """The gas limit of a call by the node, the sender's nonce, and the chain's id.

        Without a block the node's pending one, as production has it. The newest block is asked for with them, so that
        the fee is that of the block that comes next.

        Raises `InvalidInput` for a call or override that cannot be read, before the node is asked.
        """
        request = parse_request(call)
        check_rollup_call(request.call, limits)
        parse_overrides(overrides)
        at = "pending" if block is None else _in_hex(block)
        estimated = [_in_hex(call), at, _in_hex(overrides)] if overrides else [_in_hex(call), at]
        asked: list[tuple[str, list[Any]]] = [_CHAIN_ID, ("eth_estimateGas", estimated), _HEAD, _FEE_HISTORY]
        if request.call.sender is not None and request.call.nonce is None:
            asked.append(("eth_getTransactionCount", [to_hex(request.call.sender), at]))
        chain_id, gas, head, history, *count = await self._asked(self._outcomes, asked)
        if isinstance(gas, NodeError):
            raise gas
        self.head.note(Head.parse(_own(head), history))
        nonce = _quantity("eth_getTransactionCount", _own(count[0])) if count else request.call.nonce or 0
        return _quantity("eth_estimateGas", gas), nonce, chain_id

    async def look(self) -> None:
        """Look at the newest block now, as a poll does."""
        self.is_looked_at = True
        try:
            async with asyncio.timeout(self.node.timeout):  # the poll goes on
                await self.head.refresh()
        except TimeoutError:
            self.head.fail(UpstreamError(f"the node: no answer in {self.node.timeout:g} s"))
        finally:
            self.is_looked_at = False

    def extra_data(self) -> bytes:
        """The extra data of the newest block, where its pricing record stands."""
        return self.head.value.extra_data()

    def close(self) -> None:
        """Close the connections."""
        self.passing.close()
        self.node.close()
        self.threads.shutdown(wait=False, cancel_futures=True)

    async def _asked(self, ask: Callable[..., Any], *what: Any) -> Any:
        try:
            async with asyncio.timeout(self.node.timeout):  # for the node's own time-out is of each of its attempts
                return await asyncio.get_running_loop().run_in_executor(self.threads, ask, *what)
        except NodeError:
            raise
        except OtherChain as error:
            self.head.fail(error)
            raise
        except TimeoutError:
            raise UpstreamError(f"the node: no answer in {self.node.timeout:g} s") from None
        except UpstreamError as error:  # where the node stands is not for every caller
            raise UpstreamError(self.node.anonymous(str(error))) from None

    def _outcomes(self, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        """What calls came to, the first of which asks for the chain's id; it comes as a number."""
        held = self._held
        if held is None:
            chain_id, *rest = self.node.outcomes(calls)
            return [self.chain.check(_own(chain_id)), *rest]
        chain_id, *rest, block = self.node.outcomes([*calls, block_call(held.number)])
        number = self.chain.check(_own(chain_id))
        if (found := block_hash(block)) is not None:
            if found != held.hash:
                ours = to_hex(held.hash or b"")
                reason = f"its block {held.number} has the hash {to_hex(found)}, the ledger's has {ours}"
                raise OtherChain(f"the node: {reason}")
            self._held = None
        return [number, *rest]

    def _fetch_head(self) -> Head:
        began = monotonic()
        _, head, history = self._outcomes([_CHAIN_ID, _HEAD, _FEE_HISTORY])
        seconds = monotonic() - began
        self.latency = (self.latency + seconds) / 2 if self.latency else seconds
        return Head.parse(_own(head), history)  # which not every node has


def block_call(number: int) -> tuple[str, list[Any]]:
    """The call for a block by its number."""
    return "eth_getBlockByNumber", [to_quantity(number), False]


def block_hash(block: Any) -> bytes | None:
    """The hash in a node's answer; `None` where it has no such block."""
    if isinstance(block, NodeError) or block is None:
        return None
    try:
        return hash_bytes(block["hash"], "hash")
    except (InvalidInput, TypeError, KeyError) as error:
        raise UpstreamError(f"the node: eth_getBlockByNumber: {error}") from None


def _own(outcome: Any) -> Any:
    """The answer to a call that is the server's own: that it failed is no fault of a caller's parameters."""
    if isinstance(outcome, NodeError):
        raise UpstreamError(f"the node: {outcome}") from None
    return outcome


def _quantity(method: str, answer: Any) -> int:
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
