"""NetCDF files with changed bytes: each is read, or refused by a named error, within its time.

    python -m tests.fuzz.netcdf [FILES [SEED]]

A process is forked for each file, so that thousands take a minute. Files that end the process or its time there are
read once more by `read_dataset`, which must refuse them.
"""

import os
import random
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import xarray

from feemodel.errors import UnreadableFile
from feemodel.io import read_dataset, write_dataset
from feemodel.io._bounds import SECONDS
from feemodel.io._netcdf_process import answer

TIME = 3  # seconds, some hundred times what such a file takes


def written(path: Path) -> bytes:
    """A file with numbers, text, units and attributes."""
    found = xarray.Dataset(
        {"recovery": (("path", "day"), np.arange(12.0).reshape(3, 4), {"units": "1"}), "n": ("path", np.arange(3))},
        {"path": np.arange(3), "name": ("path", ["a", "b", "c"])},
        {"source": "by hand", "note": "x"},
    )
    write_dataset(found, path)
    return path.read_bytes()


def outcome(path: Path) -> str:
    """What becomes of reading a file in a process of its own: "read", "refused", or the signal that ended it."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(TIME)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            os._exit(isinstance(answer(str(path)), str))
        except BaseException:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return {0: "read", 1: "refused"}.get(os.WEXITSTATUS(status), "a traceback")


def run(files: int, seed: int) -> Counter[str]:
    """The outcomes of so many files, by their names."""
    draw, outcomes = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "result.nc")
        content = written(path)
        for _ in range(files):
            changed = bytearray(content)
            for _ in range(draw.choice((1, 2, 2, 3, 8))):
                changed[draw.randrange(len(changed))] = draw.choice((0, 255, draw.randrange(256)))
            path.write_bytes(changed)
            outcomes[found := outcome(path)] += 1
            if found not in ("read", "refused"):
                refused_in_time(path)
    return outcomes


def refused_in_time(path: Path) -> None:
    """Raise `AssertionError` where `read_dataset` neither returns nor refuses the file."""
    os.environ[SECONDS] = str(5 * TIME)
    try:
        read_dataset(path)
    except UnreadableFile as error:
        print(error)


if __name__ == "__main__":
    counts = run(int((sys.argv[1:] or ["2000"])[0]), int((sys.argv[2:] or ["1"])[0]))
    print(", ".join(f"{count:,} {name}" for name, count in counts.most_common()))
    sys.exit(bool(counts["a traceback"]))
