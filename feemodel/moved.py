"""Import paths of modules that have moved: each answers for one release, with a `DeprecationWarning`."""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

#: Old name → new name; the modules of a package that is listed have moved with it.
MOVED = {
    "feemodel.fees.rollups": "feemodel.rollups",
    "feemodel.fees.rollups.rule": "feemodel.rollups.factors",
    "feemodel.fees.rollups.arbitrum_pricing": "feemodel.rollups.arbitrum_l1_pricing",
    "feemodel.simulation.compare": "feemodel.rollups.tables",
}


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
        return module

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__  # which the import system has replaced
        if spec is not None and spec.loader_state is not None:
            module.__spec__ = spec.loader_state


def answer_old_paths() -> None:
    """Put the finder in place, before those that look at files."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
