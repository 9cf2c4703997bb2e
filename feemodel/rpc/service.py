"""What one process of the server answers from, put together from the settings; opened and closed with its loop."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any

import msgspec

from feemodel.errors import FeeModelError, InvalidInput, LimitExceeded, UnreadableFile, UpstreamError, unreadable
from feemodel.ethereum.quantities import from_quantity, to_hex, to_quantity
from feemodel.ethereum.transaction import LINEA_CHAIN_ID
from feemodel.execution.estimate import GasEstimate
from feemodel.execution.limits import Limits
from feemodel.explorer.history import EVERY, PriceHistory
from feemodel.explorer.methods import explorer_methods, shipped_days
from feemodel.io.node import Node, NodeError
from feemodel.ledger.database import read_ahead
from feemodel.ledger.scheme import Scheme
from feemodel.ledger.store import Block, Store
from feemodel.rpc.chain import Chain, genesis_chain, read_genesis_document, replay_chain
from feemodel.rpc.chain_methods import ChainMethods
from feemodel.rpc.development import development_genesis
from feemodel.rpc.feeds import Feeds, asked
from feemodel.rpc.head import ChainId, Polled
from feemodel.rpc.jsonrpc import Methods, Unavailable
from feemodel.rpc.methods import (
    absent_methods,
    both_names,
    common_methods,
    gas_of,
    ledger_failed,
    ledger_methods,
    proof_methods,
    upstream_methods,
)
from feemodel.rpc.openrpc import document
from feemodel.rpc.pricing import (
    Prices,
    Pricing,
    configured_prices,
    fetch_l1_prices,
    recorded_prices,
    rounded,
)
from feemodel.rpc.runner import Runner
from feemodel.rpc.settings import Settings
from feemodel.rpc.upstream import Upstream, Upstreams, block_call, block_hash
from feemodel.sizes.codecs import Codec, Zstd, get_codec
from feemodel.sizes.lzss import Lzss

WARM_UP_AFTER = 1.0  # so that the first callers have the processors to themselves [s]


class Service:
    """The methods of one process, and what stands behind them.

    Parameters
    ----------
    settings : which chain, prices, sizes and limits.
    store : the ledger that proves, `None` for none.
    count_estimate : called with every gas estimate.
    chain_ids : memory that all processes of a server share for the chain ids of `node` and `l1_node`, see
        `feemodel.rpc.head.ChainId`; `None` where there is one process.

    Made, started and closed within one event loop. Raises `InvalidInput` and `UnreadableFile` for settings that nothing
    can be answered from.
    """

    def __init__(
        self,
        settings: Settings,
        store: Path | None,
        *,
        count_estimate: Callable[[GasEstimate], None] = lambda estimate: None,
        chain_ids: tuple[Any, Any] = (None, None),
    ) -> None:
        self.settings, self._count_estimate = settings, count_estimate
        self.store = None if store is None else Store(store, read_only=True)
        self._polled: list[Polled[Any]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._loading: asyncio.Task[None] | None = None
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="polling")
        self._l1 = None  # with one retry: it is asked again soon enough
        if settings.l1_node is not None:
            self._l1 = Node(settings.l1_node, timeout=settings.node_timeout, retries=1)
        self._l1_chain_id = ChainId(chain_ids[1])
        self.upstream = self._opened_upstream(ChainId(chain_ids[0]))
        self.chain = None if self.upstream is not None else _chain(settings, self.store)
        if self.chain is not None and self.store is not None:
            check_same_chain(self.chain, self.store)
        self.pricing = self._opened_pricing()
        self.prices = PriceHistory(lambda: self.pricing.current().form)
        self.runner: Runner | None = None
        self.methods: Methods = self._methods()
        ask = None if self.upstream is None else self.upstream.call
        self.feeds = Feeds(ask, self.pricing.describe, every=settings.watch_seconds)

    def _opened_upstream(self, chain: ChainId) -> Upstreams | None:
        settings = self.settings
        if settings.node is None:
            return None
        held = None
        if self.store is not None:
            if self.store.chain_id is not None:
                chain.check(to_quantity(self.store.chain_id))  # the node must have it from its first answer on
            held = hashed_head(self.store)
        nodes = [
            Upstream(
                url, timeout=settings.node_timeout, poll_seconds=settings.poll_seconds, max_age=settings.max_age,
                chain=chain, held=held,
            ) for url in settings.nodes
        ]  # fmt: skip
        self._polled += [node.head for node in nodes]
        return Upstreams(nodes, chain, max_lag=settings.max_lag, max_age=settings.max_age)

    def _opened_pricing(self) -> Pricing:
        """The costs that the settings name, and the base fee of the chain that is served."""
        settings, chain, upstream, node = self.settings, self.chain, self.upstream, self._l1
        costs: Callable[[], Prices]
        polled: Callable[[], Polled[Any]] | None
        if node is not None:
            fees: Polled[Prices] = Polled(
                "L1 fees", lambda: fetch_l1_prices(settings, node, self._l1_chain_id), every=settings.poll_seconds,
                max_age=settings.max_age, threads=self._threads, node=node,
            )  # fmt: skip
            self._polled.append(fees)
            costs, polled = lambda: fees.value, lambda: fees
        elif settings.costs == "record" and upstream is not None:
            costs, polled = lambda: _announced_prices(settings, upstream), lambda: upstream.head
        elif settings.costs == "record":
            if chain is None:
                raise InvalidInput("costs", "expected a chain whose newest block has a pricing record", "record")
            recorded = recorded_prices(settings, chain.extra_data)
            costs, polled = lambda: recorded, None
        else:
            configured = configured_prices(settings)
            costs, polled = lambda: configured, None
        is_fixed = settings.base_fee is not None
        still = 0 if chain is None or is_fixed else chain.next_base_fee

        def least_base_fee() -> int:
            if upstream is None:
                return still
            head = upstream.priced_head()  # which must be new even where the base fee is fixed: the gas is its state's
            return 0 if is_fixed else head.next_base_fee()

        return Pricing(settings.costs, costs, polled, least_base_fee, base_fee_is_fixed=is_fixed)

    def _methods(self) -> dict[str, Any]:
        settings = self.settings
        limits = Limits(
            gas_cap=settings.gas_cap, total_gas=settings.total_gas, seconds=settings.seconds,
            max_call_gas=settings.max_call_gas,
        )  # fmt: skip
        codec = _codec(settings)
        codec.size(bytes(64))  # no request waits until its kernels are compiled
        measuring = {"codec": codec, "measured": settings.measured, "packed": settings.packed}
        shared: dict[str, Any] = {
            "override_accounts": settings.override_accounts,
            "override_slots": settings.override_slots,
            **measuring,
        }
        methods: dict[str, Any] = {}
        if self.upstream is not None:
            methods |= upstream_methods(
                self.upstream, self.pricing, limits, prefix=settings.prefix, more=settings.pass_methods, **shared
            )
        elif self.chain is not None:
            self.runner = Runner(settings.engine, limits, processes=settings.processes, queue=settings.queue)
            chain = ChainMethods(
                self.chain, self.runner, self.pricing, limits, settings.tolerance, self._count_estimate, **shared
            )
            methods |= both_names(settings.prefix, "estimateGas", chain.estimate) | chain.methods()
        if self.store is not None:
            proofs = proof_methods(self.store, key_limit=settings.key_limit, prefix=settings.prefix)
            methods |= {name: _after(self.load_hashing, method) for name, method in proofs.items()}
            if self.chain is None and self.upstream is None:
                methods |= ledger_methods(self.store)
        methods |= common_methods(self.pricing)
        explained: dict[str, Any] = {
            "form": lambda: self.pricing.current().form,
            "preset": configured_prices(settings).preset,
            "prices": self.prices,
            **measuring,
        }
        if self.chain is not None or self.upstream is not None:
            explained["chain_id"] = self._chain_id
        if (upstream := self.upstream) is not None:
            explained["ask_node"] = partial(asked, upstream.call)
        if "eth_estimateGas" in methods:
            explained["estimate"] = gas_of(methods)
        methods |= explorer_methods(**explained)
        methods["feemodel_film"] = _one_at_a_time(methods["feemodel_film"])
        if upstream is not None:
            for name in ("feemodel_pricing", "feemodel_explain"):  # with the base fee that an estimate has now
                methods[name] = _after(lambda: upstream.current.look(), methods[name])
        methods["rpc.discover"] = lambda: msgspec.Raw(document(self.answered))
        return absent_methods(settings.prefix) | methods

    @property
    def answered(self) -> Methods:
        """The methods that are answered, without those that are known and refused."""
        return {name: method for name, method in self.methods.items() if not isinstance(method, Unavailable)}

    def _chain_id(self) -> int:
        """Of the chain that is served, or of Linea until a node has named its own."""
        if self.chain is not None:
            return self.chain.call_state.chain_id
        known = None if self.upstream is None else self.upstream.chain.known
        return LINEA_CHAIN_ID if known is None else known

    async def start(self) -> None:
        """Look at the nodes for the first time, then again and again; later load what only some requests need."""
        if self.settings.store is not None:  # a ledger that is named is there to be proved
            await self.load_hashing()
        first = [asyncio.create_task(polled.refresh()) for polled in self._polled]
        if first:  # a node that is slow to answer keeps no caller from learning so
            await asyncio.wait(first, timeout=self.settings.node_timeout)
        self._tasks = [*first, *(asyncio.create_task(polled.keep()) for polled in self._polled)]
        self._tasks.append(asyncio.create_task(self._warm_up()))
        self._tasks.append(asyncio.create_task(self._note_prices()))

    async def _warm_up(self) -> None:
        """Load the compiled hashing, the ledger's pages and the shipped L1 fees, and start a child process.

        All before somebody needs them.
        """
        await asyncio.sleep(WARM_UP_AFTER)
        await asyncio.to_thread(shipped_days)
        await self.load_hashing()
        if self.store is not None:
            with suppress(OSError):  # which the first proof says
                pieces = read_ahead(self.store.path)
                while await asyncio.to_thread(next, pieces, None):  # one at a time, so that a stop need not wait
                    pass
        if self.runner is not None and self.chain is not None:
            with suppress(LimitExceeded):  # all processes are started by callers already
                await self.runner.warm_up(self.chain.call_state)

    async def _note_prices(self) -> None:
        """Keep the prices of every full minute, which are those of the other processes then."""
        while True:
            self.prices.note()
            await asyncio.sleep(EVERY - self.prices.clock() % EVERY)

    async def load_hashing(self) -> None:
        """Wait until the compiled hashing of the ledger is loaded, which a thread does once.

        It takes half a second, and half a minute on a busy machine without kept kernels: in the serving thread nobody
        would be answered meanwhile.
        """
        if self.store is None:
            return
        if self._loading is None:
            self._loading = asyncio.create_task(asyncio.to_thread(_loaded, self.store.scheme))
        await asyncio.shield(self._loading)  # others wait for it too

    @property
    def is_compiling(self) -> bool:
        """Whether a thread loads, and perhaps compiles, the hashing of the ledger."""
        return self._loading is not None and not self._loading.done()

    async def close(self) -> None:
        """Stop looking, end the children, close what is open."""
        self.feeds.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.runner is not None:
            self.runner.close()
        if self.upstream is not None:
            self.upstream.close()
        if self._l1 is not None:
            self._l1.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self.store is not None:
            self.store.close()

    def health(self) -> dict[str, Any]:
        """That the process is alive, and how fresh is what it knows of other nodes."""
        state: dict[str, Any] = {"status": "ok"}
        if self.upstream is not None:
            state["node"] = {"chainId": self.upstream.chain.known, **_seen(self.upstream.head)}
            head = self.upstream.head.last
            state["node"]["block"] = None if head is None else head.number
            if len(self.upstream.nodes) > 1:
                state["nodes"] = [self._node_seen(node) for node in self.upstream.nodes]
        if (polled := self.pricing.polled) is not None:
            state["pricing"] = {"source": self.pricing.source, **_seen(polled)}
        if self.store is not None:
            try:
                self.store.check_file()
                state["finalizedBlock"] = self.store.finalized
                if (note := self.unlike_ledger()) is not None:
                    state["note"] = note
            except UnreadableFile as error:
                state |= {"status": "degraded", "ledger": ledger_failed(error).message}
        return state

    def _node_seen(self, node: Upstream) -> dict[str, Any]:
        upstreams, head = self.upstream, node.head.last
        assert upstreams is not None
        return {
            **_seen(node.head),
            "block": None if head is None else head.number,
            "lag": upstreams.lag(node),
            "latencySeconds": rounded(node.latency),
            "inUse": node is upstreams.current,
        }

    def gauges(self) -> dict[str, dict[str, float | None]]:
        """Prices and nodes, for `feemodel.rpc.metrics.Metrics.text`."""
        found: dict[str, dict[str, float | None]] = {"price": {}}
        with suppress(FeeModelError):  # prices that cannot be known are left out
            described = self.pricing.describe()
            for name, value in described.items():
                if isinstance(value, str) and value.startswith("0x"):
                    found["price"][name] = int(value, 16)
                elif name in ("margin", "gasPriceRatio"):
                    found["price"][name] = float(value)
        if self.upstream is not None:
            for number, node in enumerate(self.upstream.nodes):
                head = node.head.last
                values = {
                    "node_up": float(node.head.error is None and head is not None),
                    "node_latency_seconds": node.latency or None,
                    "node_head_block": None if head is None else head.number,
                    "node_lag_blocks": self.upstream.lag(node),
                    "node_in_use": float(node is self.upstream.current),
                }
                for name, value in values.items():
                    found.setdefault(name, {})[str(number)] = value
        return found

    def states(self) -> dict[str, float | None]:
        """Ages and blocks by their names in `feemodel.rpc.metrics.STATES`; `None` for what is not known."""
        priced, node = self.pricing.polled, None if self.upstream is None else self.upstream.head
        served = None if node is None or node.last is None else node.last.number
        ledger_head = finalized = None
        if self.store is not None:
            with suppress(UnreadableFile):  # as the health says
                ledger_head, finalized = self.store.head, self.store.finalized
        return {
            "pricing_age_seconds": None if priced is None else priced.age,
            "pricing_poll_age_seconds": None if priced is None else priced.poll_age,
            "node_block_age_seconds": None if node is None else node.age,
            "node_poll_age_seconds": None if node is None else node.poll_age,
            "head_block": served if self.chain is None else self.chain.call_state.block.number,
            "ledger_head_block": None if ledger_head is None else ledger_head.number,
            "finalized_block": finalized,
            "subscriptions": self.feeds.count,
        }

    def unlike_ledger(self) -> str | None:
        """That calls are executed at another block than the ledger's head; `None` where they are not."""
        if self.store is None or self.chain is None:
            return None
        number, head = self.chain.call_state.block.number, self.store.head
        if head is None or head.number == number:
            return None
        return f"calls are executed at block {number}, and the head of the ledger that is proved from is {head.number}"

    def _needed(self) -> list[Polled[Any]]:
        """What an estimate needs to be looked up: of several nodes the one in use."""
        if self.upstream is None:
            return self._polled
        heads = [node.head for node in self.upstream.nodes]
        return [self.upstream.head, *(polled for polled in self._polled if polled not in heads)]

    def unready(self) -> list[str]:
        """Why an estimate would not be answered now; nothing where it would."""
        refused = []
        try:
            self.pricing.current()
        except Exception as error:  # whatever it is, it is what a caller would get
            refused = [str(error)]
        try:
            if self.store is not None:
                self.store.check_file()
        except UnreadableFile as error:
            refused.append(ledger_failed(error).message)
        failed = [polled.error for polled in self._needed() if polled.error is not None]
        return refused + [error for error in dict.fromkeys(failed) if not any(error in reason for reason in refused)]


def _loaded(scheme: Scheme) -> None:
    scheme.load()
    gc.collect()
    gc.freeze()  # as at the start: the compiler's objects stay


def _one_at_a_time(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that computes for long, in a thread; calls wait for each other."""
    turn = asyncio.Lock()

    @wraps(method)
    async def in_thread(*parameters: Any) -> Any:
        async with turn:
            return await asyncio.to_thread(method, *parameters)

    return in_thread


def _after(first: Callable[[], Awaitable[None]], method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that waits for something else first."""

    @wraps(method)
    async def later(*parameters: Any) -> Any:
        await first()
        found = method(*parameters)
        return await found if isinstance(found, Awaitable) else found

    return later


def _announced_prices(settings: Settings, upstream: Upstreams) -> Prices:
    """The prices of the record in a node's newest block; raises `UpstreamError` where there is none."""
    try:
        return recorded_prices(settings, upstream.priced_head().extra_data())
    except InvalidInput as error:  # which is no fault of the caller's parameters
        raise UpstreamError(f"the newest block has no pricing record: {error}") from None


def _seen(polled: Polled[Any]) -> dict[str, Any]:
    return {
        "reachable": polled.error is None,
        "ageSeconds": rounded(polled.age),
        "pollAgeSeconds": rounded(polled.poll_age),
        "error": polled.error,
    }


def _chain(settings: Settings, store: Store | None) -> Chain | None:
    """The chain to execute on; `None` where only proofs are asked for."""
    if settings.replay is not None:
        from feemodel.io.replay import read_replay  # and with it pandas, which nothing else here needs

        return replay_chain(read_replay(settings.replay))
    if settings.genesis is None and settings.store is not None:
        return None
    genesis = development_genesis() if settings.genesis is None else read_genesis_document(settings.genesis)
    return genesis_chain(genesis, state_root=None if store is None else store.block(0).root)


def check_same_chain(chain: Chain, store: Store) -> None:
    """Raise `InvalidInput` where a ledger says that it is of another chain than the one that is executed on."""
    if store.chain_id not in (None, chain.call_state.chain_id):
        reason = f"expected a ledger of the chain {chain.call_state.chain_id}, which is served"
        raise InvalidInput("store", reason, f"{store.path} of the chain {store.chain_id}")
    head, number = store.head, chain.call_state.block.number
    if chain.hash is None or chain.state_root is not None or head is None or number > head.number:
        return  # the hash of a genesis is one of our own
    held = store.block(number)
    if held.hash not in (None, chain.hash):
        reason = f"expected a ledger whose block {number} has the hash 0x{chain.hash.hex()}"
        raise InvalidInput("store", reason, f"0x{(held.hash or b'').hex()}")


def hashed_head(store: Store) -> Block | None:
    """The newest block of a ledger whose hash is that of a chain's header; `None` where it has none.

    A genesis has no hash, or one of our own.
    """
    head = store.head
    return head if head is not None and head.number and head.hash is not None else None


def check_same_node(node: Node, store: Store) -> None:
    """Raise `InvalidInput` where a node is of another chain than a ledger says.

    A node that does not answer is no error: it is compared again with every look at its newest block.
    """
    head = hashed_head(store)
    try:
        chain_id, *blocks = node.outcomes([("eth_chainId", []), *([block_call(head.number)] if head else [])])
        found = None if isinstance(chain_id, NodeError) else from_quantity(chain_id, "eth_chainId")
        hashes = [block_hash(block) for block in blocks]
    except (UpstreamError, InvalidInput):
        return
    if None not in (store.chain_id, found) and store.chain_id != found:
        reason = f"expected a ledger of the chain {found}, which {node.name} serves"
        raise InvalidInput("store", reason, f"{store.path} of the chain {store.chain_id}")
    if head is not None and hashes[0] not in (None, head.hash):
        theirs, ours = to_hex(hashes[0] or b""), to_hex(head.hash or b"")
        reason = f"expected a ledger whose block {head.number} has the hash {theirs}, as {node.name} has it"
        raise InvalidInput("store", reason, f"{store.path}, where it has {ours}")


def _codec(settings: Settings) -> Codec:
    if settings.codec == "lzss":
        return Lzss.from_file(str(settings.dictionary))
    if settings.dictionary is not None:
        try:
            return Zstd(dictionary=Path(settings.dictionary).read_bytes())
        except OSError as error:
            raise unreadable(settings.dictionary, error) from None
    return get_codec(settings.codec)
