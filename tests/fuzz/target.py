"""What a fuzz target is: bytes in, and either an answer that its oracle agrees with or an error of the stated kind."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from feemodel.errors import FeeModelError

#: Random bytes near some bytes: `tests.fuzz.mutators.nearby_bytes`.
Mutate: TypeAlias = Callable[[bytes], bytes]

WORDS_LIMIT = 2_000  # characters of a message, beside names that it takes from the input


class Violation(AssertionError):
    """A target answered something that its oracle knows to be wrong."""


@dataclass(frozen=True)
class Target:
    """One thing that is given bad input.

    Parameters
    ----------
    read : what is made of an input.
    allowed : the errors by which it may refuse an input. Any other exception is a defect.
    oracle : the input and what was made of it; raises `Violation` where that is wrong. No exception of it is allowed.
    seeds : the inputs that mutation begins with.
    mutated : an input in the structure of its format changed, `None` where bytes are the structure.
    """

    read: Callable[[bytes], Any]
    allowed: tuple[type[FeeModelError], ...]
    oracle: Callable[[bytes, Any], None]
    seeds: Callable[[], Iterable[bytes]]
    mutated: Callable[[bytes, Random, Mutate], bytes] | None = None


def accepts(target: Target, data: bytes) -> bool:
    """Whether a target takes an input; any defect that the input shows is raised."""
    try:
        answer = target.read(data)
    except target.allowed as error:
        check_words(error, len(data))
        return False
    target.oracle(data, answer)
    return True


def check_words(error: FeeModelError, size: int) -> None:
    """An error must be able to say what it is about, in words that do not outgrow the input."""
    words = str(error)
    check(bool(words.strip()), "an error without words")
    check(len(words) <= WORDS_LIMIT + 2 * size, f"an error of {len(words):,} characters for an input of {size:,} bytes")


def check(holds: bool, reason: str) -> None:
    """Raise `Violation` unless it holds."""
    if not holds:
        raise Violation(reason)


def check_equal(expected: object, actual: object, reason: str) -> None:
    """Raise `Violation` that shows both unless they are equal."""
    if expected != actual:
        raise Violation(f"{reason}: expected {expected!r:.500}, got {actual!r:.500}")
