"""Runs files of published vectors against the package: `python -m tests.vectors FILE...`, or from the tests.

A file is recognised by its shape, not by its name:

    state/*.json         hashes, keys, accounts, trees, proofs, traces, trie logs: `tests.helpers.state_vectors`
    linea/fees.json      an object of sections, each with a runner in `tests.vectors.linea`
    data/vectors/*       the field's vectors, an object with a list `vectors` and a version: `tests.nodes.vectors`
    rollups/fees.json    an object with a list `vectors` of chain, model, inputs, expected: `tests.vectors.rollups`

A section or model without a runner counts as failed, so that nothing passes by not being looked at.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.helpers.inputs import ROOT


class Case(NamedTuple):
    name: str
    passed: bool
    detail: str = ""


def files_of(folder: Path) -> list[Path]:
    """The field's vectors, and the files of published vectors in a folder of inputs without the notes for readers."""
    published = [path for path in sorted((folder / "vectors").glob("*/*.json")) if path.name != "notes.json"]
    return [*published, *sorted((ROOT / "data" / "vectors").glob("*/*.json"))]


def run_file(path: Path) -> list[Case]:
    """Every vector of a file, run."""
    from tests.helpers import state_vectors
    from tests.vectors import linea, rollups

    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        return [Case(str(path), False, f"cannot be read: {error}")]
    if state_vectors.is_state_file(data):
        return [Case(*case) for case in state_vectors.run_state_file(data, path.name)]
    if isinstance(data, dict) and isinstance(data.get("vectors"), list) and "version" in data:
        from tests.nodes import vectors

        return list(vectors.run(data["vectors"]))
    if isinstance(data, dict) and isinstance(data.get("vectors"), list):
        return list(rollups.run(data["vectors"]))
    if isinstance(data, dict):
        return list(linea.run(data))
    return [Case(str(path), False, f"expected an object of sections, got a {type(data).__name__}")]


def compare(name: str, expected: Any, actual: Any) -> Case:
    """Whether a result is the expected one: integers equal, doubles equal to the last bit."""
    passed = type(expected) is type(actual) and expected == actual
    if isinstance(expected, (int, float)) and isinstance(actual, (int, float)) and not isinstance(actual, bool):
        passed = expected == actual and not math.isnan(actual)
    return Case(name, passed, "" if passed else f"expected {expected!r}, got {actual!r}")


def refused(name: str, action: Any) -> Case:
    """Whether an action is refused with the package's own error."""
    from feemodel.errors import InvalidInput

    try:
        return Case(name, False, f"expected a refusal, got {action()!r}")
    except InvalidInput:
        return Case(name, True)


def guarded(name: str, cases: Iterator[Case]) -> Iterator[Case]:
    """The cases of a runner; an exception of it is a failed case."""
    try:
        yield from cases
    except Exception as error:
        yield Case(name, False, f"{type(error).__name__}: {error}")
