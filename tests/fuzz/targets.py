"""The targets by name, and the modules whose branches guide the fuzzer to them.

A target is loaded only when it is asked for: a module can be watched only if nobody has imported it before.
"""

from importlib import import_module

from tests.fuzz.target import Target

_RLP = "ethereum_rlp.rlp"
_CALLS = ("feemodel.ethereum._call", "feemodel.ethereum._quantities", "feemodel.checks", "feemodel.errors")

#: target → the module of this package that has it, and what is watched
PLACES: dict[str, tuple[str, tuple[str, ...]]] = {
    "rpc": ("rpc_bodies", ("feemodel.server", "feemodel.ledger.proof", "feemodel.ethereum._quantities", *_CALLS)),
    "transaction": ("transactions", ("feemodel.ethereum._transaction", *_CALLS, _RLP)),
    "sender_unsigned": ("transactions", ("feemodel.ethereum._transaction", *_CALLS, _RLP)),
    "call": ("calls", ("feemodel.ethereum._transaction", "feemodel.execution._message", *_CALLS)),
    "overrides": ("calls", ("feemodel.execution._state", *_CALLS)),
}


def load(name: str) -> Target:
    """The target of that name."""
    module, _ = PLACES[name]
    target: Target = import_module(f"tests.fuzz.{module}").TARGETS[name]
    return target
