"""The fast engine: pyrevm, for the calls on which it is exact; of any other it says so with `Inexact`.

pyrevm 0.3.7 executes by the rules of Cancun and before. Later rules add a calldata floor, which is computed here, and
opcodes, precompiles and delegations, which it lacks, prices otherwise, or answers without regard to the block. Such a
thing may hide in an inner call that failed, of which neither the result nor the journal tells; what always tells is
the database, which remembers every address that it was ever asked for. So the database holds only accounts whose code
was read and found free of such opcodes. Every other address of the world is a tripwire: if it was asked for, the
answer is thrown away, the account loaded and the task run again, or handed to the reference if the account is one of
those that pyrevm is not exact on. Reading what the database remembers takes longer than executing, and is left out
after code that can meet nobody but its sender.
"""

import re
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from feemodel.execution.engines import Execute, Inexact, check_payable
from feemodel.execution.message import Message
from feemodel.execution.opcodes import meets_others, unlike_opcode
from feemodel.execution.outcome import Outcome, Status, Traced
from feemodel.execution.world import EMPTY, Account, World
from feemodel.transaction import (
    ACCESS_LIST_ADDRESS_GAS,
    ACCESS_LIST_KEY_GAS,
    BASE_GAS,
    FLOOR_TOKEN_GAS,
    created_address,
)

Found = TypeVar("Found")

#: The last rules that pyrevm has; it takes any other word for its newest without a complaint, and charges the words of
#: init code by all of them, also by London's.
_RULES = "CANCUN"

_REVERT = re.compile(r"Revert \{ gas_used: \d+, output: 0x([0-9a-f]*) \}")
_HALT = re.compile(r"Halt \{ reason: (\w+)")
_PADDING = 33  # zeros that pyrevm puts behind the code of a contract that it created
_TOO_LITTLE = "CallGasCostMoreThanGasLimit"
_WORDS = {"InvalidFEOpcode": "invalid opcode: INVALID", "InvalidJump": "invalid jump destination"}

#: What the database may come to before a new one is begun with its contracts.
_MOST_STRANGERS = 256  # accounts without code
_MOST_BROUGHT = 16 << 20  # bytes of code and slots that overrides brought, which pyrevm keeps for ever
_SLOT_BYTES = 128
#: Accounts without code that are read after tasks, all in all, until beginning anew would have been cheaper.
_MIN_READ = 64


class Fast:
    """pyrevm as an engine; what it loaded of a world it keeps for the next call on the same one.

    It is imported with the first world: this package does without it, see `feemodel.execution.engines.engine_named`.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._database: _Database | None = None

    def run(self, world: World, task: Callable[[Execute], Found]) -> Found:
        """What `task` makes of the executions that it asks for, see `feemodel.execution.engines.Engine`.

        Raises `Inexact` for a call that the reference must answer.
        """
        if not world.fork.fast:
            raise Inexact(f"the rules of {world.fork.name}")
        for address in world.changes:
            _refuse(world.accounts.get(address, EMPTY))
            _refuse(world.changes[address])
        with self._lock:
            if self._database is None or not world.same_base(self._database.base):
                self._database = _Database(replace(world, changes={}))
            database, self._database = self._database, None  # after an error that nobody foresaw, begin anew
            try:
                found = database.run(world, task)
            except Inexact:  # what it met stays in the database, and would hide that another call meets it
                self._database = database.anew()
                raise
            self._database = database.anew() if database.is_crowded() else database
        if isinstance(found, Exception):
            raise found
        return found


class _Database:
    """pyrevm's database, and what it holds of a world."""

    def __init__(self, world: World) -> None:
        from pyrevm import EVM, AccountInfo, BlockEnv, CfgEnv, Env

        block = world.block
        environment = BlockEnv(
            number=block.number,
            coinbase=_text(block.coinbase),
            timestamp=block.timestamp,
            difficulty=block.difficulty,
            prevrandao=block.prev_randao,
            excess_blob_gas=block.excess_blob_gas,
        )
        # GASLIMIT answers with what the machine is given, not with the block's.
        self.evm = EVM(
            Env(cfg=CfgEnv(chain_id=world.chain_id), block=environment),
            gas_limit=block.gas_limit,
            spec_id=_RULES,
        )
        self.base = world
        self._info: Any = AccountInfo  # its stub leaves the balance out
        self._loaded: dict[bytes, Account] = {}
        self._known: set[str] = set()  # addresses as pyrevm spells them, found to be loaded or empty
        self._met: set[bytes] = set()  # senders and targets
        self._with_code = 0  # accounts loaded
        self._weight = 0  # accounts and slots loaded
        self._brought = 0  # bytes that overrides brought
        self._read = 0  # accounts without code that were read, again and again

    def run(self, world: World, task: Callable[[Execute], Found]) -> Found | Exception:
        """What the task returned or raised, of executions that met nothing but what is loaded."""
        for address in world.changes:
            self.load(address)
        while True:
            machine = _Machine(self, world)
            try:
                self._override(world)
                found: Found | Exception = task(machine)
            except Exception as error:  # which may come of an account that is not loaded yet
                found = error
            finally:
                machine.close()
                self._restore(world)
            if not (machine.met_others and self._load_asked()):
                return found

    def load(self, address: bytes) -> None:
        """Make sure that the database has the account as the world has it."""
        account = self.base.accounts.get(address, EMPTY)
        if address in self._loaded or account == EMPTY:
            return
        _refuse(account)
        self.write_info(address, account)
        self.write_slots(address, account.storage)
        self._loaded[address] = account
        self._with_code += bool(account.code)
        self._weight += 1 + len(account.storage)

    def write_info(self, address: bytes, account: Account) -> None:
        """Balance, nonce and code; not journaled, so it stays until it is written again."""
        self.evm.insert_account_info(_text(address), self.info(account.balance, account.nonce, account.code))

    def info(self, balance: int, nonce: int, code: bytes = b"") -> Any:
        """An account as pyrevm has it."""
        return self._info(balance=balance, nonce=nonce, code=code)

    def write_slots(self, address: bytes, slots: Mapping[int, int]) -> None:
        """Slots; the journal is taken back after each, or the next ones would be warm and dirty."""
        text = _text(address)
        for slot, value in slots.items():
            checkpoint = self.evm.snapshot()
            self.evm.insert_account_storage(text, slot, value)
            self.evm.revert(checkpoint)

    def meet(self, address: bytes) -> None:
        """Load an account that is the sender or the target of a message."""
        self.load(address)
        self._met.add(address)

    def is_crowded(self) -> bool:
        """Whether the database costs more, in time or memory, than loading what matters into a new one."""
        return (
            self._brought > _MOST_BROUGHT
            or len(self._met) - self._with_code > _MOST_STRANGERS
            or self._read > _MIN_READ + 2 * self._weight
        )

    def anew(self) -> "_Database":
        """A new database with the contracts of this one."""
        fresh = _Database(self.base)
        for address, account in self._loaded.items():
            if account.code:
                fresh.load(address)
        return fresh

    def _load_asked(self) -> bool:
        """Load what was asked for and is not there; whether there was any."""
        accounts = self.evm.db_accounts
        asked = accounts.keys() - self._known
        addresses = [bytes.fromhex(text[2:]) for text in asked]
        for address in addresses:
            if address in self.base.fork.unlike:
                raise Inexact(f"precompile {int.from_bytes(address, 'big'):#x}")
        before = len(self._loaded)
        for address in addresses:
            self.load(address)
        self._known |= asked
        self._read += len(accounts) - self._with_code
        return len(self._loaded) > before

    def _override(self, world: World) -> None:
        """Write the accounts that an override replaced."""
        for address, account in world.changes.items():
            self._rewrite(address, account, self.base.account(address))

    def _restore(self, world: World) -> None:
        """Write back what they were."""
        for address, account in world.changes.items():
            self._rewrite(address, self.base.account(address), account)

    def _rewrite(self, address: bytes, wanted: Account, present: Account) -> None:
        """Write what of an account is not as it stands there: pyrevm reads code through each time it is given."""
        if wanted.balance != present.balance or wanted.nonce != present.nonce or wanted.code != present.code:
            self.write_info(address, wanted)
            self._brought += len(wanted.code)
        slots = _differing(wanted.storage, present.storage)
        self.write_slots(address, slots)
        self._brought += _SLOT_BYTES * len(slots)


class _Machine:
    """Executes messages on the database."""

    engine = "fast"

    def __init__(self, database: _Database, world: World) -> None:
        self._database, self._world = database, world
        self._prepared: _Prepared | None = None
        self._due: int | None = None  # what the sender's balance in the database is reduced by [wei]
        self.met_others = False  # or may have: accounts but the sender and the target

    def __call__(self, message: Message, gas_limit: int) -> Outcome:
        prepared = self._prepared
        if prepared is None or prepared.message is not message:  # a search asks for the same one again and again
            self.close()
            prepared = self._prepared = _prepare(message, self._world, self._database)
            self.met_others = self.met_others or prepared.meets_others
        if gas_limit < prepared.least:
            return Outcome(Status.INTRINSIC, gas_used=0, floor=prepared.floor, halt=Status.INTRINSIC)
        sender, database = prepared.sender, self._database
        due = gas_limit * message.gas_price if message.pays else 0
        evm = database.evm
        if due != self._due:
            if due + message.value > sender.balance:
                check_payable(self._world, message, gas_limit)
            evm.insert_account_info(prepared.caller, database.info(sender.balance - due, prepared.nonce))
            self._due = due
        checkpoint = evm.snapshot()
        try:
            return _execute(evm, prepared, gas_limit - prepared.listed)
        finally:
            evm.revert(checkpoint)

    def trace(self, message: Message, gas_limit: int) -> Traced:
        """The execution; pyrevm does not tell what it proves."""
        return Traced(self(message, gas_limit))

    def close(self) -> None:
        """Give the sender back what it paid."""
        if self._prepared is not None:
            self._database.write_info(self._prepared.message.sender, self._prepared.sender)
            self._prepared = self._due = None


class _Prepared(NamedTuple):
    """What stays the same of a message whatever its gas limit is."""

    message: Message
    sender: Account
    nonce: int  #: of the sender while the message runs
    caller: str
    target: str | None
    listed: int  #: what the access list costs [gas]
    floor: int  #: the least that is charged [gas]
    least: int  #: the least limit that need be tried [gas]
    refund_quotient: int
    meets_others: bool


def _prepare(message: Message, world: World, database: _Database) -> _Prepared:
    sender = world.account(message.sender)
    _check_exact(message, sender, world)
    database.meet(message.sender)
    meets = bool(message.access_list)
    if message.to is None:
        meets = True
    else:
        if message.to in world.fork.unlike:
            raise Inexact(f"precompile {int.from_bytes(message.to):#x}")
        database.meet(message.to)
        meets = meets or meets_others(world.account(message.to).code)
    floor = _floor(message.data) if world.fork.calldata_floor else 0
    listed = sum(ACCESS_LIST_ADDRESS_GAS + ACCESS_LIST_KEY_GAS * len(slots) for _, slots in message.access_list)
    return _Prepared(
        message=message,
        sender=sender,
        nonce=sender.nonce if message.to is None else sender.nonce + 1,  # only a creation counts it itself
        caller=_text(message.sender),
        target=None if message.to is None else _text(message.to),
        listed=listed,
        floor=floor,
        least=max(floor, listed),
        refund_quotient=world.fork.refund_quotient,
        meets_others=meets,
    )


def _execute(evm: Any, prepared: _Prepared, gas: int) -> Outcome:
    message, listed, floor = prepared.message, prepared.listed, prepared.floor
    for address, slots in message.access_list:
        # By hand and inside the journal: what `TxEnv` warms stays warm for every later call.
        evm.basic(_text(address))
        for slot in slots:
            evm.storage(_text(address), int.from_bytes(slot, "big"))
    try:
        if prepared.target is None:
            created = evm.deploy(prepared.caller, message.data, message.value, gas)
            output = (evm.get_code(created) or b"")[:-_PADDING]
        else:
            output = evm.message_call(prepared.caller, prepared.target, message.data, message.value, gas)
    except RuntimeError as error:
        return _failure(str(error), evm, listed, floor)
    result = evm.result
    refund = result.gas_refunded
    executed = result.gas_used + refund  # pyrevm reports it after refunds
    if listed and refund == executed // prepared.refund_quotient:
        raise Inexact("a refund at its cap, which pyrevm computes without the access list")
    return Outcome(Status.SUCCESS, executed + listed, refund, floor, bytes(output))


def _failure(text: str, evm: Any, listed: int, floor: int) -> Outcome:
    if _TOO_LITTLE in text:
        return Outcome(Status.INTRINSIC, gas_used=0, floor=floor, halt=Status.INTRINSIC)
    if reverted := _REVERT.match(text):
        output = bytes.fromhex(reverted[1])
        return Outcome(Status.REVERT, evm.result.gas_used + listed, 0, floor, output, "execution reverted")
    halt = _HALT.match(text)
    if halt and halt[1] == "OutOfGas":
        return Outcome(Status.OUT_OF_GAS, evm.result.gas_used + listed, 0, floor, halt="out of gas")
    if halt and halt[1] in _WORDS:
        return Outcome(Status.HALT, evm.result.gas_used + listed, 0, floor, halt=_WORDS[halt[1]])
    # Of other halts the specification may find another one first.
    raise Inexact(f"a halt, {halt[1]}" if halt else text)


def _check_exact(message: Message, sender: Account, world: World) -> None:
    if message.authorizations or message.blob_hashes:
        raise Inexact("an authorization list or blobs")
    if sender.code:
        raise Inexact("a sender with code")
    if message.to is None:
        _refuse(Account(code=message.data))
        if any(world.account(created_address(message.sender, sender.nonce)).storage.values()):
            raise Inexact("storage where a contract is created")  # by which EIP-7610 tells a collision too


def _refuse(account: Account) -> None:
    unlike = unlike_opcode(account.code)
    if unlike is not None:
        raise Inexact(unlike)


def _floor(data: bytes) -> int:
    zeros = data.count(0)
    return BASE_GAS + FLOOR_TOKEN_GAS * (zeros + 4 * (len(data) - zeros))


def _differing(wanted: Mapping[int, int], present: Mapping[int, int]) -> dict[int, int]:
    """The slots of `wanted` that `present` holds otherwise, zeros among them."""
    if type(wanted) is ChainMap and wanted.maps[1] is present:  # a `stateDiff` over a large contract
        return {slot: value for slot, value in wanted.maps[0].items() if value != present.get(slot, 0)}
    if type(present) is ChainMap and present.maps[1] is wanted:  # and taken back
        before = {slot: wanted.get(slot, 0) for slot in present.maps[0]}
        return {slot: value for slot, value in before.items() if value != present.maps[0][slot]}
    values = {slot: wanted.get(slot, 0) for slot in (*wanted, *present)}
    return {slot: value for slot, value in values.items() if value != present.get(slot, 0)}


def _text(address: bytes) -> str:
    return f"0x{address.hex()}"
