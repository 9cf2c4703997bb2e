"""Constant price of data."""

from dataclasses import dataclass

from feemodel._compiled import cached_njit
from feemodel.simulation.closed_loop.loop import run_loop, uncounted
from feemodel.simulation.closed_loop.observations import Setting, State, policy_state
from feemodel.simulation.policies.base import BuiltIn
from feemodel.simulation.quantities import BytePrice


@cached_njit(nogil=True, error_model="numpy")
def announce(state, seen, price):  # type: ignore[no-untyped-def]
    """Set the price of a byte to the constant price."""
    price.per_byte = state.price


@cached_njit(nogil=True, error_model="numpy")
def settle(state, settled):  # type: ignore[no-untyped-def]
    """Do nothing, because the state of this policy never changes."""


@cached_njit(nogil=True, error_model="numpy")
def run(state, path, rng):  # type: ignore[no-untyped-def]
    """Simulate one path with this policy."""
    run_loop(announce, settle, state, uncounted(path), rng)


@dataclass(frozen=True, kw_only=True)
class Fixed(BuiltIn):
    """Constant price of data."""

    price: BytePrice  #: price of a byte

    announce, settle, run = staticmethod(announce), staticmethod(settle), staticmethod(run)

    def start(self, setting: Setting) -> State:
        """Return the initial state, for the start of a path."""
        return policy_state(price=self.price)
