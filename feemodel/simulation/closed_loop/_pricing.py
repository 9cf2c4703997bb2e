"""Check a pricing policy, create its initial state, and compile the simulation loop with its functions.

Also describe policies, posting, demand and costs as JSON, and copy them with changed parameters.
"""

import json
from dataclasses import asdict, fields, is_dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, TypeVar

import numba
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from feemodel._compiled import Kernel
from feemodel.arguments import check_of
from feemodel.errors import InvalidInput
from feemodel.simulation._l1_columns import FEES
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.closed_loop.loop import run_loop, uncounted
from feemodel.simulation.closed_loop.observations import PRICE, SEEN, SETTLED, Setting, State, empty_record
from feemodel.simulation.policies.base import BuiltIn, Pricing
from feemodel.simulation.policies.linea import LineaPricing

POLICIES = "feemodel.simulation.policies"
OPTIONAL = {field.name: field.type for field in fields(BuiltIn)}  # attributes that a policy may have, and their types
MIN_SIMILARITY = 0.75  # `difflib` ratio above which a similar name counts as a spelling error

Record = TypeVar("Record")


def checked_pricing(pricing: Any) -> Pricing:
    """Check a policy and return it. Convert a `PricingRule` to a `LineaPricing`.

    Raises `InvalidInput` if a required function is missing, if `level`, `l1_lag`, `balance_lag` or `target_balance` is
    out of range, or if an attribute has a name that is probably misspelled.

    >>> checked_pricing(PricingRule(window=600.0)).window
    600.0
    """
    if isinstance(pricing, PricingRule) and not isinstance(pricing, LineaPricing):
        return LineaPricing(**{field.name: getattr(pricing, field.name) for field in fields(pricing)})
    for name in ("start", "announce", "settle"):
        if isinstance(pricing, type) or not callable(getattr(pricing, name, None)):
            raise InvalidInput("pricing", "expected a policy with start, announce and settle", pricing)
    for name, kind in OPTIONAL.items():
        if hasattr(pricing, name):
            check_of(kind)(f"pricing.{name}", getattr(pricing, name))
    if not _is_built_in(pricing.start):
        _check_names(pricing)
        if any(_is_built_in(getattr(pricing, name)) for name in ("announce", "settle")):
            reason = "expected a policy that also defines announce and settle, because it defines start"
            raise InvalidInput("pricing", reason, pricing)
    return pricing  # type: ignore[no-any-return]


def _is_built_in(function: Any) -> bool:
    """Return whether a function belongs to a built-in policy."""
    return str(getattr(function, "__module__", "")).startswith(f"{POLICIES}.")


def has_own_loop(pricing: Any) -> bool:
    """Return whether a policy is built in and unmodified, so that the `run` function of its module can simulate it."""
    functions = [getattr(pricing, name, None) for name in ("start", "announce", "settle", "run")]
    return all(map(_is_built_in, functions)) and len({one.__module__ for one in functions}) == 1


def _check_names(pricing: Any) -> None:
    for name in dir(pricing):
        if name.startswith("_") or name in OPTIONAL or name in ("start", "announce", "settle"):
            continue
        if meant := get_close_matches(name, [one for one in OPTIONAL if not hasattr(pricing, one)], 1, MIN_SIMILARITY):
            raise InvalidInput(f"pricing.{name}", f"expected another name: did you mean {meant[0]}?", name)


def check_first_step(pricing: Pricing, setting: Setting, l1_fees: xr.Dataset) -> None:
    """Run the first step of a user's policy in plain Python, to detect errors such as an index out of range.

    Raises `InvalidInput` if the state is invalid, or if `start`, `announce` or `settle` raises an exception.
    """
    state = started(pricing, setting)
    if has_own_loop(pricing):
        return
    seen, settled, price = (empty_record(dtype) for dtype in (SEEN, SETTLED, PRICE))
    seen.base_fee, seen.blob_base_fee = (float(l1_fees[name][0, 0]) for name in FEES)
    seen.gas_used_ratio = seen.blob_gas_used_ratio = 1.0
    settled.posted_bytes, settled.posted_cost = 1e5, 1e13
    for name, given in (("announce", (state, seen, price)), ("settle", (state, settled))):
        tried = getattr(pricing, name)
        try:
            with np.errstate(all="ignore"):
                getattr(tried, "py_func", tried)(*given)
        except Exception as error:  # a user's function may raise any exception
            reason = f"the function raises an error in the first step: {error!r}"
            raise InvalidInput(f"pricing.{name}", reason, tried) from error


def started(pricing: Pricing, setting: Setting) -> State:
    """Call the `start` function of a policy, check the state that it returns, and return this state.

    >>> from feemodel.simulation.policies.fixed import Fixed
    >>> started(Fixed(price=7e6), Setting(12.0, 119.42, 165_000.0, 0.0, False)).price.item()
    7000000.0
    """
    try:
        state = pricing.start(setting)
        parts = [np.array(part) for part in (state if _is_named_tuple(state) else (state,))]
    except InvalidInput:
        raise
    except Exception as error:  # the function may raise or return anything
        raise InvalidInput(
            "pricing.start", f"expected a function that returns an array of numbers; it raises {error!r}", pricing
        ) from error
    for part in parts:
        columns = [part[name] for name in part.dtype.names] if part.dtype.names else [part]
        numbers = all(column.dtype.kind in "iuf" and not np.isnan(column).any() for column in columns)
        if not numbers or part.ndim > 1 or (part.ndim == 0 and not part.dtype.names):
            reason = "expected a policy_state, or a one-dimensional array of numbers"
            raise InvalidInput("pricing.start", reason, state)
    made = [_as_records(part) if part.dtype.names else part.astype(np.float64) for part in parts]
    return type(state)(*made) if _is_named_tuple(state) else made[0]


def _is_named_tuple(state: Any) -> bool:
    return isinstance(state, tuple) and hasattr(state, "_fields")


def _as_records(part: NDArray[Any]) -> Any:
    """Convert structured values to records, whose fields can be read as attributes in plain Python."""
    return part.view(np.dtype((np.record, part.dtype)))[()]


def runner(pricing: Any) -> Kernel:
    """Return the compiled loop for a policy.

    The loop of a built-in policy is compiled once and cached on disk. The loop of a user's policy is compiled in each
    process.

    >>> from feemodel.simulation.policies.fixed import Fixed
    >>> runner(Fixed(price=1e8)) is Fixed.run
    True
    """
    if has_own_loop(pricing):
        return pricing.run  # type: ignore[no-any-return]
    announce, settle = pricing.announce, pricing.settle
    if hasattr(announce, "py_func") and hasattr(settle, "py_func"):
        return _compiled_loop(announce, settle)
    slow_loop = run_loop.py_func  # type: ignore[attr-defined]
    return lambda state, path, rng: slow_loop(announce, settle, state, path, rng)


@lru_cache(maxsize=64)
def _compiled_loop(announce: Any, settle: Any) -> Kernel:
    """Compile the loop with the `announce` and `settle` functions of a policy."""

    @numba.njit(nogil=True, error_model="numpy")
    def run(state, path, rng):  # type: ignore[no-untyped-def]
        run_loop(announce, settle, state, uncounted(path), rng)

    return run


def with_fields(record: Record, changed: dict[str, Any]) -> Record:
    """Return a copy of a dataclass with the given fields changed.

    >>> from feemodel.simulation.posting import Costs
    >>> with_fields(Costs(), {"proving_per_byte": 3.0}).proving_per_byte
    3.0
    """
    made: Record = replace(record, **changed)  # type: ignore[type-var]
    for name in {*OPTIONAL} & {*getattr(record, "__dict__", {})} - {field.name for field in fields(record)}:  # type: ignore[arg-type]
        setattr(made, name, getattr(record, name))  # copy attributes that were set after construction
    return made


def described(record: Any) -> str:
    """Return the class name and the fields or attributes of an object as JSON.

    >>> from feemodel.simulation.posting import Costs
    >>> described(Costs())[:42]
    '{"kind": "Costs", "finalization_gas": 0.0,'
    """
    values = asdict(record) if is_dataclass(record) and not isinstance(record, type) else _attributes(record)
    shown = {name: one.tolist() if isinstance(one, np.ndarray) else one for name, one in values.items()}
    return json.dumps({"kind": type(record).__name__, **shown}, default=str)


def _attributes(record: Any) -> dict[str, Any]:
    """Return the public data attributes of an object and of its classes."""
    of_classes = {name for kind in type(record).__mro__[:-1] for name in vars(kind) if not name.startswith("_")}
    names = dict.fromkeys([*getattr(record, "__dict__", ()), *OPTIONAL, *sorted(of_classes)])
    found = {name: getattr(record, name) for name in names if hasattr(record, name)}
    return {name: value for name, value in found.items() if not callable(value) or name not in of_classes}
