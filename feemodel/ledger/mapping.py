"""How a ledger's file will be read, for the kernel: single pages of it, or all.

Unless told, Linux reads around each mapped page that is not in memory: 128 KiB, or as much as the disk's
`read_ahead_kb` says. A proof needs some twenty pages that lie apart.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

RANDOM, NORMAL = 1, 0  # MADV_RANDOM and MADV_NORMAL of Linux, which SQLite has no word for
AHEAD = 1 << 20  # bytes that are asked for together


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
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return libc


def read_ahead(path: Path) -> Iterator[int]:
    """Have a file read into the page cache, from end to end: after each piece, how much of it has been read [byte].

    Pages that are read one by one take ten times as long as all of them in their order. A piece is waited for before
    the next one is asked for, so that the pages of a proof never stand behind more than one. Nothing is read of a file
    that is larger than half of the memory, or where this is not Linux.
    """
    if not sys.platform.startswith("linux"):
        return
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2:
            return
        for start in range(0, size, AHEAD):
            os.posix_fadvise(file.fileno(), start, AHEAD, os.POSIX_FADV_WILLNEED)
            end = min(start + AHEAD, size)
            os.pread(file.fileno(), 1, end - 1)
            yield end
