"""Benchmarks of a server: what they ask is answered."""

from benchmarks import server as proofs
from tests.system.client import port_of, run
from tests.system.start import serving


def test_what_a_server_of_proofs_is_asked_it_answers():
    with serving("--workers", "1") as server:
        times = [run(proofs.load(port_of(server.address), asked, seconds=0.1)) for asked in proofs.ASKED.values()]

    assert all(found.count > 0 for found in times)
