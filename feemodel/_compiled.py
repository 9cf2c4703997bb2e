"""A decorator that compiles functions with numba and caches the machine code on disk."""

from collections.abc import Callable
from typing import Any

from feemodel._extras import has_numba

Kernel = Callable[..., Any]


def cached_njit(*, makes_arrays: bool = True, **options: Any) -> Callable[[Kernel], Kernel]:
    """Compile a function by `numba.njit` with these options, and cache the machine code on disk.

    If numba is not installed, the function is returned unchanged. numba compiles a function again after a change of its
    module, but not after a change of another module whose functions it calls: then delete the `*.nbi` files.

    Parameters
    ----------
    makes_arrays : whether the function, or a function that it calls, allocates arrays. `False` turns off numba's
        reference counting, which takes four times as long as a step of the closed loop.
    """
    options["_nrt"] = makes_arrays  # always set this option; otherwise, numba would use the calling kernel's option

    def define(function: Kernel) -> Kernel:
        if not has_numba():
            return function
        import numba

        kernel: Kernel
        try:
            kernel = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # numba finds no folder for the cache
            kernel = numba.njit(**options)(function)
        return kernel

    return define
