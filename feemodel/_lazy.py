"""Lazy imports: public names of a package that are imported when they are first used."""

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

IMPORT = re.compile(r"^    from (\S+) import (\w+) as \2$", re.MULTILINE)


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Create `__getattr__` and `__dir__` for a package that imports its public names under `if TYPE_CHECKING:`.

    Type checkers and `lazy_names` read the same import statements in `__init__.py`. Besides the public names, the
    modules of the package become attributes. `__all__` is the list of public names.

    >>> get, names = lazy_names("feemodel.rollups")
    >>> get("rule").__module__, get("optimism").__name__, "rule" in names()
    ('feemodel.rollups.rules', 'feemodel.rollups.optimism', True)
    """

    @cache
    def homes() -> dict[str, str]:
        """Return the module of each name that the package imports under `if TYPE_CHECKING:`."""
        spec: Any = find_spec(package)
        return {name: module for module, name in IMPORT.findall(spec.loader.get_source(package))}

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(homes())
        if not name.startswith("__"):
            try:
                if name in homes():
                    return getattr(import_module(homes()[name]), name)
                if find_spec(f"{package}.{name}") is not None:
                    return import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                from feemodel._extras import missing_extra

                raise missing_extra(f"{package}.{name}", error) from None
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(homes())
