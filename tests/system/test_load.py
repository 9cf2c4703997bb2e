"""Short form of `scripts/load`, and a server that gets more than it takes."""

from tests.system.calls import Order, orders, slow_call
from tests.system.client import alone, run
from tests.system.load import Load, saturate, send
from tests.system.start import started, wait_until

LOADED, CLIENTS = 5.0, 12
ANSWERS = 100  # at least, on a busy machine
RISE = 0.2  # of the memory within seconds, while much is met for the first time
CROWDED = 1.5  # seconds of overload
RECOVERY = 15.0  # seconds until everything is answered again


def test_mixed_calls_at_saturation_are_all_answered_as_they_should_be():
    with started("--workers", "2") as server:
        load = run(saturate(server, LOADED, CLIENTS))

    assert load.failures(rise=RISE) == []
    assert load.outcomes.total() > ANSWERS
    assert load.outcomes.keys() == {"ok", "3"}  # what reverts, reverts


def test_more_than_a_server_takes_is_refused_and_then_all_is_answered_again():
    crowd = [Order("slow", slow_call(number, 40_000_000)) for number in range(20)]
    found = Load()
    with started("--workers", "1", "--queue", "4") as server:
        run(send(server.port, CROWDED, 100, crowd, found))
        print(dict(found.outcomes))
        wait_until(lambda: _answered(server.port), "everything is answered again", patience=RECOVERY)

    assert found.outcomes.keys() == {"-32000", "-32005"}


def _answered(port: int) -> bool:
    """Return whether a call of every kind is answered."""
    each = {order.kind: order for order in orders(5, 50)}.values()
    return all(run(alone(port, order.request))[0] == order.outcome for order in each)
