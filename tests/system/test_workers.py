"""Workers that prove what another process imports, and a port that is taken."""

import socket
import subprocess
import sys
from contextlib import ExitStack

from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, check_proof, import_block, import_genesis
from tests.helpers.ledger_blocks import address, allocated, block, change, fields
from tests.system.processes import workers
from tests.system.start import serving, wait_until


def test_blocks_that_are_imported_after_the_start_are_proved(tmp_path):
    path, account = tmp_path / "ledger.db", to_hex(address(1))
    with Store(path) as store:
        import_genesis(store, [allocated(address(1), balance=1)])
        store.finalize(0)
        with serving("--store", str(path), "--workers", "2") as server:
            for number in range(1, 21):
                changed = change(1, fields(balance=number), fields(balance=number + 1))
                root = import_block(store, block(number, changed), final=True).root
                proof = server.ask("linea_getProof", account, ["0x1"], hex(number))["result"]
                proven = check_proof(proof, root=root, address=account, storage_keys=["0x1"])
                assert proven.account.balance == number + 1


def test_connections_are_divided_between_the_workers():
    with serving("--workers", "2") as server, ExitStack() as opened:
        wait_until(lambda: len(workers(server.pid)) == 2, "both workers listen")
        for _ in range(40):
            opened.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        wait_until(lambda: sum(map(_connections, workers(server.pid))) >= 40, "the workers accept them")

        assert min(map(_connections, workers(server.pid))) >= 5


def _connections(process):
    return sum(each.status == "ESTABLISHED" for each in process.net_connections("tcp"))


def test_a_port_that_is_taken_is_an_error_in_one_line(plain_server):
    port = plain_server.port
    command = [sys.executable, "-m", "feemodel", "serve", "--port", str(port)]
    second = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert second.returncode == 2
    assert second.stderr == f"feemodel: 127.0.0.1:{port}: Address already in use\n"
