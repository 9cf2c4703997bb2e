"""The targets by name."""

from tests.fuzz import calls, rpc_bodies, transactions
from tests.fuzz.target import Target

TARGETS: dict[str, Target] = {**rpc_bodies.TARGETS, **transactions.TARGETS, **calls.TARGETS}
