"""The Dask cluster of `--dask`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from feemodel._extras import need
from feemodel.errors import UpstreamError

TIMEOUT = 5  # seconds until a scheduler that does not answer is an error


@contextmanager
def dask_client(address: str | None) -> Iterator[Any]:
    """Yield a client of the Dask scheduler at an address, or `None` without an address: the tasks run in threads."""
    if address is None:
        yield None
        return
    need("--dask", "distributed")
    import distributed

    client_of: Any = distributed.Client
    try:
        client = client_of(address, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UpstreamError(f"{address}: no Dask scheduler answers ({error})") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=TIMEOUT)
        except TimeoutError:
            raise UpstreamError(f"{address}: the Dask cluster has no workers") from None
        yield client
