"""State of a worker. The parent loads files once; each worker opens its ledger and nodes in its event loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

from prometheus_client.core import Metric

from feemodel.errors import UpstreamError
from feemodel.estimates.prices import suggested_tip
from feemodel.estimates.rollup import Estimates, GasSource, Measuring
from feemodel.ethereum._transaction import LINEA_CHAIN_ID
from feemodel.io.polled import Polled
from feemodel.server import explorer
from feemodel.server.dispatch import Dispatcher, Method, methods_of
from feemodel.server.errors import as_call_error
from feemodel.server.execute import Executor
from feemodel.server.loaded import Loaded
from feemodel.server.methods import ChainMethods, NodeMethods, accounts, client_version
from feemodel.server.metrics import gauge
from feemodel.server.node import Upstream
from feemodel.server.prices import CurrentPrices, FixedPrices, polled_l1_prices
from feemodel.server.proofs import Ledger

# Methods of the rollup; existing clients of Linea use the prefix `linea_`.
ESTIMATES, PROOFS = (("rollup_" + name, "linea_" + name) for name in ("estimateGas", "getProof"))


class Service:
    """The methods of one worker, with the chain, ledger, node and prices that they use.

    A service must be created within an event loop; `lifespan` starts and stops the service.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.settings = settings = loaded.settings
        self.chain = loaded.chain
        self.measuring = Measuring(loaded.codec, settings.measured, settings.packed)
        loaded.codec.size(bytes(64))  # compiles the codec's kernels before the first request
        node, l1_node = settings.node, settings.l1_node
        self.upstream = None if node is None else Upstream(settings, node, loaded.chain_id, loaded.held)
        self.head = None if self.upstream is None else self.upstream.head
        self._l1 = None if l1_node is None else polled_l1_prices(settings, l1_node)
        self._polled: list[Polled[Any]] = [one for one in (self.head, self._l1) if one is not None]
        self.ledger = None if loaded.store is None else Ledger(str(loaded.store), self.head)
        kind = CurrentPrices if self._polled else FixedPrices
        self.pricing = kind(settings, self.chain, self.head, self._l1)
        self._executor = None if self.chain is None else Executor(self.chain, settings)
        self.gas: GasSource | None = self._executor or self.upstream
        self._warm = asyncio.Event()
        self.methods = self._methods()

    def _methods(self) -> dict[str, Method]:
        methods = {"eth_accounts": Method(accounts), "web3_clientVersion": Method(client_version)}
        if self.upstream is not None:
            methods |= methods_of(NodeMethods(self.upstream, self.pricing))
        if self._executor is not None:
            methods |= methods_of(ChainMethods(self._executor, self.pricing))
        if self.gas is not None:
            estimates = Estimates(self.gas, self.pricing, self.measuring)
            methods |= dict.fromkeys(ESTIMATES, Method(estimates.estimate))
        if self.ledger is not None:
            methods |= dict.fromkeys(PROOFS, Method(self.ledger.proof))
        methods["feemodel_pricing"] = Method(self.pricing.describe)
        return methods | explorer.methods_of(self)

    def dispatcher(self) -> Dispatcher:
        """Return the dispatcher of the methods."""
        forward = None if self.upstream is None else self.upstream.forward
        return Dispatcher(self.methods, forward)

    def chain_id(self) -> int:
        """Return the id of the served chain, or Linea's until the node has reported its own."""
        if self.chain is not None:
            return self.chain.call_state.chain_id
        known = None if self.upstream is None else self.upstream.chain_id.known
        return LINEA_CHAIN_ID if known is None else known

    @asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncIterator[None]:
        """Poll the nodes while the context is open, then close all connections and files."""
        first = [asyncio.create_task(one.refresh()) for one in self._polled]
        first.append(asyncio.create_task(self._warm_up()))
        await asyncio.wait(first, timeout=self.settings.node_timeout)  # a slow node does not delay the start for longer
        tasks = [*first, *(asyncio.create_task(one.keep()) for one in self._polled)]
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
        """Close all connections, files and threads."""
        if self._executor is not None:
            self._executor.close()
        for one in self._polled:
            await one.node.close()
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
        return [f"{one.what}: {one.error}" for one in self._polled if one.error is not None]

    def gauges(self) -> list[Metric]:
        """Return the metrics of this moment; unknown values are left out."""
        node, costs, l1 = self.head, self.pricing.polled, self._l1
        engine = None if self._executor is None else self._executor.engine
        is_up = None if node is None else float(node.error is None and node.last is not None)
        try:
            now = self.pricing.now
            prices = asdict(now.form) | {"suggested_tip": suggested_tip(now)}
        except UpstreamError:
            prices = {}
        return [
            gauge("pricing_age_seconds", "Age of the block that the polled costs come from", costs and costs.age),
            gauge("pricing_poll_age_seconds", "Time since the costs were last polled", costs and costs.poll_age),
            gauge("node_block_age_seconds", "Age of the newest block of the node", node and node.age),
            gauge("node_poll_age_seconds", "Time since the node was last polled", node and node.poll_age),
            gauge("node_up", "Whether the last poll of the node succeeded", is_up),
            gauge("ready", "Whether estimates and proofs are answered", float(not self.unready())),
            gauge("price", "Current price, in wei, or a ratio", prices),
            gauge("l1_fee", "Newest fee of L1, in wei per gas", l1.last.l1_fees if l1 and l1.last else {}),
            gauge("engine", "The engine that executes calls", {} if engine is None else {engine.name: 1.0}),
        ]
