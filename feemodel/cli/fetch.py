"""`feemodel fetch`: write block headers of a node, and the tips paid in the blocks, to a Parquet file."""

from typing import Annotated

from feemodel.cli.output import Answer
from feemodel.cli.parameters import BlockRange, Node, real
from feemodel.cli.verb import verb
from feemodel.io.fetch import get_blocks, parse_block_range
from feemodel.io.node import Node as NodeClient


@verb(out=(".parquet",), what="the blocks", required=True)
def command(
    *,
    node: Node,
    blocks: BlockRange,
    tip_percentile: Annotated[float | None, real("percentile of the tips of an L1 block, by gas", "%")] = None,
) -> Answer:
    """Download block headers from a node to a Parquet file; with --tip-percentile, also tips and blob base fees."""
    wanted = parse_block_range(blocks)
    with NodeClient(node) as client:
        table = get_blocks(client, wanted, tip_percentile=tip_percentile, progress=True)
    data: dict[str, int | float] = {"firstBlock": wanted[0], "lastBlock": wanted[-1], "blocks": len(wanted)}
    if tip_percentile is not None:
        data["tipPercentile"] = tip_percentile
    return Answer(data, notes=[f"{len(wanted):,} blocks, {wanted[0]:,} to {wanted[-1]:,}"], file=table)
