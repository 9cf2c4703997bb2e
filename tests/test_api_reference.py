"""The API reference: every public name says what it does and shows it."""

import dataclasses
import enum
import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from feemodel import rollups
from feemodel.simulation import policies

LISTED = (
    "feemodel",
    "feemodel.ethereum",
    "feemodel.execution",
    "feemodel.explorer",
    "feemodel.io",
    "feemodel.estimates",
    "feemodel.ledger",
    "feemodel.linea",
)  # those with a list of public names
BY_MODULE = ("feemodel.simulation", "feemodel.sizes")
INSIDE = {  # modules whose names nobody outside their room calls
    "feemodel.simulation._l1_columns", "feemodel.simulation._metadata", "feemodel.simulation.draws",
    "feemodel.simulation.run",
    "feemodel.simulation.forecast.methods",
    "feemodel.simulation.forecast.paths",
    "feemodel.simulation.forecast.series",
    "feemodel.simulation.closed_loop._accounts",
    "feemodel.simulation.closed_loop._l1_steps",
    "feemodel.simulation.closed_loop.loop", "feemodel.simulation.closed_loop.observations",
    "feemodel.simulation.closed_loop._pricing", "feemodel.simulation.closed_loop.paths",
    # The classes of policies are public names of `feemodel.simulation`.
    *(found.name for found in pkgutil.iter_modules(policies.__path__, "feemodel.simulation.policies.")),
    "feemodel.simulation.closed_loop._results",
    "feemodel.sizes._payloads", "feemodel.sizes._fastlz", "feemodel.sizes._lzss_plain",
}  # fmt: skip
WITHOUT_DOCTEST = {
    "feemodel.explorer.POLICY": "text",
    "feemodel.explorer.STATIC": "a folder",
    "feemodel.io.Node": "asks a node: tests/io/test_node.py runs one",
    "feemodel.simulation.statistics.Table": "made by feemodel.sweep alone, of what came of its pieces",
}


def public() -> Iterator[tuple[str, Any]]:
    """Every public name and what it stands for."""
    for name in LISTED:
        package = import_module(name)
        yield from ((f"{name}.{listed}", getattr(package, listed)) for listed in package.__all__)
    for name in BY_MODULE:
        for found in pkgutil.walk_packages(import_module(name).__path__, f"{name}."):
            if found.name not in INSIDE:
                yield from defined_in(import_module(found.name))


def defined_in(module: Any) -> Iterator[tuple[str, Any]]:
    for name, value in vars(module).items():
        here = getattr(value, "__module__", None) == module.__name__
        if here and not name.startswith("_") and (inspect.isclass(value) or inspect.isfunction(value)):
            yield f"{module.__name__}.{name}", value


def is_record(value: Any) -> bool:
    """Whether it is told by its fields, its members or its place among the errors, and an example adds nothing."""
    if not inspect.isclass(value):
        return False
    kinds = (tuple, enum.Enum, Exception)
    return dataclasses.is_dataclass(value) or issubclass(value, kinds) or getattr(value, "_is_protocol", False)


def docstrings(value: Any) -> str:
    """The docstring of a name and those of its methods."""
    methods = vars(value).values() if inspect.isclass(value) else ()
    return "\n".join(inspect.getdoc(part) or "" for part in (value, *methods) if callable(part) or part is value)


PUBLIC = dict(public())


def test_there_is_something_to_document():
    assert len(PUBLIC) > 120


def test_every_public_name_says_what_it_is():
    assert [name for name, value in PUBLIC.items() if not (value.__doc__ or "").strip()] == []


def test_every_public_name_shows_what_it_does_or_there_is_a_reason():
    calls = {name: value for name, value in PUBLIC.items() if not is_record(value)}

    assert {name for name, value in calls.items() if ">>>" not in docstrings(value)} == set(WITHOUT_DOCTEST)


def test_every_signature_fits_on_a_screen():
    """A default whose text is long, such as a table, fills the help of each function that takes it."""
    for name, value in (PUBLIC | {name: getattr(rollups, name) for name in rollups.__all__}).items():
        methods = [part for part in vars(value).values() if inspect.isfunction(part)] if inspect.isclass(value) else []
        for part in (value, *methods):
            try:
                assert not callable(part) or len(str(inspect.signature(part))) < 800, (name, part)
            except ValueError:  # a class without a constructor of its own
                assert inspect.isclass(part)
