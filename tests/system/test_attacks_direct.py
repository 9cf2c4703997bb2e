"""Every attack on a server with two workers, sent to it directly."""

import time

import pytest

from tests.system.attack import Attack, Field
from tests.system.call_attacks import call_attacks
from tests.system.http_attacks import http_attacks
from tests.system.prober import probing
from tests.system.processes import workers
from tests.system.websocket_attacks import websocket_attacks

WARM_UP = 3.0  # seconds in which the server loads what the innocent caller needs


@pytest.fixture(scope="module")
def field(server):
    """The server, and an innocent caller."""
    with probing(server.target, [[each.pid for each in workers(server.pid)]]) as prober:
        time.sleep(WARM_UP)
        yield Field(server.pid, server.target, prober)


@pytest.mark.parametrize("attack", [*call_attacks(), *http_attacks(), *websocket_attacks()], ids=lambda one: one.name)
def test_others_are_answered_and_no_worker_grows_or_dies(field: Field, attack: Attack, seconds: float, bound: float):
    damage = field.attack(attack, seconds, bound)

    print(damage)
    assert damage.failures(bound) == []


def test_no_internal_error_was_logged(server, field):
    assert "Traceback" not in server.log()
