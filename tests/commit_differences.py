"""Random sequences of messages that stay, on both engines: outcome, logs and state are the same.

python -m tests.commit_differences 5000 --seed 7        # that many messages; how they ended is printed
"""

import random
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

from feemodel.errors import FeeModelError
from feemodel.execution.engines import Engine
from feemodel.execution.forks import FORKS
from feemodel.execution.message import Message
from feemodel.execution.outcome import Committed
from feemodel.execution.state import Account, CallState
from tests.engine_differences import (
    CONSENTING,
    CONTRACTS,
    EARLIER,
    MAIN,
    ORDER,
    PLENTY,
    SENDER,
    alike,
    call_state,
    in_memory,
    message,
    override,
    report,
)
from tests.execution_programs import push

LENGTH = 12  # messages of a sequence
LATER = tuple(name for name in EARLIER if ORDER[name] >= ORDER["spurious_dragon"])


def state(after: CallState) -> dict[bytes, tuple[int, int, bytes, dict[int, int]]]:
    """Every account that is one, with the slots that are not zero."""
    addresses = {*after.accounts, *after.changes}
    found = {address: _plain(after.account(address)) for address in addresses}
    return {address: account for address, account in found.items() if account != _plain(Account())}


def _plain(account: Account) -> tuple[int, int, bytes, dict[int, int]]:
    slots: Mapping[int, int] = account.storage
    return account.balance, account.nonce, account.code, {slot: value for slot, value in slots.items() if value}


def sequence(rng: random.Random) -> tuple[CallState, bool]:
    """A state on which messages follow each other, and whether payments are logged."""
    fork = FORKS[rng.choice(MAIN) if rng.random() < 0.8 else rng.choice(LATER)]
    base = call_state(rng, fork)
    changed = base.overridden(override(rng, fork)) if rng.random() < 0.3 else base
    held = [*changed.accounts.values(), *changed.changes.values()]
    # Slots without nonce, balance and code are on no chain; whether such an account is empty differs between forks.
    if any(account.storage and account == Account(storage=account.storage) for account in held):
        return sequence(rng)
    return changed, rng.random() < 0.7


def next_message(rng: random.Random, now: CallState) -> Message:
    """A random one on what the last left; sometimes a contract that destroys itself, once or again."""
    asked = message(rng, now)
    created = [key for key, account in now.changes.items() if account.code and key not in now.accounts]
    if rng.random() < 0.15:
        return asked._replace(to=None, data=_destroying(rng), access_list=(), authorizations=(), blob_hashes=())
    if created and rng.random() < 0.2:
        return asked._replace(to=rng.choice(created), data=b"")
    if rng.random() < 0.2:
        return asked._replace(gas_price=asked.base_fee + rng.choice([0, 1, 10**9]), pays=True)
    return asked


def _destroying(rng: random.Random) -> bytes:
    """A creation of what destroys itself when it is called, or of what has done so already."""
    heir = rng.choice([b"\x33\xff", b"\x30\xff", b"\x73" + rng.choice([SENDER, *CONTRACTS, *CONSENTING]) + b"\xff"])
    if rng.random() < 0.3:
        return heir
    runtime = push(rng.randrange(3)) + push(1) + b"\x55" + heir
    return push(2) + push(1) + b"\x55" + in_memory(runtime) + push(len(runtime)) + push(0) + b"\xf3"


def committed(engine: Engine, now: CallState, asked: Message, gas_limit: int, transfers: bool) -> Committed | str:
    """One message that stays, or the error instead."""
    try:
        return engine.run(now, lambda execute: execute.commit(asked, gas_limit, transfers=transfers))
    except FeeModelError as error:
        return str(error)


def differences(seed: int, count: int, native: Engine, reference: Engine) -> tuple[Counter[str], list[Any]]:
    """How the messages ended, and every difference; a sequence is also executed as one task, which must end alike."""
    rng, shares, found = random.Random(seed), Counter[str](), []
    for _ in range(0, count, LENGTH):
        begun, transfers = sequence(rng)
        now, steps = begun, []
        for _ in range(LENGTH):
            asked, limit = next_message(rng, now), rng.choice([PLENTY] * 6 + [60_000, 25_000])
            ours, theirs = (committed(engine, now, asked, limit, transfers) for engine in (native, reference))
            if isinstance(ours, str) or isinstance(theirs, str):
                shares["error"] += 1
                found += [] if ours == theirs else [(seed, asked, limit, now.fork, theirs, ours)]
                continue
            shares[str(ours.outcome.status)] += 1
            shares["logs"] += any(not log.is_transfer for log in ours.logs)
            shares["payments"] += any(log.is_transfer for log in ours.logs)
            shares["gone"] += any(change.cleared and not change.code for change in ours.changes)
            after = now.after(theirs.changes)
            same = alike(ours.outcome) == alike(theirs.outcome) and ours.logs == theirs.logs
            if not same or state(now.after(ours.changes)) != state(after):
                found.append((seed, asked, limit, now.fork, theirs, ours))
            steps.append((asked, limit))
            now = after
        found += [
            (seed, "as one task", engine, begun, steps)
            for engine in (native, reference)
            if state(_together(engine, begun, steps)) != state(now)
        ]
    return shares, found


def _together(engine: Engine, begun: CallState, steps: list[tuple[Message, int]]) -> CallState:
    """What a sequence leaves that one task executes."""

    def task(execute: Any) -> CallState:
        now = begun
        for asked, limit in steps:
            now = now.after(execute.commit(asked, limit).changes)
        return now

    return engine.run(begun, task)


if __name__ == "__main__":
    sys.exit(report(differences, "messages", 5_000))
