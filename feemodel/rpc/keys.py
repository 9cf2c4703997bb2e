"""API keys: who may call, which methods, and how much a second.

The keys are in a TOML file, a table for each under the name that the log has for it:

    [wallet]
    key = "long-and-random"
    requests_per_second = 50      # calls, those of a batch one by one; no limit where it is absent
    gas_per_second = 20_000_000   # of executions here, and of estimates by a node
    methods = ["rollup_*", "eth_call"]   # all where it is absent
    operator = false              # whether guarded paths such as /metrics are answered

The server reads the file again on SIGHUP. All of its processes count together.
"""

import fnmatch
import logging
import re
from collections.abc import Mapping
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

from feemodel.checks import above_zero, flag
from feemodel.errors import InvalidInput
from feemodel.io.documents import read_toml
from feemodel.rpc.jsonrpc import LIMIT_EXCEEDED, METHOD_NOT_FOUND, CallError
from feemodel.rpc.processes import MOST_KEYS
from feemodel.rpc.settings import HIDDEN, read_key

NOTHING = "(?!)"  # a pattern that no name has
BURST_SECONDS = 1.0  # of a rate that may be spent at once
LINES_A_SECOND = 10.0  # of the log, about refused keys

_log = logging.getLogger("feemodel.audit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One caller, as the file says."""

    name: str
    requests_per_second: float | None = None
    gas_per_second: float | None = None
    methods: tuple[str, ...] | None = None
    operator: bool = False


class Rates:
    """What is left of each key's rates, in memory that the processes of a server may share.

    Parameters
    ----------
    memory : an array of doubles of `multiprocessing`, four for each key.
    """

    def __init__(self, memory: Any = None) -> None:
        self._memory = [0.0] * (4 * MOST_KEYS) if memory is None else memory.get_obj()
        self._lock = nullcontext() if memory is None else memory.get_lock()

    def take(self, place: int, rate: float, amount: float) -> float:
        """Take an amount, where something is left; seconds until that is so otherwise.

        Parameters
        ----------
        place : of the rate.
        rate : that comes back a second; as much is there at most.
        amount : to take; it may be more than there is, then what comes back pays for it first. 0 only looks.
        """
        most, memory = max(rate * BURST_SECONDS, 1.0), self._memory
        with self._lock:
            now, left, since = monotonic(), memory[2 * place], memory[2 * place + 1]
            left = most if not since else min(left + (now - since) * rate, most)
            missing = 1.0 - left
            if missing <= 0:
                left -= amount
            memory[2 * place], memory[2 * place + 1] = left, now
        return max(missing, 0.0) / rate


class Caller:
    """Who a request comes from.

    Parameters
    ----------
    key : its limits.
    place : of its rates.
    rates : of all keys.
    """

    def __init__(self, key: Key, place: int, rates: Rates) -> None:
        self.key, self._place, self._rates = key, place, rates
        patterns = ("*",) if key.methods is None else key.methods
        self._may_call = re.compile("|".join(map(fnmatch.translate, patterns)) or NOTHING).match

    def wait(self, calls: float = 0.0) -> float:
        """Seconds until another call is answered; 0 where that is now, which counts so many calls."""
        return max(self._left(0, self.key.requests_per_second, calls), self._left(1, self.key.gas_per_second, 0.0))

    def admit(self, method: str) -> None:
        """Count a call; raises `CallError` where it is not to be answered."""
        if self._may_call(method) is None:
            raise CallError(METHOD_NOT_FOUND, f"{method[:100]} is not among the methods of this key")
        if wait := self.wait(1.0):
            raise CallError(LIMIT_EXCEEDED, "the rate of this key is used up", {"retryAfterSeconds": round(wait, 3)})

    def charge(self, gas: int) -> None:
        """Count gas that was executed."""
        self._left(1, self.key.gas_per_second, float(gas))

    def _left(self, which: int, rate: float | None, amount: float) -> float:
        return 0.0 if rate is None else self._rates.take(2 * self._place + which, rate, amount)


#: Whose call is being answered; `None` where no key is asked for.
CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)


@dataclass(slots=True)
class Keys:
    """The keys that are known, and a log line for each that is not.

    Parameters
    ----------
    callers : by the hash of their key, so that a guess takes the same time however much of it is right.
    """

    callers: Mapping[bytes, Caller]
    _lines: Rates = field(default_factory=Rates)
    _omitted: int = 0

    @classmethod
    def of(cls, keys: Mapping[str, Key], rates: Rates | None = None) -> "Keys":
        """The keys of a file or a setting: key → what it may do."""
        rates, ordered = rates or Rates(), sorted(keys.items(), key=lambda item: item[1].name)
        return cls({_hash(text): Caller(key, place, rates) for place, (text, key) in enumerate(ordered)})

    def find(self, text: str | None) -> Caller | None:
        """The owner of a key; `None` for an unknown one."""
        return None if text is None else self.callers.get(_hash(text))

    def refused(self, client: str, *, given: bool) -> None:
        """Log that a request had no key, or a wrong one, without showing it."""
        if self._lines.take(0, LINES_A_SECOND, 1.0):
            self._omitted += 1
            return
        omitted = f"; {self._omitted} more were refused before" if self._omitted else ""
        _log.warning("refused a request with %s key from %s%s", "a wrong" if given else "no", client, omitted)
        self._omitted = 0


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogateescape")).digest()


def read_keys(path: str | Path) -> dict[str, Key]:
    """The keys of a file: key → what it may do.

    Raises `UnreadableFile`, and `InvalidInput` that names the table and the field without showing a key.
    """
    document = read_toml(path, secret=True)
    if not 1 <= len(document) <= MOST_KEYS:
        raise InvalidInput(f"{path}", f"expected 1 to {MOST_KEYS:,} tables", len(document))
    keys: dict[str, Key] = {}
    for name, table in document.items():
        text, key = _read(f"{path}: {name}", name, table)
        if text in keys:
            raise InvalidInput(f"{path}: {name}.key", f"expected another key than that of {keys[text].name}", HIDDEN)
        keys[text] = key
    return keys


_FIELDS = ("key", "requests_per_second", "gas_per_second", "methods", "operator")


def _read(where: str, name: str, table: Any) -> tuple[str, Key]:
    if not isinstance(table, dict):
        raise InvalidInput(where, f"expected a table with {', '.join(_FIELDS)}", HIDDEN)
    for unknown in table.keys() - set(_FIELDS):
        raise InvalidInput(f"{where}.{unknown}", f"expected one of {', '.join(_FIELDS)}", HIDDEN)
    rates = {}
    for field_name in ("requests_per_second", "gas_per_second"):
        if (value := table.get(field_name)) is not None:
            rates[field_name] = above_zero(f"{where}.{field_name}", value)
    methods, operator = table.get("methods"), flag(f"{where}.operator", table.get("operator", False))
    if methods is not None and (not isinstance(methods, list) or not all(isinstance(each, str) for each in methods)):
        raise InvalidInput(f"{where}.methods", "expected a list of names such as eth_call or rollup_*", methods)
    key = Key(name=name, methods=None if methods is None else tuple(methods), operator=operator, **rates)
    return read_key(f"{where}.key", table.get("key")), key
