"""Every public formula of `feemodel.linea`, `ethereum` and `rollups`, found by its signature, with arguments for it.

A function with a parameter of type ArrayLike is a formula. A new one is found here without being listed; a required
parameter that is no array needs its values in `CHOICES`.
"""

import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import chain
from typing import Any

from numpy.typing import ArrayLike

import feemodel.ethereum
import feemodel.linea
import feemodel.rollups
from feemodel.errors import InvalidInput, UnknownParameter
from feemodel.rollups import optimism, zksync
from feemodel.rollups.chains import CHAINS
from feemodel.rollups.rules import rule

OPTIMISM_UPGRADES = [row.name for row in reversed(optimism.UPGRADES)]  # the last one fits every formula
CHOICES: dict[str, list[Any]] = {
    "upgrade": OPTIMISM_UPGRADES,
    "mode": [*zksync.PUBDATA_MODES],
    "model": [zksync.FeeModel(), zksync.FeeModel(compute_overhead_part=0.3)],
}
# Where arguments exclude each other: those that are given together.
TOGETHER = {"offered_price": [("gas_price",), ("max_fee", "max_priority_fee", "base_fee")]}
TYPICAL = {"timestamp": 1_764_800_000}  # others: 8
NO_FORMULAS = {  # bytes, calls, transactions and tables of them in
    "feemodel.ethereum._call", "feemodel.ethereum._hashes", "feemodel.ethereum._quantities",
    "feemodel.ethereum._transaction", "feemodel.ethereum._transaction_fields", "feemodel.ethereum._transaction_table",
    "feemodel.linea._explanation", "feemodel.linea._measure",
    "feemodel.rollups.tables",
}  # fmt: skip


@dataclass(frozen=True)
class Formula:
    """A formula, or a rule's fees, as a function of its arrays."""

    name: str
    function: Callable[..., Any]
    arrays: tuple[str, ...]
    choices: Mapping[str, list[Any]] = field(default_factory=dict)

    @property
    def doubles(self) -> tuple[str, ...]:
        """The parameters that take 8.5."""
        return tuple(name for name in self.arrays if not self._refuses(name, 8.5))

    def typical(self) -> dict[str, Any]:
        """Arguments that a fee comes of."""
        rest = {name: values[-1] for name, values in self.choices.items()}
        return {name: TYPICAL.get(name, 8) for name in self.arrays} | rest

    def _refuses(self, name: str, value: Any) -> bool:
        try:
            self.function(**self.typical() | {name: value})
        except InvalidInput as error:
            return error.name.startswith(name)
        return False


def functions() -> Iterator[tuple[str, Any]]:
    """The public functions of the rooms of formulas by their full name."""
    rooms = (feemodel.ethereum, feemodel.linea, feemodel.rollups)
    for found in chain(*(pkgutil.walk_packages(room.__path__, f"{room.__name__}.") for room in rooms)):
        if found.name in NO_FORMULAS:
            continue
        for name, value in vars(import_module(found.name)).items():
            own = inspect.isfunction(value) and value.__module__ == found.name and not name.startswith("_")
            if own and f"{found.name}.{name}" not in NO_FORMULAS:
                yield f"{found.name}.{name}", value


def array_parameters(function: Any) -> tuple[str, ...]:
    """The quantities of a formula, and the parameters of type ArrayLike."""
    if hasattr(function, "quantities"):
        return tuple(function.quantities)
    parameters = inspect.signature(function).parameters
    types = (ArrayLike, ArrayLike | None, "ArrayLike", "ArrayLike | None")  # as text where `@formula` shortened it
    return tuple(name for name, parameter in parameters.items() if parameter.annotation in types)


def formulas() -> Iterator[Formula]:
    for full_name, function in functions():
        arrays = array_parameters(function)
        if not arrays:
            continue
        module, _, short = full_name.rpartition(".")
        choices = {}
        for name, parameter in inspect.signature(function).parameters.items():
            values = CHOICES.get(f"{module}.{name}", CHOICES.get(name))
            if name not in arrays and values is not None:
                choices[name] = values
            elif name not in arrays and parameter.default is parameter.empty:
                raise AssertionError(f"{full_name}: tests/helpers/formulas.py needs values of {name} in CHOICES")
        for given in TOGETHER.get(short, [arrays]):
            yield Formula(full_name, function, given, choices)
    for one in dated_rules().values():
        yield Formula(f"rule {one.name}", partial(_fees, one), (*one.columns, "base_fee", "blob_base_fee"))


def dated_rules() -> dict[str, Any]:
    """The rules of every chain at the end of each of its upgrades, where the parameters are known."""
    found = {}
    for own in CHAINS.values():
        upgrades = [row.values["upgrade"] for row in own.rows if "upgrade" in row.values]
        for name in [f"{own.name}/{upgrade}" for upgrade in upgrades] or [own.name]:
            with suppress(UnknownParameter):
                one = rule(name)
                found[one.name] = one
    return found


def _fees(rule: Any, *, base_fee: Any, blob_base_fee: Any, **columns: Any) -> Any:
    return rule.fees(columns, base_fee=base_fee, blob_base_fee=blob_base_fee)


FORMULAS = list(formulas())
