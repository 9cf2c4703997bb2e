"""A ledger of random blocks against plain dictionaries, one for each block."""

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from feemodel.errors import NotFinalized
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, check_proof, get_proof, import_block, import_genesis
from feemodel.ledger.blocks import AccountChange, BlockChanges, SlotChange
from feemodel.ledger.maintenance import verify
from tests.helpers.execution_engines import HAS_NATIVE
from tests.helpers.ledger_blocks import address, allocated, fields, slot

ACCOUNTS, SLOTS = range(1, 13), range(1, 9)
balances = st.integers(0, 5)
storages = st.dictionaries(st.sampled_from(SLOTS), st.integers(0, 3), max_size=6)
updates = st.dictionaries(
    st.sampled_from(ACCOUNTS), st.tuples(st.sampled_from(["keep", "destroy", "again"]), balances, storages), max_size=8
)


class LedgerAgainstDictionaries(RuleBasedStateMachine):
    """The model: for each block {account: (balance, {slot: value})}, without zero slots."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "ledger.db"
        self.store = Store(self.path)
        self.states = []

    def teardown(self):
        """At the end every account of every block is proven once more, by a reader."""
        if self.states:
            self.store.finalize(len(self.states) - 1)
        self.store.close()
        with Store(self.path, read_only=True) as reader:
            verify(reader)
            for number, state in enumerate(self.states):
                for account in ACCOUNTS:
                    proof = get_proof(reader, to_hex(address(account)), [], hex(number))
                    proven = check_proof(proof, root=reader.block(number).root)
                    assert (proven.account is not None) == (account in state)
        self.folder.cleanup()

    @initialize(allocation=st.dictionaries(st.sampled_from(ACCOUNTS), st.tuples(balances, storages), max_size=8))
    def genesis(self, allocation):
        state = {
            number: (balance, {place: value for place, value in storage.items() if value})
            for number, (balance, storage) in allocation.items()
        }
        import_genesis(
            self.store,
            [
                allocated(address(number), 0, balance, b"", {slot(place): value for place, value in storage.items()})
                for number, (balance, storage) in allocation.items()
            ],
        )
        self.states.append(state)

    @rule(changes=updates)
    def import_one_block(self, changes):
        before, after = self.states[-1], dict(self.states[-1])
        accounts = [self.change(number, *what, before, after) for number, what in changes.items()]
        import_block(self.store, BlockChanges(len(self.states), tuple(accounts)))
        self.states.append(after)

    def change(self, number, kind, balance, slots, before, after):
        old_balance, old_storage = before.get(number, (None, {}))
        exists = number in before
        start = old_storage if kind != "again" else {}
        new_storage = {place: value for place, value in (start | slots).items() if value}
        if kind == "destroy":
            new_storage = {}
            after.pop(number, None)
        else:
            after[number] = balance, new_storage
        touched = sorted(slots.keys() | (old_storage.keys() if kind == "again" else set()))
        storage = [SlotChange(slot(place), old_storage.get(place, 0), new_storage.get(place, 0)) for place in touched]
        return AccountChange(
            address(number),
            fields(0, old_balance) if exists else None,
            None if kind == "destroy" else fields(0, balance),
            cleared=kind != "keep",
            storage=tuple(storage),
        )

    @rule()
    def reopen(self):
        self.store.close()
        self.store = Store(self.path)

    @precondition(lambda self: self.states)
    @rule(data=st.data())
    def finalize(self, data):
        self.store.finalize(data.draw(st.integers(self.store.finalized or 0, len(self.states) - 1)))

    @precondition(lambda self: self.states and self.store.finalized is not None)
    @rule(data=st.data())
    def prove_every_key_of_a_final_block(self, data):
        number = data.draw(st.integers(0, self.store.finalized))
        root = self.store.block(number).root
        keys = [to_hex(slot(place)) for place in SLOTS]
        for account in data.draw(st.sets(st.sampled_from(ACCOUNTS), min_size=1, max_size=4)):
            asked = to_hex(address(account))
            proof = get_proof(self.store, asked, keys, hex(number))
            proven = check_proof(proof, root=root, address=asked, storage_keys=keys)
            balance, storage = self.states[number].get(account, (None, {}))
            assert (proven.account.balance if proven.account else None) == balance
            assert proven.storage == {to_hex(slot(place)): storage.get(place, 0) for place in SLOTS}

    @invariant()
    def what_is_not_final_is_not_proven(self):
        if self.states and self.store.finalized != len(self.states) - 1:
            try:
                get_proof(self.store, to_hex(address(1)), [], "latest")
            except NotFinalized:
                return
            raise AssertionError("a block that is not final was proven")


EXAMPLES = 5 if HAS_NATIVE else 1  # `tests/system` runs more
LedgerAgainstDictionaries.TestCase.settings = settings(max_examples=EXAMPLES, stateful_step_count=25, deadline=None)
TestLedgerAgainstDictionaries = LedgerAgainstDictionaries.TestCase
