"""Compiled kernels that are kept on disk, where numba finds a folder for them."""

from collections.abc import Callable
from typing import Any

import numba

Kernel = Callable[..., Any]


def kept(*, makes_arrays: bool = True, **options: Any) -> Callable[[Kernel], Kernel]:
    """Compile a function as `numba.njit` does with these options, and keep the machine code for later processes.

    numba keeps it in the folder that NUMBA_CACHE_DIR names, in `__pycache__` next to the module, or in the user's cache
    folder. It refuses to define a kernel where none of them can be written, as with a read-only installation and no
    home: there every process compiles the kernel again at its first call.

    Parameters
    ----------
    makes_arrays : whether the function makes arrays, or calls one that does. Of another one numba need not count who
        holds an array, which takes atomic operations at every call: without them a step of the closed loop takes a
        third less time. numba has no public name for this option.
    """
    options |= {} if makes_arrays else {"_nrt": False}

    def define(function: Kernel) -> Kernel:
        try:
            kernel: Kernel = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # what numba raises for want of a folder, and for nothing else
            kernel = numba.njit(**options)(function)
        return kernel

    return define
