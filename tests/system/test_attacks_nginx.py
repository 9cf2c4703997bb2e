"""Every attack, through nginx with the configuration in `deploy/`, on two instances.

Attacker and innocent caller have keys and addresses of their own; rates and connections are counted for each.
"""

import time

import pytest

from tests.system.attack import Attack, Field
from tests.system.call_attacks import call_attacks
from tests.system.http_attacks import http_attacks
from tests.system.nginx import BINARY, shipped
from tests.system.prober import probing
from tests.system.processes import workers
from tests.system.start import started

pytestmark = pytest.mark.skipif(BINARY is None, reason="needs nginx, of Debian's package of that name")

WARM_UP = 3.0  # seconds in which the server loads what the innocent caller needs
#: What nginx answers in place of the server: too many requests or connections, and requests that it cannot read.
REFUSALS = frozenset(
    {"HTTP 400", "HTTP 401", "HTTP 408", "HTTP 413", "HTTP 414", "HTTP 429", "HTTP 494", "HTTP 501", "closed", "open"}
)


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    """A server behind nginx, and an innocent caller."""
    with (
        started() as server,
        started() as second,
        shipped(
            tmp_path_factory.mktemp("nginx"), f"127.0.0.1:{server.port}", second=f"127.0.0.1:{second.port}"
        ) as front,
        probing(
            front.target("wallet", "127.0.0.2"),
            [[each.pid for each in workers(pid)] for pid in (server.pid, second.pid, front.pid)],
            front.certificate,
        ) as prober,
    ):
        time.sleep(WARM_UP)
        yield Field(server.pid, front.target("attacker"), prober)


@pytest.mark.parametrize("attack", [*http_attacks(), *call_attacks()], ids=lambda one: one.name)
def test_others_are_answered_and_no_worker_grows_or_dies(field: Field, attack: Attack, seconds: float, bound: float):
    assert field.failures(attack, seconds, bound, REFUSALS) == []
