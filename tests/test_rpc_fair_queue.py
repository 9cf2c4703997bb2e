"""Places to execute in: clients take turns, and none keeps the others out of the queue."""

import asyncio

import pytest

from feemodel.errors import LimitExceeded
from feemodel.rpc.fair_queue import FairQueue

PATIENCE = 30.0  # seconds


async def run_all(queue, calls):
    """Run calls that arrive in this order; the order in which they had a place, and the places of those refused."""
    order = []

    async def call(place, client, known):
        async with queue.place(client, known=known, seconds=PATIENCE):
            order.append(place)
            await asyncio.sleep(0.01)

    tasks = []
    for place, (client, known) in enumerate(calls):
        tasks.append(asyncio.create_task(call(place, client, known)))
        await asyncio.sleep(0)
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(error) for error in done} <= {type(None), LimitExceeded}
    return order, [place for place, error in enumerate(done) if error is not None]


def ran(calls, *, places=1, brought=1, queue=8):
    return asyncio.run(run_all(FairQueue(places, brought, queue), calls))


def test_clients_take_turns():
    assert ran([("a", True)] * 4 + [("b", True)] * 2) == ([0, 1, 4, 2, 5, 3], [])


def test_a_client_that_fills_the_queue_makes_room_for_another():
    greedy = [("a", False)] * 40
    order, refused = ran([*greedy, ("b", False)])

    assert order[:3] == [0, 1, 40]
    assert refused == list(range(8, 40))


def test_a_full_queue_of_many_clients_refuses_the_next_one():
    _, refused = ran([(name, True) for name in "abcdefghij"])

    assert refused == [9]


def test_code_that_callers_bring_leaves_a_place_to_the_rest_and_neither_fills_the_other_s_queue():
    order, refused = ran([("a", False)] * 10 + [("a", True)] * 2, places=2, brought=1)

    assert order[:2] == [0, 10]
    assert refused == [9]


def test_a_client_leaves_a_place_for_the_code_of_one_that_has_none_running():
    """Places for two calls of brought code: the first client's second call runs behind the other client's first."""
    order, refused = ran([("a", False)] * 3 + [("b", False)], places=3, brought=2)

    assert order == [0, 3, 1, 2]
    assert refused == []


@pytest.mark.parametrize("given_up", ["while it waits", "while it runs", "as its turn comes"])
def test_a_call_that_is_given_up_leaves_its_place(given_up):
    async def both():
        queue = FairQueue(1, 1, 8)
        leave = asyncio.Event()

        async def call(event):
            async with queue.place("a", known=True, seconds=PATIENCE):
                await event.wait()

        first = asyncio.create_task(call(leave))
        await asyncio.sleep(0)
        second = asyncio.create_task(call(asyncio.Event()))
        await asyncio.sleep(0)
        if given_up != "while it waits":
            leave.set()
            await first
        if given_up == "while it runs":
            await asyncio.sleep(0)
        second.cancel()
        leave.set()
        await asyncio.gather(first, second, return_exceptions=True)
        async with queue.place("b", known=True, seconds=PATIENCE):
            return "held"

    assert asyncio.run(both()) == "held"


def test_a_call_waits_for_so_long():
    async def two():
        queue = FairQueue(1, 1, 8)
        async with queue.place("a", known=True, seconds=PATIENCE):
            with pytest.raises(LimitExceeded, match=r"no process came free within 0\.01 s"):
                async with queue.place("b", known=True, seconds=0.01):
                    pass
        async with queue.place("b", known=True, seconds=PATIENCE):
            return "held"

    assert asyncio.run(two()) == "held"
