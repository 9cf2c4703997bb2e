"""Parse the finality rule of a ledger from the command line: `immediate`, `depth N` or `l1 URL`."""

from collections.abc import Callable, Sequence

from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import address_bytes, to_hex
from feemodel.io._address import check_address, without_secrets
from feemodel.ledger.follow import LINEA_MAINNET_ROLLUP, Caller, Finality, L1Finality, depth, immediate
from feemodel.ledger.store import Store


def finality_rule(words: Sequence[str], contract: str | None = None) -> str:
    """Return a finality rule as stored in a ledger: "immediate", "depth 2", "l1", or "l1" with a contract address.

    The URL of the node is left out, because it may contain a password.

    Raises `InvalidInput` for an unknown rule, and for a contract if the rule is not l1.

    >>> finality_rule(["depth", "02"]), finality_rule(["l1", "https://user:password@l1.example"])
    ('depth 2', 'l1')
    """
    if contract is not None and list(words[:1]) != ["l1"]:
        raise InvalidInput("--contract", "expected only with --finality l1 URL", contract)
    match words:
        case ["immediate"]:
            return "immediate"
        case ["depth", count] if count.isascii() and count.isdigit() and len(count) < 19:
            return f"depth {int(count)}"
        case ["l1", url]:
            check_address("--finality", url)
            return "l1" if contract is None else f"l1 {to_hex(address_bytes(contract, '--contract'))}"
    raise InvalidInput("--finality", "expected immediate, depth N or l1 URL", " ".join(map(without_secrets, words)))


def check_rule(stored: str | None, words: Sequence[str] | None, *, change: bool, contract: str | None = None) -> None:
    """Raise `InvalidInput` if the options conflict with the rule stored in the ledger.

    Parameters
    ----------
    stored : rule of the ledger, or `None` if the ledger has no rule.
    words : words after `--finality`, or `None` if this option is not given.
    change : whether the user gave `--change-finality`, so that `words` may replace the stored rule.
    contract : address of the rollup's contract on L1, or `None` if it is not given.
    """
    if words is None:
        if contract is not None:
            raise InvalidInput("--contract", "expected only with --finality l1 URL", contract)
        if change:
            raise InvalidInput("--change-finality", "expected only with --finality RULE", change)
        if stored is not None and stored.startswith("l1"):
            reason = f"expected l1 URL: the ledger's rule is {stored}, and no address of a node is stored"
            raise InvalidInput("--finality", reason, words)
    elif (rule := finality_rule(words, contract)) != stored and stored is not None and not change:
        reason = f"expected {stored}, the rule of this ledger; --change-finality replaces it"
        raise InvalidInput("--finality", reason, rule)


def parse_finality(
    words: Sequence[str], connect: Callable[[str], Caller], *, contract: str = LINEA_MAINNET_ROLLUP
) -> Callable[[Store], Finality]:
    """Return a function that creates the finality rule of a ledger from the words after `--finality`.

    Parameters
    ----------
    words : words after `--finality`: `immediate`, `depth N` or `l1 URL`.
    connect : function that returns the node at a URL.
    contract : address of the rollup's contract on L1.

    Raises `InvalidInput` for an unknown rule.
    """
    finality_rule(words)
    match words:
        case ["immediate"]:
            return lambda store: immediate
        case ["depth", count]:
            return lambda store: depth(int(count))
        case _:
            node = connect(words[1])
            return lambda store: L1Finality(store, node, contract=contract)
