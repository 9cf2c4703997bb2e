"""The server's method `feemodel_forecast`, which runs in a separate process.

The server itself does not import `feemodel.simulation`. The forecasting process starts with the first call of the
method, has a lower priority than the server, and is killed if a forecast takes too long.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from feemodel._extras import need
from feemodel.cli._output import length_text
from feemodel.errors import InvalidInput, LimitExceeded, MissingExtra, UnreadableFile, UpstreamError
from feemodel.estimates.json_types import Quantity
from feemodel.ethereum._quantities import to_quantity
from feemodel.explorer._process import ChildProcess
from feemodel.server._node import opened_node
from feemodel.server.dispatch import Method
from feemodel.server.service import Service

if TYPE_CHECKING:
    from feemodel.io._l1_window import L1Window

NAME = "feemodel_forecast"
PACKAGES = ("pandas", "scipy", "xarray")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
WAITS = 2  # (maximum wait for the process) / (time limit of a call)
MAINNET_ID = 1


class ForecastOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a forecast."""

    horizons: Annotated[tuple[str, ...], Meta(min_length=1, max_length=20)] = ("10min", "1h", "6h", "24h")
    method: Literal["auto", "climatology", "persistence", "seasonal", "blend"] = "auto"
    paths: Annotated[int, Meta(ge=1, le=1_000)] = 1_000


class HorizonForecast(msgspec.Struct, frozen=True, rename="camel"):
    """Quantiles at one horizon, in the order of `quantiles`."""

    horizon: str
    base_fee: list[Quantity]  #: [wei / gas]
    blob_base_fee: list[Quantity]  #: [wei / gas]
    submission_cost: list[Quantity]  #: cost of one blob and its transaction [wei]


class ForecastResult(msgspec.Struct, frozen=True, rename="camel"):
    """A forecast of L1 fees."""

    origin: str  #: time of the newest L1 fees in the history, ISO 8601, UTC
    age_seconds: float
    method: str
    source: str
    assumed: str
    quantiles: list[float]
    horizons: list[HorizonForecast]


@dataclass(frozen=True, slots=True)
class ServedHistory:
    """L1 fees for the forecast process: the path of a file, or columns of fees with a note on assumptions."""

    source: str
    columns: dict[str, Any] | None = None
    assumed: str = ""


class ForecastMethod:
    """`feemodel_forecast`, an extension of the server.

    The method is served if the settings name an L1 node or a file of L1 fees, and the extra `simulation` is installed.

    Parameters
    ----------
    service : the `Service` object of the server's worker process.

    Raises `UnreadableFile` if the file of L1 fees does not exist.
    """

    def __init__(self, service: Service) -> None:
        settings = service.settings
        self.methods: dict[str, Method] = {}
        self.reasons: dict[str, str] = {}
        self.routes = ()
        self._seconds, self._queue, self._waiting = settings.seconds, settings.queue, 0
        self._turn, self._process = asyncio.Lock(), ChildProcess("forecast", _load)
        self._file = settings.l1_history
        self._window: L1Window | None = None
        try:
            need(NAME, *PACKAGES)
        except MissingExtra as error:
            self.reasons[NAME] = str(error)
            return
        if self._file is not None:
            if not Path(self._file).is_file():
                raise UnreadableFile(f"{self._file}: no such file")
        elif settings.l1_node is not None:
            self._window = _window_of(service, settings.l1_node)
        else:
            needed = "--l1-history FILE, or --costs l1 --l1-node URL"
            self.reasons[NAME] = f"{NAME} needs L1 fees: feemodel serve {needed}"
            return
        self.methods[NAME] = Method(self.forecast)

    async def forecast(self, options: ForecastOptions | None = None) -> ForecastResult:
        """Forecast L1's base fee, blob base fee and the cost of a submission: quantiles at several horizons."""
        async with self._in_turn():
            history = await self._history()
            return await self._process.run(partial(_forecast, history, options or ForecastOptions()), self._seconds)

    async def close(self) -> None:
        """End the process, and close the connections."""
        self._process.close()
        if self._window is not None:
            await self._window.close()

    async def _history(self) -> ServedHistory:
        if self._window is None:
            return ServedHistory(str(self._file))
        window = await self._window.read(self._seconds)
        assumed = "" if window.chain_id == MAINNET_ID else f"Ethereum's blob rules on the chain {window.chain_id}"
        return ServedHistory("the L1 node", window.columns, assumed)

    @asynccontextmanager
    async def _in_turn(self) -> AsyncIterator[None]:
        """Wait until the process is free, and acquire it. The forecast process computes one forecast at a time."""
        if self._waiting >= self._queue:
            raise LimitExceeded(f"too many calls wait for a forecast: at most {self._queue:,}")
        seconds = WAITS * self._seconds
        self._waiting += 1
        try:
            await asyncio.wait_for(self._turn.acquire(), seconds)
        except TimeoutError:
            raise LimitExceeded(f"the forecast did not start within {seconds:g} s") from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._turn.release()


def _window_of(service: Service, url: str) -> "L1Window":
    """Return the window of recent fees of an L1 node."""
    from feemodel.io._l1_window import L1Window  # imports pandas, which a server without forecasts does not need

    settings = service.settings
    return L1Window(
        opened_node(settings, url), service.l1_chain_id, tip_blocks=settings.l1_blocks,
        tip_percentile=settings.l1_percentile, max_age=settings.max_age,
    )  # fmt: skip


def _load() -> None:
    """Import and compile the code for forecasts, in the child process."""
    import numpy as np

    from feemodel.simulation.forecast.distribution import forecast

    times = np.arange(0, 8 * 86_400, 600) + 1_770_000_000
    forecast({"timestamp": times, "base_fee": np.full(len(times), 1e9)}, horizons=["10min"], paths=2)


def _forecast(history: ServedHistory, options: ForecastOptions) -> ForecastResult:
    """Compute a forecast, in the child process."""
    from feemodel.io._l1_fees import read_l1_fees
    from feemodel.simulation.forecast.distribution import forecast
    from feemodel.simulation.scenarios import replay

    try:
        if history.columns is None:
            l1 = replay(read_l1_fees(history.source), source=Path(history.source).name)
        else:
            l1 = replay(history.columns, source=history.source, unit="wei")
        found = forecast(l1, horizons=options.horizons, quantiles=QUANTILES, method=options.method, paths=options.paths)
    except InvalidInput as error:
        if error.name in ("horizons", "paths"):
            raise
        raise UpstreamError(f"the history of L1 fees: {error}") from None  # the server's history is invalid
    except UnreadableFile as error:
        shown = str(error).replace(history.source, Path(history.source).name)  # hide the server's folders
        raise UpstreamError(f"the history of L1 fees: {shown}") from None
    origin = str(found.attrs["origin"])
    variables = ("base_fee_quantile", "blob_base_fee_quantile", "cost_quantile")
    columns = [
        [[to_quantity(round(value)) for value in row] for row in found[name].to_numpy().tolist()] for name in variables
    ]
    horizons = [length_text(seconds) for seconds in found["horizon"].to_numpy().tolist()]
    return ForecastResult(
        origin=origin,
        age_seconds=round(time.time() - datetime.fromisoformat(origin).timestamp(), 3),
        method=options.method,
        source=history.source if history.columns is not None else Path(history.source).name,
        assumed="; ".join(one for one in (found.attrs["assumed"], history.assumed) if one not in ("", "nothing"))
        or "nothing",
        quantiles=list(QUANTILES),
        horizons=[HorizonForecast(*row) for row in zip(horizons, *columns, strict=True)],
    )
