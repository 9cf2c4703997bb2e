"""Arbitrum's two gas prices in a surge of demand, and its new one under use that no price ends."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from feemodel.checks import instance, real_scalar
from feemodel.errors import LimitExceeded
from feemodel.rollups.arbitrum_l2_pricing import DIA_CONSTRAINTS, GasConstraint, base_fees
from feemodel.rollups.arbitrum_surge import Surge, surge_path
from feemodel.simulation.metadata import with_metadata

MIN_BASE_FEE = 1_000_000_000  # wei / gas, at which the chain's simulator has its demand
MOST_SECONDS = 10_000_000


def surge_prices(surge: Surge | None = None, *, constraints: Sequence[GasConstraint] = DIA_CONSTRAINTS) -> xr.Dataset:
    """The base fee of the legacy rule and of the constraints while a surge of demand comes and goes.

    Parameters
    ----------
    surge : the demand at a base fee of 1 gwei, which is the minimum here; the simulator's own unless given.
    constraints : of the chain; the target of the one with the longest window is the least demand.

    Returns
    -------
    Dataset over `rule` ("legacy", "constraints") and `second`: `base_fee` after the second [wei / gas], `gas_used` in
    it [gas], `paid` for it at the base fee before [wei].

    >>> found = surge_prices()
    >>> (found.base_fee.max("second") / 1e9).round(4).values.tolist(), found.base_fee.argmax("second").values.tolist()
    ([9.1115, 3.6423], [45, 39])
    """
    terms = Surge() if surge is None else instance("surge", surge, Surge)
    paths = [surge_path(terms, constraints=rule, min_base_fee=MIN_BASE_FEE) for rule in (None, constraints)]
    fees, gas = (np.array([getattr(path, name) for path in paths]) for name in ("base_fees", "gas_used"))
    before = np.hstack([np.full((2, 1), MIN_BASE_FEE), fees[:, :-1]])
    variables = {
        "base_fee": (("rule", "second"), fees, {"units": "wei / gas"}),
        "gas_used": (("rule", "second"), gas, {"units": "gas"}),
        "paid": (("rule", "second"), gas.astype(np.float64) * before, {"units": "wei"}),
    }
    seconds = ("second", np.arange(fees.shape[1]), {"units": "s"})
    return with_metadata(xr.Dataset(variables, {"rule": ["legacy", "constraints"], "second": seconds}))


def sustained_use(
    gas_per_second: float,
    hours: float,
    *,
    min_base_fee: int,
    constraints: Sequence[GasConstraint] = DIA_CONSTRAINTS,
) -> xr.Dataset:
    """The base fee, and what is paid, while somebody keeps using so much gas a second whatever it costs.

    Parameters
    ----------
    gas_per_second : [gas / s].
    hours : [h].
    min_base_fee : of the chain [wei / gas].
    constraints : of the chain.

    Returns
    -------
    Dataset over `second`: `base_fee` [wei / gas], `paid` [wei].

    Raises `LimitExceeded` for more than 10,000,000 seconds, and as `base_fees`.

    After a second of 120 million gas the exponent is 1111 + 370 + 95 + 23 + 5 + 1 basis points:

    >>> float(sustained_use(120e6, 0.5, min_base_fee=20_000_000).base_fee[0])
    23480000.0
    """
    gas = int(real_scalar("gas_per_second", gas_per_second, unit="gas"))
    seconds = int(real_scalar("hours", hours) * 3_600)
    if not 1 <= seconds <= MOST_SECONDS:
        raise LimitExceeded(f"{seconds:,} seconds are not between 1 and {MOST_SECONDS:,}")
    # Gas of one block shows in the base fee two blocks later; the fee that holds meanwhile is what its users pay.
    blocks = seconds + 2
    used, times = np.full(blocks, gas), np.arange(blocks)
    fees = base_fees(used, times, constraints=constraints, min_base_fee=min_base_fee).base_fees.astype(np.float64)
    return with_metadata(
        xr.Dataset(
            {
                "base_fee": ("second", fees[2:], {"units": "wei / gas"}),
                "paid": ("second", float(gas) * fees[1:-1], {"units": "wei"}),
            },
            {"second": ("second", np.arange(seconds), {"units": "s"})},
            {"gas_per_second": gas, "min_base_fee": min_base_fee},
        )
    )
