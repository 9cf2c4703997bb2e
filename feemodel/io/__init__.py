"""Read data from nodes and files.

Functions named `get_*` fetch data from the network, `read_*` functions read files, and `parse_*` functions parse data
in memory. The columns of the returned tables are described in `feemodel.io.tables`.
"""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.io.fee_history import FeeHistory as FeeHistory
    from feemodel.io.fee_history import parse_fee_history as parse_fee_history
    from feemodel.io.fetch import get_blocks as get_blocks
    from feemodel.io.l1 import read_l1_fees as read_l1_fees
    from feemodel.io.node import Node as Node
    from feemodel.io.node import NodeError as NodeError
    from feemodel.io.results import FinishedFolder as FinishedFolder
    from feemodel.io.results import write_dataset as write_dataset
    from feemodel.io.shipped import read_shipped_l1_fees as read_shipped_l1_fees
    from feemodel.io.shipped import read_shipped_transactions as read_shipped_transactions
    from feemodel.io.transactions import parse_transactions as parse_transactions
    from feemodel.io.transactions import read_transactions as read_transactions

__getattr__, __dir__ = lazy_names(__name__)
