"""How a file that SQLite has mapped into memory will be read, for the kernel: here and there, or from end to end.

Unless told, Linux reads around each page that is not in memory: 128 KiB, or as much as the disk's `read_ahead_kb` says.
A proof needs some twenty pages that lie apart.
"""

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import Any

RANDOM, NORMAL = 1, 0  # MADV_RANDOM and MADV_NORMAL of Linux, which SQLite has no word for


def advise(path: Path, advice: int) -> int:
    """Tell the kernel how the mappings of a file will be read; how many there are. Nothing where it is not Linux."""
    if not sys.platform.startswith("linux"):
        return 0
    name = str(path.resolve())
    count = 0
    with Path("/proc/self/maps").open(encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            addresses, *_, mapped = line.rstrip("\n").split(None, 5)
            if mapped == name:
                start, end = (int(address, 16) for address in addresses.split("-"))
                count += _libc().madvise(start, end - start, advice) == 0
    return count


@cache
def _libc() -> Any:
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return libc
