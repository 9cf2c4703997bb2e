"""L1 data fee of the OP Stack.

Source: ethereum-optimism/specs at fd72cf7 (2026-04).
"""

from dataclasses import dataclass

from feemodel._compiled import cached_njit
from feemodel.quantities import Millionths, RealByte
from feemodel.rollups.optimism import MIN_SCALED_SIZE
from feemodel.simulation.closed_loop.loop import run_loop, uncounted
from feemodel.simulation.closed_loop.observations import Setting, State, policy_state
from feemodel.simulation.policies.base import BuiltIn
from feemodel.simulation.quantities import Lag


@cached_njit(nogil=True, error_model="numpy")
def announce(state, seen, price):  # type: ignore[no-untyped-def]
    """Set the price of a byte to the weighted sum of base fee and blob base fee."""
    weighted = 16.0 * state.base_fee_scalar * seen.base_fee + state.blob_base_fee_scalar * seen.blob_base_fee
    price.per_byte = weighted * state.scale / 1e6


@cached_njit(nogil=True, error_model="numpy")
def settle(state, settled):  # type: ignore[no-untyped-def]
    """Do nothing, because the state of this policy never changes."""


@cached_njit(nogil=True, error_model="numpy")
def run(state, path, rng):  # type: ignore[no-untyped-def]
    """Simulate one path with this policy."""
    run_loop(announce, settle, state, uncounted(path), rng)


@dataclass(frozen=True, kw_only=True)
class OpStackPricing(BuiltIn):
    """L1 data fee of the OP Stack since Ecotone, computed from the fees of the L1 origin block.

    The L1 data fee does not include the L1 tip, and L1 fees are not averaged. The default scalars are the scalars of OP
    Mainnet. By default, the L1 origin is four blocks old, because the sequencer waits for confirmations of L1 blocks.
    """

    base_fee_scalar: Millionths = 5_227  #: scalar of the L1 base fee
    blob_base_fee_scalar: Millionths = 1_014_213  #: scalar of the L1 blob base fee
    #: Compressed size of a transaction in the L1 data fee, at least 100; `None` means the size of a transaction in the
    #: compressed stream.
    estimated_size: RealByte | None = None
    l1_lag: Lag = 4  #: age of the L1 origin block

    announce, settle, run = staticmethod(announce), staticmethod(settle), staticmethod(run)

    def start(self, setting: Setting) -> State:
        """Return the initial state, for the start of a path."""
        posted = setting.bytes_per_transaction
        size = posted if self.estimated_size is None else self.estimated_size
        return policy_state(
            base_fee_scalar=self.base_fee_scalar,
            blob_base_fee_scalar=self.blob_base_fee_scalar,
            scale=max(size, MIN_SCALED_SIZE / 1e6) / posted,
        )
