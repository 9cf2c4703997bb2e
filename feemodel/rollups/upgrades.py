"""A chain's upgrades as dated rows, found by name or by time."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from feemodel.checks import choice, sequence
from feemodel.errors import InvalidInput
from feemodel.integers import one_whole


class Named(Protocol):
    """A row of parameters with a name."""

    @property
    def name(self) -> str: ...


class Dated(Named, Protocol):
    """A row of parameters with the time from which it applies."""

    @property
    def timestamp(self) -> int: ...


AnyNamed = TypeVar("AnyNamed", bound=Named)
AnyDated = TypeVar("AnyDated", bound=Dated)


def named(rows: Sequence[AnyNamed], name: str) -> AnyNamed:
    """The row of that name; raises `InvalidInput` that lists the names there are.

    >>> from feemodel.rollups.optimism import UPGRADES
    >>> named(UPGRADES, "fjord").timestamp
    1720627201
    """
    by_name = {_checked(row, "name").name: row for row in sequence("rows", rows)}
    found: AnyNamed = by_name[choice("upgrade", name, by_name)]
    return found


def at(rows: Sequence[AnyDated], timestamp: Any) -> AnyDated:
    """The row in force at a time, from rows in order of time; raises `InvalidInput` before the first.

    >>> from feemodel.rollups.optimism import UPGRADES
    >>> at(UPGRADES, 1_720_627_200).name
    'ecotone'
    """
    time = one_whole("timestamp", timestamp, unit="seconds")
    if not sequence("rows", rows):
        raise InvalidInput("rows", "expected at least one", rows)
    for row in reversed(rows):
        if _checked(row, "timestamp").timestamp <= time:
            return row
    raise InvalidInput("timestamp", f"expected at least {rows[0].timestamp:,}, the start of {rows[0].name}", time)


def _checked(row: AnyNamed, field: str) -> AnyNamed:
    if not hasattr(row, field):
        raise InvalidInput("rows", f"expected rows with a {field}", row)
    return row
