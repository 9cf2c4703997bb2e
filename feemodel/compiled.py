"""Compiled kernels that are kept on disk, where numba finds a folder for them; plain functions without numba."""

import re
import sys
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from feemodel.extras import has_numba

Kernel = Callable[..., Any]
#: At the top of a module, where what is imported is there in every process: `import a`, or names from `a`.
_IMPORTED = re.compile(r"^import ([\w.]+)|^from ([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)


def say_when_compiling(say: Callable[[], object]) -> None:
    """Call a function once, when numba first compiles a kernel that was not kept; it may take seconds."""
    _TO_CALL[:] = [say]


_TO_CALL: list[Callable[[], object]] = []


@cache
def _listen() -> None:
    """Let numba's compiler call what `say_when_compiling` was given."""
    from numba.core import event

    class FirstCompilation(event.Listener):
        def on_start(self, event: Any) -> None:
            while _TO_CALL:
                _TO_CALL.pop()()

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", FirstCompilation())  # type: ignore[no-untyped-call]


def kept(*, makes_arrays: bool = True, **options: Any) -> Callable[[Kernel], Kernel]:
    """Compile a function as `numba.njit` does with these options, and keep the machine code for later processes.

    numba keeps it in the folder that NUMBA_CACHE_DIR names, in `__pycache__` next to the module, or in the user's cache
    folder. It refuses to define a kernel where none of them can be written, as with a read-only installation and no
    home: there every process compiles the kernel again at its first call. Where numba is not installed, the function is
    returned as it is.

    What was kept counts while the module and all that it imports of its package are the same. numba looks at the module
    only, and would go on with the old code of a function, or the old value of a constant, of another one.

    Parameters
    ----------
    makes_arrays : whether the function makes arrays, or calls one that does. Of another one numba need not count who
        holds an array, which takes atomic operations at every call: without them a step of the closed loop takes a
        third less time. numba has no public name for this option.
    """
    options["_nrt"] = makes_arrays  # said of each: what says nothing is compiled as its caller is

    def define(function: Kernel) -> Kernel:
        if not has_numba():
            return function
        import numba

        _listen()
        try:
            kernel = numba.njit(cache=True, **options)(function)
            kept_in = kernel._cache._cache_file  # numba has no public name for what it compares
            kept_in._source_stamp = kept_in._source_stamp, _sources(function.__module__)
        except RuntimeError:  # what numba raises for want of a folder, and for nothing else
            kernel = numba.njit(**options)(function)
        defined: Kernel = kernel
        return defined

    return define


def inlined(**options: Any) -> Callable[[Kernel], Kernel]:
    """Compile a function as a part of the kernels that call it; without numba it is returned as it is."""

    def define(function: Kernel) -> Kernel:
        if not has_numba():
            return function
        import numba

        defined: Kernel = numba.njit(inline="always", **options)(function)
        return defined

    return define


@cache
def _sources(name: str) -> str:
    """A digest of a module and of what it imports of its package at its top, directly or not."""
    package, found, pending = name.partition(".")[0], dict[str, str](), [name]
    first = getattr(sys.modules.get(package), "__file__", None)
    while pending and first is not None:
        module = pending.pop()
        if module in found or module.partition(".")[0] != package:
            continue
        place = Path(first).parent.joinpath(*module.split(".")[1:])
        file = (
            Path(first) if module == package else place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        )
        if not file.is_file():  # a name that is no module's
            continue
        found[module] = file.read_text(encoding="utf-8")
        for whole, part, names in _IMPORTED.findall(found[module]):
            pending += [whole or part, *(f"{part}.{name}" for name in re.findall(r"\w+", names))]
    return blake2b("".join(found[module] for module in sorted(found)).encode(), digest_size=16).hexdigest()
