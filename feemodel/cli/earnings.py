"""Commands that ask nodes: `earnings` compares payments with the cost of posting, `fetch` downloads headers."""

import json
from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from feemodel.cli.output import TABLES, Answer, Table, counted, in_eth
from feemodel.cli.parameters import FLAT, BlockRange, NodeUrl, Sizing, real, text
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum._quantities import WEI_PER_GWEI, to_hex, to_quantity
from feemodel.ethereum.fee_market import USABLE_BLOB_BYTES
from feemodel.io.fetch import get_blocks, parse_block_range
from feemodel.io.node import Node
from feemodel.io.polled import quantity_in
from feemodel.linea.parameters import COORDINATOR
from feemodel.progress import reporting
from feemodel.quantities import MEANINGS
from feemodel.simulation.surfaces import Submission

if TYPE_CHECKING:
    import pandas as pd

BLOCKS = 50  # L2 blocks in a request
POSTED_TYPES = (0, 1, 2)  # types of transactions whose measured form is known
PAID = ("gasUsed", "effectiveGasPrice")  # fields of a receipt
L1_FEES = ("base_fee_per_gas", "tip", "blob_base_fee")
AMOUNTS = ("paid", "l1_cost", "surplus")


@verb(out=TABLES, what="every transaction")
def command(
    *,
    node: NodeUrl,
    l1_node: Annotated[str, text(MEANINGS["l1_node"], "URL")],
    blocks: BlockRange,
    sizing: Annotated[Sizing, FLAT] = Sizing(),
) -> Answer:
    wanted = parse_block_range(blocks)
    with Node(node) as l2, reporting(True, len(wanted), "blocks of L2") as advance:
        table, others = _transactions(l2, wanted, sizing, advance)
    with Node(l1_node) as l1:
        fees = _l1_fees(l1, table["timestamp"])
    table = table.assign(l1_cost=_shares(table, fees))
    table["surplus"] = table["paid"] - table["l1_cost"]
    paid, cost = int(table["paid"].sum()), float(table["l1_cost"].sum())
    worst = table.nsmallest(10, "surplus")
    notes = [
        f"{counted(len(table))} of blocks {wanted[0]:,} to {wanted[-1]:,} paid {in_eth(paid)}, "
        f"{paid / cost:.3f} times their share of posting, {in_eth(cost)}",
        f"assumed: submissions of one full blob, {USABLE_BLOB_BYTES:,} compressed bytes and "
        f"{COORDINATOR.execution_gas:,} gas, at the L1 fees of the transaction's own time; other costs are not counted",
        f"not counted: {counted(others)} of other types than 0, 1 and 2",
    ]
    shown = worst.assign(**{name: worst[name].astype(float) / WEI_PER_GWEI for name in AMOUNTS})
    rows: list[Any] = shown.drop(columns="timestamp").to_dict("records")
    data = {
        "firstBlock": wanted[0], "lastBlock": wanted[-1], "transactions": len(table), "notCounted": others,
        "paidWei": paid, "l1CostWei": cost, "recovery": paid / cost, "worst": worst.to_dict("records"),
    }  # fmt: skip
    return Answer(data, [Table("the smallest surplus over a share of the cost [gwei]", rows)], notes, file=table)


@verb(out=(".parquet",), what="the blocks", required=True)
def fetch(
    *,
    node: NodeUrl,
    blocks: BlockRange,
    tip_percentile: Annotated[float | None, real("percentile of the tips of an L1 block, by gas", "%")] = None,
) -> Answer:
    wanted = parse_block_range(blocks)
    with Node(node) as client:
        table = get_blocks(client, wanted, tip_percentile=tip_percentile, progress=True)
    data = {"firstBlock": wanted[0], "lastBlock": wanted[-1], "blocks": len(wanted), "tipPercentile": tip_percentile}
    return Answer(data, notes=[f"{counted(len(wanted), 'block')}, {wanted[0]:,} to {wanted[-1]:,}"], file=table)


def _transactions(
    node: Node, wanted: range, sizing: Sizing, advance: Callable[[int], object]
) -> "tuple[pd.DataFrame, int]":
    """Return each transaction's hash, block, time, size and payment, and the number of other transactions."""
    import pandas as pd

    from feemodel.io import parse_transactions
    from feemodel.linea import fee_sizes

    parts, others, codec = [], 0, sizing.read()
    for start in range(wanted.start, wanted.stop, BLOCKS):
        numbers = range(start, min(start + BLOCKS, wanted.stop))
        found = node.batch([("eth_getBlockByNumber", [to_quantity(number), True]) for number in numbers])
        receipts = node.batch([("eth_getBlockReceipts", [to_quantity(number)]) for number in numbers])
        blocks = []
        for number, block, listed in zip(numbers, found, receipts, strict=True):
            try:
                paid = {one["transactionHash"]: {name: quantity_in(name, one[name]) for name in PAID} for one in listed}
                sent = [(one, int(one.get("type", "0x0"), 16), paid[one["hash"]]) for one in block["transactions"]]
                posted = [one | payment for one, kind, payment in sent if kind in POSTED_TYPES]
                blocks.append({"timestamp": quantity_in("timestamp", block["timestamp"]), "transactions": posted})
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                raise UpstreamError(f"the node: block {number:,}: expected block and receipts ({error!r})") from None
            others += len(sent) - len(posted)
        table = parse_transactions(json.dumps(blocks))
        if len(table):
            parts.append(table.assign(size=fee_sizes(table, codec=codec, packed=sizing.packed)))
        advance(len(numbers))
    if not parts:
        named = f"{wanted.start}:{wanted.stop}"
        raise InvalidInput("blocks", "expected blocks with transactions of type 0, 1 or 2", named)
    table = pd.concat(parts, ignore_index=True)
    table["hash"], table["block"] = table["transaction_hash"].map(to_hex), table["block_number"]
    table["paid"] = [gas * price for gas, price in zip(table["gas_used"], table["effective_gas_price"], strict=True)]
    return table[["hash", "block", "timestamp", "size", "paid"]], others


def _l1_fees(node: Node, times: "pd.Series[int]") -> "pd.DataFrame":
    """Return the L1 blocks that were newest at some time from the first to the last, with median tips."""

    def timestamp(number: int) -> int:
        block = node.call("eth_getBlockByNumber", [to_quantity(number), False])
        return quantity_in("timestamp", block["timestamp"])

    numbers = range(quantity_in("eth_blockNumber", node.call("eth_blockNumber")) + 1)
    first, after = (bisect_right(numbers, int(time), key=timestamp) for time in (times.min(), times.max()))
    return get_blocks(node, range(max(0, first - 1), max(1, after)), tip_percentile=50.0, progress=True)


def _shares(table: "pd.DataFrame", fees: "pd.DataFrame") -> Any:
    """Return the share of each transaction in the cost of a submission: by compressed bytes [wei]."""
    import pandas as pd

    times, fees = (one.astype("float64") for one in (table[["timestamp"]], fees[["timestamp", *L1_FEES]]))
    at = pd.merge_asof(times, fees, on="timestamp")
    if at.isna().to_numpy().any():
        raise UpstreamError("the L1 node: expected blocks from before the first transaction")
    cost = Submission().cost(at["base_fee_per_gas"], at["tip"], at["blob_base_fee"])
    return table["size"].to_numpy() * cost.to_numpy() / USABLE_BLOB_BYTES
