"""Short form of `scripts/load`, and a server that gets more than it takes."""

import asyncio
import time
from collections import Counter

import pytest

from feemodel.ethereum._quantities import to_hex
from tests.helpers.development import HOLDERS
from tests.system import evm_programs as programs
from tests.system.calls import orders
from tests.system.client import Target, alone, post, run, timed
from tests.system.evm_programs import numbered
from tests.system.load import saturate
from tests.system.start import started, wait_until

LOADED, CLIENTS = 5.0, 12
ANSWERS = 100  # at least, on a busy machine
RISE = 0.2  # of the memory within seconds, while much is met for the first time
CROWDED = 1.5  # seconds of each kind of overload
RECOVERY = 15.0  # seconds until everything is answered again
ADDRESS = "0x" + "7a" * 20
REFUSALS = frozenset({"-32005", "HTTP 503 -32005", "HTTP 503", "HTTP 408", "closed", "refused", "no answer"})


def test_mixed_calls_at_saturation_are_all_answered_as_they_should_be():
    with started("--workers", "2") as server:
        load = run(saturate(server, LOADED, CLIENTS))

    assert load.failures(rise=RISE) == []
    assert load.outcomes.total() > ANSWERS
    assert load.outcomes.keys() == {"ok", "3"}  # what reverts, reverts


@pytest.fixture(scope="module")
def small():
    """A server with room for little."""
    with started("--workers", "1", "--queue", "4") as server:
        yield server


async def _crowd(target: Target, requests: list[bytes], seconds: float) -> Counter[str]:
    """Send each request on a connection of its own, again and again."""
    until, found = time.perf_counter() + seconds, Counter[str]()

    async def client(request: bytes) -> None:
        connection = target.connection()
        while time.perf_counter() < until:
            outcome, _, _ = await timed(connection, request, patience=20)
            found[outcome] += 1
            if outcome in REFUSALS:
                connection.close()  # what was refused may not have been read to its end
                await asyncio.sleep(0.02)
        connection.close()

    await asyncio.gather(*map(client, requests))
    return found


def busy() -> list[bytes]:
    """More requests than may be under way."""
    return [order.request for order in orders(3, 100) if order.outcome == "ok"]


def slow() -> list[bytes]:
    """More calls than may execute and wait, as long as they take."""
    codes = [to_hex(numbered(programs.ECADD_LOOP, number)) for number in range(20)]
    call = {"from": to_hex(HOLDERS[0]), "to": ADDRESS, "gas": hex(40_000_000)}
    return [post("eth_call", call, "latest", {ADDRESS: {"code": code}}) for code in codes]


@pytest.mark.parametrize("crowd", [busy, slow], ids=lambda crowd: crowd.__name__)
def test_more_than_a_server_takes_is_refused_and_then_all_is_answered_again(small, crowd):
    found = run(_crowd(small.target, crowd(), CROWDED))
    print(dict(found))

    assert found.keys() <= {*REFUSALS, "ok", "-32000", "3"}
    wait_until(lambda: _answered(small.port), "everything is answered again", patience=RECOVERY)


def _answered(port: int) -> bool:
    """Return whether a call of every kind is answered."""

    async def ask() -> bool:
        for order in {order.kind: order for order in orders(5, 50)}.values():
            outcome, _ = await alone(port, order.request)
            if outcome != order.outcome:
                return False
        return True

    return run(ask())
