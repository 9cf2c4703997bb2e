"""A process that is killed while it imports leaves a ledger that opens at its last whole block."""

import os
import signal
import time

from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, check_proof, get_proof
from tests.helpers.kill_import import ACCOUNTS, forked_import, run
from tests.helpers.ledger_blocks import address


def test_a_killed_import_leaves_whole_blocks(tmp_path):
    counts = run(8, tmp_path, seed=5)
    assert counts["kills"] == 8
    assert counts["inside a transaction"] >= 4
    assert counts["highest block"] > 2


def test_a_killed_backup_leaves_a_sound_ledger(tmp_path):
    assert run(2, tmp_path, seed=6, work="backup")["kills"] == 2


def test_a_reader_proves_final_blocks_while_another_process_imports(tmp_path):
    path = tmp_path / "ledger.db"
    child, signs = forked_import(path)
    try:
        with Store(path, read_only=True) as reader:
            deadline, seen = time.monotonic() + 30, set()
            while len(seen) < 8 and time.monotonic() < deadline:
                final = reader.finalized
                if final is None:
                    time.sleep(0.01)
                    continue
                seen.add(final)
                for number in {0, final // 2, final}:
                    asked = to_hex(address(1 + len(seen) % ACCOUNTS))
                    proof = get_proof(reader, asked, ["0x0", "0x2"], hex(number))
                    check_proof(proof, root=reader.block(number).root, address=asked, storage_keys=["0x0", "0x2"])
        assert len(seen) >= 8
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(signs)
