"""Fixtures shared by all tests."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from feemodel._extras import has_native
from tests.helpers.inputs import ROOT as ROOT
from tests.helpers.inputs import SMALL, inputs

# No test is timed: the first example of a property may compile a kernel. `.ci/run` must give the same answer twice, so
# its examples are the same each time; elsewhere every run looks at new ones.
IN_CI = "CI" in os.environ
settings.register_profile(
    "untimed", deadline=None, derandomize=IN_CI, max_examples=20, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("untimed")

collect_ignore = [] if has_native() else ["helpers/native_door.py"]


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of published vectors and real inputs: the full set, or the part in `tests/data` without it."""
    return inputs()


@pytest.fixture(scope="session")
def full_inputs(shared: Path) -> Path:
    """Folder of all inputs, for tests that need files too large for the repository."""
    if shared == SMALL:
        pytest.skip("needs inputs that are too large for the repository: set FEEMODEL_SHARED to their folder")
    return shared


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What a test printed and logged without lone surrogates, which no process can hand to another as text."""
    report = yield
    report.sections = [(name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections]
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that skipped a test where all that tests need should be there, as `.ci/run` says of itself."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = [] if reporter is None else reporter.stats.get("skipped", [])
    if skipped and os.environ.get("FEEMODEL_PEERS") and session.exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"\n{len(skipped)} skipped, although FEEMODEL_PEERS is set", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository that all pages are followed in, one after the other."""
    return tmp_path_factory.mktemp("copy")


@pytest.fixture(scope="module")
def followed(checkout: Path) -> dict[str, list[str]]:
    """What each page about an addition changed in the copy."""
    from tests.helpers.contributing import followed_pages

    return followed_pages(checkout)
