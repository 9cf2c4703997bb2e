"""Engines for tests: the native one where its package is installed, and in every run the reference."""

from feemodel._extras import has_native
from feemodel.execution._engines import engine_named

HAS_NATIVE = has_native()
WITHOUT_NATIVE = "needs feemodel-native: pip install ./native"
ENGINES = ("native", "reference") if HAS_NATIVE else ("reference",)


def run_once(call_state, message, gas_limit, engine="reference"):
    """The outcome of one execution."""
    return engine_named(engine).execute(call_state, message, gas_limit)


def address(number):
    return number.to_bytes(20, "big")
