"""What came of a fault, as a line of the table."""

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault, what was seen of it, and whether the server held."""

    fault: str
    seen: str
    held: bool | None  #: `None` where it could not be tried here

    def __str__(self) -> str:
        word = {True: "held", False: "NOT held", None: "not tried"}[self.held]
        return f"{word:9} {self.fault}: {self.seen}"


def counted(outcomes: Counter[str]) -> str:
    """Outcomes with how often they came, the most frequent first."""
    return ", ".join(f"{count:,} × {outcome}" for outcome, count in outcomes.most_common()) or "none"
