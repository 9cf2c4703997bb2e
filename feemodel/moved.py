"""Import paths of modules that have moved, and old names: each answers for one release, with a `DeprecationWarning`."""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

#: Old name → new name; the modules of a package that is listed have moved with it.
MOVED = {
    "feemodel.fees": "feemodel.linea",
    "feemodel.fees.rollups": "feemodel.rollups",
    "feemodel.call": "feemodel.ethereum.call",
    "feemodel.equality": "feemodel.records",
    "feemodel.execution.nodes": "feemodel.execution.clients",
    "feemodel.execution.replay_state": "feemodel.estimates.replay",
    "feemodel.execution.state_changes": "feemodel.execution.inspection",
    "feemodel.execution.transfers": "feemodel.execution.inspection",
    "feemodel.execution.world": "feemodel.execution.state",
    "feemodel.explanation": "feemodel.linea.explanation",
    "feemodel.fees.forms": "feemodel.linea.pricing_forms",
    "feemodel.fees.formula": "feemodel.formula",
    "feemodel.fees.from_l1": "feemodel.linea.from_l1",
    "feemodel.fees.integers": "feemodel.integers",
    "feemodel.fees.kernels": "feemodel.linea.kernels",
    "feemodel.fees.l1_market": "feemodel.ethereum.fee_market",
    "feemodel.fees.presets": "feemodel.linea.parameters",
    "feemodel.fees.pricing": "feemodel.linea.coordinator",
    "feemodel.fees.priority": "feemodel.linea.priority",
    "feemodel.fees.record": "feemodel.linea.extra_data",
    "feemodel.fees.stages": "feemodel.linea.node",
    "feemodel.fees.sweep_kernels": "feemodel.linea.kernels",
    "feemodel.fees.wallets": "feemodel.linea.wallets",
    "feemodel.hashes": "feemodel.ethereum.hashes",
    "feemodel.plots.rollups": "feemodel.plots.figures",
    "feemodel.plots_simulation": "feemodel.plots.simulation",
    "feemodel.printed": "feemodel.records",
    "feemodel.sizes.batches": "feemodel.sizes.codecs",
    "feemodel.sizes.measure": "feemodel.linea.measure",
    "feemodel.transaction": "feemodel.ethereum.transaction",
    "feemodel.transaction_fields": "feemodel.ethereum.transaction_fields",
    "feemodel.transaction_table": "feemodel.ethereum.transaction_table",
    "feemodel.units": "feemodel.ethereum.quantities",
    "feemodel.fees.rollups.rule": "feemodel.rollups.factors",
    "feemodel.fees.rollups.arbitrum_pricing": "feemodel.rollups.arbitrum_l1_pricing",
    "feemodel.simulation.compare": "feemodel.rollups.tables",
    "feemodel.simulation.corpus.transactions": "feemodel.simulation.corpus",
    "feemodel.io.measured": "feemodel.io.transactions",
    "feemodel.rollups.arbitrum_surge": "feemodel.simulation.attacks.surge",
    "feemodel.plots.closed_loop": "feemodel.plots.simulation",
    "feemodel.io.raw_transactions": "feemodel.io.transactions",
    "feemodel.simulation.closed_loop.experiment": "feemodel.simulation.closed_loop.simulator",
    "feemodel.simulation.closed_loop.windows": "feemodel.simulation.closed_loop.l1_steps",
    "feemodel.simulation.history_uncertainty": "feemodel.simulation.calibrate",
    "feemodel.simulation.screening": "feemodel.simulation.sensitivity",
}
_PARAMETERS = "feemodel.linea.parameters:"
#: Old module → names that have left it, and where they are.
ELSEWHERE = {
    "feemodel.transaction": {"fee_transaction": "feemodel.linea.measure:fee_transaction"},
    "feemodel.fees.from_l1": {
        "BLOB_GAS": _PARAMETERS + "COORDINATOR.blob_gas",
        "BYTES_PER_SUBMISSION": _PARAMETERS + "COORDINATOR.bytes_per_submission",
        "EXECUTION_GAS": _PARAMETERS + "COORDINATOR.execution_gas",
        "USABLE_BLOB_BYTES": "feemodel.ethereum.fee_market:USABLE_BLOB_BYTES",
    },
    "feemodel.fees.priority": {
        "BASE_FEE": _PARAMETERS + "NODE.base_fee",
        "GAS_PRICE_RATIO": _PARAMETERS + "VERIFICATION.gas_price_ratio",
        "VERIFICATION_CAPACITY": _PARAMETERS + "VERIFICATION.capacity",
        "VERIFICATION_GAS_COST": _PARAMETERS + "VERIFICATION.gas_cost",
    },
}

#: Old name → where the new one is.
RENAMED = {
    "feemodel.execution.World": "feemodel.execution.state:CallState",
    "feemodel.execution.state.World": "feemodel.execution.state:CallState",
    "feemodel.execution.world_before": "feemodel.estimates.replay:state_before",
}


def renamed(module: str, name: str) -> Any:
    """What an old name of a module is today; `AttributeError` for a name that it never had."""
    if (new := RENAMED.get(f"{module}.{name}")) is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    message = f"{module}.{name} is now {new.replace(':', '.')}; the old name ends with the next release"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return resolve_name(new)


def new_name(old: str) -> str | None:
    """Where a module is now, or `None` if it has not moved.

    >>> new_name("feemodel.fees.rollups.optimism"), new_name("feemodel.rollups.optimism")
    ('feemodel.rollups.optimism', None)
    """
    if old in MOVED:
        return MOVED[old]
    package, _, module = old.rpartition(".")
    return f"{MOVED[package]}.{module}" if package in MOVED else None


class _Finder(MetaPathFinder, Loader):
    """Answers the import of an old path with the module itself, not with a second copy of it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        new = new_name(fullname) if fullname.startswith("feemodel.") else None
        if new is None:
            return None
        message = f"{fullname} is now {new}; the old path ends with the next release"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(new_name(spec.name) or spec.name)
        spec.loader_state = module.__spec__
        for name, place in ELSEWHERE.get(spec.name, {}).items():
            setattr(module, name, resolve_name(place))
        return module

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__  # which the import system has replaced
        if spec is not None and spec.loader_state is not None:
            module.__spec__ = spec.loader_state


def answer_old_paths() -> None:
    """Put the finder in place, before those that look at files."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
