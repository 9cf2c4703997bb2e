"""L2 base fee by EIP-1559, updated in each block; the price of data is 0."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from feemodel._compiled import cached_njit
from feemodel.arguments import check_fields
from feemodel.errors import InvalidInput
from feemodel.quantities import Quantity, Ratio, RealWei
from feemodel.simulation.closed_loop.loop import run_loop, uncounted
from feemodel.simulation.closed_loop.observations import Setting, State, policy_state
from feemodel.simulation.policies.base import BuiltIn

MAX_PRICE = 2**53  # maximum price [wei / gas]; a double represents all integers up to 2**53 exactly

BlockFee = Annotated[int, Quantity("wei / gas", maximum=MAX_PRICE)]
BlockTime = Annotated[float, Quantity("s", double=True, above_zero=True, maximum=60, hint="in seconds; 250 ms = 0.25")]
BlockGas = Annotated[
    int, Quantity("gas", minimum=1, lowest=21_000, maximum=3_000_000_000, hint="in gas; 30 Mgas = 30,000,000")
]


@cached_njit(nogil=True, error_model="numpy")
def next_base_fee(base_fee, gas_used, target, compared_target, denominator):  # type: ignore[no-untyped-def]
    """Return the base fee of the next block for a given gas target, see `feemodel.ethereum.next_base_fee`.

    The inputs are int64 and are not checked: base fees and gas must be below 2**62.

    >>> int(next_base_fee(1_000_000_000, 11_000_000, 10_000_000, 10_000_000, 8))
    1012500000
    """
    distance = abs(gas_used - compared_target)
    # compute base_fee · distance // target as a sum of two terms, so that every product fits 64 bits
    step = (base_fee // target * distance + base_fee % target * distance // target) // denominator
    return base_fee + max(step, 1) if gas_used > compared_target else base_fee - step


@cached_njit(nogil=True, error_model="numpy")
def announce(state, seen, price):  # type: ignore[no-untyped-def]
    """Set the prices of execution to the base fee and the operator fee."""
    price.per_gas = state.base_fee + state.operator_fee
    price.per_transaction = state.operator_fee_constant


@cached_njit(nogil=True, error_model="numpy")
def settle(state, settled):  # type: ignore[no-untyped-def]
    """Update the base fee for each block of a step, in integers. All blocks of a step use the same amount of gas."""
    used = np.int64(min(settled.gas_used / state.blocks, state.gas_limit))
    fee, target, denominator = np.int64(state.base_fee), np.int64(state.target), np.int64(state.denominator)
    for _ in range(int(state.blocks)):
        fee = next_base_fee(fee, used, target, target, denominator)
        fee = min(max(fee, np.int64(state.min_base_fee)), np.int64(state.max_base_fee))
    state.base_fee = fee


@cached_njit(nogil=True, error_model="numpy")
def run(state, path, rng):  # type: ignore[no-untyped-def]
    """Simulate one path with this policy."""
    run_loop(announce, settle, state, uncounted(path), rng)


@dataclass(frozen=True, kw_only=True)
class Eip1559(BuiltIn):
    """L2 base fee by EIP-1559, updated in each block, plus the operator fee of the OP Stack.

    The default values are the parameters of OP Mainnet since the Holocene upgrade.
    """

    base_fee: BlockFee = 1_000_000  #: base fee of the first block
    gas_limit: BlockGas = 40_000_000  #: gas limit of a block
    elasticity: Annotated[int, Quantity("1", minimum=1, maximum=1_000)] = 2  #: gas limit divided by gas target
    denominator: Annotated[int, Quantity("1", minimum=1, maximum=MAX_PRICE)] = 250  #: base fee change denominator
    min_base_fee: BlockFee = 0  #: minimum base fee
    max_base_fee: BlockFee = MAX_PRICE  #: maximum base fee
    block_time: BlockTime = 2.0  #: time between L2 blocks
    operator_fee_scalar: int = 0
    operator_fee_multiplier: Ratio = 1e-6  #: factor on `operator_fee_scalar`: 1e-6 in Isthmus, 100 since Jovian
    operator_fee_constant: RealWei = 0.0  #: constant part of the operator fee of a transaction

    announce, settle, run = staticmethod(announce), staticmethod(settle), staticmethod(run)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.max_base_fee < self.min_base_fee:
            raise InvalidInput("max_base_fee", "expected at least min_base_fee", self.max_base_fee)
        if not self.min_base_fee <= self.base_fee <= self.max_base_fee:
            raise InvalidInput("base_fee", "expected a fee from min_base_fee to max_base_fee", self.base_fee)

    def start(self, setting: Setting) -> State:
        """Return the initial state, for the start of a path."""
        blocks = round(setting.step / self.block_time)
        if blocks < 1 or abs(blocks * self.block_time - setting.step) > 1e-9 * setting.step:
            raise InvalidInput("step", f"expected a whole number of L2 blocks of {self.block_time:g} s", setting.step)
        return policy_state(
            base_fee=self.base_fee,
            operator_fee=self.operator_fee_scalar * self.operator_fee_multiplier,
            operator_fee_constant=self.operator_fee_constant,
            blocks=blocks,
            gas_limit=self.gas_limit,
            target=self.gas_limit // self.elasticity,
            denominator=self.denominator,
            min_base_fee=self.min_base_fee,
            max_base_fee=self.max_base_fee,
        )
