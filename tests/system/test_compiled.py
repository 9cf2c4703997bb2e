"""Machine code that is kept, in processes of their own."""

import subprocess
import sys
from pathlib import Path

HEAD = "from feemodel._compiled import cached_njit\n"
KERNEL = HEAD + "from part import more\n\n@cached_njit()\ndef added(number):\n    return more(number)\n"
PART = HEAD + "\n@cached_njit()\ndef more(number):\n    return number + {added}\n"


def answer(folder: Path) -> tuple[int, int]:
    """What the kernel of a new process answers to 1, and how often numba compiled it."""
    program = "from kernel import added; print(added(1), sum(added.stats.cache_misses.values()))"
    command = [sys.executable, "-B", "-c", program]
    printed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    result, compiled = printed.split()
    return int(result), int(compiled)


def test_a_kernel_is_kept_until_a_module_that_it_calls_changes(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "part.py").write_text(PART.format(added=1))
    assert [answer(tmp_path) for _ in range(2)] == [(2, 1), (2, 0)]

    (tmp_path / "part.py").write_text(PART.format(added=2))
    assert answer(tmp_path) == (3, 1)
