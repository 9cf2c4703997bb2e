"""Decorators that compile functions with numba and cache the machine code on disk."""

import re
import sys
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from feemodel._extras import has_numba

Kernel = Callable[..., Any]
#: Pattern of the imports at the top of a module: `import a`, or `from a import b`.
_IMPORTED = re.compile(r"^import ([\w.]+)|^from ([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)


def say_when_compiling(say: Callable[[], object]) -> None:
    """Call `say` once, before numba first compiles a kernel that is not in the cache. Compiling may take seconds."""
    _TO_CALL[:] = [say]


_TO_CALL: list[Callable[[], object]] = []


@cache
def _listen() -> None:
    """Register a listener that calls the argument of `say_when_compiling` when numba first compiles a kernel."""
    from numba.core import event

    class FirstCompilation(event.Listener):
        def on_start(self, event: Any) -> None:
            while _TO_CALL:
                _TO_CALL.pop()()

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", FirstCompilation())  # type: ignore[no-untyped-call]


def cached_njit(*, makes_arrays: bool = True, **options: Any) -> Callable[[Kernel], Kernel]:
    """Compile a function as `numba.njit` does with the same options, and cache the machine code on disk.

    numba writes the machine code to the folder in the environment variable NUMBA_CACHE_DIR, to `__pycache__` next to
    the module, or to the user's cache folder. If numba cannot write the machine code to a file, every process compiles
    the function at the first call. If numba is not installed, the function is returned unchanged.

    The cached code is used only if the module, and all modules of the same package that the module imports, are
    unchanged. numba itself checks only the module, and would use outdated code after a change in an imported module.

    Parameters
    ----------
    makes_arrays : whether the function, or a function that it calls, allocates arrays. `False` turns off numba's
        reference counting, by a private option of numba.
    """
    options["_nrt"] = makes_arrays  # always set this option; otherwise, numba would use the calling kernel's option

    def define(function: Kernel) -> Kernel:
        if not has_numba():
            return function
        import numba

        _listen()
        try:
            kernel = numba.njit(cache=True, **options)(function)
            cache_file = kernel._cache._cache_file  # private: no public attribute of a kernel contains the cache file
            cache_file._source_stamp = cache_file._source_stamp, _sources(function.__module__)
        except RuntimeError:  # raised only if numba finds no folder for the cache
            kernel = numba.njit(**options)(function)
        defined: Kernel = kernel
        return defined

    return define


def inlined(**options: Any) -> Callable[[Kernel], Kernel]:
    """Compile a function as a part of each kernel that calls it. Without numba the function is returned unchanged."""

    def define(function: Kernel) -> Kernel:
        if not has_numba():
            return function
        import numba

        defined: Kernel = numba.njit(inline="always", **options)(function)
        return defined

    return define


@cache
def _sources(name: str) -> str:
    """Return a digest of a module and of all modules of its package that the module imports, even indirectly."""
    package, found, pending = name.partition(".")[0], dict[str, str](), [name]
    first = getattr(sys.modules.get(package), "__file__", None)
    while pending and first is not None:
        module = pending.pop()
        if module in found or module.partition(".")[0] != package:
            continue
        path = Path(first).parent.joinpath(*module.split(".")[1:])
        file = Path(first) if module == package else path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if not file.is_file():  # the imported name is not a module but a function or constant
            continue
        found[module] = file.read_text(encoding="utf-8")
        for whole, part, names in _IMPORTED.findall(found[module]):
            pending += [whole or part, *(f"{part}.{name}" for name in re.findall(r"\w+", names))]
    return blake2b("".join(found[module] for module in sorted(found)).encode(), digest_size=16).hexdigest()
