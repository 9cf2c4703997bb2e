"""Machine code that is kept, in processes of their own."""

import subprocess
import sys
from pathlib import Path

KERNEL = """
from feemodel._compiled import cached_njit
from package.inner import CONSTANT, added

@cached_njit()
def total(number):
    return added(number) * CONSTANT
"""

INNER = """
from feemodel._compiled import cached_njit
CONSTANT = {constant}

@cached_njit()
def added(number):
    return number + {added}
"""


def answer(folder: Path) -> tuple[int, int]:
    """What the kernel of a new process answers to 1, and how often numba compiled it."""
    program = "from package.kernel import total; print(total(1), sum(total.stats.cache_misses.values()))"
    command = [sys.executable, "-B", "-c", program]
    printed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    result, compiled = printed.split()
    return int(result), int(compiled)


def written(folder: Path, **values: int) -> None:
    (folder / "package").mkdir(exist_ok=True)
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "kernel.py").write_text(KERNEL)
    (folder / "package" / "inner.py").write_text(INNER.format(**values))


def test_a_kernel_is_kept_until_what_its_module_imports_changes(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    written(tmp_path, constant=10, added=1)
    assert [answer(tmp_path) for _ in range(2)] == [(20, 1), (20, 0)]

    written(tmp_path, constant=10, added=2)
    assert answer(tmp_path) == (30, 1)

    written(tmp_path, constant=100, added=2)
    assert answer(tmp_path) == (300, 1)


SAYING = """
from feemodel import _compiled as compiled

said = []
compiled.say_when_compiling(lambda: said.append("compiling"))

@compiled.cached_njit()
def successor(number):
    return number + 1

successor(1)
successor(1.0)
print(len(said))
"""


def test_the_first_compilation_is_said_once_and_none_where_the_code_was_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    (tmp_path / "saying.py").write_text(SAYING)
    printed = [
        subprocess.run([sys.executable, tmp_path / "saying.py"], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]

    assert printed == ["1\n", "0\n"]
