"""The room of input and output as a whole."""

import subprocess
import sys

import pytest

import feemodel.io


def test_every_public_name_is_there() -> None:
    assert all(callable(getattr(feemodel.io, name)) for name in feemodel.io.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'feemodel\.io' has no attribute 'read_minds'"):
        feemodel.io.read_minds  # noqa: B018


def test_import_loads_nothing_heavy() -> None:
    program = (
        "import sys, feemodel.io; print(sorted({'numpy', 'pandas', 'pyarrow', 'aiohttp', 'rich'} & {*sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
