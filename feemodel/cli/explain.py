"""`feemodel explain`: one transaction or call, priced part by part, and whether each stage of a node would take it."""

import argparse
from typing import Any

from feemodel.cli.options import add_codec, add_pricing, count, read_codec, read_pricing, whole_from_0
from feemodel.cli.output import in_eth, in_gwei, print_json, print_table
from feemodel.cli.subjects import estimated_gas, gas_limit, read_subject, signing_fields
from feemodel.ethereum.call import Call
from feemodel.ethereum.transaction import FORMS, LINEA_CHAIN_ID, Transaction
from feemodel.linea.explanation import explain
from feemodel.linea.node import stages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("subject", help="a signed transaction (0x…), a call ({…}), a file with either, or - for stdin")
    parser.add_argument("--gas", type=count, help="the gas estimate (a transfer's, or the gas limit)")
    parser.add_argument("--gas-used", type=count, help="what execution took, for the check after it")
    parser.add_argument("--nonce", type=whole_from_0, help="of a call that names none (0)")
    parser.add_argument("--chain-id", type=whole_from_0, help=f"of a call that names none ({LINEA_CHAIN_ID})")
    parser.add_argument("--form", default="sender_unsigned", choices=FORMS, help="what is measured (%(default)s)")
    parser.add_argument("--check", action="store_true", help="exit with 1 unless every stage accepts it")
    add_codec(parser)
    add_pricing(parser)


def run(options: argparse.Namespace) -> int:
    preset, form = read_pricing(options)
    subject = read_subject(options.subject)
    nonce, chain_id = signing_fields(subject, options.nonce, options.chain_id)
    answer = explain(
        subject,
        _gas(subject, options),
        form=form,
        checks=stages(preset),
        codec=read_codec(options),
        measured=options.form,
        packed=options.packed,
        nonce=nonce,
        chain_id=chain_id,
    )
    if options.json:
        print_json(answer)
    else:
        _print(answer)
    return 1 if options.check and not all(stage["accepted"] for stage in answer["stages"]) else 0


def _print(answer: dict[str, Any]) -> None:
    size, measured = f"{answer['compressedSize']:,}", f"{answer['measuredBytes']:,} bytes ({answer['form']})"
    gas = ", ".join(f"{amount:,} {kind}" for kind, amount in answer["gas"].items())
    print(f"A {answer['subject']} of {measured}, {size} by {answer['codec']}; gas: {gas}\n")
    _print_fee(answer)
    wallets = [tuple(_grouped(cell) for cell in row.values()) for row in answer["wallets"]]
    print_table("What a wallet would set", ("wallet", "maxPriorityFeePerGas", "maxFeePerGas"), wallets)
    offered = answer["offeredPricePerGas"]
    title = "At the suggested fee" if offered is None else f"At the {in_gwei(offered)} per gas that it offers"
    columns = ("stage", "margin", "gas", "requiredPricePerGas", "outcome")
    checks = [tuple(_grouped(row[column]) for column in columns) for row in answer["stages"]]
    print_table(title, ("stage", "margin", "gas", "asks wei per gas", "outcome"), checks)
    if "used" not in answer["gas"]:
        print("The check after execution needs --gas-used.")


def _print_fee(answer: dict[str, Any]) -> None:
    total = answer["totalWei"]
    rows = [
        (part, f"{per_gas:,}", f"{answer['feeWei'][part]:,}", f"{answer['feeWei'][part] / total:.1%}")
        for part, per_gas in answer["feePerGas"].items()
        if per_gas
    ]
    rows.append(("in all", f"{sum(answer['feePerGas'].values()):,}", f"{total:,}", in_eth(total)))
    title = f"Fee, {answer['pricing']} form, margin {answer['margin']:g}"
    print_table(title, ("part", "wei per gas", "wei", "share"), rows)


def _grouped(cell: Any) -> str:
    return f"{cell:,}" if isinstance(cell, (int, float)) else str(cell)


def _gas(subject: Call | Transaction, options: argparse.Namespace) -> dict[str, int]:
    estimated, limit = estimated_gas(subject, options.gas), gas_limit(subject)
    gas = {"estimated": estimated, "limit": limit if limit is not None else estimated}
    return gas if options.gas_used is None else gas | {"used": options.gas_used}
