"""Engines for tests: the fast one where it is installed, and in every run the reference."""

import importlib.util

from feemodel.execution.engines import engine_named

HAS_FAST = importlib.util.find_spec("pyrevm") is not None
ENGINES = ("auto", "reference") if HAS_FAST else ("reference",)


def run_once(world, message, gas_limit, engine="reference"):
    """The outcome of one execution."""
    return engine_named(engine).run(world, lambda execute: execute(message, gas_limit))


def address(number):
    return number.to_bytes(20, "big")
