"""Progress reports of long computations: a progress bar, a function of the caller, or no report."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from feemodel.errors import InvalidInput

Progress: TypeAlias = bool | Callable[[int], object] | None


@contextmanager
def reporting(progress: Progress, total: int | None, what: str) -> Iterator[Callable[[int], object]]:
    """Yield a function that reports progress: call it with the number of items finished since the previous call.

    Parameters
    ----------
    progress : a function, which is yielded unchanged; `True` for a progress bar if standard error is a terminal;
        `False` or `None` for no report.
    total : number of items, `None` if unknown.
    what : name of the items, shown next to the bar.
    """
    if callable(progress):
        yield progress
    elif progress is True:
        from rich.console import Console
        from rich.progress import Progress as Bars

        console = Console(stderr=True)
        with Bars(console=console, disable=not console.is_terminal, transient=True) as bars:
            task = bars.add_task(what, total=total)
            yield lambda count: bars.advance(task, count)
    elif progress is None or progress is False:
        yield lambda count: None
    else:
        raise InvalidInput("progress", "expected a callable, True, False or None", progress)
