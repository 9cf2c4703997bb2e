"""Metadata of results: descriptions of variables, the seed, and software versions."""

import platform
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from feemodel import __version__
from feemodel.checks import EMPTY, instance
from feemodel.errors import InvalidInput

if TYPE_CHECKING:
    import xarray

#: Descriptions of variables. For a variable that is not in this mapping, the description is the name with spaces in
#: place of underscores.
LONG_NAMES = {
    "base_fee": "L1 base fee",
    "blob_base_fee": "L1 blob base fee",
    "cost": "cost of posting on L1",
    "elapsed": "time since the start",
    "path": "index of the path",
    "recovery": "fees / cost of posting",
    "revenue": "fees that users pay",
    "time": "date and time, UTC",
    "variable_cost": "variable cost: announced cost of a compressed byte on L1",
}


#: Versions of the software that a result depends on.
VERSIONS = {"feemodel": __version__, "numpy": np.__version__, "python": platform.python_version()}


def with_metadata(found: "xarray.Dataset", rng: Any = None) -> "xarray.Dataset":
    """Add a `long_name` to each variable of a result, and the software versions and the seed to its attributes.

    If `rng` is a `Generator`, its seed is unknown, and the attribute `seed` is "a Generator's".

    >>> import xarray
    >>> result = with_metadata(xarray.Dataset({"recovery": ("path", [1.2])}), rng=7)
    >>> result.recovery.long_name, result.seed
    ('fees / cost of posting', '7')
    """
    for name, variable in found.variables.items():
        variable.attrs.setdefault("long_name", LONG_NAMES.get(str(name), str(name).replace("_", " ")))
    drawn = {} if rng is None else {"seed": seed_text(rng)}
    return found.assign_attrs(drawn | {name: text for name, text in VERSIONS.items() if name not in found.attrs})


def described_dataset(
    variables: Mapping[str, Any], coordinates: Mapping[str, Any] = EMPTY, attributes: Mapping[str, Any] = EMPTY
) -> "xarray.Dataset":
    """Return a Dataset with metadata; variables and coordinates are given as `(dimensions, values, unit)`.

    A description may follow the unit: `(dimensions, values, unit, description)`. If the unit is `None`, the variable
    has no attribute `units`. Variables that are not tuples with a unit are passed to xarray unchanged. Raises
    `InvalidInput` if xarray rejects the values.

    >>> made = described_dataset({"base_fee": ("path", [7], "wei / gas")}, {"path": [0]}, {"source": "by hand"})
    >>> made.base_fee.units, made.base_fee.long_name, made.source
    ('wei / gas', 'L1 base fee', 'by hand')
    """
    import xarray as xr

    def column(given: Any) -> Any:
        if not isinstance(given, tuple) or len(given) < 3 or not isinstance(given[2], str | None):
            return given
        named = zip(("units", "long_name"), given[2:], strict=False)
        return (*given[:2], {name: text for name, text in named if text is not None})

    given = {"variables": variables, "coordinates": coordinates}
    made, coords = (
        {key: column(one) for key, one in instance(name, each, Mapping).items()} for name, each in given.items()
    )
    try:
        return with_metadata(xr.Dataset(made, coords, dict(instance("attributes", attributes, Mapping))))
    except (TypeError, ValueError) as error:
        raise InvalidInput("variables", f"expected valid variables of a Dataset ({error})", [*made]) from None


def seed_text(rng: Any) -> str:
    """Return a seed as text, because it may be longer than 64 bits."""
    if isinstance(rng, np.random.SeedSequence):
        spawned = f", spawn key {rng.spawn_key}" if rng.spawn_key else ""
        return f"{rng.entropy}{spawned}"
    return "a Generator's" if isinstance(rng, np.random.Generator) else str(rng)
