"""`feemodel max-send`: the largest value that an account can send on a rollup, and the amount reserved for fees."""

import argparse

from feemodel.cli._options import (
    MissingOption,
    add_l1_fees,
    add_parameters,
    count,
    default_of,
    given_parameters,
    whole_from_0,
)
from feemodel.cli._output import print_json, print_table
from feemodel.ethereum._quantities import WEI_PER_ETH


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from feemodel.rollups._sending import max_send

    ahead, tip = default_of(max_send, "blocks_ahead"), default_of(max_send, "max_priority_fee")
    parser.add_argument("chain", help="op-mainnet, base, arbitrum-one, …; `feemodel chains` lists them")
    parser.add_argument("call", help='a call without a value: {"to": "0x…"}')
    parser.add_argument("--balance", type=whole_from_0, required=True, metavar="WEI", help="balance of the sender")
    parser.add_argument(
        "--base-fee", type=whole_from_0, required=True, metavar="WEI", help="base fee of the chain's newest block"
    )
    add_l1_fees(parser, "as known to the chain")
    parser.add_argument(
        "--price-per-unit", type=whole_from_0, metavar="WEI", help="price per unit of Arbitrum's L1 pricing"
    )
    parser.add_argument(
        "--gas", type=count, default=21_000, help="gas of the call; on Arbitrum, without the gas for L1"
    )
    parser.add_argument(
        "--blocks-ahead", type=whole_from_0, default=ahead, metavar="N", help="number of blocks until inclusion"
    )
    parser.add_argument("--priority-fee", type=whole_from_0, default=tip, metavar="WEI", help="priority fee per gas")
    parser.add_argument(
        "--max-fee",
        type=whole_from_0,
        metavar="WEI",
        help="maximum fee per gas (default: the upper bound of the base fee until inclusion)",
    )
    parser.add_argument("--at", metavar="DATE", help="use the rule of this day (default: the newest rule)")
    add_parameters(parser)


def run(options: argparse.Namespace) -> int:
    from feemodel.io._documents import parse_json
    from feemodel.rollups import Now, max_send
    from feemodel.rollups._sending import needs_l1_fees
    from feemodel.rollups.factors import token_per_eth
    from feemodel.rollups.rules import parameters_of

    call = parse_json(options.call, "call")
    if needs_l1_fees(options.chain, options.price_per_unit):
        for name in ("l1_base_fee", "blob_base_fee"):
            if getattr(options, name) is None:
                option = "--" + name.replace("_", "-")
                raise MissingOption(option, f"required in wei, because {options.chain} charges for data")
    now = Now(
        base_fee=options.base_fee, l1_base_fee=options.l1_base_fee or 0,
        blob_base_fee=1 if options.blob_base_fee is None else options.blob_base_fee,
        price_per_unit=options.price_per_unit,
    )  # fmt: skip
    given = given_parameters(options.set)
    terms = parameters_of(options.chain, at=options.at, parameters=given)
    found = max_send(
        options.chain, options.balance, call, now=now, gas_limit=options.gas, blocks_ahead=options.blocks_ahead,
        max_priority_fee=options.priority_fee, max_fee_per_gas=options.max_fee, at=options.at,
        parameters=given,
    )  # fmt: skip
    if options.json:
        print_json({"chain": options.chain, "token": terms.chain.token, **found.as_dict()})
        return 0
    title = f"{options.chain}, blocks ahead: {options.blocks_ahead:,}; gas limit {found.gas_limit:,}, "
    title += f"max fee {found.max_fee_per_gas:,} wei per gas"
    gas = found.held - found.l1_fee - found.operator_fee
    rows = [("balance", options.balance), ("gas limit · max fee", gas), ("data fee (L1 part)", found.l1_fee),
            ("operator fee", found.operator_fee), ("reserved for fees", found.held)]  # fmt: skip
    token = terms.chain.token
    per_eth = token_per_eth(terms)

    def shown(wei: int) -> str:
        own = f"{wei / WEI_PER_ETH:.9f} {token}"
        return own if token == "ETH" or per_eth is None else f"{own} = {wei / per_eth / WEI_PER_ETH:.9f} ETH"

    cells = [(name, f"{wei:,}", shown(wei)) for name, wei in rows]
    if found.max_value is None:
        cells.append(("largest value", "none", "the balance does not cover the fees"))
    else:
        cells.append(("largest value", f"{found.max_value:,}", shown(found.max_value)))
    print_table(title, ("", "wei", ""), cells)
    return 0
