"""Picks from what fuzzing found the few inputs that reach what the seeds do not: python -m tests.fuzz.distil FOLDER

FOLDER is the one given to `scripts/fuzz --corpus`. The inputs go to `corpus/<target>/`, where `tests/fuzz/test_fuzz.py`
replays them.
"""

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from tests.fuzz.__main__ import SEEDS
from tests.fuzz.target import Target, accepts
from tests.fuzz.targets import PLACES, load

INPUTS = 24  # of a target, at most
SIZE = 4_096  # bytes of one, at most

Steps = set[tuple[str, int, int]]  # file, a line and the line after it


def reached(target: Target, data: bytes, watched: frozenset[str]) -> Steps:
    """The steps from line to line that an input takes through the watched files."""
    steps: Steps = set()
    last: dict[int, int] = {}

    def follow(frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if name not in watched:
            return None
        steps.add((name, last.get(id(frame), 0), frame.f_lineno))
        last[id(frame)] = frame.f_lineno
        if event == "return":
            del last[id(frame)]
        return follow

    sys.settrace(follow)
    try:
        accepts(target, data)
    finally:
        sys.settrace(None)
    return steps


def distilled(target: Target, inputs: Iterable[bytes], watched: frozenset[str]) -> list[bytes]:
    """Inputs of which each reaches more than the seeds and those before it, the most telling first."""
    known: Steps = set().union(*(reached(target, seed, watched) for seed in target.seeds()))
    left = {data: reached(target, data, watched) - known for data in inputs if len(data) <= SIZE}
    chosen: list[bytes] = []
    while left and len(chosen) < INPUTS:
        best = max(left, key=lambda data: (len(left[data]), -len(data), data))
        new = left.pop(best)
        if not new:
            break
        chosen.append(best)
        left = {data: steps - new for data, steps in left.items()}
    return chosen


def files_of(modules: Iterable[str]) -> frozenset[str]:
    """The source files of modules, and of all that are loaded below a package."""
    for module in modules:
        import_module(module)
    loaded = [module for name, module in sys.modules.items() if name.startswith(tuple(modules))]
    return frozenset(str(module.__file__) for module in loaded if getattr(module, "__file__", None))


def main(folder: Path) -> None:
    for name, (_, modules) in PLACES.items():
        found = sorted(path.read_bytes() for path in (folder / name).glob("*"))
        chosen = distilled(load(name), found, files_of(modules))
        if chosen:
            (SEEDS / name).mkdir(parents=True, exist_ok=True)
        for old in (SEEDS / name).glob("reached-*"):
            old.unlink()
        for number, data in enumerate(chosen):
            (SEEDS / name / f"reached-{number:02}").write_bytes(data)
        print(
            f"{name:<16}{len(found):>8,} inputs, {len(chosen):>3} kept, {sum(map(len, chosen)):>7,} bytes", flush=True
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
