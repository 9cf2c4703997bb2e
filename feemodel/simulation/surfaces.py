"""Fees of transactions, and fees divided by L1 costs, for ranges of L1 fees or of pricing parameters.

The functions return Datasets with the inputs as coordinates.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from feemodel._records import compared_by_value
from feemodel.checks import (
    RealArray,
    WholeArray,
    check_fields,
    check_indexes,
    check_plausible,
    instance,
    real,
    real_scalar,
    text,
    whole,
    whole_scalar,
)
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import IN_WEI, MIN_PRICE
from feemodel.ethereum._transaction import LINEA_CHAIN_ID
from feemodel.ethereum._transaction_table import assumptions, known_column, transactions_of
from feemodel.ethereum.fee_market import USABLE_BLOB_BYTES
from feemodel.linea.coordinator import variable_cost
from feemodel.linea.parameters import ASSUMED_L1_TIP, COORDINATOR
from feemodel.linea.pricing_forms import CostPerByte
from feemodel.simulation._l1_columns import plausible_fees
from feemodel.simulation._metadata import described_dataset
from feemodel.sizes._codecs import Codec, compressed_sizes, get_codec
from feemodel.sizes._lzss import packed_size

if TYPE_CHECKING:
    import pandas
    import xarray


@compared_by_value
@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Sizes and gas of a set of transactions.

    Two workloads are equal if their names, sizes and gas are equal. Workloads are not hashable because their arrays are
    mutable.

    Raises `InvalidInput` for columns that are empty, of different lengths, or not integers.

    >>> Workload("one", [128], [21_000]) == Workload("one", [128], [21_000])
    True
    """

    name: str
    compressed_size: WholeArray  #: compressed size of each transaction [byte]
    gas: WholeArray  #: gas of each transaction [gas]
    timestamp: WholeArray | None = None  #: Unix time of each transaction, if known [s]
    calldata: WholeArray | None = None  #: length of each transaction's calldata, if known [byte]

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        text("name", self.name)
        check_indexes({name: getattr(self, name) for name in ("compressed_size", "gas", "timestamp", "calldata")})
        for name, unit in (("compressed_size", "bytes"), ("gas", "gas")):
            given = getattr(self, name)
            if given.size == 0 if isinstance(given, np.ndarray) else isinstance(given, (list, tuple)) and not given:
                raise InvalidInput("workload", "expected at least one transaction", self.name)
            column = whole(name, given, unit=unit)
            if not isinstance(column, np.ndarray) or column.ndim != 1:
                raise InvalidInput(
                    name, "expected a one-dimensional array, with one element for each transaction", given
                )
            object.__setattr__(self, name, column)
        for name in ("timestamp", "calldata"):
            if getattr(self, name) is not None:
                column = np.atleast_1d(whole(name, getattr(self, name)))
                object.__setattr__(self, name, whole(name, column))  # a single integer may not fit int64
        for name in ("gas", "timestamp", "calldata"):
            column = getattr(self, name)
            if column is not None and len(column) != len(self):
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
        InvalidInput : a transaction that `feemodel.fee_payloads` rejects, or a table with gas used for only some of the
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

    execution_gas: int = COORDINATOR.execution_gas  #: L1 gas of the transaction that carries the blob [gas]
    blob_gas: int = COORDINATOR.blob_gas  #: blob gas of a submission [gas]
    capacity: int = USABLE_BLOB_BYTES  #: capacity of a blob for compressed bytes [byte]
    tip: int = ASSUMED_L1_TIP  #: L1 priority fee [wei / gas]

    def __post_init__(self) -> None:
        check_fields(self, above_zero=("capacity",), unchecked=("tip",))
        real_scalar("tip", self.tip, unit="wei")
        check_plausible("tip", self.tip, IN_WEI, lowest=MIN_PRICE)
        if isinstance(self.tip, np.generic):
            object.__setattr__(self, "tip", self.tip.item())

    def cost(self, base_fee: RealArray, tip: RealArray | float, blob_base_fee: RealArray) -> RealArray:
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
        return variable_cost(
            base_fee,
            self.tip,
            blob_base_fee,
            execution_gas=self.execution_gas,
            blob_gas=self.blob_gas,
            bytes_per_submission=self.capacity,
            margin=1.0,
        )


def recovery_over_l1_fees(
    workload: Workload,
    form: CostPerByte,
    submission: Submission,
    *,
    base_fee: NDArray[np.float64],
    blob_base_fee: NDArray[np.float64],
    margin: NDArray[np.float64],
    unit: str | None = None,
) -> "xarray.Dataset":
    """Compute revenue / (cost of posting) for ranges of L1 fees, while the announced costs are constant.

    Parameters
    ----------
    workload : sizes and gas of transactions.
    form : pricing form with the announced costs.
    submission : L1 transaction that posts the bytes.
    base_fee : L1 base fees, a number or of shape (n,) [wei / gas].
    blob_base_fee : L1 blob base fees, a number or of shape (m,) [wei / gas].
    margin : margins, a number or of shape (k,) [1].
    unit : unit of the L1 fees, as in `feemodel.simulation.scenarios.replay`.

    Returns
    -------
    Dataset with `revenue` over margin [wei]; `cost`, the cost of posting, over base_fee and blob_base_fee [wei]; and
    `recovery`, revenue / cost, over base_fee, blob_base_fee and margin [1].

    A transfer of 128 bytes pays 36,095,245 · 21,000 wei; posting its bytes costs 128 · 89,326,925.4 wei:

    >>> transfers = Workload("transfers", np.array([128]), np.array([21_000]))
    >>> form = CostPerByte(variable_cost=1_000_000_000, fixed_cost=30_000_000)
    >>> fees = {"base_fee": np.array([7e7]), "blob_base_fee": np.array([4e6]), "margin": np.array([1.0])}
    >>> found = recovery_over_l1_fees(transfers, form, Submission(), **fees)
    >>> found.revenue.values.tolist(), found.recovery.values.round(3).tolist()
    ([758000145000.0], [[[66.294]]])
    """
    instance("workload", workload, Workload)
    instance("submission", submission, Submission)
    whole_scalar("form.base_fee", instance("form", form, CostPerByte).base_fee, unit="wei")
    base_fee, blob_base_fee = _axis("base_fee", base_fee), _axis("blob_base_fee", blob_base_fee)
    base_fee = plausible_fees("base_fee", base_fee, unit)
    blob_base_fee = plausible_fees("blob_base_fee", blob_base_fee, unit)
    margin = _axis("margin", margin)
    fees = [form.parts(workload.compressed_size, workload.gas, factor).total for factor in margin.tolist()]
    prices = [np.asarray(form.required_price(fee), dtype=np.float64) for fee in fees]
    revenue = np.array([float((price * workload.gas).sum()) for price in prices])
    cost = workload.compressed_bytes * submission.cost_per_byte(base_fee[:, None], blob_base_fee)
    fees_of_l1 = ("base_fee", "blob_base_fee")
    return described_dataset(
        {
            "revenue": ("margin", revenue, "wei"),
            "cost": (fees_of_l1, cost, "wei"),
            "recovery": (("margin", *fees_of_l1), revenue[:, None, None] / cost, "1"),
        },
        {
            "margin": ("margin", margin, "1"),
            "base_fee": ("base_fee", base_fee, "wei / gas"),
            "blob_base_fee": ("blob_base_fee", blob_base_fee, "wei / gas"),
        },
        {"workload": workload.name, "transactions": len(workload), "pricing": form.name}
        | {"variable_cost": form.variable_cost, "fixed_cost": form.fixed_cost, "tip": submission.tip},
    )


def _axis(name: str, values: Any) -> RealArray:
    """Return the values of an axis. Raises `InvalidInput` for an axis without values."""
    axis = np.atleast_1d(np.asarray(real(name, values)))
    if axis.ndim != 1 or not axis.size:
        raise InvalidInput(name, "expected a one-dimensional array with at least one value", axis.shape)
    return axis
