"""`feemodel finalize`: mark a block of a ledger, and all blocks before it, as final."""

from typing import Annotated

from feemodel import ledger
from feemodel.cli.output import Answer
from feemodel.cli.parameters import Store, whole
from feemodel.cli.verb import verb


@verb()
def command(*, store: Store, block: Annotated[int, whole("number of the newest final block")]) -> Answer:
    """Mark a block of a ledger final. A final block cannot become non-final again."""
    with ledger.Store(store, create=False) as opened:
        opened.finalize(block)
    return Answer({"store": store, "finalized": block}, notes=[f"{store}: block {block:,} is final"])
