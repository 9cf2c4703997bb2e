"""A decorator that compiles functions with numba and caches the machine code on disk."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from feemodel._extras import has_numba

Kernel = Callable[..., Any]
_newest = 0.0  # time of the latest change of the imported modules with kernels


def cached_njit(**options: Any) -> Callable[[Kernel], Kernel]:
    """Compile a function by `numba.njit` with these options, and cache the machine code on disk.

    If numba is not installed, the function is returned unchanged. numba does not notice a change of another module
    whose functions it calls, so machine code beside the module is used only if it is newer than these modules.
    """

    def define(function: Kernel) -> Any:
        if not has_numba():
            return function
        import numba

        global _newest
        source = Path(function.__code__.co_filename)
        _newest = max(_newest, source.stat().st_mtime)
        try:
            for index in (source.parent / "__pycache__").glob(f"{source.stem}.{function.__name__}-*.nbi"):
                if index.stat().st_mtime < _newest:
                    index.unlink(missing_ok=True)
            return numba.njit(cache=True, **options)(function)
        except (RuntimeError, OSError):  # there is no folder for the cache, or it cannot be written
            return numba.njit(**options)(function)

    return define
