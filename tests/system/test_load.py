"""Short form of `scripts/load`, and a server that gets more than it takes."""

import pytest

from feemodel.ethereum._quantities import to_hex
from tests.helpers.development import HOLDERS
from tests.system import evm_programs as programs
from tests.system.calls import Order, orders
from tests.system.client import alone, post, run
from tests.system.evm_programs import numbered
from tests.system.load import Load, saturate, send
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


def busy() -> list[Order]:
    """More requests than may be under way."""
    return orders(3, 100)


def slow() -> list[Order]:
    """More calls than may execute and wait, as long as they take."""
    codes = [to_hex(numbered(programs.ECADD_LOOP, number)) for number in range(20)]
    call = {"from": to_hex(HOLDERS[0]), "to": ADDRESS, "gas": hex(40_000_000)}
    return [Order("slow", post("eth_call", call, "latest", {ADDRESS: {"code": code}})) for code in codes]


@pytest.mark.parametrize("crowd", [busy, slow], ids=lambda crowd: crowd.__name__)
def test_more_than_a_server_takes_is_refused_and_then_all_is_answered_again(small, crowd):
    found = Load()
    run(send(small.port, CROWDED, 100, crowd(), found))
    print(dict(found.outcomes))

    assert found.outcomes.keys() <= {*REFUSALS, "ok", "-32000", "3"}
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
