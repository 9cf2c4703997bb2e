"""State of a worker. The parent loads files once; each worker opens its ledger and nodes in its event loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

from feemodel.errors import UpstreamError
from feemodel.estimates.prices import Prices, suggested_tip
from feemodel.estimates.rollup import Estimates, GasSource, Measuring
from feemodel.io.node import AsyncNode
from feemodel.io.polled import ChainId, Head, Polled
from feemodel.server import explorer
from feemodel.server.chain_methods import ChainMethods, accounts, client_version
from feemodel.server.dispatch import Dispatcher, Method, document
from feemodel.server.errors import as_call_error
from feemodel.server.execute import Executor
from feemodel.server.loaded import Loaded
from feemodel.server.node import NodeMethods, Upstream, opened_node
from feemodel.server.prices import fetch_l1_prices, pricing_of
from feemodel.server.proofs import Ledger

# Methods of the rollup; existing clients of Linea use the prefix `linea_`.
ESTIMATES, PROOFS = (("rollup_" + name, "linea_" + name) for name in ("estimateGas", "getProof"))


class Service:
    """The methods of one worker, with the chain, ledger, node and prices that they use.

    Parameters
    ----------
    loaded : contents of the files that the parent has read.

    A service must be created within an event loop; `lifespan` starts and stops the service.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.settings = settings = loaded.settings
        self.chain = loaded.chain
        self.measuring = Measuring(loaded.codec, settings.measured, settings.packed)
        loaded.codec.size(bytes(64))  # compiles the codec's kernels before the first request
        self._nodes: list[AsyncNode] = []
        self.upstream: Upstream | None = None
        self.head: Polled[Head] | None = None
        if settings.node is not None:
            self.upstream = Upstream(settings, loaded.chain_id, loaded.held)
            self.head = self.upstream.head
            self._nodes.append(self.upstream.node)
        self.ledger = None if loaded.store is None else Ledger(str(loaded.store), self.head)
        self._fees = self._l1_fees()
        self.pricing = pricing_of(settings, self.chain, self.head, self._fees)
        self._executor: Executor | None = None
        self._warm = asyncio.Event()
        self.gas: GasSource | None = None
        self.methods = self._methods()

    def dispatcher(self) -> Dispatcher:
        """Return the dispatcher of the methods."""
        return Dispatcher(
            self.methods,
            forward=None if self.upstream is None else self.upstream.forward,
            log_calls=self.settings.log == "requests",
        )

    def _l1_fees(self) -> Polled[Prices] | None:
        """Return the prices computed from L1 fees; `None` if the settings name no L1 node."""
        settings = self.settings
        if settings.l1_node is None:
            return None
        node = opened_node(settings, settings.l1_node, "the L1 node")
        self._nodes.append(node)
        fetch = partial(fetch_l1_prices, settings, node, ChainId(called="the L1 node"))
        return Polled("L1 fees", fetch, every=settings.poll_seconds, max_age=settings.max_age, name=node.name)

    def _methods(self) -> dict[str, Method]:
        settings = self.settings
        methods = {"eth_accounts": Method(accounts), "web3_clientVersion": Method(client_version)}
        if self.upstream is not None:
            self.gas = self.upstream
            methods |= NodeMethods(self.upstream, self.pricing, settings.typical_size).methods()
        elif self.chain is not None:
            executor = self._executor = Executor(self.chain, settings)
            methods |= ChainMethods(executor, self.pricing).methods()
            self.gas = executor
        if self.gas is not None:
            estimates = Estimates(self.gas, self.pricing, self.measuring)
            methods |= dict.fromkeys(ESTIMATES, Method(estimates.estimate))
        if self.ledger is not None:
            methods |= dict.fromkeys(PROOFS, Method(self.ledger.proof))
        methods["feemodel_pricing"] = Method(self.pricing.describe)
        methods |= explorer.methods_of(self)
        return methods

    def document(self) -> bytes:
        """Return the OpenRPC document."""
        return document(self.methods)

    @asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncIterator[None]:
        """Poll the nodes while the context is open, then close all connections and files."""
        polled: list[Polled[Any]] = [one for one in (self.head, self._fees) if one is not None]
        first = [asyncio.create_task(one.refresh()) for one in polled]
        first.append(asyncio.create_task(self._warm_up()))
        await asyncio.wait(first, timeout=self.settings.node_timeout)  # a slow node does not delay the start for longer
        tasks = [*first, *(asyncio.create_task(one.keep()) for one in polled)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.close()

    async def _warm_up(self) -> None:
        """Open the ledger and load the engine, so that the first calls do not have to wait."""
        if self.ledger is not None:
            self.ledger.store()
        if self._executor is not None:
            await self._executor.warm_up()
        self._warm.set()

    async def close(self) -> None:
        """Close all connections, files and processes."""
        if self._executor is not None:
            self._executor.close()
        for node in self._nodes:
            await node.close()
        if self.ledger is not None:
            self.ledger.close()

    def unready(self) -> list[str]:
        """Return the reasons why an estimate or a proof would fail now; an empty list if both would succeed."""
        refused = [] if self._warm.is_set() else ["the engine and the ledger are loaded"]
        for check in (self.pricing.describe, *([] if self.ledger is None else [self.ledger.store])):
            try:
                check()
            except Exception as error:
                refused.append(as_call_error(error).message)
        return refused

    def warnings(self) -> list[str]:
        """Return the polls that failed last, although values that they gave before may still be used."""
        polled = [one for one in (self.head, self._fees) if one is not None]
        return [f"{one.what}: {one.error}" for one in polled if one.error is not None]

    def _price_gauges(self) -> dict[str, float | None]:
        """Return the current prices by name, as `feemodel_pricing` has them; empty if there are none."""
        try:
            prices = self.pricing.now
        except UpstreamError:
            return {}
        costs: dict[str, float | None] = asdict(prices.form)
        return costs | {"suggested_tip": suggested_tip(prices)}

    def gauges(self) -> dict[str, dict[str, float | None]]:
        """Return the values of the gauges in `feemodel.server.metrics.GAUGES`."""
        polled, head = self.pricing.polled, self.head
        return {
            "pricing_age_seconds": {"": None if polled is None else polled.age},
            "pricing_poll_age_seconds": {"": None if polled is None else polled.poll_age},
            "node_block_age_seconds": {"": None if head is None else head.age},
            "node_poll_age_seconds": {"": None if head is None else head.poll_age},
            "ready": {"": float(not self.unready())},
            "price": self._price_gauges(),
            "l1_fee": {} if self._fees is None or self._fees.last is None else dict(self._fees.last.l1_fees),
            "node_up": {"": None if head is None else float(head.error is None and head.last is not None)},
            "engine": {} if self._executor is None else {self._executor.engine.name: 1.0},
        }
