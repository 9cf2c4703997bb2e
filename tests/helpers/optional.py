"""Names of packages that an extra installs, for tests that also run with the core alone."""

from importlib import import_module
from typing import Any, NoReturn

import pytest


class _Missing:
    """A stand-in for a name that is not installed: its use skips the test."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _skip(self) -> NoReturn:
        pytest.skip(f"{self._name} is not installed", allow_module_level=True)

    def __getattr__(self, attribute: str) -> NoReturn:
        self._skip()

    def __call__(self, *arguments: Any, **named: Any) -> NoReturn:
        self._skip()


def optional(module: str, name: str | None = None) -> Any:
    """A module, or a name of it; where the module or what it needs is not installed, a stand-in."""
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        return _Missing(str(error.name))
    return found if name is None else getattr(found, name)
