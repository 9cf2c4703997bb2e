"""Workers that answer while another process imports, and a port that is taken."""

import subprocess
import sys
import threading

from feemodel.ethereum._hashes import keccak256
from feemodel.ledger import Store, check_proof, import_block, import_genesis
from feemodel.ledger.blocks import AccountChange, AccountFields, BlockChanges
from tests.helpers.ledger_blocks import allocated
from tests.system.start import serving

EMPTY = keccak256(b"")

ADDRESSES = [bytes([n]) * 20 for n in range(1, 41)]

BLOCKS = 60


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


def test_a_port_that_is_taken_is_an_error_in_one_line(plain_server):
    port = plain_server.port
    command = [sys.executable, "-m", "feemodel", "serve", "--port", str(port)]
    second = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert second.returncode == 2
    assert second.stderr == f"feemodel: 127.0.0.1:{port}: Address already in use\n"
