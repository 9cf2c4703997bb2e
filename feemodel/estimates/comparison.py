"""Captured transactions executed again and estimated, compared with what was recorded of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from feemodel.errors import FeeModelError, InvalidInput
from feemodel.estimates.replay import (
    Step,
    call_of,
    estimate_request,
    execute_again,
    is_reproduced,
    offered,
    same_outcome,
    steps,
)
from feemodel.estimates.rollup import Measuring, RollupEstimate, priced
from feemodel.ethereum.transaction import DYNAMIC_FEE, Transaction, fill, measured_form
from feemodel.execution.clients import Node, node_named
from feemodel.execution.engines import Engine, engine_of
from feemodel.execution.estimate import GasEstimate, check_tolerance, gas_estimate
from feemodel.execution.limits import DEFAULT_LIMITS
from feemodel.execution.outcome import Outcome
from feemodel.execution.search import TOLERANCE
from feemodel.io.replay import Replay, ReplayBlock, ReplayTransaction
from feemodel.linea.extra_data import PricingRecord
from feemodel.linea.node import Verdict, node_checks, verdicts
from feemodel.linea.parameters import LineaPreset, linea_preset
from feemodel.linea.pricing_forms import CostPerByte
from feemodel.linea.wallets import WALLETS, wallet_fees
from feemodel.sizes.codecs import Codec
from feemodel.sizes.lzss import packed_size

Found = TypeVar("Found")

#: The rules that a capture is tried under which does not say its own: those that Linea's chains have had.
CANDIDATE_FORKS = ("london", "paris", "shanghai", "cancun", "prague", "osaka")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One transaction executed again and estimated on the state just before it; what failed is `None`, and says why."""

    step: Step
    outcome: Outcome | None  #: of its execution
    engine: str | None  #: that executed it
    refusal: str | None  #: why it could not be executed
    gas: GasEstimate | None
    failure: str | None  #: why there is no estimate
    estimate: RollupEstimate | None  #: with the fee; `None` also where the block has no pricing record
    size: int | None  #: of the signed transaction, compressed; `None` for types that no fee is published for [byte]
    wallet: str | None  #: whose habits make the fees on the chain of the estimated ones
    stages: tuple[Verdict, ...]  #: whether the pool and the selection would have taken it

    @property
    def same_outcome(self) -> bool:
        """Whether it came to the recorded end: success or not, and what it returned."""
        return self.outcome is not None and same_outcome(self.step, self.outcome)

    @property
    def reproduced(self) -> bool:
        """Whether it also took the recorded gas, see `is_reproduced`."""
        return self.outcome is not None and is_reproduced(self.step, self.outcome)


def reproducing_forks(
    replay: Replay, found: Sequence[Comparison], *, fork: str, engine: str | Engine = "auto"
) -> tuple[str, ...]:
    """The rules, among `CANDIDATE_FORKS`, by which every transaction of a capture is reproduced.

    Parameters
    ----------
    found : the comparisons under `fork`; what they did not reproduce is tried first under the other rules.
    engine : see `feemodel.execution.estimate_gas`.
    """
    runner = engine_of(engine)
    first = [place for place, row in enumerate(found) if not row.reproduced]
    order = first + [place for place, row in enumerate(found) if row.reproduced]

    def reproduces(name: str) -> bool:
        if name == fork:
            return not first
        candidates = list(steps(replay, fork=name))
        again = ((candidates[place], _tried(partial(execute_again, candidates[place], runner))[0]) for place in order)
        return all(found is not None and is_reproduced(step, found[0]) for step, found in again)

    return tuple(name for name in CANDIDATE_FORKS if reproduces(name))


def compare_transactions(
    replay: Replay,
    *,
    codec: str | Codec,
    measured: str = "signed",
    packed: bool = True,
    engine: str | Engine = "auto",
    search: str = "besu",
    tolerance: float = TOLERANCE,
    preset: LineaPreset | None = None,
    fork: str | None = None,
) -> Iterator[Comparison]:
    """Every transaction of the blocks executed again and estimated, compared with what was recorded.

    Whatever happens to one of them, there is a comparison for each: `Comparison` says what failed and why.

    Parameters
    ----------
    replay : see `feemodel.io.read_replay`.
    codec, measured, packed : how the node of that time measured; the costs are those of each block's pricing record.
        Without a record there is no fee.
    engine, search, tolerance : see `feemodel.execution.estimate_gas`.
    preset : its margins; without one the default preset's.
    fork : the rules, for example "london"; without it those that the capture names, or Osaka's.

    Raises
    ------
    InvalidInput : rules, an engine, a search or a tolerance that are none.
    """
    runner, margins = engine_of(engine), preset or linea_preset()
    node, checked = node_named(search), check_tolerance(tolerance)
    measuring = Measuring(codec, measured, packed)
    for step in steps(replay, fork=fork):
        transaction, form = step.transaction, pricing_form(step.block)
        executed, refusal = _tried(partial(execute_again, step, runner))
        outcome, name = executed or (None, None)
        gas, failure = _tried(partial(_estimated, step, node, checked, runner))
        size = None
        if transaction.type <= DYNAMIC_FEE:
            signed = measured_form(_signed(replay, transaction), measuring.form, sender=transaction.sender)
            size = measuring.codec.size(signed)
            size = packed_size(size) if measuring.packed else size
        estimate = None
        if gas is not None and form is not None and size is not None:
            estimate = priced(
                gas, call_of(transaction), form=form, margin=margins.estimate_margin, nonce=transaction.nonce,
                chain_id=replay.chain_id, measuring=measuring,
            )  # fmt: skip
        stages: tuple[Verdict, ...] = ()
        if outcome is not None and form is not None and size is not None:
            used = {"limit": transaction.gas_limit, "used": outcome.charged}
            stages = verdicts(offered(step), size, used, form=form, checks=node_checks(margins))
        wallet = None if estimate is None else _wallet(transaction, estimate)
        yield Comparison(step, outcome, name, refusal, gas, failure, estimate, size, wallet, stages)


def _estimated(step: Step, node: Node, tolerance: float, engine: Engine) -> GasEstimate:
    """Return the gas limit that a node would have answered to the wallet."""
    request = estimate_request(step.transaction)
    return gas_estimate(node.prepare(request, step.call_state, tolerance=tolerance, limits=DEFAULT_LIMITS), engine)


def _tried(task: Callable[[], Found]) -> tuple[Found | None, str | None]:
    """Return the result of a task, or the reason why it has none."""
    try:
        return task(), None
    except FeeModelError as error:
        return None, str(error)


def pricing_form(block: ReplayBlock) -> CostPerByte | None:
    """The costs in a block's pricing record; headers before 2024 have none."""
    try:
        record = PricingRecord.from_bytes(block.extra_data)
    except InvalidInput:
        return None
    return CostPerByte(int(record.variable_cost), int(record.fixed_cost), block.base_fee)


def _signed(replay: Replay, transaction: ReplayTransaction) -> Transaction:
    call = call_of(transaction)._replace(
        sent=True, type=transaction.type, signature=transaction.signature, gas_price=transaction.gas_price,
        max_fee=transaction.max_fee, max_priority_fee=transaction.max_priority_fee,
    )  # fmt: skip
    return fill(call, gas=transaction.gas_limit, chain_id=replay.chain_id)


def _wallet(transaction: ReplayTransaction, estimate: RollupEstimate) -> str | None:
    paid = (transaction.max_priority_fee, transaction.max_fee)
    for wallet in WALLETS:
        fees = wallet_fees(int(estimate.fee.total), base_fee=estimate.base_fee, wallet=wallet)
        if (fees.max_priority_fee, fees.max_fee) == paid:
            return wallet.name
    return None
