"""Ledgers that are large, and many operations on one."""

import math
from itertools import count

from hypothesis import settings

from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, get_proof, import_genesis
from tests.helpers.ledger_blocks import address, allocated
from tests.ledger.test_model import LedgerAgainstDictionaries


class LongerAgainstDictionaries(LedgerAgainstDictionaries):
    pass


LongerAgainstDictionaries.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestLongerAgainstDictionaries = LongerAgainstDictionaries.TestCase


def test_what_a_proof_reads_grows_as_the_logarithm_of_the_accounts(tmp_path):
    """Counted in instructions of SQLite's machine, of readers that have read nothing before."""
    instructions = []
    for size in (10_000, 100_000):
        path = tmp_path / f"{size}.db"
        with Store(path) as store:
            import_genesis(store, (allocated(address(number), 0, number) for number in range(size)))
            store.finalize(0)
        counted = count()
        for number in range(1, size, size // 20):
            with Store(path, read_only=True) as reader:
                reader.database._connection.set_progress_handler(lambda counted=counted: next(counted) < 0, 1)
                get_proof(reader, to_hex(address(number)), [], "finalized")
        instructions.append(next(counted))
    small, large = instructions
    assert 20 * 20 < large < math.log(100_000) / math.log(10_000) * small, (small, large)
