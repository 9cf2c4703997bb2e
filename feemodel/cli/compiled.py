"""Provide a folder for compiled kernels if the default folder of numba is not writable."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from feemodel._compiled import say_when_compiling

VARIABLE = "NUMBA_CACHE_DIR"


@contextmanager
def compiled_kernels() -> Iterator[None]:
    """In a `with` block, let numba cache compiled code in a temporary folder if the installation is read-only.

    If NUMBA_CACHE_DIR names a folder, for example in a container image, the kernels in this folder are first copied to
    the temporary folder.
    """
    if sys.stderr.isatty():
        say_when_compiling(lambda: print("compiling kernels, some seconds at the first use ...", file=sys.stderr))
    named = os.environ.get(VARIABLE)
    folders = [Path(named)] if named else [Path(__file__).parent.parent / "__pycache__", Path.home() / ".cache"]
    if any(_is_writable(folder) for folder in folders):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="feemodel-kernels-") as folder:
        if named and Path(named).is_dir():
            shutil.copytree(named, folder, dirs_exist_ok=True)
        os.environ[VARIABLE] = folder
        try:
            yield
        finally:
            if named:
                os.environ[VARIABLE] = named
            else:
                del os.environ[VARIABLE]


def _is_writable(folder: Path) -> bool:
    """Return whether a file can be written to the folder; creates the folder if it is missing, as numba does."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True
