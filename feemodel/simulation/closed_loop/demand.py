"""Demand for transactions: a rate that depends on L2 fees, on the time of day and on L1 fees."""

from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np

from feemodel.arguments import check_fields
from feemodel.checks import RealArray, check_limit
from feemodel.errors import InvalidInput
from feemodel.quantities import REAL, Quantity, RealByte
from feemodel.simulation.closed_loop._accounts import Arrivals, DemandTerms
from feemodel.simulation.quantities import FactorAboveZero, Lag, Rate
from feemodel.simulation.surfaces import Workload

HOURS = (24, 168)  # allowed numbers of factors in a cycle: hours of a day, or of a week
GasOfTransaction = Annotated[float, Quantity("gas", double=True, lowest=1_000, hint="in gas; 165 kgas = 165,000")]
BytesOfTransaction = Annotated[float, Quantity("byte", double=True, above_zero=True)]
ReferenceFee = Annotated[
    float, Quantity("wei", double=True, above_zero=True, lowest=1_000, hint="in wei; 300 gwei = 3e11")
]
Elasticity = Annotated[float, Quantity("1", double=True, maximum=100)]
Correlation = Annotated[float, Quantity("1", double=True, minimum=-100, maximum=100)]
LARGEST_PATH = 1 << 28  # maximum number of real transactions of a path, whose indices take 1 GiB


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Demand for transactions: their rate, size and gas.

        arrivals = rate · cycle · (l1_base_fee / median)^l1_correlation · min(choke, (f / reference_fee)^−elasticity)

    `arrivals` is the expected number of transactions per second. `cycle` is the demand factor of the present hour. f is
    the fee of one transaction: the data fee or the total fee, depending on `responds_to`. Use `responds_to="data"` to
    compare data prices, because the data fee is only 0.2–3 % of the total fee on Linea in 2026.

    With a `workload`, the transactions are real: each is drawn from the workload with replacement and pays for its own
    size and gas. Their number is a Poisson draw, and they do not respond to fees. The fields for the bytes, gas and
    calldata of a transaction are then the means of the workload.

    >>> Demand(rate=1.45).bytes_per_transaction
    119.42
    >>> Demand(workload=Workload("two", [100, 300], [21_000, 90_000])).bytes_per_transaction
    200.0
    """

    rate: Rate = 1.45  #: transactions per second at the reference fee
    bytes_per_transaction: BytesOfTransaction = 119.42  #: size of a transaction in the compressed stream
    gas_per_transaction: GasOfTransaction = 165_000.0  #: L2 gas of a transaction
    calldata_per_transaction: RealByte = 0.0  #: calldata of a transaction, for calldata pressure
    elasticity: Elasticity = 0.0  #: assumed price elasticity of demand, to be varied in sweeps
    reference_fee: ReferenceFee | None = None  #: fee f at which the price factor is 1; required if elasticity is not 0
    choke: FactorAboveZero = 10.0  #: maximum of the price factor, reached at low fees
    #: "data": f is the data fee; "total": f is the sum of data, execution and operator fees
    responds_to: Annotated[str, ("data", "total")] = "data"
    #: 24 factors for the hours of a day (UTC), or 168 factors for the hours of a week from Monday 00:00 UTC [1]
    cycle: tuple[float, ...] | None = None
    l1_correlation: Correlation = 0.0  #: exponent of (L1 base fee / median L1 base fee)
    lag: Lag = 0  #: age of the price to which users respond
    poisson: bool = False  #: whether the number of transactions in a step is a Poisson draw
    workload: Workload | None = None  #: real transactions to draw from

    def __post_init__(self) -> None:
        check_fields(self)
        if self.workload is not None:
            self._take_means(self.workload)
            check_fields(self)
        if self.elasticity and self.reference_fee is None:
            raise InvalidInput("reference_fee", "expected a fee, because elasticity is not 0", None)
        if self.cycle is not None:
            factors = np.atleast_1d(REAL.check("cycle", self.cycle))
            if factors.shape not in [(hours,) for hours in HOURS] or not factors.any():
                raise InvalidInput("cycle", "expected 24 or 168 factors, not all 0", self.cycle)

    @property
    def resampling(self) -> str:
        """Text that says how real transactions are drawn, for the attributes of results."""
        return f"transactions are drawn with replacement at {self.rate:g} a second; their own times are not used"

    def _take_means(self, workload: Workload) -> None:
        Quantity("byte", minimum=1).check("compressed_size", workload.compressed_size)
        Quantity("gas", minimum=1).check("gas", workload.gas)
        if self.elasticity:
            raise InvalidInput("elasticity", "expected 0, because real transactions do not respond", self.elasticity)
        calldata = 0.0 if workload.calldata is None else float(workload.calldata.mean())
        means = {
            "bytes_per_transaction": float(workload.compressed_size.mean()),
            "gas_per_transaction": float(workload.gas.mean()),
            "calldata_per_transaction": calldata,
        }
        for field in fields(self):
            if field.name in means:
                if (given := getattr(self, field.name)) not in (field.default, means[field.name]):
                    raise InvalidInput(field.name, "expected no value with a workload, which has its own", given)
                object.__setattr__(self, field.name, means[field.name])

    def arrivals(self, activity: RealArray, steps: int, step: float, rng: np.random.Generator) -> Arrivals:
        """Draw the real transactions of a path of `steps` steps; without a workload, there are none.

        >>> drawn = Demand(workload=Workload("one", [100], [21_000])).arrivals(np.ones(1), 3, 12.0,
        ...                                                                    np.random.default_rng(1))
        >>> len(drawn.kind) == drawn.ends[-1], drawn.ends.shape
        (np.True_, (3,))
        """
        if self.workload is None:
            nothing = np.empty(0, np.int64)
            return Arrivals(nothing, nothing.astype(np.int32), nothing, nothing, nothing)
        expected = self.rate * step * np.broadcast_to(activity, steps)
        check_limit(float(expected.sum()), "transactions of a path", LARGEST_PATH)
        ends = np.cumsum(rng.poisson(expected))
        calldata = self.workload.calldata
        columns = (self.workload.compressed_size, self.workload.gas, np.zeros(0) if calldata is None else calldata)
        size, gas, calldata = (np.ascontiguousarray(column, np.int64) for column in columns)
        kind = rng.integers(len(size), size=ends[-1], dtype=np.int32)
        return Arrivals(ends, kind, size, gas, calldata if calldata.size else np.zeros_like(size))

    def activity(self, base_fee: RealArray, typical_base_fee: float, times: RealArray) -> RealArray:
        """Return the factor by which the time of day and L1 fees change demand in each step [1].

        If demand depends neither on the time of day nor on L1 fees, the result is an array with the single element 1.

        Parameters
        ----------
        base_fee : L1 base fee in each step [wei / gas].
        typical_base_fee : median L1 base fee of the history, at which L1 fees do not change demand [wei / gas].
        times : time of each step, in seconds since 1970 [s].

        >>> Demand(l1_correlation=0.5).activity(np.array([4.0, 16.0]), 4.0, np.array([0.0, 12.0])).tolist()
        [1.0, 2.0]
        """
        factors: Any = np.ones(1)
        if self.l1_correlation:
            factors = factors * (base_fee / typical_base_fee) ** self.l1_correlation
        if self.cycle is not None:
            # Count hours from a Monday, when the weekly cycle starts. 1970-01-01 was a Thursday, three days after
            # Monday.
            hour = (times // 3_600.0).astype(np.int64) + 3 * 24
            factors = factors * np.asarray(self.cycle, dtype=np.float64)[hour % len(self.cycle)]
        return np.asarray(factors)

    def terms(self) -> DemandTerms:
        """Convert the demand to the types that the compiled loop requires."""
        same = {name: getattr(self, name) for name in DemandTerms._fields if hasattr(self, name)}
        return DemandTerms(**same | {"reference_fee": self.reference_fee or 1.0}, total=self.responds_to == "total")
