"""`feemodel fee`: the priority fee for a compressed size and a gas limit."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from feemodel.cli._options import (
    add_l1_fees,
    add_pricing,
    add_rules,
    count,
    read_pricing,
    read_rules_option,
    whole_from_0,
)
from feemodel.cli._output import in_eth, in_gwei, print_json, print_table
from feemodel.errors import InvalidInput
from feemodel.linea.pricing_forms import CostPerByte

if TYPE_CHECKING:
    from feemodel.linea.parameters import LineaPreset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--size", type=whole_from_0, required=True, metavar="BYTES", help="compressed size")
    parser.add_argument("--gas", type=count, required=True, help="gas by which the size part of the fee is divided")
    add_pricing(parser)
    group = parser.add_argument_group("custom rules")
    add_rules(group)
    add_l1_fees(group, "for the variable cost (default: median of the month in the package)")


def run(options: argparse.Namespace) -> int:
    preset, form = read_pricing(options, _preset(options))
    parts = form.parts(options.size, options.gas, preset.estimate_margin)
    total = (form.base_fee + parts.total) * options.gas
    per_gas = {"base": form.base_fee, **parts._asdict()}
    if options.json:
        answer: dict[str, Any] = {} if options.rules is None else {"rules": preset.name}
        answer |= {"pricing": form.name, "margin": preset.estimate_margin, "compressedSize": options.size}
        answer |= {"gas": options.gas, "feePerGas": per_gas, "priorityFeePerGas": parts.total, "totalWei": total}
        print_json(answer)
        return 0
    rows = [(name, f"{part:,}", f"{part * options.gas / total:.1%}") for name, part in per_gas.items() if part]
    rows.append(("priority fee per gas", f"{parts.total:,}", in_gwei(parts.total)))
    rows.append(("total", f"{total:,}", in_eth(total)))
    title = "" if options.rules is None else f"{preset.name}: "
    title += f"{form.name}, {options.size:,} bytes over {options.gas:,} gas, margin {preset.estimate_margin:g}"
    print_table(title, ("part", "wei", ""), rows)
    return 0


def _preset(options: argparse.Namespace) -> "LineaPreset | None":
    """Return Linea's costs and margin from a file of rules and from L1 fees, or `None` without a file."""
    from feemodel.io.shipped import month_l1_fees
    from feemodel.linea.parameters import linea_preset
    from feemodel.rollups.rules import linea_variable_cost, parameters_of

    what_if = read_rules_option(options)
    fees = options.l1_base_fee, options.blob_base_fee
    if what_if is None:
        for name, fee in zip(("--l1-base-fee", "--blob-base-fee"), fees, strict=True):
            if fee is not None:
                raise InvalidInput(name, "expected only with --rules", fee)
        return None
    if "linea" not in what_if.changed:
        raise InvalidInput("--rules", "expected a file with tables [[linea.rows]]", options.rules)
    for name in ("pricing", "record"):
        if getattr(options, name) not in (CostPerByte.name, None):
            raise InvalidInput(f"--{name}", "not valid together with --rules", getattr(options, name))
    base_fee, blob_base_fee = (m if fee is None else fee for fee, m in zip(fees, month_l1_fees(), strict=True))
    parameters = parameters_of(what_if.chains["linea"])
    terms = parameters.known("fixed_cost", "estimate_margin")
    return replace(
        linea_preset(options.preset), name=what_if.name, fixed_cost=terms["fixed_cost"],
        variable_cost=int(linea_variable_cost(parameters, base_fee, blob_base_fee)),
        estimate_margin=terms["estimate_margin"],
    )  # fmt: skip
