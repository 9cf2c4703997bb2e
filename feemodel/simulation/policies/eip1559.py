"""L2 base fee by EIP-1559, updated in each block; the price of data is 0."""

from dataclasses import dataclass

import numpy as np

from feemodel._compiled import cached_njit
from feemodel.checks import check_plausible, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_market_kernels import next_base_fee
from feemodel.simulation.closed_loop.loop import run_loop, uncounted
from feemodel.simulation.closed_loop.observations import Setting, State, policy_state
from feemodel.simulation.policies.base import BuiltIn

MAX_PRICE = 2**53  # maximum price [wei / gas]; a double represents all integers up to 2**53 exactly
MAX_GAS_LIMIT = 3_000_000_000  # maximum gas limit of a block [gas]; the square of this value fits in 64 bits
MIN_LIMIT = 21_000  # minimum gas limit, the gas of a transfer; smaller inputs are probably in Mgas
MAX_ELASTICITY = 1_000
LONGEST_BLOCK = 60.0  # maximum block time in seconds; larger inputs are probably in milliseconds


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

    base_fee: int = 1_000_000  #: base fee of the first block [wei / gas]
    gas_limit: int = 40_000_000  #: gas limit of a block [gas]
    elasticity: int = 2  #: gas limit divided by gas target [1]
    denominator: int = 250  #: base fee change denominator [1]
    min_base_fee: int = 0  #: minimum base fee [wei / gas]
    max_base_fee: int = MAX_PRICE  #: maximum base fee [wei / gas]
    block_time: float = 2.0  #: time between L2 blocks [s]
    operator_fee_scalar: int = 0
    operator_fee_multiplier: float = 1e-6  #: factor on `operator_fee_scalar`: 1e-6 in Isthmus, 100 since Jovian
    operator_fee_constant: float = 0.0  #: constant part of the operator fee of a transaction [wei]

    announce, settle, run = staticmethod(announce), staticmethod(settle), staticmethod(run)

    def __post_init__(self) -> None:
        maximum = {"gas_limit": MAX_GAS_LIMIT, "elasticity": MAX_ELASTICITY, "denominator": MAX_PRICE}
        self._check(above_zero=("elasticity", "denominator", "block_time"), maximum=maximum)
        whole_scalar("gas_limit", self.gas_limit, minimum=self.elasticity)
        check_plausible("block_time", self.block_time, "in seconds; 250 ms = 0.25", highest=LONGEST_BLOCK)
        check_plausible("gas_limit", self.gas_limit, "in gas; 30 Mgas = 30,000,000", lowest=MIN_LIMIT)
        if not self.min_base_fee <= self.max_base_fee <= MAX_PRICE:
            raise InvalidInput("max_base_fee", "expected a fee from min_base_fee to 2**53", self.max_base_fee)
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
