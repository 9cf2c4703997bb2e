"""Marks every test here as `system`, and starts the server that most of them share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.attack import WAIT
from tests.system.start import Started, started

HERE = Path(__file__).parent
WORKERS = ("--workers", "2")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--attack-seconds` and `--attack-bound`."""
    parser.addoption("--attack-seconds", type=float, default=1.5, help="duration of each attack [s]")
    parser.addoption("--attack-bound", type=float, default=WAIT, help="wait that an innocent caller may have [s]")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.system)
            if item.path.name.startswith("test_attacks"):
                item.add_marker(pytest.mark.attack)


@pytest.fixture(scope="session")
def seconds(request: pytest.FixtureRequest) -> float:
    """Duration of each attack [s]."""
    return float(request.config.getoption("--attack-seconds"))


@pytest.fixture(scope="session")
def bound(request: pytest.FixtureRequest) -> float:
    """Wait that an innocent caller may have [s]."""
    return float(request.config.getoption("--attack-bound"))


@pytest.fixture(scope="module")
def server() -> Iterator[Started]:
    """A server with two workers and its default settings."""
    with started(*WORKERS) as server:
        yield server
