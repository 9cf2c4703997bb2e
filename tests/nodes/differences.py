"""Random and extreme inputs, asked of others' own code and of this package: every answer is the same.

python -m tests.nodes.differences 20000 --seeds 1 2 3        # that many inputs a formula and seed; needs Go
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from feemodel.checks import INT64_MAX
from feemodel.errors import Int64Overflow
from tests.nodes.formulas import FORMULAS, Arguments, Draw, Formula, dictionary, text
from tests.nodes.programs import MissingGo, answers

SHOWN = 5  # differences of a formula
ARRAY_LENGTH = 500  # rows of one call with arrays


class Difference(NamedTuple):
    """An input whose answers differ."""

    question: str
    theirs: str
    ours: str

    def __str__(self) -> str:
        question = self.question if len(self.question) < 600 else f"{self.question[:600]} …"
        return f"{question}\n    theirs {self.theirs[:300]}\n    ours   {self.ours[:300]}"


def differences(name: str, size: int, seed: int) -> list[Difference]:
    """The inputs of a formula for which the answers differ; half of the inputs are of usual size."""
    formula, rng = FORMULAS[name], random.Random(f"{name} {seed}")
    rows = [(usual, formula.draw(Draw(rng, usual=usual))) for usual in (place % 2 == 0 for place in range(size))]
    questions = [formula.line(arguments) for _, arguments in rows]
    options = [str(dictionary())] if formula.program == "consensys" else []
    theirs = answers(formula.program, questions, options)
    if len(theirs) != size:
        raise ValueError(f"{formula.program} gave {len(theirs)} answers to {size} questions")
    found = [
        Difference(question, expected, ours)
        for (_, arguments), question, expected in zip(rows, questions, theirs, strict=True)
        if (ours := _answer(formula, arguments)) != expected
    ]
    if formula.arrays:
        usual = [
            (*row, question, expected)
            for (is_usual, row), question, expected in zip(rows, questions, theirs, strict=True)
            if is_usual and expected.isdecimal() and int(expected) <= INT64_MAX
        ]
        found += _array_differences(formula, usual)
    return found


def _answer(formula: Formula, arguments: Arguments) -> str:
    try:
        return text(formula.ours(*arguments))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _array_differences(formula: Formula, rows: Sequence[Arguments]) -> Iterator[Difference]:
    """Those of calls with arrays; what is not a whole number is the same in all rows of a call."""

    def fixed(row: Arguments) -> tuple[Any, ...]:
        return tuple(value for value in row[:-2] if not isinstance(value, int))

    for _, group in groupby(sorted(rows, key=lambda row: str(fixed(row))), key=fixed):
        alike = list(group)
        for start in range(0, len(alike), ARRAY_LENGTH):
            yield from _differences_of_one_call(formula, alike[start : start + ARRAY_LENGTH])


def _differences_of_one_call(formula: Formula, rows: Sequence[Arguments]) -> Iterator[Difference]:
    *columns, questions, theirs = zip(*rows, strict=True)
    arguments = [np.array(values) if isinstance(values[0], int) else values[0] for values in columns]
    try:
        ours = np.broadcast_to(formula.ours(*arguments), len(rows)).tolist()
    except Int64Overflow:  # one of them needs more than 64 bits on the way, and says so
        if len(rows) > 1:
            for row in rows:
                yield from _differences_of_one_call(formula, [row])
    except Exception as error:
        yield Difference(f"{questions[0]} and others", "arrays", f"{type(error).__name__}: {error}")
    else:
        for question, expected, value in zip(questions, theirs, ours, strict=True):
            if expected != str(value):
                yield Difference(question, expected, f"{value} in an array")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", nargs="?", type=int, default=20_000, metavar="INPUTS")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--only", nargs="+", choices=list(FORMULAS), default=list(FORMULAS), metavar="FORMULA")
    asked = parser.parse_args()
    try:
        return compare(asked.only, asked.size, asked.seeds)
    except MissingGo as error:
        print(f"compare-nodes: {error}", file=sys.stderr)
        return 2


def compare(names: Sequence[str], size: int, seeds: Sequence[int]) -> int:
    """Print the differences of each formula; 1 where there are any."""
    wrong = 0
    for name in names:
        started, found = time.monotonic(), []
        for seed in seeds:
            found += differences(name, size, seed)
        judge = FORMULAS[name].judge or FORMULAS[name].program
        total, seconds = size * len(seeds), time.monotonic() - started
        print(f"{name:36} {judge:22} {total:8,} inputs {len(found):6,} differences {seconds:7.1f} s", flush=True)
        for difference in found[:SHOWN]:
            print(f"  {difference}")
        wrong += len(found)
    print(f"{wrong:,} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
