"""Daily profit and loss of the operator, in ETH and USD, on a cash basis and on an accrual basis.

    fees paid by users = data + execution + operator fees
    rent paid to L1 = data fee + blob fee + verification fee
    onchain profit = fees paid by users − rent paid to L1
    profit = onchain profit − proving − overhead

The rent paid to L1 includes both the burned base fee and the priority fee. These terms have the same meaning as at
growthepie, at L2BEAT and in the Dune spell `rollup_economics_ethereum`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from feemodel.checks import instance, mapping, real_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_ETH
from feemodel.linea.revenue_vault import RevenueVault, burn_and_bridge, submit_invoice

BASES = ("cash", "accrual")

#: Line of the profit and loss statement → variables of the result of `simulate` whose sum is the line.
LINES: dict[str, tuple[str, ...]] = {
    "data_fees": ("data_fees",),
    "execution_fees": ("execution_fees",),
    "operator_fees": ("operator_fees",),
    "fees_paid_by_users": ("data_fees", "execution_fees", "operator_fees"),
    "data_fee": ("data_base_fee", "data_tip", "data_calldata", "data_alternative_layer"),
    "blob_fee": ("data_blob_fee",),
    "verification_fee": ("finalization_base_fee", "finalization_tip"),
    "base_fee_burned": ("data_base_fee", "finalization_base_fee", "data_blob_fee"),
    "priority_fee": ("data_tip", "finalization_tip"),
    "proving": ("proving",),
    "overhead": ("overhead",),
}
RENT = ("data_fee", "blob_fee", "verification_fee")
ACCRUED = ("accrued_data_cost", "accrued_finalization_cost")


def profit_and_loss(result: xr.Dataset, *, eth_usd: Mapping[str, float] | None = None) -> xr.Dataset:
    """Compute the operator's profit and loss on each day of a simulation.

    Parameters
    ----------
    result : result of `feemodel.simulate`. Call `simulate` with `days="utc"` for days from midnight to midnight UTC.
    eth_usd : price of one ETH on each date, such as `{"2026-01-08": 3_100.0}`. If `eth_usd` is given, the result also
        contains every line in USD [USD].

    Returns
    -------
    Dataset over `path` and `day`: every line of the profit and loss [ETH] and, with `eth_usd`, the same line with the
    suffix `_usd` [USD]. `rent_paid_to_l1`, `onchain_profit` and `profit` have the additional dimension `basis`. On the
    basis "cash", the rent consists of the payments of the day. On the basis "accrual", the rent is the cost of the
    bytes that arrived on the day. `data_fee` includes all calldata.

    Raises
    ------
    InvalidInput : `result` is not a result of `feemodel.simulate`, or `eth_usd` has no price for a day of the result.

    >>> from feemodel.simulation.policies.fixed import Fixed
    >>> from feemodel.simulation.closed_loop.simulator import simulate
    >>> from feemodel.simulation.scenarios import replay
    >>> rows = {"timestamp": [0, 86_400], "base_fee": [7e7] * 2, "blob_base_fee": [4e6] * 2}
    >>> found = profit_and_loss(simulate(replay(rows, source="by hand"), Fixed(price=1e8)))
    >>> [round(found[name].sum().item(), 7) for name in ("fees_paid_by_users", "data_fee", "blob_fee")]
    [0.0014961, 0.0012867, 6.08e-05]
    """
    instance("result", result, xr.Dataset)
    needed = {variable for variables in LINES.values() for variable in variables} | {*ACCRUED}
    if missing := needed - set(map(str, result.data_vars)):
        raise InvalidInput("result", "expected a result of simulate", sorted(missing)[0])
    made = xr.Dataset(coords={name: result[name] for name in ("path", "day", "date", "covered") if name in result})
    for line, variables in LINES.items():
        made[line] = _total(result, variables) / WEI_PER_ETH
    cash = sum((made[line] for line in RENT), xr.zeros_like(made["data_fee"]))
    accrued = _total(result, ACCRUED) / WEI_PER_ETH
    made["rent_paid_to_l1"] = xr.concat([cash, accrued], "basis").assign_coords(basis=[*BASES])
    made["onchain_profit"] = made["fees_paid_by_users"] - made["rent_paid_to_l1"]
    made["profit"] = made["onchain_profit"] - made["proving"] - made["overhead"]
    for name in made.data_vars:
        made[name].attrs = {"units": "ETH", "long_name": str(name).replace("_", " ")}
    if eth_usd is not None:
        price = xr.DataArray(_prices(result, eth_usd), dims="day")
        for name in [*made.data_vars]:
            made[f"{name}_usd"] = (made[name] * price).assign_attrs(units="USD", long_name=made[name].long_name)
    return made.assign_attrs(result.attrs)


def linea_surplus(result: xr.Dataset, *, minimum_fee: int = 0) -> xr.Dataset:
    """Compute how Linea's revenue vault spends the fees of each day.

    The vault pays the operator's costs first. Of the remaining ETH, the vault burns 20 % and spends 80 % on LINEA
    tokens.

    Parameters
    ----------
    result : result of `feemodel.simulate`. The operator's invoice for a day is the sum of the cash costs of the day,
        rounded to whole wei.
    minimum_fee : fee of the bridge message [wei].

    Returns
    -------
    Dataset over `path` and `day`: `invoice_paid`, `eth_burned`, `spent_on_linea`, and `invoice_arrears`, the unpaid
    invoices at the end of the day [ETH].

    Raises
    ------
    InvalidInput : `result` is not a result of `feemodel.simulate`, or `minimum_fee` is negative.

    >>> from feemodel.simulation.policies.fixed import Fixed
    >>> from feemodel.simulation.closed_loop.simulator import simulate
    >>> from feemodel.simulation.scenarios import replay
    >>> rows = {"timestamp": [0, 86_400], "base_fee": [7e7] * 2, "blob_base_fee": [4e6] * 2}
    >>> found = linea_surplus(simulate(replay(rows, source="by hand"), Fixed(price=1e8)))
    >>> round(found["spent_on_linea"].sum().item() / found["eth_burned"].sum().item(), 9)
    4.0
    """
    lines = profit_and_loss(result)
    fees = np.rint(lines["fees_paid_by_users"].to_numpy() * WEI_PER_ETH)
    costs = lines["rent_paid_to_l1"].sel(basis="cash") + lines["proving"] + lines["overhead"]
    invoices = np.rint(costs.transpose("path", "day").to_numpy() * WEI_PER_ETH)
    names = ("invoice_paid", "eth_burned", "spent_on_linea", "invoice_arrears")
    found: dict[str, Any] = {name: np.zeros(fees.shape) for name in names}
    for path in range(fees.shape[0]):
        vault = RevenueVault()
        for day in range(fees.shape[1]):
            vault = vault._replace(balance=vault.balance + int(fees[path, day]))
            paid = 0
            if invoices[path, day] > 0:
                vault, paid = submit_invoice(vault, int(invoices[path, day]))
            surplus = burn_and_bridge(vault, minimum_fee=minimum_fee)
            vault = surplus.vault
            values = (paid + surplus.arrears_paid, surplus.eth_burned, surplus.spent_on_linea, vault.invoice_arrears)
            for name, value in zip(names, values, strict=True):
                found[name][path, day] = value / WEI_PER_ETH
    attributes = {name: {"units": "ETH", "long_name": name.replace("_", " ")} for name in names}
    columns = {name: (("path", "day"), values, attributes[name]) for name, values in found.items()}
    return xr.Dataset(columns, lines.coords, result.attrs).drop_vars("basis")


def _total(result: xr.Dataset, variables: tuple[str, ...]) -> xr.DataArray:
    return sum((result[name] for name in variables[1:]), result[variables[0]].copy())


def _prices(result: xr.Dataset, eth_usd: Mapping[str, float]) -> list[float]:
    prices = mapping("eth_usd", eth_usd)
    if "date" not in result.coords:
        raise InvalidInput("result", "expected days with dates, because prices are given by date", [*result.coords])
    dates = [str(date)[:10] for date in result["date"].to_numpy()]
    for date in dates:
        if date not in prices:
            raise InvalidInput("eth_usd", "expected a price for every day", date)
    return [real_scalar(f"eth_usd[{date}]", prices[date], unit="USD") for date in dates]
