"""Marks every test here as `system`, and starts the server that most of them share."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.browser import Tab, browsing
from tests.system.attack import WAIT
from tests.system.start import Started, serving

HERE = Path(__file__).parent


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


@pytest.fixture(scope="session")
def plain_server() -> Iterator[Started]:
    """A server with one worker and its default settings, for whatever leaves it as it is."""
    with serving("--workers", "1") as server:
        yield server


@pytest.fixture(scope="module")  # it keeps the thread's event loop, which other tests need
def page_browser() -> Iterator[Any]:
    """A browser for the tests of the explorer's page."""
    with browsing() as browser:
        yield browser


@pytest.fixture
def open_tab(page_browser: Any, plain_server: Any) -> Iterator[Callable[..., Any]]:
    """Tabs that must have made no error, and asked nobody but the server."""
    tabs = []

    def opened(link: str = "", **context: Any) -> Any:
        tabs.append(Tab(page_browser, plain_server.address, link, **context))
        return tabs[-1]

    yield opened
    for tab in tabs:
        tab.close()
        assert (tab.errors, tab.elsewhere) == ([], [])
