"""The methods of a real server, for the tests that send it bad requests."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from feemodel.estimates.chain import copy_development_ledger
from feemodel.server.app import Service
from feemodel.server.settings import Settings
from feemodel.server.workers import load

#: Small, so that what a good request costs does not keep the bad ones waiting.
SETTINGS = Settings(gas_cap=100_000, seconds=5.0)


@contextmanager
def real_service(loop: asyncio.AbstractEventLoop, settings: Settings = SETTINGS) -> Iterator[Service]:
    """The service of one process, over a development ledger of its own, started and closed in an event loop."""
    with TemporaryDirectory(prefix="feemodel-fuzz-") as folder:
        path = Path(folder) / "ledger.db"
        copy_development_ledger(path)
        service = loop.run_until_complete(_started(settings, path))
        try:
            yield service
        finally:
            loop.run_until_complete(service.close())


async def _started(settings: Settings, store: Path) -> Service:
    return Service(load(settings, store))
