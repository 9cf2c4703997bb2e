"""Short reads at the newest block that follow each other closely share one request to a node.

A node reads a request, and a proxy writes one, in several times the time that it takes to look up a balance. So while
an answer to such reads is awaited, those that come meanwhile wait, at most a millisecond, and are sent together. What
may take a node long (calls, logs, receipts, old blocks) or be long is sent at once and by itself.
"""

import asyncio
from collections.abc import Callable, Sequence
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

Call = tuple[str, Sequence[Any]]


class Sent(Later[Any]):
    """A call that was sent and that no task waits for, or a batch of them: it holds a place.

    Parameters
    ----------
    calls : one, or those of a batch.
    requests : their bytes behind the ids.
    client : that holds the place.
    seconds : until the answer [s].
    is_batch : whether it is settled with a list of outcomes.
    """

    __slots__ = ("calls", "client", "deadline", "is_batch", "requests", "seconds")

    def __init__(
        self, calls: Sequence[Call], requests: Sequence[bytes], client: str, seconds: float, *, is_batch: bool = False
    ) -> None:
        super().__init__()
        self.calls, self.requests, self.client, self.is_batch = calls, requests, client, is_batch
        self.seconds, self.deadline = seconds, monotonic() + seconds  # the second in monotonic time


def is_short_read(method: str, params: Sequence[Any]) -> bool:
    """Whether a call asks for little that a node has at hand.

    >>> is_short_read("eth_getBalance", ["0x00", "latest"]), is_short_read("eth_getBalance", ["0x00", "0x5"])
    (True, False)
    """
    before = SHORT_READS.get(method)
    if before is None or len(params) > before + 1:
        return False
    for param in params:
        if type(param) is not str or len(param) > LONGEST:
            return False
    return len(params) <= before or params[before] in NEWEST


class Reads:
    """Short reads on their way to one node.

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
        if self._apart_until and self._is_apart():
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

    def _is_apart(self) -> bool:
        if monotonic() < self._apart_until:
            return True
        self._apart_until = 0.0
        return False
