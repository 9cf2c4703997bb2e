"""Presets of the explorer: costs of the server and of real chains, L1 fees of real days, and example transactions."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from feemodel import __version__
from feemodel.ethereum import to_quantity
from feemodel.ethereum._transaction import LINEA_CHAIN_ID
from feemodel.explorer.inputs import EXAMPLE, POINTS, SOURCES, defaults_of, to_wire
from feemodel.io.shipped import L1_FEES, l1_fees_by_day
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
_SENDER, _RECEIVER = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", "70997970c51812dc3a010c7d01b50e0d17dc79c8"


def presets(*, form: Form | None, reason: str | None, preset: LineaPreset, chain_id: int) -> dict[str, Any]:
    """Return the inputs of a fee with their defaults, costs of real chains, L1 fees of real days, and examples.

    Without a `form`, the server has no prices; `reason` says why, and the defaults are those of the preset.
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
    return known | {"pricing": CostPerByte.name} | {name: to_wire(name, cost) for name, cost in costs.items()}


@cache
def shipped_days() -> list[dict[str, Any]]:
    """Return the days of the shipped month with the lowest, the median and the highest mean cost of posting.

    >>> [day["date"] for day in shipped_days()]
    ['2026-01-10', '2026-01-28', '2026-02-05']
    """
    means = [(day, *fees.mean(axis=0).tolist()) for day, fees in l1_fees_by_day().items() if len(fees) >= DAY]
    means.sort(key=lambda one: Submission().cost_per_byte(*one[1:]))
    chosen = {"Calm day": means[0], "Median day": means[len(means) // 2], "Most expensive day": means[-1]}
    return [
        {
            "name": label.lower().replace(" ", "-"),
            "label": label,
            "date": day,
            "l1BaseFee": to_quantity(_four_digits(base_fee)),
            "blobBaseFee": to_quantity(_four_digits(blob_base_fee)),
            "source": f"Ethereum mainnet, means over every tenth block, to four digits; {L1_FEES}",
        }
        for label, (day, base_fee, blob_base_fee) in chosen.items()
    ]


def _four_digits(mean: float) -> int:
    return int(float(f"{mean:.4g}"))


def example_subjects(chain_id: int) -> list[dict[str, Any]]:
    """Return example calls for a chain: a transfer, and a token call if a token is known.

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
    return found
