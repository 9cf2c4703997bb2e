"""Benchmarks of a server: what they ask is answered."""

from benchmarks import server as proofs
from tests.system.client import run


def test_what_a_server_of_proofs_is_asked_it_answers(plain_server):
    times = [run(proofs.load(plain_server.port, asked, seconds=0.1)) for asked in proofs.ASKED.values()]

    assert all(times)
