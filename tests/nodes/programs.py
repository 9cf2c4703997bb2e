"""Others' own code, built from its Go module and asked formulas: the judge of the differential tests.

Each folder below `sources/` but `lines/` is a program that reads a formula and its arguments on each line and writes
the value on each line. Its `go.mod` pins the versions by name.
"""

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from feemodel.errors import FeeModelError

SOURCES = Path(__file__).with_name("sources")
SHARED = "lines"  # the package that reads questions and writes answers
BUILT = Path(__file__).resolve().parents[2] / "out" / "nodes"


class MissingGo(FeeModelError):
    """There is no Go, or it does not build a program."""


@cache
def built(program: str) -> Path:
    """The program, built with the `go` on PATH; raises `MissingGo`."""
    if shutil.which("go") is None:
        raise MissingGo("the nodes' own code needs go on PATH")
    folder = BUILT / program
    for name in (program, SHARED):
        shutil.copytree(SOURCES / name, BUILT / name, dirs_exist_ok=True)
    command = ["go", "build", "-mod=mod", "-o", "answers", "."]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if found.returncode:
        raise MissingGo(f"{program} did not build: {found.stderr.strip().splitlines()[-1]}")
    return folder / "answers"


def answers(program: str, questions: Iterable[str], arguments: Sequence[str] = ()) -> list[str]:
    """The answers of a program to questions of one line each."""
    lines = "".join(f"{question}\n" for question in questions)
    found = subprocess.run([built(program), *arguments], input=lines, capture_output=True, text=True, check=False)
    if found.returncode:
        raise FeeModelError(f"{program} ended: {found.stderr.strip()[-400:]}")
    return found.stdout.splitlines()
