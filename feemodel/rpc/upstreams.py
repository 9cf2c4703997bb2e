"""Several nodes of one chain: the one that calls go to, and what happens when it fails.

Every node is polled. Calls go to a node that answers and is not behind; among these to the one in use as long as none
is much quicker. A call that gets no answer is asked of the next node at once, unless the first may have acted on it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from feemodel.errors import UpstreamError
from feemodel.execution.estimate import Limits
from feemodel.io.node import NodeError, changes_state
from feemodel.rpc.begun import Begun
from feemodel.rpc.head import ChainId, Head
from feemodel.rpc.parameters import Overrides
from feemodel.rpc.pass_through import Call, NotSent
from feemodel.rpc.upstream import Upstream

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
        self.head = CurrentHead(self)

    @property
    def current(self) -> Upstream:
        """The node that calls go to."""
        if len(self.nodes) == 1:
            return self._current
        best = self._ranked()[0]
        if best is not self._current and self._is_better(best, self._current):
            self._current = best
        return self._current

    def lag(self, node: Upstream) -> int | None:
        """Blocks between a node's newest block and the highest of all nodes; `None` where it has shown none."""
        head, highest = node.head.last, self._highest()
        return None if head is None or highest is None else max(highest - head.number, 0)

    def is_behind(self, node: Upstream) -> bool:
        """Whether a node lags too far to price."""
        return (self.lag(node) or 0) > self._max_lag

    def begin(self, method: str, params: Sequence[Any]) -> Begun[Any]:
        """The same as `call`, without a task where the node in use answers well."""
        node = self.current
        later = node.passing.begin(method, params)
        if later is None:
            return self.call(method, params)

        def checked(outcome: Any) -> Any:
            if not isinstance(outcome, UpstreamError) or isinstance(outcome, NodeError):
                return outcome
            ask, changes = (lambda node: node.passing.call(method, params)), changes_state(method)
            return self._asked_others(node, outcome, ask, changes=changes)

        return later.then(checked)

    async def call(self, method: str, params: Sequence[Any]) -> Any:
        """The result of one call, see `feemodel.rpc.pass_through.PassThrough.call`."""
        return await self._asked(lambda node: node.passing.call(method, params), changes=changes_state(method))

    async def together(self, calls: Sequence[Call]) -> list[Any]:
        """The outcomes of calls in one request, see `feemodel.rpc.pass_through.PassThrough.together`."""
        changes = any(changes_state(method) for method, _ in calls)
        return await self._asked(lambda node: node.passing.together(calls), changes=changes)

    async def estimate(
        self, call: Any, block: Any, overrides: Overrides | None, limits: Limits
    ) -> tuple[int, int, int]:
        """See `feemodel.rpc.upstream.Upstream.estimate`; by a node that is not behind."""

        async def asked(node: Upstream) -> tuple[int, int, int]:
            found = await node.estimate(call, block, overrides, limits)
            self._check_lag(node)
            return found

        return await self._asked(asked, changes=False)

    async def look(self) -> None:
        """Look at the newest block of the node in use now."""
        await self.current.look()

    def extra_data(self) -> bytes:
        """The extra data of the newest block, where its pricing record stands."""
        return self.head.value.extra_data()

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
        """The same behind the failure of the first."""
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


class CurrentHead:
    """The newest block of the node in use, and how old it is; see `feemodel.rpc.polled.Polled`."""

    def __init__(self, nodes: Upstreams) -> None:
        self._nodes = nodes

    @property
    def value(self) -> Head:
        """The block; raises `UpstreamError` where it is too old or behind that of another node."""
        return self._nodes.priced_head()

    @property
    def last(self) -> Head | None:
        """The block whatever its age; `None` while there is none."""
        return self._nodes.current.head.last

    @property
    def age(self) -> float | None:
        """Since the block [s]."""
        return self._nodes.current.head.age

    @property
    def poll_age(self) -> float | None:
        """Since the last look at it [s]."""
        return self._nodes.current.head.poll_age

    @property
    def error(self) -> str | None:
        """Why the last look failed."""
        return self._nodes.current.head.error
