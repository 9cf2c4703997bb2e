"""What subscriptions push: new blocks of the node, their logs, and prices that have changed.

One task of a process looks for news while anybody is subscribed, and pushes it to every subscriber.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec
from websockets.frames import Frame, Opcode

from feemodel.checks import choice
from feemodel.errors import FeeModelError, InvalidInput
from feemodel.ethereum.quantities import from_quantity, to_quantity
from feemodel.rpc.jsonrpc import Streamed

KINDS = ("newHeads", "logs", "feemodel_pricing")
CATCH_UP = 16  # blocks since the last look that are pushed one by one; older ones are left out
FILTER_LIMIT = 1_000  # addresses and topics of one filter
_LISTS = ("transactions", "uncles", "withdrawals")  # of a block, which its header has not
_PLACE = b"0x" + b"-" * 32  # of a subscription's id
_AGES = ("ageSeconds", "pollAgeSeconds")
_encode = msgspec.json.Encoder().encode
_log = logging.getLogger(__name__)

Ask = Callable[[str, list[Any]], Awaitable[Any]]


class Subscriber(Protocol):
    """A connection that takes pushes."""

    def tell(self, identity: str, push: "Push") -> None: ...


class Push:
    """A push to every subscriber of one kind, as one WebSocket frame with a gap for the subscription's id.

    Parameters
    ----------
    result : JSON text.

    >>> Push(b"7").frame("0x" + "a" * 32)[2:]
    b'{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","result":7}}'
    """

    def __init__(self, result: bytes) -> None:
        text = b'{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"%b","result":%b}}' % (
            _PLACE,
            result,
        )
        self._before, _, self._after = Frame(Opcode.TEXT, text).serialize(mask=False).partition(_PLACE)

    def frame(self, identity: str) -> bytes:
        """The frame for a subscription, whose id has the length of all of them."""
        return b"%b%b%b" % (self._before, identity.encode(), self._after)


class Feeds:
    """The subscriptions of one process.

    Parameters
    ----------
    ask : a call to the node; `None` where the chain has no new blocks.
    pricing : what `feemodel_pricing` answers.
    every : between two looks [s].

    Belongs to one event loop.
    """

    def __init__(self, ask: Ask | None, pricing: Callable[[], Mapping[str, Any]], *, every: float) -> None:
        self._ask, self._pricing, self._every = ask, pricing, every
        self._subscribed: dict[str, dict[tuple[Subscriber, str], Any]] = {kind: {} for kind in KINDS}
        self._task: asyncio.Task[None] | None = None
        self._last: tuple[int, str] | None = None  # number and hash of the newest block that was pushed
        self._priced: Mapping[str, Any] | None = None

    @property
    def count(self) -> int:
        """Subscriptions that there are."""
        return sum(map(len, self._subscribed.values()))

    def subscribe(self, subscriber: Subscriber, identity: str, kind: Any, filter: Any = None) -> None:
        """Tell a subscriber from now on; raises `InvalidInput` for another kind, and for a filter that is none."""
        choice("subscription", kind, KINDS)
        if filter is not None and kind != "logs":
            raise InvalidInput("parameter 2", f"expected nothing after {kind}", filter)
        self._subscribed[kind][subscriber, identity] = LogFilter(filter) if kind == "logs" else None
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._watch())

    def unsubscribe(self, subscriber: Subscriber, identity: str) -> bool:
        """Tell no longer; whether there was such a subscription."""
        return any(kind.pop((subscriber, identity), self) is not self for kind in self._subscribed.values())

    def close(self) -> None:
        """End the looking."""
        if self._task is not None:
            self._task.cancel()

    async def _watch(self) -> None:
        self._last = self._priced = None
        try:
            while self.count:
                try:
                    if self._ask is not None and (self._subscribed["newHeads"] or self._subscribed["logs"]):
                        await self._look(self._ask)
                    if self._subscribed["feemodel_pricing"]:
                        self._compare_prices()
                except FeeModelError as error:  # the next look may be answered
                    _log.debug("subscriptions: %s", error)
                except Exception:
                    _log.exception("subscriptions")
                await asyncio.sleep(self._every)
        finally:
            self._task = None

    async def _look(self, ask: Ask) -> None:
        newest = await asked(ask, "eth_getBlockByNumber", ["latest", False])
        number, identity = from_quantity(newest["number"], "number"), str(newest["hash"])
        last, self._last = self._last, (number, identity)
        if last is None or last == self._last:
            return
        first = max(last[0] + 1, number - CATCH_UP + 1)
        for missing in range(first, number):
            block = await asked(ask, "eth_getBlockByNumber", [to_quantity(missing), False])
            if isinstance(block, Mapping):
                await self._tell_block(ask, block)
        await self._tell_block(ask, newest)

    async def _tell_block(self, ask: Ask, block: Mapping[str, Any]) -> None:
        header = _encode({name: value for name, value in block.items() if name not in _LISTS})
        self._tell("newHeads", header)
        if self._subscribed["logs"]:
            logs = await asked(ask, "eth_getLogs", [{"blockHash": block["hash"]}])
            for log in logs:
                push = Push(_encode(log))
                for (subscriber, identity), wanted in list(self._subscribed["logs"].items()):
                    if wanted.matches(log):
                        subscriber.tell(identity, push)

    def _compare_prices(self) -> None:
        priced = {name: value for name, value in self._pricing().items() if name not in _AGES}
        before, self._priced = self._priced, priced
        if before is not None and before != priced:
            self._tell("feemodel_pricing", _encode(self._pricing()))

    def _tell(self, kind: str, result: bytes) -> None:
        push = Push(result)
        for subscriber, identity in list(self._subscribed[kind]):
            subscriber.tell(identity, push)


async def asked(ask: Ask, method: str, params: list[Any]) -> Any:
    """The result of one call to a node, decoded; `ask` answers in the node's own bytes."""
    answer = await ask(method, params)
    if isinstance(answer, Streamed):
        pieces = [piece async for piece in answer.pieces()]
        await answer.close()
        answer = msgspec.Raw(b"".join(pieces).rstrip()[:-1])
    return msgspec.json.decode(answer)


class LogFilter:
    """Which logs a subscription gets, by address and topics as `eth_getLogs` has them.

    >>> LogFilter({"address": "0xA1", "topics": [None, ["0x1"]]}).matches({"address": "0xa1", "topics": ["0x7", "0x1"]})
    True
    """

    def __init__(self, wanted: Any) -> None:
        if wanted is not None and not isinstance(wanted, Mapping):
            raise InvalidInput("filter", "expected an object with address and topics", wanted)
        wanted = wanted or {}
        self._addresses = _alternatives("filter.address", wanted.get("address"))
        topics = wanted.get("topics") or []
        if not isinstance(topics, list) or len(topics) > 4:
            raise InvalidInput("filter.topics", "expected a list of at most 4", topics)
        self._topics = [_alternatives(f"filter.topics[{place}]", topic) for place, topic in enumerate(topics)]

    def matches(self, log: Mapping[str, Any]) -> bool:
        """Whether a log is one of them."""
        topics = log["topics"]
        if self._addresses is not None and str(log["address"]).lower() not in self._addresses:
            return False
        return len(topics) >= len(self._topics) and all(
            wanted is None or str(topic).lower() in wanted for wanted, topic in zip(self._topics, topics, strict=False)
        )


def _alternatives(name: str, value: Any) -> frozenset[str] | None:
    """The texts that a part of a filter allows, in lower case; `None` for any."""
    listed = value if isinstance(value, list) else [] if value is None else [value]
    if len(listed) > FILTER_LIMIT or not all(isinstance(each, str) for each in listed):
        raise InvalidInput(name, f"expected hexadecimal text, or a list of at most {FILTER_LIMIT:,}", value)
    return frozenset(each.lower() for each in listed) or None
