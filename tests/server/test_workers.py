"""The server as it is started: processes that answer while another one imports, and that stop when told."""

import json
import logging
import os
import subprocess
import sys
import threading
import time

import pytest
import urllib3

from feemodel._extras import has_native
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, check_proof, import_block, import_genesis
from feemodel.ledger.blocks import AccountChange, AccountFields, BlockChanges, GenesisAccount
from feemodel.server._workers import set_up_log
from tests.helpers.development import HOLDERS
from tests.system.start import serving

EMPTY = keccak256(b"")
ADDRESSES = [bytes([n]) * 20 for n in range(1, 41)]
BLOCKS = 60
HOLDER = to_hex(HOLDERS[0])
KERNELS = 2  # of the ledger's hashing
COMPILED = 120.0  # the first of them, at the latest [s]


def post(pool, address, method, *params):
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return pool.request("POST", address, json=body).json()


@pytest.fixture
def pool():
    """Connections that are tried again: a worker that dies takes with it those that it has not answered."""
    with urllib3.PoolManager(
        maxsize=8, timeout=20, retries=urllib3.Retry(8, backoff_factor=0.1, allowed_methods=None)
    ) as pool:
        yield pool


FIRST_ESTIMATE = """
import asyncio, sys
from pathlib import Path
from feemodel.estimates._chain import copy_development_ledger
from feemodel.server.loaded import load
from feemodel.server.service import Service
from feemodel.server.settings import Settings

async def estimate():
    service = Service(load(Settings(), Path(sys.argv[1])))
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "rollup_estimateGas", "params": [{"to": "0x%040x"}]}' % 2**100
    answer = await service.dispatcher().answer(body)
    print("result" in str(answer), *sys.modules)
    await service.close()

copy_development_ledger(sys.argv[1])
asyncio.run(estimate())
"""


def test_a_first_estimate_waits_for_no_compiler_and_no_tables(tmp_path):
    """A development server opens a ledger, whose compiled hashing is loaded later."""
    command = [sys.executable, "-c", FIRST_ESTIMATE, str(tmp_path / "ledger.db")]
    answered, *loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert answered == "True"
    assert not {"numba", "pandas", "scipy", "xarray"} & set(loaded)


if not has_native():  # with the compiled package nothing is compiled; scripts/test-reference runs without it

    def test_a_server_that_is_stopped_does_not_wait_for_its_compiler(tmp_path, monkeypatch):
        """The first run of all compiles the ledger's hashing, kernel by kernel, and keeps them."""
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
        with serving():
            end = time.monotonic() + COMPILED
            while not (kept := list(tmp_path.rglob("_hash_kernels.*.nbi"))):
                assert time.monotonic() < end
                time.sleep(0.02)

        assert len(kept) <= len(list(tmp_path.rglob("_hash_kernels.*.nbi"))) < KERNELS


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

        with serving("--store", str(path), "--workers", "2") as server:
            askers = [threading.Thread(target=ask, args=(server.address, seed)) for seed in range(4)]
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


def test_a_port_that_is_taken_is_an_error_in_one_line():
    with serving("--workers", "1") as server:
        port = server.address.rsplit(":", 1)[1]
        command = [sys.executable, "-m", "feemodel.cli", "serve", "--port", port]
        second = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert second.returncode == 2
    assert second.stderr == f"feemodel: 127.0.0.1:{port}: Address already in use\n"


def test_the_log_is_lines_of_json_whatever_a_node_says(capsys):
    before = logging.getLogger().handlers[:], logging.getLogger().level
    try:
        set_up_log("errors")
        logging.getLogger("feemodel").warning("the node: %s", "\ud800 and\na line")
        try:
            raise ValueError("broken")
        except ValueError:
            logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
        logging.getLogger("feemodel").info("not written")
    finally:
        logging.getLogger().handlers[:], level = before
        logging.getLogger().setLevel(level)

    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["level"], first["event"], first["process"]) == (
        "warning",
        "the node: \ud800 and\na line",
        os.getpid(),
    )
    assert second["trace"].endswith("ValueError: broken")
