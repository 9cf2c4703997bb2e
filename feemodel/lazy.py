"""Names of a package that are imported when they are first used: importing the package costs next to nothing."""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def lazy_names(package: str, home: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    package : its name.
    home : name → module inside the package that defines it; the package's submodules are found without being listed.

    >>> getattr_, dir_ = lazy_names("feemodel", {"from_quantity": "ethereum.quantities"})
    >>> getattr_("from_quantity")("0x10"), getattr_("errors").__name__, dir_()
    (16, 'feemodel.errors', ['from_quantity'])
    """

    def get(name: str) -> Any:
        if name in home:
            return getattr(import_module(f"{package}.{home[name]}"), name)
        if not name.startswith("__") and find_spec(f"{package}.{name}") is not None:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(home)
