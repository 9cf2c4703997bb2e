"""Transactions of an experiment, and the L1 submissions that post their bytes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from feemodel.arguments import check_fields
from feemodel.checks import WholeArray, check_indexes, instance
from feemodel.errors import InvalidInput
from feemodel.ethereum._transaction import LINEA_CHAIN_ID
from feemodel.ethereum._transaction_table import assumptions, known_column, transactions_of
from feemodel.ethereum.fee_market import USABLE_BLOB_BYTES
from feemodel.linea.parameters import ASSUMED_L1_TIP, COORDINATOR
from feemodel.quantities import Quantity
from feemodel.simulation.quantities import Price, WholeBytes, WholeGas
from feemodel.sizes._codecs import Codec, compressed_sizes, get_codec
from feemodel.sizes._lzss import packed_size

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Sizes and gas of a set of transactions.

    Raises `InvalidInput` for columns that are empty, of different lengths, or not integers.

    >>> Workload("one", [128], [21_000]).gas
    array([21000])
    """

    name: str
    compressed_size: WholeArray  #: compressed size of each transaction [byte]
    gas: WholeArray  #: gas of each transaction [gas]
    timestamp: WholeArray | None = None  #: Unix time of each transaction, if known [s]
    calldata: WholeArray | None = None  #: length of each transaction's calldata, if known [byte]

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        instance("name", self.name, str)
        units = {"compressed_size": "bytes", "gas": "gas", "timestamp": "seconds", "calldata": "bytes"}
        check_indexes({name: getattr(self, name) for name in units})
        for name, unit in units.items():
            given = getattr(self, name)
            if given is None and name in ("timestamp", "calldata"):
                continue
            if given.size == 0 if isinstance(given, np.ndarray) else isinstance(given, (list, tuple)) and not given:
                raise InvalidInput("workload", "expected at least one transaction", self.name)
            column = Quantity(unit).check(name, given)
            if not isinstance(column, np.ndarray) or column.ndim != 1:
                reason = "expected a one-dimensional array, with one element for each transaction"
                raise InvalidInput(name, reason, given)
            object.__setattr__(self, name, column)
            if len(column) != len(self):
                raise InvalidInput(name, f"expected one value for each of {len(self):,} sizes", len(column))

    @classmethod
    def from_transactions(
        cls,
        table: "pandas.DataFrame",
        *,
        codec: str | Codec = "zstd",
        packed: bool = False,
        name: str = "transactions",
        chain_id: int = LINEA_CHAIN_ID,
        threads: int | None = None,
    ) -> Self:
        """Return the workload of a table of transactions, with their measured compressed sizes.

        Parameters
        ----------
        table : table of `feemodel.io.read_transactions`, or another table with the same column names.
        codec, packed, chain_id, threads : arguments that are passed to `feemodel.fee_sizes`.
        name : name of the workload. The attributes of results contain the name, followed by the assumptions.

        Notes
        -----
        If the table has the gas used by each transaction, `gas` is the gas used; otherwise, `gas` is the gas limit,
        which is at least as high as the gas used. Timestamps are kept if the table has the timestamps of all
        transactions.

        Raises
        ------
        InvalidInput : a transaction that `feemodel.fee_sizes` rejects, or a table with gas used for only some of the
            transactions.
        """
        sent = transactions_of(table, chain_id=chain_id)
        assumed = assumptions(table, sent, chain_id=chain_id)
        sizes = compressed_sizes([one.measured("sender_unsigned") for one in sent], codec, threads=threads)
        gas = known_column(table, "gas_used")
        if gas is None:
            gas = [one.gas_limit or 0 for one in sent]
            assumed.append("gas limits in place of gas used")
        return cls(
            f"{name} ({get_codec(codec).name}{'; assumed: ' + ', '.join(assumed) if assumed else ''})",
            np.asarray(packed_size(sizes)) if packed else sizes,
            np.asarray(gas, dtype=np.int64),
            None if (times := known_column(table, "timestamp", partly=True)) is None else np.asarray(times),
            np.array([len(one.data) for one in sent], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.compressed_size)

    @property
    def compressed_bytes(self) -> int:
        """Sum of the compressed sizes of all transactions [byte]."""
        return int(self.compressed_size.sum())


@dataclass(frozen=True, slots=True)
class Submission:
    """L1 transaction that posts one full blob of compressed bytes."""

    execution_gas: WholeGas = COORDINATOR.execution_gas  #: L1 gas of the transaction that carries the blob
    blob_gas: WholeGas = COORDINATOR.blob_gas  #: blob gas of a submission
    capacity: WholeBytes = USABLE_BLOB_BYTES  #: capacity of a blob for compressed bytes
    tip: Price = ASSUMED_L1_TIP  #: L1 priority fee

    def __post_init__(self) -> None:
        check_fields(self)

    def cost(self, base_fee: Any, tip: Any, blob_base_fee: Any) -> Any:
        """Return the cost of one submission: (base_fee + tip) · execution_gas + blob_base_fee · blob_gas.

        >>> Submission().cost(np.array([7.0e7]), 1.0e8, np.array([4.0e6])).tolist()
        [11616788000000.0]
        """
        return (base_fee + tip) * self.execution_gas + blob_base_fee * self.blob_gas

    def cost_per_byte(self, base_fee: Any, blob_base_fee: Any) -> Any:
        """Return the cost of posting a byte: cost of a submission / capacity [wei / byte].

        The coordinator's variable cost is slightly lower than the result, because the coordinator divides by
        `COORDINATOR.bytes_per_submission` instead of `capacity`.

        >>> round(Submission().cost_per_byte(70_000_000, 4_000_000))
        89326925
        """
        return self.cost(base_fee, self.tip, blob_base_fee) / self.capacity
