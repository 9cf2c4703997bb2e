"""Parameters that several methods take: a block, a state override."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from feemodel.checks import MAPPINGS, flag
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.ethereum.call import as_bytes, as_integer
from feemodel.ethereum.quantities import from_block, to_hex
from feemodel.rpc.chain import Chain
from feemodel.rpc.jsonrpc import SERVER_ERROR, CallError

TAGS = ("latest", "pending", "safe", "finalized", "earliest")
MAX_BLOCKS = 64  # for which an estimate can be asked to be enough: base fees may rise by 1,700 times until then
HASH_DIGITS = len("0x") + 2 * 32
SHOWN = 100  # characters of a block that is not there
_OPTIONS = {"blocks", "details"}  # of an estimate
_BLOCK_FIELDS = {"blockNumber", "blockHash", "requireCanonical"}  # EIP-1898

Overrides = Mapping[str, Any]


class EstimateOptions(NamedTuple):
    """The parameters after the call of an estimate."""

    block: Any
    overrides: Overrides | None
    blocks: int | None = None  #: for which the fee must be enough
    details: bool = False  #: whether the answer has gas by part and the access list


def estimate_options(*given: Any) -> EstimateOptions:
    """The parameters after the call of an estimate: a block, a state override, options.

    It is `[overrides]` as the rollup method has it, or `[block, overrides]` as clients do; the block is `None` where
    none is named. Options are an object of `blocks` and `details`, after whichever of the others are given.

    >>> estimate_options({"0x" + "11" * 20: {"nonce": "0x5"}}).block is None
    True
    >>> estimate_options("latest", {"blocks": 5}, None).blocks
    5
    >>> estimate_options(None, None, {"details": True}).details
    True
    """
    named = list(given)
    while named and named[-1] is None:
        named.pop()
    blocks, details = None, False
    if named and isinstance(named[-1], Mapping) and named[-1] and named[-1].keys() <= _OPTIONS:
        options = named.pop()
        if "blocks" in options:
            blocks = as_integer("blocks", options["blocks"])
            if not 1 <= blocks <= MAX_BLOCKS:
                raise InvalidInput("blocks", f"expected 1 to {MAX_BLOCKS}", blocks)
        details = flag("details", options.get("details", False))
    if len(named) > 2:
        raise InvalidInput("parameter 4", 'expected options such as {"blocks": k}', named[-1])
    block, overrides = (*named, None, None)[:2]
    if isinstance(block, Mapping) and not (block and block.keys() <= _BLOCK_FIELDS):
        if overrides is not None:
            raise InvalidInput("parameter 3", "expected nothing after a state override", overrides)
        return EstimateOptions(None, block, blocks, details)
    return EstimateOptions(block, overrides, blocks, details)


def no_accounts() -> list[str]:
    """The accounts that a server signs for: none; those of a node are not the caller's.

    >>> no_accounts()
    []
    """
    return []


def check_size(overrides: Overrides | None, *, accounts: int, slots: int) -> None:
    """Refuse an override that is larger than a server takes."""
    if overrides is None:
        return
    if not isinstance(overrides, MAPPINGS):
        raise InvalidInput("overrides", "expected an object of addresses", overrides)
    if len(overrides) > accounts:
        raise LimitExceeded(f"overrides: at most {accounts:,} accounts, got {len(overrides):,}")
    found = 0
    for fields in overrides.values():
        for value in fields.values() if isinstance(fields, MAPPINGS) else ():
            found += len(value) if isinstance(value, MAPPINGS) else 0
    if found > slots:
        raise LimitExceeded(f"overrides: at most {slots:,} slots, got {found:,}")


def check_block(block: Any, chain: Chain) -> None:
    """Refuse a block whose state is not that of the chain; `None` is the newest one.

    Raises `InvalidInput` for what is no block, and a node's "header not found" for another block.
    """
    if block is not None and not is_block(block, chain):
        text = str(block)
        shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
        known = "" if chain.hash is None else f" ({to_hex(chain.hash)})"
        newest = f"{chain.call_state.block.number:#x}{known}"
        raise CallError(SERVER_ERROR, f"header not found: {shown}, the newest block is {newest}")


def is_block(block: Any, chain: Chain) -> bool:
    """Whether a parameter names the newest block of the chain."""
    number = chain.call_state.block.number
    if not isinstance(block, str) and isinstance(block, Mapping) and block and block.keys() <= _BLOCK_FIELDS:
        hashed, numbered = block.get("blockHash"), block.get("blockNumber")
        if hashed is not None and numbered is not None:
            raise InvalidInput("block", "expected either blockHash or blockNumber", block)
        if hashed is not None:
            return as_bytes("block.blockHash", hashed, size=32) == chain.hash
        block = numbered
    if isinstance(block, str) and len(block) == HASH_DIGITS:  # a hash alone, as web3.py sends it and geth reads it
        return as_bytes("block", block, size=32) == chain.hash
    if block == "earliest":
        return number == 0
    if isinstance(block, int) and not isinstance(block, bool) and block >= 0:  # as web3.py sends it
        return block == number
    return block in TAGS or from_block(block, TAGS) == number
