"""`feemodel fee`: the priority fee for a compressed size and a gas limit."""

from typing import Annotated

from feemodel.cli.output import TABLES, Answer, Table, in_eth, in_gwei
from feemodel.cli.parameters import FLAT, Gas, Pricing, number
from feemodel.cli.verb import verb
from feemodel.quantities import CompressedSize


@verb(out=TABLES)
def command(
    *,
    size: Annotated[int, number(CompressedSize)],
    gas: Gas,
    pricing: Annotated[Pricing, FLAT] = Pricing(),
) -> Answer:
    """Compute the priority fee for a size and a gas limit, with its parts."""
    preset, form = pricing.read()
    parts = form.parts(size, gas, preset.estimate_margin)
    per_gas = {"base": form.base_fee, **parts._asdict()}
    total = (form.base_fee + parts.total) * gas
    rows = [
        ("priority fee per gas", f"{parts.total:,}", in_gwei(parts.total)),
        *((name, f"{part:,}", f"{part * gas / total:.1%}") for name, part in per_gas.items() if part),
        ("total", f"{total:,}", in_eth(total)),
    ]
    title = f"{form.name}, {size:,} bytes over {gas:,} gas, margin {preset.estimate_margin:g}"
    return Answer(
        {"pricing": form.name, "margin": preset.estimate_margin, "compressedSize": size, "gas": gas,
         "feePerGas": per_gas, "priorityFeePerGas": parts.total, "totalWei": total},
        tables=[Table(title, ("part", "wei", ""), rows)],
        notes=[f"Costs: {preset.name}."],
        file=[{"part": name, "wei_per_gas": part, "wei": part * gas} for name, part in per_gas.items()],
    )  # fmt: skip
