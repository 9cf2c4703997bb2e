"""Places to execute in, for which clients take turns."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

from feemodel.errors import LimitExceeded

#: Address of the client whose request is being answered; every connection sets its own.
CLIENT: ContextVar[str] = ContextVar("client", default="")


class FairQueue:
    """Places for calls that run at the same time, and a bounded queue for each kind of call.

    Clients take turns: a place goes to the client that has gone without one for the longest, however many calls others
    have waiting. In a full queue a call takes the place of the newest call of the client that has most of them there.
    Where there are several places for calls of brought code, no client that holds others takes the last of them.

    Parameters
    ----------
    places : calls that run at the same time.
    brought : of these, calls of code that the caller brought.
    queue : calls of each kind that may wait.
    what : a place is, in the errors.

    Belongs to one event loop.
    """

    def __init__(self, places: int, brought: int, queue: int, *, what: str = "process") -> None:
        self._what = what
        self._free, self._free_for_brought, self._queue = places, brought, queue
        self._most_brought = max(brought - 1, 1)  # of one client
        self._brought: dict[str, int] = {}  # that each client has running
        self._waiting: OrderedDict[tuple[str, bool], deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def place(self, client: str, *, known: bool, seconds: float) -> AsyncIterator[None]:
        """Hold a place; `known` says that the call runs no code of the caller's.

        Raises `LimitExceeded` where the queue is full, and where no place came free in time.
        """
        await self.enter(client, known=known, seconds=seconds)
        try:
            yield
        finally:
            self.leave(client, known=known)

    async def enter(self, client: str, *, known: bool, seconds: float) -> None:
        """Take a place, which `leave` gives back; parameters and errors as of `place`."""
        if self.enter_now(client, known=known):
            return
        turn = self._enter(client, known=known)
        try:
            async with asyncio.timeout(seconds):
                await turn
        except TimeoutError:
            self._abandon(turn, client, known=known)
            raise LimitExceeded(f"no {self._what} came free within {seconds:g} s") from None
        except BaseException:
            self._abandon(turn, client, known=known)
            raise

    def enter_now(self, client: str, *, known: bool) -> bool:
        """Take a place if no call waits for one; whether it was taken. `leave` gives it back."""
        if self._waiting or not self._has_place(client, known=known):
            return False
        self._take(client, known=known)
        return True

    def leave(self, client: str, *, known: bool) -> None:
        """Give a place back."""
        self._free += 1
        if not known:
            self._free_for_brought += 1
            left = self._brought.pop(client) - 1
            if left:
                self._brought[client] = left
        if self._waiting:
            self._hand_out()

    def _enter(self, client: str, *, known: bool) -> "asyncio.Future[None]":
        turns = {key: len(calls) for key, calls in self._waiting.items() if key[1] == known}
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if sum(turns.values()) >= self._queue and not self._has_place(client, known=known):
            excess = LimitExceeded(f"{self._queue} calls wait for a {self._what} already")
            greediest = max(turns, key=lambda key: turns[key], default=(client, known))
            if turns.get(greediest, 0) <= turns.get((client, known), 0) + 1:
                raise excess
            self._waiting[greediest].pop().set_exception(excess)
        self._waiting.setdefault((client, known), deque()).append(turn)
        self._hand_out()
        return turn

    def _abandon(self, turn: "asyncio.Future[None]", client: str, *, known: bool) -> None:
        """Wait no longer; a place that was handed over meanwhile is given back."""
        calls = self._waiting.get((client, known), deque())
        if turn in calls:  # it was never its turn
            calls.remove(turn)
            self._hand_out()
        elif not turn.cancelled() and turn.exception() is None:
            self.leave(client, known=known)
        else:
            self._hand_out()

    def _take(self, client: str, *, known: bool) -> None:
        self._free -= 1
        if not known:
            self._free_for_brought -= 1
            self._brought[client] = self._brought.get(client, 0) + 1

    def _hand_out(self) -> None:
        """Give free places to those whose turn it is."""
        for client, known in list(self._waiting):
            calls = self._waiting[client, known]
            while calls and calls[0].done():  # cancelled, and about to leave
                calls.popleft()
            if calls and self._has_place(client, known=known):
                calls.popleft().set_result(None)
                self._take(client, known=known)
                self._waiting.move_to_end((client, known))
            if not calls:
                del self._waiting[client, known]

    def _has_place(self, client: str, *, known: bool) -> bool:
        if known:
            return self._free > 0
        is_free = self._free > 0 and self._free_for_brought > 0
        return is_free and self._brought.get(client, 0) < self._most_brought
