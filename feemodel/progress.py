"""Progress of long work: a bar on a terminal, the caller's own function, or nothing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from feemodel.errors import InvalidInput

Progress: TypeAlias = bool | Callable[[int], object] | None


@contextmanager
def reporting(progress: Progress, total: int | None, what: str) -> Iterator[Callable[[int], object]]:
    """Callable that takes the number of items done since its last call.

    Parameters
    ----------
    progress : the caller's own function; `True` for a bar on standard error, if that is a terminal; else nothing.
    total : how many there are, `None` where that is not known.
    what : the items' name, shown next to the bar.
    """
    if callable(progress):
        yield progress
    elif progress is True:
        from tqdm import tqdm

        with tqdm(total=total, desc=what, disable=None, file=sys.stderr) as bar:  # None: unless that is a terminal
            yield bar.update
    elif progress is None or progress is False:
        yield lambda count: None
    else:
        raise InvalidInput("progress", "expected a callable, True, False or None", progress)
