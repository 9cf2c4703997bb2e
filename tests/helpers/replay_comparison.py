"""Execute and estimate captured transactions again, and compare the results with the recorded results."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from feemodel.errors import FeeModelError, InvalidInput
from feemodel.estimates.rollup import Gas, Measuring, RollupEstimate
from feemodel.ethereum._transaction import DYNAMIC_FEE, fill
from feemodel.execution import GasEstimate
from feemodel.execution._clients import NodeClient, node_named
from feemodel.execution._engines import Engine, engine_of
from feemodel.execution._estimate import check_tolerance, estimate_gas
from feemodel.execution._limits import Limits
from feemodel.execution._outcome import Outcome
from feemodel.execution._search import TOLERANCE
from feemodel.linea._explanation import WALLETS
from feemodel.linea._node import Verdict, node_checks, verdicts
from feemodel.linea.extra_data import PricingRecord
from feemodel.linea.parameters import linea_preset
from feemodel.linea.pricing_forms import CostPerByte
from feemodel.sizes._codecs import Codec
from feemodel.sizes._lzss import packed_size
from tests.helpers.captures import Replay, ReplayBlock, ReplayTransaction
from tests.helpers.replays import Step, estimate_call, execute_again, is_reproduced, offered, same_outcome, steps

Found = TypeVar("Found")

#: Forks of Linea's chains, which are tried for a capture that does not name its fork.
CANDIDATE_FORKS = ("london", "paris", "shanghai", "cancun", "prague", "osaka")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Results of a captured transaction that was executed and estimated again; a result is `None` after a failure."""

    step: Step
    outcome: Outcome | None  #: result of executing the transaction again
    engine: str | None  #: name of the engine that executed the transaction
    refusal: str | None  #: error message if the transaction could not be executed
    gas: GasEstimate | None
    failure: str | None  #: error message if the estimate failed
    estimate: RollupEstimate | None  #: estimate of gas and fees; `None` after a failure or without a pricing record
    size: int | None  #: compressed size of the signed transaction; `None` for types without a published fee [byte]
    wallet: str | None  #: name of a wallet that would compute the recorded fees from this estimate
    stages: tuple[Verdict, ...]  #: whether the transaction pool and the block builder accept the transaction

    @property
    def same_outcome(self) -> bool:
        """Whether the status and the returned data equal the recorded values."""
        return self.outcome is not None and same_outcome(self.step, self.outcome)

    @property
    def reproduced(self) -> bool:
        """Whether status, returned data and gas used equal the recorded values, see `is_reproduced`."""
        return self.outcome is not None and is_reproduced(self.step, self.outcome)


def reproducing_forks(
    replay: Replay, found: Sequence[Comparison], *, fork: str, engine: str | Engine = "auto"
) -> tuple[str, ...]:
    """Return the forks of `CANDIDATE_FORKS` under which every transaction of a capture is reproduced.

    Parameters
    ----------
    replay : the captured blocks.
    found : the comparisons under the rules of `fork`. For every other fork, the transactions that were not reproduced
        in `found` are executed first.
    fork : name of the fork with whose rules `found` was computed.
    engine : "auto", "native", "reference", or an engine object.
    """
    runner = engine_of(engine)
    first = [index for index, row in enumerate(found) if not row.reproduced]
    order = first + [index for index, row in enumerate(found) if row.reproduced]

    def reproduces(name: str) -> bool:
        if name == fork:
            return not first
        candidates = list(steps(replay, fork=name))
        again = ((candidates[index], _tried(partial(execute_again, candidates[index], runner))[0]) for index in order)
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
    fork: str | None = None,
) -> Iterator[Comparison]:
    """Execute and estimate every transaction of captured blocks again, and compare the new and the recorded results.

    Failures of single transactions are not raised; the fields of `Comparison` have the reasons.

    Parameters
    ----------
    replay : the captured blocks, see `tests.helpers.captures.read_replay`.
    codec, measured, packed : codec, encoding and rounding with which the node measured sizes at the time of the blocks,
        see `feemodel.fee_size`. The costs come from the pricing record of each block; without a record there is no fee.
    engine : "auto", "native", "reference", or an engine object such as `EnginePool(...)`.
    search : node software whose search for the gas limit is used, "besu" or "geth".
    tolerance : maximum of (estimate − smallest sufficient gas limit) / estimate; 0 for the smallest limit itself [1].
    fork : name of the execution rules, for example "london"; `None` for the fork that the capture names, or Osaka if
        the capture names no fork.

    Returns
    -------
    iterator of Comparison : one for each transaction, in order.

    Raises
    ------
    InvalidInput : the codec, fork, engine, search or tolerance is not valid.
    """
    runner, margins = engine_of(engine), linea_preset()
    node, checked = node_named(search), check_tolerance(tolerance)
    measuring = Measuring(codec, measured, packed)
    for step in steps(replay, fork=fork):
        transaction, form = step.transaction, pricing_form(step.block)
        executed, refusal = _tried(partial(execute_again, step, runner))
        outcome, name = executed or (None, None)
        gas, failure = _tried(partial(_estimated, step, node, checked, runner))
        size = None
        if transaction.sent.sent_type <= DYNAMIC_FEE:
            signed = fill(transaction.sent, gas=transaction.sent.gas_limit, chain_id=replay.chain_id)
            size = measuring.codec.size(signed.measured(measuring.form))
            size = packed_size(size) if measuring.packed else size
        estimate = None
        if gas is not None and form is not None and size is not None:
            estimate = measuring.priced(
                estimate_call(transaction), Gas(gas.gas_limit, transaction.sent.nonce, replay.chain_id), form=form,
                margin=margins.estimate_margin,
            )  # fmt: skip
        stages: tuple[Verdict, ...] = ()
        if outcome is not None and form is not None and size is not None:
            used = {"limit": transaction.sent.gas_limit, "used": outcome.charged}
            stages = verdicts(offered(step), size, used, form=form, checks=node_checks(margins))
        wallet = None if estimate is None else _wallet(transaction, estimate)
        yield Comparison(step, outcome, name, refusal, gas, failure, estimate, size, wallet, stages)


def _estimated(step: Step, node: NodeClient, tolerance: float, engine: Engine) -> GasEstimate:
    """Return the gas estimate that a node would have sent to the wallet."""
    call, limits = estimate_call(step.transaction), Limits()
    return estimate_gas(call, step.call_state, search=node.name, tolerance=tolerance, limits=limits, engine=engine)


def _tried(task: Callable[[], Found]) -> tuple[Found | None, str | None]:
    """Return (result, `None`) of a task, or (`None`, error message) if the task raises `FeeModelError`."""
    try:
        return task(), None
    except FeeModelError as error:
        return None, str(error)


def pricing_form(block: ReplayBlock) -> CostPerByte | None:
    """Return the costs in a block's pricing record; `None` for headers before 2024, which have no record."""
    try:
        record = PricingRecord.from_bytes(block.extra_data)
    except InvalidInput:
        return None
    return CostPerByte(int(record.variable_cost), int(record.fixed_cost), block.base_fee)


def _wallet(transaction: ReplayTransaction, estimate: RollupEstimate) -> str | None:
    paid = (transaction.sent.max_priority_fee, transaction.sent.max_fee)
    for wallet in WALLETS:
        if wallet.fees(int(estimate.priority_fee), estimate.base_fee) == paid:
            return wallet.name
    return None
