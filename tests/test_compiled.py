"""What is kept of compiled kernels counts only while their sources are the same."""

import subprocess
import sys

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
