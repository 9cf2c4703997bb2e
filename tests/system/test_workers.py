"""Workers that answer while another process imports, and a port that is taken."""

import socket
import subprocess
import sys
import threading
from contextlib import ExitStack

from feemodel.ethereum._hashes import keccak256
from feemodel.ledger import Store, check_proof, import_block, import_genesis
from feemodel.ledger.blocks import AccountChange, AccountFields, BlockChanges
from tests.helpers.ledger_blocks import allocated
from tests.system.processes import workers
from tests.system.start import serving, wait_until

EMPTY, BLOCKS = keccak256(b""), 60
ADDRESSES = [bytes([n]) * 20 for n in range(1, 41)]


def test_answers_hold_while_another_process_imports(tmp_path):
    path = tmp_path / "ledger.db"
    roots = {}
    with Store(path) as store:
        genesis = import_genesis(store, [allocated(address, balance=1) for address in ADDRESSES])
        store.finalize(0)
        roots[0] = genesis.root
        failures, answers, done = [], [], threading.Event()

        def ask(server, seed):
            place = seed
            while not done.is_set() or len(answers) < 200:
                place += 1
                account, known = "0x" + ADDRESSES[place % len(ADDRESSES)].hex(), max(roots)
                reply = server.ask("linea_getProof", account, ["0x1"], hex(known))
                try:
                    proven = check_proof(reply["result"], root=roots[known], address=account, storage_keys=[1])
                    assert proven.account is not None
                    answers.append(proven.account.balance)
                except Exception as error:
                    failures.append((known, reply, error))
                    return

        with serving("--store", str(path), "--workers", "2") as server:
            askers = [threading.Thread(target=ask, args=(server, seed)) for seed in range(4)]
            for asker in askers:
                asker.start()
            balance = 1
            for number in range(1, BLOCKS + 1):
                changes = tuple(
                    AccountChange(where, AccountFields(0, balance, EMPTY), AccountFields(0, balance + number, EMPTY))
                    for where in ADDRESSES
                )
                block = import_block(store, BlockChanges(number, accounts=changes))
                balance += number
                store.finalize(number)
                roots[number] = block.root
            done.set()
            for asker in askers:
                asker.join(60)

    assert failures == []
    assert len(answers) >= 200
    assert len(set(answers)) > 5  # many blocks were proved, not only the first


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
