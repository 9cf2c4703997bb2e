"""Single numbers of simulations. A number below `lowest` or above `maximum` is probably in another unit."""

from typing import Annotated

from feemodel.checks import INT64_MAX
from feemodel.quantities import Quantity

PER_SECOND = "per second; 125,280 per day = 1.45"
IN_WEI = "in wei; 0.1 gwei = 100,000,000"
CountAboveZero = Annotated[int, Quantity("1", "number", minimum=1, maximum=INT64_MAX)]
Lag = Annotated[int, Quantity("steps", "lag", maximum=1 << 20)]  # about 145 days of L1 blocks
WholeBytes = Annotated[int, Quantity("byte", "bytes", minimum=1, maximum=INT64_MAX)]
WholeGas = Annotated[int, Quantity("gas", "gas", maximum=INT64_MAX)]
FactorAboveZero = Annotated[float, Quantity("1", "factor", double=True, above_zero=True)]
Price = Annotated[float, Quantity("wei / gas", "price of gas", double=True, lowest=1_000, hint=IN_WEI)]
BytePrice = Annotated[float, Quantity("wei / byte", "price of a byte", double=True, lowest=1_000, hint=IN_WEI)]
Amount = Annotated[float, Quantity("wei", "amount", double=True, lowest=100_000, hint="in wei; 1 ETH are 10**18")]
Duration = Annotated[float, Quantity("s", "time", double=True)]
DurationAboveZero = Annotated[float, Quantity("s", "time", double=True, above_zero=True)]
Delay = Annotated[float, Quantity("s", double=True, above_zero=True, lowest=60, hint="in seconds; 16 h = 57,600")]
Horizon = Annotated[float, Quantity("s", "length", double=True, lowest=600, hint="in seconds; 24 h = 86,400")]
Rate = Annotated[float, Quantity("1 / s", "rate", double=True, maximum=100_000, hint=PER_SECOND)]
