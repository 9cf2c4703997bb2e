"""`feemodel fee`: the priority fee for a compressed size and a gas limit."""

import argparse
from typing import Any

from feemodel.cli._options import add_pricing, count, read_pricing, whole_from_0
from feemodel.cli._output import in_eth, in_gwei, print_json, print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--size", type=whole_from_0, required=True, metavar="BYTES", help="compressed size")
    parser.add_argument("--gas", type=count, required=True, help="gas by which the size part of the fee is divided")
    add_pricing(parser)


def run(options: argparse.Namespace) -> int:
    preset, form = read_pricing(options)
    parts = form.parts(options.size, options.gas, preset.estimate_margin)
    total = (form.base_fee + parts.total) * options.gas
    per_gas = {"base": form.base_fee, **parts._asdict()}
    if options.json:
        answer: dict[str, Any] = {"pricing": form.name, "margin": preset.estimate_margin}
        answer |= {"compressedSize": options.size}
        answer |= {"gas": options.gas, "feePerGas": per_gas, "priorityFeePerGas": parts.total, "totalWei": total}
        print_json(answer)
        return 0
    rows = [(name, f"{part:,}", f"{part * options.gas / total:.1%}") for name, part in per_gas.items() if part]
    rows.append(("priority fee per gas", f"{parts.total:,}", in_gwei(parts.total)))
    rows.append(("total", f"{total:,}", in_eth(total)))
    title = f"{form.name}, {options.size:,} bytes over {options.gas:,} gas, margin {preset.estimate_margin:g}"
    print_table(title, ("part", "wei", ""), rows)
    return 0
