"""The benchmarks: each can be begun, says what is missing, and what it asks of a server is answered."""

import ast
import importlib
import inspect
import pkgutil
import re
from types import ModuleType
from unittest.mock import Mock

import pytest

import benchmarks
from benchmarks import __main__ as command
from benchmarks import closed_loop
from feemodel.errors import FeeModelError
from feemodel.simulation.closed_loop._pricing import checked_pricing

NAMES = sorted({module.name for module in pkgutil.iter_modules(benchmarks.__path__)} - {"__main__"})


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_says_in_a_line_what_it_measures(name):
    module = importlib.import_module(f"benchmarks.{name}")

    assert re.fullmatch(r".{40,120}\.", module.__doc__.partition("\n")[0])
    assert callable(module.main)


def test_every_name_that_a_benchmark_reads_from_a_module_of_the_package_exists():
    for name in NAMES:
        module = importlib.import_module(f"benchmarks.{name}")
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner = getattr(module, node.value.id, None)
                if isinstance(owner, ModuleType) and owner.__name__.startswith("feemodel"):
                    assert hasattr(owner, node.attr), f"{name}: {node.value.id}.{node.attr}"


def test_the_policy_of_the_closed_loop_is_a_policy():
    policy = closed_loop._Own()

    assert checked_pricing(policy) is policy


def test_an_unknown_one_is_refused(capsys):
    assert command.main(["lzss", "lzzs"]) == 2
    assert capsys.readouterr().err.startswith("no benchmark lzzs: there are closed_loop, codecs, ")


def test_one_that_lacks_a_tool_is_named_and_the_others_run(capsys, monkeypatch):
    lacking = Mock(side_effect=FeeModelError("wrk: not found"))
    for name, main in (("lzss", lacking), ("sweep", lambda: print("swept"))):
        monkeypatch.setattr(importlib.import_module(f"benchmarks.{name}"), "main", main)

    assert command.main(["lzss", "sweep"]) == 1
    assert re.search(r"not measured: wrk: not found\n\n== sweep: .*\nswept\n", capsys.readouterr().out)
