"""The server as it is started: processes that answer while another one imports, and that stop when told."""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

from feemodel.hashes import keccak256
from feemodel.ledger import Store, check_proof, import_block, import_genesis
from feemodel.ledger.changes import AccountChange, AccountFields, BlockChanges, GenesisAccount
from feemodel.rpc.methods import DEVELOPMENT_ADDRESSES

EMPTY = keccak256(b"")
ADDRESSES = [bytes([n]) * 20 for n in range(1, 41)]
BLOCKS = 60


@contextmanager
def serving(*arguments):
    """A server in processes of its own; its first line tells the address."""
    command = [sys.executable, "-m", "feemodel.cli", "serve", "--port", "0", "--json", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            text = ""
            while not text.endswith("}\n"):
                line = server.stdout.readline()
                assert line, server.stderr.read()
                text += line
            yield server, json.loads(text)["address"]
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)


def worker_of(parent):
    """The child that serves, as Linux tells it."""
    for folder in Path("/proc").glob("[0-9]*"):
        status = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        if int(status[1]) == parent and b"spawn_main" in (folder / "cmdline").read_bytes():
            return int(folder.name)
    raise AssertionError("no worker")


def post(pool, address, method, *params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return pool.request("POST", address, body=body).json()


@pytest.fixture
def pool():
    with urllib3.PoolManager(
        maxsize=8, timeout=20, retries=urllib3.Retry(8, backoff_factor=0.1, allowed_methods=None)
    ) as pool:
        yield pool


def test_a_server_with_nothing_configured_proves_the_development_genesis(pool):
    with serving() as (server, address):
        proof = post(pool, address, "rollup_getProof", DEVELOPMENT_ADDRESSES[0], ["0x0"], "latest")["result"]

    root = "0x77efb4a7116ebcda21e394d603881cd375b2a71f601d32b05b00b7e12139b4bf"
    assert check_proof(proof, root=root, address=DEVELOPMENT_ADDRESSES[0], storage_keys=[0]).account is not None
    assert (server.returncode, server.stderr.read() if not server.stderr.closed else "") == (0, "")


def test_answers_hold_while_another_process_imports(pool, tmp_path):
    path = tmp_path / "ledger.db"
    roots = {}
    with Store(path) as store:
        genesis = import_genesis(store, [GenesisAccount(address, balance=1) for address in ADDRESSES])
        store.finalize(0)
        roots[0] = genesis.root
        failures, answers, done = [], [], threading.Event()

        def ask(address, seed):
            place = seed
            while not done.is_set() or len(answers) < 200:
                place += 1
                account, known = "0x" + ADDRESSES[place % len(ADDRESSES)].hex(), max(roots)
                reply = post(pool, address, "linea_getProof", account, ["0x1"], hex(known))
                try:
                    proven = check_proof(reply["result"], root=roots[known], address=account, storage_keys=[1])
                    assert proven.account is not None
                    answers.append(proven.account.balance)
                except Exception as error:
                    failures.append((known, reply, error))
                    return

        with serving("--store", str(path), "--workers", "2") as (_, address):
            askers = [threading.Thread(target=ask, args=(address, seed)) for seed in range(4)]
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


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the worker in /proc, which only Linux has")
def test_a_worker_that_is_killed_is_replaced(pool):
    with serving("--workers", "1") as (server, address):
        os.kill(worker_of(server.pid), signal.SIGKILL)

        reply = post(pool, address, "rollup_getProof", DEVELOPMENT_ADDRESSES[0], [], "0x0")
        assert reply["result"]["accountProof"]["leafIndex"] >= 2


def test_a_port_that_is_taken_is_an_error_in_one_line():
    with serving() as (_, address):
        port = address.rsplit(":", 1)[1]
        command = [sys.executable, "-m", "feemodel.cli", "serve", "--port", port]
        second = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert second.returncode == 2
    assert second.stderr == f"feemodel: 127.0.0.1:{port}: Address already in use\n"
