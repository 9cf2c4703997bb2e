"""Presets of the explorer: costs of the server and of real chains, L1 fees of real days, and example transactions."""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import groupby
from operator import attrgetter
from statistics import fmean
from typing import Any

import msgspec

from feemodel import __version__
from feemodel.ethereum import to_quantity
from feemodel.ethereum._transaction import LINEA_CHAIN_ID
from feemodel.explorer.inputs import EXAMPLE, POINTS, SOURCES, defaults_of, to_wire
from feemodel.io.shipped import L1_FEES, L1Sample, shipped_l1_samples
from feemodel.linea.parameters import LINEA_PRESETS, LineaPreset
from feemodel.linea.pricing_forms import CostPerByte, Form, form_of
from feemodel.rollups.chains import CHAINS
from feemodel.simulation.surfaces import Submission

DAY = 144  # number of ten-minute means per day
DEVELOPMENT = 1337  # chain id of the development genesis
#: Chain id → address of a token: USDC on Linea, and the token ALD of the development genesis.
TOKENS: Mapping[int, str] = {
    LINEA_CHAIN_ID: "0x176211869ca2b568f2a7d4ee941e073a821ee1ff",
    DEVELOPMENT: "0xaaaa2a3e812a24562cd3f7b309273796b2c3aaaa",
}
#: Chain id → signed token transfer: a real transfer on Linea, or a transfer by the development chain's first account.
SIGNED: Mapping[int, str] = {
    LINEA_CHAIN_ID: (
        "0x02f8b182e70807840243d5808402625a0082f23094176211869ca2b568f2a7d4ee941e073a821ee1ff80b844a9059cbb00000000000000"
        "000000000070997970c51812dc3a010c7d01b50e0d17dc79c800000000000000000000000000000000000000000000000000000000017d78"
        "40c001a0cfc4819c5a24229ae056d3e39e99c1ca7ee8e9331dc6340d775b35628637658ca01eff7450d45b5e85bad1844323877be0df7b90"
        "14765e2349b68c68be66749e23"
    ),
    DEVELOPMENT: (
        "0x02f8b1820539808402aea5408402faf08082ea6094aaaa2a3e812a24562cd3f7b309273796b2c3aaaa80b844a9059cbb00000000000000"
        "000000000070997970c51812dc3a010c7d01b50e0d17dc79c80000000000000000000000000000000000000000000000015af1d78b58c400"
        "00c001a07c19de3208d4623fc707a89b12a74fdd1e30ef92e61ec08e86f46c2017ad7553a01008bc741afb0c843aa6df2b806a6480b2605a"
        "585aebb0b838712428d1484d3e"
    ),
}
_SENDER, _RECEIVER = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", "70997970c51812dc3a010c7d01b50e0d17dc79c8"


def presets(*, form: Form | None, reason: str | None, preset: LineaPreset, chain_id: int) -> dict[str, Any]:
    """Return the inputs of a fee with their defaults, costs of real chains, L1 fees of real days, and examples.

    Without a `form`, the server has no prices for this `reason`, and the defaults are those of the preset.
    """
    usual = form or form_of(CostPerByte.name, preset)
    defaults, own = dict(EXAMPLE), {"pricing": usual.name}
    for name, kind in POINTS.items():
        known = {field: to_wire(field, value) for field, value in defaults_of(name, usual, preset).items()}
        defaults = known | defaults
        own |= {field.encode_name: known[field.encode_name] for field in msgspec.structs.fields(kind) if field.required}
    return {
        "server": None if form is None else own,
        "reason": reason,
        "version": __version__,
        "chain": next((chain.name for chain in CHAINS.values() if chain.chain_id == chain_id), None),
        "chains": [_chain(one) for one in LINEA_PRESETS.values()],
        "days": shipped_days(),
        "fields": [{"name": name, "default": defaults[name], "source": source} for name, source in SOURCES.items()],
        "chainId": to_quantity(chain_id),
        "examples": example_subjects(chain_id),
    }


def _chain(preset: LineaPreset) -> dict[str, Any]:
    costs = {
        "fixedCost": preset.fixed_cost, "variableCost": preset.variable_cost, "minGasPrice": preset.eth_gas_price,
        "baseFee": preset.base_fee, "margin": preset.estimate_margin,
    }  # fmt: skip
    known = {"name": preset.name, "date": preset.date.isoformat(), "source": preset.source}
    return known | {name: to_wire(name, cost) for name, cost in costs.items()}


def l1_days(samples: Iterable[L1Sample]) -> list[dict[str, Any]]:
    """Return the days with the minimum, median and maximum posting cost, and the ten minutes with the maximum cost.

    Parameters
    ----------
    samples : ten-minute means in order of time; incomplete days are left out.

    >>> quiet = [L1Sample(f"2026-01-10T{i // 6:02}:{i % 6}0:00", 1e8, 1e6) for i in range(DAY)]
    >>> [day["date"] for day in l1_days([*quiet, L1Sample("2026-01-11T00:00:00", 1e9, 1e6)])][2:]
    ['2026-01-10', '2026-01-11 00:00 UTC']
    """
    samples = list(samples)
    by_day = ((day, list(group)) for day, group in groupby(samples, key=attrgetter("day")))
    means = (
        L1Sample(day, fmean(one.base_fee for one in group), fmean(one.blob_base_fee for one in group))
        for day, group in by_day
        if len(group) >= DAY
    )
    days, peak = sorted(means, key=_cost), max(samples, key=_cost)
    chosen = {
        "Calm day": days[0],
        "Median day": days[len(days) // 2],
        "Most expensive day": days[-1],
        "Most expensive ten minutes": peak._replace(time=f"{peak.time[:16].replace('T', ' ')} UTC"),
    }
    return [
        {
            "name": label.lower().replace(" ", "-").replace("ten-", ""),
            "label": label,
            "date": sample.time,
            "l1BaseFee": to_quantity(_four_digits(sample.base_fee)),
            "blobBaseFee": to_quantity(_four_digits(sample.blob_base_fee)),
            "source": f"Ethereum mainnet, means over every tenth block, to four digits; {L1_FEES}",
        }
        for label, sample in chosen.items()
    ]


@cache
def shipped_days() -> list[dict[str, Any]]:
    """Return the result of `l1_days` for the L1 fees that are part of the package."""
    return l1_days(shipped_l1_samples())


def _cost(sample: L1Sample) -> float:
    return float(Submission().cost_per_byte(sample.base_fee, sample.blob_base_fee))


def _four_digits(mean: float) -> int:
    return int(float(f"{mean:.4g}"))


def example_subjects(chain_id: int) -> list[dict[str, Any]]:
    """Return example calls and transactions for a chain: a transfer, and a token call if a token is known.

    On the development chain the sender has ether and tokens. On all chains except the development chain, the sender's
    balances are not known, so the examples send no ether and approve tokens instead of transferring tokens.

    >>> [(one["name"], one["label"]) for one in example_subjects(59_144)][:2]
    [('transfer', 'a transfer'), ('token', 'a token approval, as a call')]
    """
    funded = chain_id == DEVELOPMENT
    call = {"from": _SENDER, "to": f"0x{_RECEIVER}", "value": "0xde0b6b3a7640000" if funded else "0x0"}
    found: list[dict[str, Any]] = [{"name": "transfer", "label": "a transfer", "subject": call}]
    if (token := TOKENS.get(chain_id)) is not None:
        selector, verb = ("a9059cbb", "transfer") if funded else ("095ea7b3", "approval")
        data = f"0x{selector}{_RECEIVER:0>64}{25_000_000:064x}"
        subject = {"from": _SENDER, "to": token, "data": data}
        found.append({"name": "token", "label": f"a token {verb}, as a call", "subject": subject})
    if chain_id in SIGNED:
        found.append({"name": "signed", "label": "a token transfer, signed", "subject": SIGNED[chain_id]})
    return found
