"""`feemodel fee`: the priority fee for a compressed size and a gas limit."""

from collections.abc import Mapping
from typing import Annotated, Any

from feemodel.cli.output import TABLES, Answer, Table, counted, in_eth
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
    preset, form = pricing.read()
    parts = form.parts(size, gas, preset.estimate_margin)
    per_gas = {"base": form.base_fee, **parts._asdict()}
    total = (form.base_fee + parts.total) * gas
    title = f"{form.name}, {counted(size, 'byte')} over {gas:,} gas, margin {preset.estimate_margin:g}"
    return Answer(
        {"pricing": form.name, "margin": preset.estimate_margin, "compressedSize": size, "gas": gas,
         "feePerGas": per_gas, "priorityFeePerGas": parts.total, "totalWei": total},
        tables=[Table(title, part_rows(per_gas, gas))],
        notes=[f"Priority fee per gas: {parts.total:,} wei. Total: {total:,} wei, {in_eth(total)}.",
               f"Costs: {preset.name}."],
    )  # fmt: skip


def part_rows(per_gas: Mapping[str, int], gas: int) -> list[dict[str, Any]]:
    """Return the parts of a fee as rows of a table."""
    total = max(1, sum(per_gas.values()))
    return [
        {"part": name, "wei_per_gas": part, "wei": part * gas, "share": round(part / total, 3)}
        for name, part in per_gas.items()
    ]
