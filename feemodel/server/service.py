"""What a worker answers from: loaded once by the parent, opened by each worker in its event loop."""

import asyncio
import multiprocessing
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any

import msgspec

from feemodel.errors import FeeModelError, InvalidInput, LimitExceeded, UnreadableFile, UpstreamError, unreadable
from feemodel.estimates.chain import Chain, development_genesis, genesis_chain, read_genesis_document, replay_chain
from feemodel.estimates.prices import Prices
from feemodel.estimates.rollup import Measuring
from feemodel.ethereum.quantities import from_quantity, hash_bytes, to_hex, to_quantity
from feemodel.ethereum.transaction import LINEA_CHAIN_ID
from feemodel.execution.limits import Limits
from feemodel.explorer.history import EVERY, PriceHistory
from feemodel.explorer.methods import explorer_methods, shipped_days
from feemodel.io.async_node import AsyncNode
from feemodel.io.documents import contents
from feemodel.ledger.store import Block, Store
from feemodel.server import metrics
from feemodel.server.deadlines import ConnectionLimits, Connections
from feemodel.server.dispatch import METHOD_NOT_FOUND, BatchLimits, CallError, Dispatcher, Method
from feemodel.server.eth import ChainMethods, Executor, OverrideLimits, accounts, client_version
from feemodel.server.execute import Runner
from feemodel.server.node import CHAIN_ID, NEWEST_BLOCK, NEXT_BASE_FEE, ChainId, Head, Polled
from feemodel.server.openrpc import document
from feemodel.server.prices import (
    Pricing,
    configured_prices,
    fetch_l1_prices,
    recorded_prices,
    rounded,
)
from feemodel.server.rollup import ChainEstimates, Ledger, NodeEstimates, both_names, one_at_a_time
from feemodel.server.settings import Settings
from feemodel.sizes.codecs import Codec, Zstd, get_codec
from feemodel.sizes.lzss import Lzss

WARM_UP_AFTER = 1.0  # so that the first callers have the processors to themselves [s]
NOTE_SECONDS = 5.0  # between two notes of what the process uses
#: Namespaces that are not forwarded: what operates a node, and what costs it more than a call.
REFUSED_NAMESPACES = frozenset(("admin", "clique", "debug", "engine", "les", "miner", "personal", "txpool"))
#: Methods that would use accounts of the node, and subscriptions, which need a WebSocket to the node.
REFUSED = frozenset(
    ("eth_sendTransaction", "eth_sign", "eth_signTransaction", "eth_signTypedData", "eth_signTypedData_v4")
)
SUBSCRIPTIONS = frozenset(("eth_subscribe", "eth_unsubscribe"))
NEEDS_NODE = (
    "eth_createAccessList", "eth_getLogs", "eth_getProof", "eth_getTransactionByHash", "eth_getTransactionReceipt",
    "eth_sendRawTransaction", "eth_simulateV1",
)  # fmt: skip


class Loaded(msgspec.Struct, frozen=True):
    """What the parent has read: no worker reads these files again."""

    settings: Settings
    chain: Chain | None  #: to execute on; `None` behind a node, and where only proofs are served
    store: Path | None  #: the ledger that proves
    held: Block | None  #: the ledger's newest block, whose hash a node must have
    chain_id: int | None  #: of the ledger
    codec: Codec


def load(settings: Settings, store: Path | None) -> Loaded:
    """Read what the settings name.

    Parameters
    ----------
    settings : which chain, codec and dictionary.
    store : the ledger that proves; `None` for none.

    Raises `InvalidInput` and `UnreadableFile`.
    """
    root = held = chain_id = chain = None
    if store is not None:
        with Store(store, read_only=True) as opened:  # a missing, damaged or foreign file is refused here
            head, chain_id = opened.head, opened.chain_id
            held = head if head is not None and head.number and head.hash is not None else None
            if settings.node is None and settings.replay is None and head is not None:
                root = opened.block(0).root
            chain = _chain(settings, root)
            if chain is not None:
                check_same_chain(chain, opened)
    else:
        chain = _chain(settings, None)
    return Loaded(settings, chain, store, held, chain_id, _codec(settings))


def _chain(settings: Settings, state_root: bytes | None) -> Chain | None:
    if settings.node is not None:
        return None
    if settings.replay is not None:
        from feemodel.io.replay import read_replay  # and with it pandas, which nothing else here needs

        return replay_chain(read_replay(settings.replay))
    if settings.genesis is None and settings.store is not None:
        return None
    genesis = development_genesis() if settings.genesis is None else read_genesis_document(settings.genesis)
    return genesis_chain(genesis, state_root=state_root)


def check_same_chain(chain: Chain, store: Store) -> None:
    """Raise `InvalidInput` where a ledger is of another chain than the one that is executed on."""
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


def _codec(settings: Settings) -> Codec:
    if settings.codec == "lzss":
        return Lzss.from_file(str(settings.dictionary))
    if settings.dictionary is not None:
        try:
            return Zstd(dictionary=contents(settings.dictionary))
        except OSError as error:
            raise unreadable(settings.dictionary, error) from None
    return get_codec(settings.codec)


class Service:
    """The methods of one worker, and what they are answered from.

    Parameters
    ----------
    loaded : by the parent.

    Created within an event loop; `lifespan` opens and closes it.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.settings = settings = loaded.settings
        self._loaded, self.chain = loaded, loaded.chain
        self._limits = Limits(
            gas_cap=settings.gas_cap, total_gas=settings.total_gas, seconds=settings.seconds,
            max_call_gas=settings.max_call_gas,
        )  # fmt: skip
        self._override_limits = OverrideLimits(settings.override_accounts, settings.override_slots)
        self._measuring = Measuring(loaded.codec, settings.measured, settings.packed)
        loaded.codec.size(bytes(64))  # compiles its kernels before a request needs them
        self.ledger = None if loaded.store is None else Ledger(str(loaded.store), settings.key_limit)
        self._nodes: list[AsyncNode] = []
        self._chain_id = ChainId(loaded.chain_id if settings.node else None)
        self._l1_chain_id = ChainId()
        self.node = None if settings.node is None else self._opened(settings.node)
        self.head: Polled[Head] | None = None
        if self.node is not None:
            heads = [partial(self._fetch_head, self.node)]
            if settings.costs == "record" and settings.fallback_node is not None:
                heads.append(partial(self._fetch_head, self._opened(settings.fallback_node)))
            self.head = Polled(
                "the newest block", heads, every=settings.poll_seconds, max_age=settings.max_age, name=self.node.name
            )
        self._fees: Polled[Prices] | None = None
        self.pricing = self._pricing()
        self.prices = PriceHistory(lambda: self.pricing.current().form)
        self._runner: Runner | None = None
        self.methods = self._methods()
        self._document: bytes | None = None

    def _opened(self, url: str) -> AsyncNode:
        settings = self.settings
        node = AsyncNode(
            url, timeout=settings.node_timeout, requests=settings.node_requests, queue=settings.node_queue,
            max_bytes=settings.node_bytes,
        )  # fmt: skip
        self._nodes.append(node)
        return node

    def dispatcher(self) -> Dispatcher:
        """Return the dispatcher of the methods."""
        settings = self.settings
        reasons = {name: f"{name} needs a node: feemodel serve --node URL forwards it" for name in NEEDS_NODE}
        missing = f"{settings.prefix}_estimateGas needs a chain: feemodel serve --genesis FILE or --node URL"
        reasons |= {f"{prefix}_estimateGas": missing for prefix in (settings.prefix, "linea")}
        reasons |= {
            name: f"{name} is not answered: connect to the node's WebSocket, or let a gateway route it there"
            for name in SUBSCRIPTIONS
        }
        reasons = {name: reason for name, reason in reasons.items() if self.node is None or name in SUBSCRIPTIONS}
        limits = BatchLimits(settings.batch_limit, settings.batch_seconds, settings.batch_bytes)
        return Dispatcher(
            self.methods, forward=None if self.node is None else self._forward, reasons=reasons, limits=limits,
            observe=metrics.observe,
        )  # fmt: skip

    def connections(self) -> Connections:
        """Return the limits on connections."""
        settings = self.settings
        return Connections(
            ConnectionLimits(
                settings.connections, settings.websockets, settings.body_limit, settings.idle_seconds,
                settings.body_seconds, settings.write_seconds,
            )
        )  # fmt: skip

    async def _forward(self, method: str, params: Any) -> Any:
        """Return the node's answer to a method that the server does not have."""
        assert self.node is not None
        namespace = method.partition("_")[0]
        if method in REFUSED or (namespace in REFUSED_NAMESPACES and method not in self.settings.pass_methods):
            raise CallError(METHOD_NOT_FOUND, f"{method} is not forwarded to the node")
        if self._chain_id.known is None:
            await self._refresh_head()
        return await self.node.forward(method, params)

    async def _refresh_head(self) -> None:
        assert self.head is not None
        await self.head.refresh()
        if self._chain_id.known is None:
            raise UpstreamError(self.head.error or "the node: its chain id is not known")

    async def _fetch_head(self, node: AsyncNode) -> Head:
        held = self._loaded.held
        asked = [CHAIN_ID, NEWEST_BLOCK, NEXT_BASE_FEE]
        if held is not None:
            asked.append(("eth_getBlockByNumber", [to_quantity(held.number), False]))
        chain_id, head, history, *block = await node.outcomes(asked)
        self._chain_id.check(node.own(chain_id))
        if held is not None and isinstance(block[0], Mapping):
            _check_hash(held, block[0])
        return Head.parse(node.own(head), history)

    def _pricing(self) -> Pricing:
        """Return the costs that the settings name, with the base fee of the chain that is served."""
        settings, chain, head = self.settings, self.chain, self.head
        costs: Callable[[], Prices]
        polled: Polled[Any] | None = None
        if settings.l1_node is not None:
            urls = [settings.l1_node, *([settings.fallback_node] if settings.fallback_node else [])]
            nodes = list(map(self._opened, urls))
            fetch = [partial(fetch_l1_prices, settings, node, self._l1_chain_id) for node in nodes]
            fees = self._fees = Polled(
                "L1 fees", fetch, every=settings.poll_seconds, max_age=settings.max_age, name=nodes[0].name
            )
            costs, polled = lambda: fees.value, fees
        elif settings.costs == "record" and head is not None:
            costs, polled = partial(_announced_prices, settings, head), head
        elif settings.costs == "record":
            if chain is None:
                raise InvalidInput("costs", "expected a chain whose newest block has a pricing record", "record")
            recorded = recorded_prices(settings, chain.extra_data)
            costs = lambda: recorded  # noqa: E731
        else:
            configured = configured_prices(settings)
            costs = lambda: configured  # noqa: E731
        is_fixed = settings.base_fee is not None
        still = 0 if chain is None or is_fixed else chain.next_base_fee

        def least_base_fee() -> int:
            if head is None:
                return still
            newest = head.value  # which must be new even where the base fee is fixed: the gas is its state's
            return 0 if is_fixed else newest.next_base_fee()

        return Pricing(
            settings.costs, costs, polled, least_base_fee,
            base_fee_is_fixed=is_fixed,
        )  # fmt: skip

    def _methods(self) -> dict[str, Method]:
        settings, methods = self.settings, dict[str, Method]()
        estimates: NodeEstimates | ChainEstimates | None = None
        if self.node is not None and self.head is not None:
            methods |= {"eth_accounts": Method(accounts), "web3_clientVersion": Method(client_version)}
            estimates = NodeEstimates(
                self.node, self._chain_id, self.head, self.pricing, self._measuring, self._limits,
                self._override_limits,
            )  # fmt: skip
        elif self.chain is not None:
            self._runner = Runner(settings.engine, self._limits, threads=settings.processes, queue=settings.queue)
            executor = Executor(self.chain, self._runner, self._limits, self._override_limits)
            count, tolerance = metrics.count_estimate, settings.tolerance
            methods |= ChainMethods(executor, self.pricing, tolerance, count).methods()
            estimates = ChainEstimates(executor, self.pricing, tolerance, self._measuring, count)
        if estimates is not None:
            methods |= both_names(settings.prefix, "estimateGas", Method(estimates.estimate))
        if self.ledger is not None:
            methods |= both_names(settings.prefix, "getProof", Method(self.ledger.proof))
            if self.chain is None and self.node is None:
                methods["eth_chainId"] = Method(self.ledger.chain_id)
                methods["eth_blockNumber"] = Method(self.ledger.block_number)
        methods["feemodel_pricing"] = Method(self.pricing.describe)
        methods |= self._explorer()
        methods["rpc.discover"] = Method(self._discover)
        return {"web3_clientVersion": Method(client_version), **methods}

    def _explorer(self) -> dict[str, Method]:
        """Return the explorer's methods, which check their own parameters."""
        explained: dict[str, Any] = {
            "form": lambda: self.pricing.current().form, "preset": configured_prices(self.settings).preset,
            "prices": self.prices, "chain_id": self._known_chain_id, "codec": self._measuring.codec,
            "measured": self._measuring.form, "packed": self._measuring.packed,
        }  # fmt: skip
        if self.node is not None:
            explained["ask_node"] = self._ask_node
        if self.chain is not None or self.node is not None:
            explained["estimate"] = self._gas_of
        found = explorer_methods(**explained)
        for name in ("feemodel_film", "feemodel_explain", "feemodel_compare"):  # which may take much memory and time
            found[name] = one_at_a_time(found[name])
        methods = {name: Method(function, typed=False) for name, function in found.items()}
        if self.node is not None:
            methods["feemodel_explain"] = Method(_after(self._refresh_head, found["feemodel_explain"]), typed=False)
        return methods

    def _discover(self) -> dict[str, Any]:
        """Return the description of the methods."""
        found: dict[str, Any] = msgspec.json.decode(self.document())
        return found

    async def _ask_node(self, method: str, params: list[Any]) -> Any:
        return msgspec.json.decode(await self._forward(method, params))

    async def _gas_of(self, call: Mapping[str, Any], overrides: Mapping[str, Any] | None) -> int:
        """Return the gas limit of a call, by the same method as `eth_estimateGas`."""
        params = [call, "latest", *([overrides] if overrides else [])]
        method = self.methods.get("eth_estimateGas")
        if method is None:
            return from_quantity(await self._ask_node("eth_estimateGas", params), "eth_estimateGas")
        return from_quantity(await method.function(*method.arguments(params)), "eth_estimateGas")

    def _known_chain_id(self) -> int:
        """Return the id of the chain that is served, or of Linea until a node has named its own."""
        if self.chain is not None:
            return self.chain.call_state.chain_id
        return LINEA_CHAIN_ID if self._chain_id.known is None else self._chain_id.known

    def document(self) -> bytes:
        """Return the OpenRPC document."""
        if self._document is None:
            self._document = document(self.methods)
        return self._document

    @asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncIterator[None]:
        """Poll the nodes and note the prices while the block runs; then close what is open."""
        polled: list[Polled[Any]] = [one for one in (self.head, self._fees) if one is not None]
        first = [asyncio.create_task(one.refresh()) for one in polled]
        if first:  # a node that is slow to answer delays no caller
            await asyncio.wait(first, timeout=self.settings.node_timeout)
        jobs = [
            self._warm_up(),
            self._note_prices(),
            self._note_process(),
            _end_with_parent(),
            *(one.keep() for one in polled),
        ]
        tasks = [*first, *map(asyncio.create_task, jobs)]
        metrics.begin()
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.close()

    async def close(self) -> None:
        """Close what is open."""
        if self._runner is not None:
            self._runner.close()
        for node in self._nodes:
            await node.close()
        if self.ledger is not None:
            self.ledger.close()

    async def _warm_up(self) -> None:
        """Load what only some requests need, before the first of them comes."""
        await asyncio.sleep(WARM_UP_AFTER)
        await asyncio.to_thread(shipped_days)
        with suppress(FeeModelError, OSError):  # which the first call that needs it says
            if self.ledger is not None:
                await self.ledger.load()
                await self.ledger.read_ahead()
        if self._runner is not None and self.chain is not None:
            with suppress(LimitExceeded):  # callers have started all processes
                await self._runner.warm_up(self.chain.call_state)

    async def _note_prices(self) -> None:
        """Keep the prices of every full minute, which are those of the other workers then."""
        while True:
            self.prices.note()
            await asyncio.sleep(EVERY - self.prices.clock() % EVERY)

    async def _note_process(self) -> None:
        while True:
            await asyncio.sleep(NOTE_SECONDS)
            metrics.note_process()

    def health(self) -> dict[str, Any]:
        """Return that the process is alive, and the age of what it knows of other nodes."""
        state: dict[str, Any] = {"status": "ok"}
        if self.head is not None:
            block = None if self.head.last is None else self.head.last.number
            state["node"] = {"chainId": self._chain_id.known, **_seen(self.head), "block": block}
        if (polled := self.pricing.polled) is not None:
            state["pricing"] = {"source": self.pricing.source, **_seen(polled)}
        if self.ledger is not None:
            try:
                store = self.ledger.store()
                state["finalizedBlock"] = store.finalized
                if (note := self._unlike_ledger(store)) is not None:
                    state["note"] = note
            except CallError as error:
                state |= {"status": "degraded", "ledger": error.message}
        return state

    def _unlike_ledger(self, store: Store) -> str | None:
        """Return that calls are executed at another block than the ledger's head; `None` where they are not."""
        if self.chain is None or store.head is None or store.head.number == self.chain.call_state.block.number:
            return None
        number = self.chain.call_state.block.number
        return f"calls are executed at block {number}, and the head of the ledger is {store.head.number}"

    def unready(self) -> list[str]:
        """Return why an estimate would not be answered now; nothing where it would."""
        refused = []
        try:
            self.pricing.current()
        except Exception as error:  # whatever it is, it is what a caller would get
            refused.append(str(error))
        if self.ledger is not None:
            try:
                self.ledger.store()
            except CallError as error:
                refused.append(error.message)
        failed = [one.error for one in (self.head, self._fees) if one is not None and one.error is not None]
        return refused + [error for error in dict.fromkeys(failed) if not any(error in reason for reason in refused)]

    def gauges(self) -> dict[str, dict[str, float | None]]:
        """Return prices and ages for `feemodel.server.metrics.text`."""
        polled, head = self.pricing.polled, self.head
        newest = None if head is None or head.last is None else head.last.number
        found: dict[str, dict[str, float | None]] = {
            "pricing_age_seconds": {"": None if polled is None else polled.age},
            "pricing_poll_age_seconds": {"": None if polled is None else polled.poll_age},
            "node_block_age_seconds": {"": None if head is None else head.age},
            "node_poll_age_seconds": {"": None if head is None else head.poll_age},
            "node_up": {"": None if head is None else float(head.error is None and head.last is not None)},
            "head_block": {"": newest if self.chain is None else self.chain.call_state.block.number},
            "price": {},
        }
        with suppress(FeeModelError):  # prices that cannot be known are left out
            for name, value in self.pricing.describe().items():
                if isinstance(value, str) and value.startswith("0x"):
                    found["price"][name] = int(value, 16)
                elif name in ("margin", "gasPriceRatio"):
                    found["price"][name] = float(value)
        if self.ledger is not None:
            with suppress(CallError, UnreadableFile):
                store = self.ledger.store()
                found["ledger_head_block"] = {"": None if store.head is None else store.head.number}
                found["finalized_block"] = {"": store.finalized}
        return found


async def _end_with_parent() -> None:
    """Stop this worker when its parent is gone: one that was killed cannot stop its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(parent.sentinel, ended.set)
        await ended.wait()
        signal.raise_signal(signal.SIGTERM)


def _after(first: Callable[[], Awaitable[None]], method: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """Return a method that waits for something else first."""

    @wraps(method)
    async def later(*parameters: Any) -> Any:
        await first()
        return await method(*parameters)

    return later


def _check_hash(held: Block, block: Mapping[str, Any]) -> None:
    """Raise `UpstreamError` where a node has another block of the number of the ledger's head."""
    try:
        found = hash_bytes(block["hash"], "hash")
    except (InvalidInput, KeyError) as error:
        raise UpstreamError(f"the node: eth_getBlockByNumber: {error}") from None
    if found != held.hash:
        ours = to_hex(held.hash or b"")
        raise UpstreamError(f"the node: its block {held.number} has the hash {to_hex(found)}, the ledger's has {ours}")


def _announced_prices(settings: Settings, head: Polled[Head]) -> Prices:
    """Return the prices of the record in a node's newest block; raises `UpstreamError` where there is none."""
    try:
        return recorded_prices(settings, head.value.extra_data())
    except InvalidInput as error:  # which is no fault of the caller's parameters
        raise UpstreamError(f"the newest block has no pricing record: {error}") from None


def _seen(polled: Polled[Any]) -> dict[str, Any]:
    return {
        "reachable": polled.error is None,
        "ageSeconds": rounded(polled.age),
        "pollAgeSeconds": rounded(polled.poll_age),
        "error": polled.error,
    }
