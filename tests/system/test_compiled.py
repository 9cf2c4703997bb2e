"""Machine code that is kept, in processes of their own."""

import subprocess
import sys
from pathlib import Path

KERNEL = """
from feemodel._compiled import cached_njit

@cached_njit()
def added(number):
    return number + {added}
"""


def answer(folder: Path) -> tuple[int, int]:
    """What the kernel of a new process answers to 1, and how often numba compiled it."""
    program = "from kernel import added; print(added(1), sum(added.stats.cache_misses.values()))"
    command = [sys.executable, "-B", "-c", program]
    printed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    result, compiled = printed.split()
    return int(result), int(compiled)


def test_a_kernel_is_kept_until_its_module_changes(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    (tmp_path / "kernel.py").write_text(KERNEL.format(added=1))
    assert [answer(tmp_path) for _ in range(2)] == [(2, 1), (2, 0)]

    (tmp_path / "kernel.py").write_text(KERNEL.format(added=2))
    assert answer(tmp_path) == (3, 1)
