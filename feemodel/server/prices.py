"""What estimates are priced with: from the settings, from the newest block's pricing record, or from L1 fees."""

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

from feemodel.checks import INT64_MAX
from feemodel.errors import FeeModelError, InvalidInput, UpstreamError
from feemodel.estimates.prices import Prices, l1_prices, prices_of, suggested_tip
from feemodel.ethereum.fee_market import next_base_fee
from feemodel.ethereum.quantities import from_hex, from_quantity, to_quantity
from feemodel.io.async_node import AsyncNode
from feemodel.linea.extra_data import PricingRecord
from feemodel.linea.parameters import linea_preset
from feemodel.server.settings import Settings

MAX_CHAIN_ID = 2**255
ERROR_LENGTH = 300  # characters of an error that is shown
COSTS = (
    "base_fee", "variable_cost", "fixed_cost", "min_gas_price", "verification_gas_cost", "verification_capacity",
    "gas_price_ratio",
)  # fmt: skip


_log = logging.getLogger(__name__)


class OtherChain(UpstreamError):
    """A node that serves another chain than before."""


class ChainId:
    """The chain id that a node must have: the first that it answered with, or a known one."""

    def __init__(self, known: int | None = None) -> None:
        self.known = known

    def check(self, answer: Any) -> int:
        """Return the id in an answer; raises `UpstreamError` for no id, `OtherChain` for another chain's."""
        try:
            found = from_quantity(answer, "eth_chainId")
        except InvalidInput as error:
            raise UpstreamError(f"the node: {error}") from None
        if found >= MAX_CHAIN_ID:
            raise UpstreamError("the node: eth_chainId: expected at most 32 bytes")
        if self.known not in (None, found):
            raise OtherChain(f"the node: its chain id is {found}, the chain that is served has {self.known}")
        self.known = found
        return found


@dataclass(frozen=True, slots=True)
class Head:
    """The newest block of a node; fields that are not always needed are read when they are."""

    block: Mapping[str, Any]
    number: int
    timestamp: int  #: Unix time [s]
    announced: int | None = None  #: by the node, the base fee of the block that comes next [wei / gas]

    @classmethod
    def parse(cls, answer: Any, fee_history: Any = None) -> "Head":
        """Return the block in an answer; raises `UpstreamError`.

        Parameters
        ----------
        answer : of `eth_getBlockByNumber`.
        fee_history : of `eth_feeHistory` of one block, where the node has that method.
        """
        if not isinstance(answer, Mapping):
            raise UpstreamError(f"the node: eth_getBlockByNumber: expected a block, got {answer!r:.120}")
        number = _read_number(answer, "number")
        return cls(answer, number, _read_number(answer, "timestamp"), _announced(fee_history, number))

    def next_base_fee(self) -> int:
        """Return the base fee of the block that comes next [wei / gas].

        It is what the node announces, because chains have parameters and exceptions of their own; where it announces
        none, that of EIP-1559 with Ethereum's parameters. Raises `UpstreamError` for a block that has none of these.
        """
        if self.announced is not None:
            return self.announced
        if self.block.get("baseFeePerGas") is None:
            raise UpstreamError("the newest block has no baseFeePerGas: a chain without one needs the setting base_fee")
        fee, used, limit = (_read_number(self.block, name) for name in ("baseFeePerGas", "gasUsed", "gasLimit"))
        try:
            return int(next_base_fee(fee, used, limit))
        except InvalidInput as error:
            raise UpstreamError(f"the newest block: {error}") from None

    def extra_data(self) -> bytes:
        """Return the extra data, which holds the pricing record."""
        return from_hex(self.block.get("extraData") or "0x", "extraData")


def _announced(fee_history: Any, number: int) -> int | None:
    """Return the next base fee in a fee history; `None` where it is not of this block."""
    fees = fee_history.get("baseFeePerGas") if isinstance(fee_history, Mapping) else None
    if not isinstance(fees, list) or len(fees) != 2 or _read_number(fee_history, "oldestBlock") != number:
        return None
    return _read_number({"baseFeePerGas": fees[1]}, "baseFeePerGas")


def _read_number(block: Mapping[str, Any], name: str) -> int:
    try:
        number = from_quantity(block.get(name), name)  # type: ignore[arg-type]
        if number > INT64_MAX:
            raise InvalidInput(name, "expected at most 2**63 - 1", number)
    except InvalidInput as error:
        raise UpstreamError(f"the newest block: {error}") from None
    return number


class Dated(Protocol):
    """A value of a block."""

    @property
    def timestamp(self) -> int: ...


Value = TypeVar("Value", bound=Dated)


class Polled(Generic[Value]):
    """The last value that was fetched from a node, and how old it is.

    A node whose chain has stopped answers every poll, so that the age of a value is that of its block. A node that is
    gone answers none, so that the age of the poll counts too.

    Parameters
    ----------
    what : the value, in messages.
    fetch : returns the value; tried in this order.
    every : pause between two fetches [s].
    max_age : above which neither age may be for the value to be used [s].
    name : of the node, for the log; callers do not see it.
    """

    def __init__(
        self, what: str, fetch: Sequence[Callable[[], Awaitable[Value]]], *, every: float, max_age: float, name: str
    ) -> None:
        self._name, self._what, self._fetch = name, what, fetch
        self._every, self._max_age = every, max_age
        self._held: tuple[Value, float] | None = None  # and when it was fetched; no clock that can be set
        self.error: str | None = None  #: why the last fetch failed

    @property
    def value(self) -> Value:
        """The last value; raises `UpstreamError` while there is none, and when it is too old."""
        if self._held is None:
            raise UpstreamError(f"{self._what}: none yet{f', {self.error}' if self.error else ''}")
        value, since = self._held
        age, limit = time.time() - value.timestamp, f"more than max_age, {self._max_age:g} s"
        why = f"; {self.error}" if self.error else ""
        if age > self._max_age:
            raise UpstreamError(f"{self._what}: {age:,.0f} s old, {limit}{why}")
        if age < -self._max_age:
            raise UpstreamError(f"{self._what}: {-age:,.0f} s ahead of this clock, {limit}{why}")
        if monotonic() - since > self._max_age:
            raise UpstreamError(f"{self._what}: looked at {monotonic() - since:,.0f} s ago, {limit}{why}")
        return value

    @property
    def last(self) -> Value | None:
        """The last value whatever its age."""
        return None if self._held is None else self._held[0]

    @property
    def age(self) -> float | None:
        """Time since the block of the last value, below zero where that is ahead of this clock [s]."""
        return None if self._held is None else time.time() - self._held[0].timestamp

    @property
    def poll_age(self) -> float | None:
        """Time since the last value came [s]."""
        return None if self._held is None else monotonic() - self._held[1]

    def note(self, value: Value) -> None:
        """Keep a value that came with another answer."""
        self._held, self.error = (value, monotonic()), None

    def fail(self, error: Exception) -> None:
        """Note why there is no new value; the log has it once. Another chain leaves no value at all."""
        if self.error is None:
            foreseen = isinstance(error, FeeModelError)
            _log.warning("%s of %s: %s", self._what, self._name, error, exc_info=None if foreseen else error)
        if isinstance(error, OtherChain):
            self._held = None
        self.error = str(error).encode(errors="backslashreplace").decode()[:ERROR_LENGTH]

    async def refresh(self) -> None:
        """Fetch once; a failure leaves the last value, and its reason in `error`."""
        failure: Exception | None = None
        for fetch in self._fetch:
            try:
                value = await fetch()
            except Exception as error:  # whatever a node answers, it is asked again
                failure = failure or error
            else:
                self.note(value)
                return
        if failure is not None:
            self.fail(failure)

    async def keep(self) -> None:
        """Fetch for ever, after the first pause."""
        while True:
            await asyncio.sleep(self._every)
            await self.refresh()


class Pricing(ABC):
    """The prices now, and where they come from.

    Parameters
    ----------
    source : "configured", "record" or "l1".
    polled : what they come from, where that is polled.
    base_fee_is_fixed : whether the settings fix the base fee.
    """

    def __init__(self, source: str, polled: Polled[Any] | None, *, base_fee_is_fixed: bool) -> None:
        self.source, self.polled, self._base_fee_is_fixed = source, polled, base_fee_is_fixed

    @property
    @abstractmethod
    def now(self) -> Prices:
        """The prices, with the larger of their own base fee and the chain's.

        Raises `UpstreamError` where one of them cannot be known, or where they make no fee together.
        """

    def upper_bound(self, blocks: int) -> Prices:
        """Return prices that are enough for the next blocks, see `feemodel.estimates.prices.Prices.upper_bound`."""
        costs_follow = self.polled is not None
        return self.now.upper_bound(blocks, base_fee_is_fixed=self._base_fee_is_fixed, costs_follow=costs_follow)

    def describe(self) -> dict[str, Any]:
        """Return source, ages and costs."""
        prices, polled = self.now, self.polled
        costs = {field.name: getattr(prices.form, field.name) for field in fields(prices.form)}  # type: ignore[arg-type]
        return {
            "source": self.source,
            "ageSeconds": None if polled is None else rounded(polled.age),
            "pollAgeSeconds": None if polled is None else rounded(polled.poll_age),
            "pricing": prices.form.name,
            "margin": prices.preset.estimate_margin,
            **{_camel(name): to_quantity(cost) if isinstance(cost, int) else cost for name, cost in costs.items()},
            "gasPrice": to_quantity(prices.form.base_fee + suggested_tip(prices)),
        }


class FixedPricing(Pricing):
    """Prices that stay, which are computed and checked once.

    Parameters
    ----------
    source, base_fee_is_fixed : as of `Pricing`.
    costs : the prices without the chain's base fee.
    least_base_fee : the next base fee of the chain that is served, 0 where the settings fix another [wei / gas].

    Raises `UpstreamError` for prices that make no fee at the chain's base fee.
    """

    __slots__ = ("now",)
    now: Prices

    def __init__(self, source: str, costs: Prices, least_base_fee: int = 0, *, base_fee_is_fixed: bool = False) -> None:
        super().__init__(source, None, base_fee_is_fixed=base_fee_is_fixed)
        self.now = _on_chain(costs, least_base_fee)


class PolledPricing(Pricing):
    """Prices that follow a node.

    Parameters
    ----------
    source, polled, base_fee_is_fixed : as of `Pricing`.
    costs : returns the prices without the chain's base fee; raises `UpstreamError` where they cannot be known.
    least_base_fee : returns the next base fee of the chain that is served, 0 where the settings fix another
        [wei / gas].
    """

    def __init__(
        self,
        source: str,
        costs: Callable[[], Prices],
        polled: Polled[Any] | None,
        least_base_fee: Callable[[], int],
        *,
        base_fee_is_fixed: bool,
    ) -> None:
        super().__init__(source, polled, base_fee_is_fixed=base_fee_is_fixed)
        self._costs, self._least_base_fee = costs, least_base_fee

    @property
    def now(self) -> Prices:
        """The prices, with the larger of their own base fee and the chain's; raises as `Pricing.now`."""
        return _on_chain(self._costs(), self._least_base_fee())


def _on_chain(prices: Prices, base_fee: int) -> Prices:
    return prices if base_fee <= prices.form.base_fee else prices.on_base_fee(base_fee)


def rounded(age: float | None) -> float | None:
    """Return an age as answers have it [s].

    >>> rounded(1.23456), rounded(None)
    (1.235, None)
    """
    return None if age is None else round(age, 3)


def configured_prices(settings: Settings) -> Prices:
    """Return the prices that the settings name, the preset's where they name none.

    >>> configured_prices(Settings(variable_cost=5)).form
    CostPerByte(variable_cost=5, fixed_cost=30000000, base_fee=7)
    """
    return prices_of(settings.pricing, linea_preset(settings.preset), _costs(settings), settings.margin)


def recorded_prices(settings: Settings, extra_data: bytes) -> Prices:
    """Return the prices of a block's pricing record; settings that name a cost take precedence.

    Raises `InvalidInput` for a block without a record.
    """
    preset = replace(linea_preset(settings.preset), **asdict(PricingRecord.from_bytes(extra_data)))
    return prices_of(settings.pricing, preset, _costs(settings), settings.margin)


async def fetch_l1_prices(settings: Settings, node: AsyncNode, chain: ChainId) -> Prices:
    """Return the prices that an L1 node's newest blocks give, with the time of the newest of them.

    Raises `UpstreamError` where the node serves another chain than before.
    """
    from feemodel.io.l1_fees import parse_fee_history  # and with it pandas, which only this source needs

    asked = [to_quantity(settings.l1_blocks), "latest", [settings.l1_percentile]]
    chain_id, answer = map(node.own, await node.outcomes([("eth_chainId", []), ("eth_feeHistory", asked)]))
    chain.check(chain_id)
    history = parse_fee_history(answer)
    prices = l1_prices(
        history, settings.pricing, linea_preset(settings.preset), _costs(settings), margin=settings.margin,
        l1_margin=settings.l1_margin,
    )  # fmt: skip
    newest = history.oldest_block + len(history.gas_used_ratios) - 1
    (block,) = await node.outcomes([("eth_getBlockByNumber", [to_quantity(newest), False])])
    head = Head.parse(node.own(block))
    if head.number != newest:
        raise UpstreamError(f"the node: asked for block {newest}, it answered with {head.number}")
    return replace(prices, timestamp=head.timestamp)


def _costs(settings: Settings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in COSTS}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
