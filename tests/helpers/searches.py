"""The native engine's search, which proves limits, against the search that executes every limit: the same answers.

python -m tests.helpers.searches [--calls N] [--seed N] [--replays FOLDER]
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from feemodel.errors import FeeModelError
from feemodel.ethereum._transaction import Transaction
from feemodel.ethereum.fee_market import TRANSACTION_GAS
from feemodel.execution import GasEstimate, estimate_gas
from feemodel.execution._engines import Engine, engine_named
from feemodel.execution._forks import FORKS
from feemodel.execution._limits import Limits, too_much_gas, too_much_time
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome
from feemodel.execution._search import Search
from feemodel.execution._state import CallState
from tests.helpers.captures import read_replay
from tests.helpers.engine_differences import cases
from tests.helpers.replays import estimate_call, steps

SEARCHES = [(search, tolerance) for search in ("geth", "besu") for tolerance in (0.015, 0)]
COUNTED = ("estimates", "executed", "proven", "all executed")
UNLIMITED = Limits(total_gas=10**12, seconds=10**6)


class Rules(NamedTuple):
    """Rules of a node's search for the gas limit."""

    used: Callable[[Outcome], int]  #: the gas used in an outcome; the search starts with low = gas used − 1
    optimistic: Callable[[Outcome], int]  #: the gas limit that is tried first after the upper bound
    always_optimistic: bool  #: whether that limit is tried even if it is not below the upper bound
    skewed: bool  #: whether bisection never tries a limit above 2 · low


#: Source: ethereum/go-ethereum at v1.17.10, eth/gasestimator; hyperledger/besu at 3fd224e (2026-03-29),
#: AbstractEstimateGas and EthEstimateGas. The 2,300 gas are the stipend of a call. Besu computes in doubles.
RULES = {
    "geth": Rules(lambda found: found.charged, lambda found: (found.peak + 2_300) * 64 // 63, False, True),
    "besu": Rules(
        lambda found: found.gas_used, lambda found: int((found.gas_used + 2_300) * (64.0 / 63.0)), True, False
    ),
}


def search_message(execute: Callable[[Message, int], Outcome], message: Message, search: Search):
    """What the native engine's search must find: every limit that the node would try is executed."""
    limits, rules = search.limits, RULES[search.rules]
    began, executed, spent = monotonic(), 0, 0

    def outcome_at(gas_limit: int) -> Outcome:
        nonlocal executed, spent
        if spent > limits.total_gas:
            raise too_much_gas(limits.total_gas)
        if monotonic() - began > limits.seconds:
            raise too_much_time(limits.seconds)
        outcome = execute(message, gas_limit)
        executed, spent = executed + 1, spent + outcome.gas_used
        return outcome

    if search.transfer and search.max_gas >= TRANSACTION_GAS and (outcome := outcome_at(TRANSACTION_GAS)).succeeded:
        return GasEstimate(TRANSACTION_GAS, outcome.charged, executed, "reference")
    outcome = outcome_at(search.upper)
    if not outcome.succeeded:
        return outcome
    low, high = rules.used(outcome) - 1, search.upper
    optimistic = rules.optimistic(outcome)
    if rules.always_optimistic or optimistic < high:
        if optimistic <= search.max_gas and outcome_at(optimistic).succeeded:
            high = optimistic
        else:
            low = optimistic
    while low + 1 < high and not (high - low) / high < search.tolerance:
        middle = (low + high) // 2
        if rules.skewed:
            middle = min(middle, 2 * low)
        if outcome_at(middle).succeeded:
            high = middle
        else:
            low = middle
    return GasEstimate(high, outcome.charged, executed, "reference")


class Asked(NamedTuple):
    """A call to be estimated, and what it is of."""

    name: str
    call: object
    call_state: CallState


def generated(seed: int, count: int) -> Iterator[Asked]:
    """Random calls under the rules of every fork."""
    for call_state, message, _ in cases(seed, count, engine_named("native"), tuple(FORKS)):
        call = Transaction(
            type=None, from_address=message.sender, to=message.to, value=message.value, data=message.data,
            gas_price=message.gas_price, access_list=message.access_list, authorizations=message.authorizations,
        )  # fmt: skip
        yield Asked(call_state.fork.name, call, call_state)


def replayed(folder: Path, chosen: Callable[[int], bool] = lambda place: True) -> Iterator[Asked]:
    """What the wallets of captured transactions asked an estimate for."""
    for file in sorted(folder.glob("*.json.gz")):
        fork = next(
            (word for word in ("london", "prague") if file.name.startswith(word)), None
        )  # not named in the file
        for place, step in enumerate(steps(read_replay(file), fork=fork)):
            if chosen(place):
                yield Asked(file.name.partition(".")[0], estimate_call(step.transaction), step.call_state)


class Executing:
    """An engine that searches by executing every limit; each limit is executed once for all searches of a call."""

    name, limits = "executing", UNLIMITED

    def __init__(self, engine: Engine) -> None:
        self._engine, self._outcomes = engine, {}

    def search(self, call_state, message, search):
        def execute(message, gas_limit):
            if (message, gas_limit) not in self._outcomes:
                self._outcomes[message, gas_limit] = self._engine.execute(call_state, message, gas_limit)
            return self._outcomes[message, gas_limit]

        return search_message(execute, message, search)


def compared(asked: Iterator[Asked]) -> tuple[list[str], Counter]:
    """Every difference, and how many limits either search executed and the native one proved."""
    engine, differences, counts = engine_named("native"), [], Counter()
    for number, (name, call, call_state) in enumerate(asked):
        executing = Executing(engine)
        for search, tolerance in SEARCHES:
            options = {"search": search, "tolerance": tolerance, "limits": UNLIMITED}
            found, expected = (
                _estimated(call, call_state, engine=searcher, **options) for searcher in (engine, executing)
            )
            if _answer(found) != _answer(expected):
                differences.append(f"{name}, call {number}, {search} at {tolerance}: {found}, expected {expected}")
            if isinstance(found, GasEstimate) and isinstance(expected, GasEstimate):
                numbers = (1, found.executions, found.proven, expected.executions)
                counts.update({(search, tolerance, what): n for what, n in zip(COUNTED, numbers, strict=True)})
    return differences, counts


def _estimated(call, call_state, **options) -> GasEstimate | str:
    try:
        return estimate_gas(call, call_state, **options)
    except FeeModelError as error:
        return str(error)


def _answer(found: GasEstimate | str) -> object:
    return found if isinstance(found, str) else (found.gas_limit, found.gas_used)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=20_000, help="generated calls (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of them (%(default)s)")
    parser.add_argument("--replays", type=Path, help="a folder of captures, whose calls are compared too")
    options = parser.parse_args()
    failed = False
    replays = [] if options.replays is None else [replayed(options.replays)]
    for asked in (generated(options.seed, options.calls), *replays):
        differences, counts = compared(asked)
        for search, tolerance in SEARCHES:
            numbers = (f"{counts[search, tolerance, what]:,} {what}" for what in COUNTED)
            print(f"{search} at {tolerance:.1%}:", ", ".join(numbers))
        print(*differences[:20], f"{len(differences):,} differences", sep="\n")
        failed = failed or bool(differences)
    return failed


if __name__ == "__main__":
    sys.exit(main())
