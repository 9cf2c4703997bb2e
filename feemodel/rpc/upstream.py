"""The nodes behind the server: each is polled, calls go to one of them, and to another when it fails."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any, TypeVar

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.estimates.rollup import check_rollup_call
from feemodel.ethereum.quantities import from_quantity, hash_bytes, to_hex, to_quantity
from feemodel.execution.limits import Limits
from feemodel.execution.message import parse_request
from feemodel.execution.state import parse_overrides
from feemodel.io.node import Node, NodeError
from feemodel.ledger.store import Block
from feemodel.rpc.begun import Begun, Later, once
from feemodel.rpc.head import ChainId, Head, OtherChain, Polled
from feemodel.rpc.parameters import Overrides
from feemodel.rpc.pass_through import NotSent, PassThrough, any_changes
from feemodel.rpc.reads import Call

CONNECTIONS = 16
MAX_RESPONSE = 32 << 20  # bytes of one answer, of which as many as there are connections may come at a time
_HEAD = ("eth_getBlockByNumber", ["latest", False])
_FEE_HISTORY: tuple[str, list[Any]] = ("eth_feeHistory", ["0x1", "latest", []])
_CHAIN_ID: tuple[str, list[Any]] = ("eth_chainId", [])


class Upstream:
    """One node, asked from threads, so that only the caller waits for it.

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
        chain_id, gas, head, history, *count = await self._asked(asked)
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

    def close(self) -> None:
        """Close the connections."""
        self.passing.close()
        self.node.close()
        self.threads.shutdown(wait=False, cancel_futures=True)

    async def _asked(self, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        """The outcomes of `_outcomes`, waited for in a thread."""
        try:
            async with asyncio.timeout(self.node.timeout):  # for the node's own time-out is of each of its attempts
                return await asyncio.get_running_loop().run_in_executor(self.threads, self._outcomes, calls)
        except NodeError:
            raise
        except OtherChain as error:
            self.head.fail(error)
            raise
        except TimeoutError:
            raise UpstreamError(f"the node: no answer in {self.node.timeout:g} s") from None
        except UpstreamError as error:  # the address of the node is not for every caller
            raise UpstreamError(self.node.anonymous(str(error))) from None

    def _outcomes(self, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        """The outcomes of calls, the first of which asks for the chain's id: that one as a number."""
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


MUCH_QUICKER = 2.0  # times as quick as the node in use
WORTH_A_CHANGE = 0.02  # and by so much [s]

Answer = TypeVar("Answer")


class Upstreams:
    """The nodes behind a server.

    Parameters
    ----------
    nodes : in the order of the settings, which decides where nothing is known yet.
    chain : whose id all of them must have.
    max_lag : blocks below the highest newest block of all nodes that a node may be and still price [block].
    max_age : seconds for which the block of a node that has stopped answering counts among these [s].
    """

    def __init__(self, nodes: Sequence[Upstream], chain: ChainId, *, max_lag: int, max_age: float) -> None:
        self.nodes, self.chain, self._max_lag, self._max_age = tuple(nodes), chain, max_lag, max_age
        self._current = self.nodes[0]
        self._doubted: set[asyncio.Task[None]] = set()

    @property
    def current(self) -> Upstream:
        """The node that calls go to."""
        if len(self.nodes) == 1:
            return self._current
        best = self._ranked()[0]
        if best is not self._current and self._is_better(best, self._current):
            self._current = best
        return self._current

    @property
    def head(self) -> Polled[Head]:
        """The newest block of that node, which `priced_head` gives where it may price."""
        return self.current.head

    def lag(self, node: Upstream) -> int | None:
        """Blocks between a node's newest block and the highest of all nodes; `None` where it has shown none."""
        head, highest = node.head.last, self._highest()
        return None if head is None or highest is None else max(highest - head.number, 0)

    def is_behind(self, node: Upstream) -> bool:
        """Whether a node lags too far to price."""
        return (self.lag(node) or 0) > self._max_lag

    async def call(self, method: str, params: Sequence[Any]) -> Any:
        """The result of one call, see `feemodel.rpc.pass_through.PassThrough.call`."""
        return await once(self.begin(method, params))

    def begin(self, method: str, params: Sequence[Any]) -> Begun[Any]:
        """The same, without a task where the node in use answers well."""
        node = self.current
        later = node.passing.begin(method, params)
        return self._begun(node, later, lambda node: node.passing.call(method, params), ((method, params),))

    def begin_together(self, calls: Sequence[Call]) -> Begun[list[Any]]:
        """The outcomes of calls in one request, see `feemodel.rpc.pass_through.PassThrough.together`; likewise."""
        node = self.current
        return self._begun(node, node.passing.begin_together(calls), lambda node: node.passing.together(calls), calls)

    def _begun(
        self, node: Upstream, later: Later[Any] | None, ask: Callable[[Upstream], Awaitable[Any]], calls: Sequence[Call]
    ) -> Begun[Any]:
        """What was begun at a node, or asked in a task where nothing was; by another node where that one fails."""
        if later is None:
            return self._asked(ask, changes=any_changes(calls))

        def checked(outcome: Any) -> Any:
            if not isinstance(outcome, UpstreamError) or isinstance(outcome, NodeError):
                return outcome
            return self._asked_others(node, outcome, ask, changes=any_changes(calls))

        return later.then(checked)

    async def estimate(
        self, call: Any, block: Any, overrides: Overrides | None, limits: Limits
    ) -> tuple[int, int, int]:
        """See `feemodel.rpc.upstream.Upstream.estimate`; by a node that is not behind."""

        async def asked(node: Upstream) -> tuple[int, int, int]:
            found = await node.estimate(call, block, overrides, limits)
            self._check_lag(node)
            return found

        return await self._asked(asked, changes=False)

    def close(self) -> None:
        """Close the connections."""
        for node in self.nodes:
            node.close()

    def priced_head(self) -> Head:
        """The newest block of the node in use; raises `UpstreamError` where it is too old or behind."""
        node = self.current
        head = node.head.value
        self._check_lag(node)
        return head

    def _check_lag(self, node: Upstream) -> None:
        if len(self.nodes) > 1 and self.is_behind(node):
            lag = self.lag(node)
            raise UpstreamError(
                f"the newest block: {lag} blocks behind another node, more than max_lag, {self._max_lag}"
            )

    async def _asked(self, ask: Callable[[Upstream], Awaitable[Answer]], *, changes: bool) -> Answer:
        """The first answer of a node, from the one in use on."""
        first = self.current
        try:
            return await ask(first)
        except NodeError:
            raise
        except UpstreamError as error:
            failure = error
        return await self._asked_others(first, failure, ask, changes=changes)

    async def _asked_others(
        self, first: Upstream, failure: UpstreamError, ask: Callable[[Upstream], Awaitable[Answer]], *, changes: bool
    ) -> Answer:
        """The same after the first has failed."""
        self._doubt(first, failure)
        others = [node for node in self._ranked() if node is not first]
        is_sent = not isinstance(failure, NotSent)
        while others and not (changes and is_sent):
            node = others.pop(0)
            try:
                return await ask(node)
            except NodeError:
                raise
            except UpstreamError as error:
                self._doubt(node, error)
                is_sent = not isinstance(error, NotSent)
        raise failure

    def _doubt(self, node: Upstream, error: UpstreamError) -> None:
        """Look at a node that has not answered, to use another one if it does not answer that either."""
        if len(self.nodes) == 1 or node.is_looked_at:
            return
        if isinstance(error, NotSent):
            node.head.fail(error)
        task = asyncio.get_running_loop().create_task(node.look())
        self._doubted.add(task)
        task.add_done_callback(self._doubted.discard)

    def _highest(self) -> int | None:
        known = [node.head for node in self.nodes if (node.head.poll_age or 0.0) <= self._max_age]
        return max((head.last.number for head in known if head.last is not None), default=None)

    def _ranked(self) -> list[Upstream]:
        """The nodes, the best first."""
        return sorted(self.nodes, key=lambda node: (*self._faults(node), node.latency))

    def _faults(self, node: Upstream) -> tuple[bool, bool]:
        return node.head.error is not None or node.head.last is None, self.is_behind(node)

    def _is_better(self, node: Upstream, other: Upstream) -> bool:
        if self._faults(node) != self._faults(other):
            return self._faults(node) < self._faults(other)
        gained = other.latency - node.latency
        return gained > WORTH_A_CHANGE and node.latency * MUCH_QUICKER < other.latency
