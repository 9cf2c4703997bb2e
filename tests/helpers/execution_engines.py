"""Engines for tests: the native one where its package is installed, and in every run the reference."""

from feemodel._extras import has_native

HAS_NATIVE = has_native()
WITHOUT_NATIVE = "needs feemodel-native: pip install ./native"
ENGINES = ("native", "reference") if HAS_NATIVE else ("reference",)


def address(number):
    return number.to_bytes(20, "big")
