"""Short reads and quick calls at the newest block that follow each other closely share one request to a node.

A node reads a request, and a proxy writes one, in several times the time that it takes to look up a balance. So while
an answer to such reads is awaited, those that come meanwhile wait, at most a millisecond, and are sent together; what
is asked several times is sent once. An `eth_call` shares a request with others where the node has answered the same
function of the same contract in less than a millisecond. What may take a node long (other calls, estimates, logs,
receipts, old blocks) or be long is sent at once and by itself.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from feemodel.rpc.begun import Later

#: Methods of which a node keeps the answer at hand, and how many parameters stand before the block.
SHORT_READS = {
    "eth_blockNumber": 0, "eth_chainId": 0, "eth_getBalance": 1, "eth_getStorageAt": 2, "eth_getTransactionCount": 1,
    "net_version": 0,
}  # fmt: skip
NEWEST = ("latest", "pending")
TOGETHER = 8  # reads in one request
HELD_SECONDS = 0.001  # for which a read waits for others
LONGEST = 256  # characters of a parameter
APART_SECONDS = 10.0  # for which reads are sent apart after a request of several that was not answered well

QUICK_SECONDS = 0.001  # for a call that may share a request: seven others wait for it
SHARED_SECONDS = 0.05  # after which calls that share a request are asked one by one
KNOWN_TARGETS = 1_024  # functions of contracts whose times are kept
CALL_BYTES = 2_048  # of a call that may share a request
ADDRESS, SELECTOR = 42, 10  # characters in hex

Call = tuple[str, Sequence[Any]]
Target = tuple[str, str]  # an address and a selector


class Sent(Later[Any]):
    """A call that was sent and that no task waits for, or a batch of them: it holds a place.

    Parameters
    ----------
    calls : one, or those of a batch.
    request : its bytes behind the id; of a batch all of them.
    client : that holds the place.
    seconds : until the answer [s].
    is_batch : whether it is settled with a list of outcomes.
    """

    __slots__ = ("calls", "client", "deadline", "is_batch", "request", "seconds", "target")

    def __init__(
        self, calls: Sequence[Call], request: bytes, client: str, seconds: float, *, is_batch: bool = False
    ) -> None:
        super().__init__()
        self.calls, self.request, self.client, self.is_batch = calls, request, client, is_batch
        self.seconds, self.deadline = seconds, monotonic() + seconds  # the second in monotonic time
        self.target: Target | None = None  #: what a call that may be quick calls

    @property
    def began(self) -> float:
        """When it was made, in monotonic time [s]."""
        return self.deadline - self.seconds


def is_short_read(method: str, params: Sequence[Any]) -> bool:
    """Whether a call asks for little that a node has at hand.

    >>> is_short_read("eth_getBalance", ["0x00", "latest"]), is_short_read("eth_getBalance", ["0x00", "0x5"])
    (True, False)
    """
    if method == "eth_getBlockByNumber":  # without its transactions
        return len(params) == 2 and params[0] == "latest" and params[1] is False
    before = SHORT_READS.get(method)
    if before is None or len(params) > before + 1:
        return False
    for param in params:
        if type(param) is not str or len(param) > LONGEST:
            return False
    return len(params) <= before or params[before] in NEWEST


def call_target(method: str, params: Sequence[Any]) -> Target | None:
    """What a call at the newest block calls; `None` for any other call, and for one that no other one is like.

    >>> call_target("eth_call", [{"to": "0x" + "ab" * 20, "data": "0x70a08231"}, "latest"])
    ('0xabababababababababababababababababababab', '0x70a08231')
    """
    if method != "eth_call" or len(params) != 2 or params[1] != "latest" or not isinstance(params[0], Mapping):
        return None
    to, data = params[0].get("to"), params[0].get("data") or params[0].get("input")
    if not isinstance(to, str) or len(to) != ADDRESS or not isinstance(data, str) or len(data) < SELECTOR:
        return None
    return to, data[:SELECTOR]


class Quickness:
    """How long a node takes for the functions of contracts.

    The least time is what counts, for others are those of a queue; it is forgotten by and by, so that a function that
    takes longer than it did is known to after a few calls.
    """

    def __init__(self) -> None:
        self._seconds: dict[Target, float] = {}

    def note(self, target: Target, seconds: float) -> None:
        """Take the time of one more answer [s]."""
        known = self._seconds.get(target)
        if known is None and len(self._seconds) >= KNOWN_TARGETS:
            del self._seconds[next(iter(self._seconds))]
        self._seconds[target] = seconds if known is None else min(2 * known, seconds)

    def is_quick(self, target: Target) -> bool:
        """Whether the node is known to answer it quickly."""
        known = self._seconds.get(target)
        return known is not None and known <= QUICK_SECONDS


class Reads:
    """Calls on their way to one node that may share requests.

    Parameters
    ----------
    send : sends them in one request; whether it was sent.
    not_sent : takes those that it has refused.

    Belongs to one event loop.
    """

    def __init__(self, send: Callable[[Sequence[Sent]], bool], not_sent: Callable[[Sequence[Sent]], None]) -> None:
        self._send, self._not_sent = send, not_sent
        self._waiting: list[Sent] = []
        self._awaited: set[int] = set()  # ids of the requests of which an answer is awaited
        self._apart_until = 0.0
        self._timer: asyncio.Handle | None = None

    def add(self, sent: Sent) -> bool:
        """Send a read, or keep it until it is sent with others; whether that could be done."""
        if self._apart_until and monotonic() < self._apart_until:
            return self._sent([sent])
        self._waiting.append(sent)
        if len(self._waiting) >= TOGETHER:
            self._flush()
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(HELD_SECONDS, self._flush) if self._awaited else loop.call_soon(self._flush)
        return True

    def ended(self, group: Sequence[Sent], *, is_well: bool) -> None:
        """Note that a request was answered, of reads or of anything else."""
        if id(group) not in self._awaited:
            return
        self._awaited.remove(id(group))
        if not is_well and len(group) > 1:
            self._apart_until = monotonic() + APART_SECONDS
        if self._waiting:
            self._flush()

    def close(self) -> None:
        """Send nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        group, self._waiting = self._waiting, []
        if group and not self._sent(group):
            self._not_sent(group)

    def _sent(self, group: list[Sent]) -> bool:
        if not self._send(group):
            return False
        self._awaited.add(id(group))
        return True
