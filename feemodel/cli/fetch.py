"""`feemodel fetch`: write block headers of a node, and the tips paid in the blocks, to a Parquet file."""

from pathlib import Path
from typing import Annotated

from feemodel.cli.output import Answer
from feemodel.cli.parameters import BlockRange, Node, real
from feemodel.cli.verb import verb
from feemodel.io.fetch import fetch_blocks, parse_block_range


@verb(out=(".parquet",), what="the blocks", required=True)
def command(
    *,
    node: Node,
    blocks: BlockRange,
    tip_percentile: Annotated[float | None, real("percentile of the tips of an L1 block, by gas", "%")] = None,
    file: Path,
    overwrite: bool = False,
) -> Answer:
    """Download block headers from a node to a Parquet file; with --tip-percentile, also tips and blob base fees."""
    wanted = parse_block_range(blocks)
    fetch_blocks(node, wanted, str(file), overwrite=overwrite, tip_percentile=tip_percentile, progress=True)
    data = {"file": str(file), "firstBlock": wanted[0], "lastBlock": wanted[-1], "blocks": len(wanted)}
    if tip_percentile is not None:
        data["tipPercentile"] = tip_percentile
    return Answer(data, notes=[f"{file}: {len(wanted):,} blocks, {wanted[0]:,} to {wanted[-1]:,}"])
