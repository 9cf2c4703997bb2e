"""`feemodel max-send`: the largest value that an account can send on a rollup, and the amount reserved for fees."""

from typing import Annotated

from feemodel.cli import UsageError
from feemodel.cli.output import TABLES, Answer, Table, camel
from feemodel.cli.parameters import FLAT, Date, L1Fees, Settings, default_of, parse_set, text, whole
from feemodel.cli.verb import verb
from feemodel.ethereum._quantities import WEI_PER_ETH
from feemodel.io.files import parse_json
from feemodel.rollups.rules import parameters_of
from feemodel.rollups.sending import Now, max_send, needs_l1_fees


@verb(out=TABLES)
def command(
    chain: Annotated[str, text("op-mainnet, base, arbitrum-one, …; `feemodel chains` lists them", "CHAIN")],
    call: Annotated[str, text('a call without a value: {"to": "0x…"}', "CALL")],
    /,
    *,
    balance: Annotated[int, whole("balance of the sender", "wei")],
    base_fee: Annotated[int, whole("base fee of the chain's newest block", "wei / gas")],
    l1: Annotated[L1Fees, FLAT] = L1Fees(),
    price_per_unit: Annotated[int | None, whole("price per unit of Arbitrum's L1 pricing", "wei")] = None,
    gas: Annotated[int, whole("gas of the call; on Arbitrum, without the gas for L1", "gas", minimum=1)] = 21_000,
    blocks_ahead: Annotated[int, whole("blocks until inclusion", "block")] = default_of(max_send, "blocks_ahead"),
    priority_fee: Annotated[int, whole("priority fee", "wei / gas")] = default_of(max_send, "max_priority_fee"),
    at: Date = None,
    set: Settings = (),  # type: ignore[assignment]
) -> Answer:  # fmt: skip
    if needs_l1_fees(chain, price_per_unit):
        for name in ("l1_base_fee", "blob_base_fee"):
            if getattr(l1, name) is None:
                raise UsageError(f"--{name.replace('_', '-')}: required in wei, because {chain} charges for data")
    now = Now(
        base_fee=base_fee, l1_base_fee=l1.l1_base_fee or 0,
        blob_base_fee=1 if l1.blob_base_fee is None else l1.blob_base_fee, price_per_unit=price_per_unit,
    )  # fmt: skip
    document, given = parse_json(call, "call"), parse_set(set).get(chain, {})
    token = parameters_of(chain, at=at, parameters=given).chain.token
    found = max_send(
        chain, balance, document, now=now, gas_limit=gas, blocks_ahead=blocks_ahead, max_priority_fee=priority_fee,
        at=at, parameters=given,
    )  # fmt: skip
    amounts = {} if found.max_value is None else {"largest value": found.max_value}
    amounts |= {"reserved for fees": found.held, "data fee (L1 part)": found.l1_fee}
    amounts |= {"operator fee": found.operator_fee, "balance": balance}
    rows = [{"part": name, "wei": wei, token: f"{wei / WEI_PER_ETH:.9f}"} for name, wei in amounts.items()]
    title = f"{chain}, {blocks_ahead:,} blocks ahead, {found.gas_limit:,} gas at {found.max_fee_per_gas:,} wei"
    notes = ["No value can be sent: the balance does not cover the fees."] if found.max_value is None else []
    data = {"chain": chain, "token": token} | {camel(name): part for name, part in found._asdict().items()}
    return Answer(data, [Table(title, rows)], notes)
