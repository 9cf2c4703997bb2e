"""Fixtures shared by all tests."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No test is timed: the first example of a property may compile a kernel. Where a check must give the same answer
# twice, the examples are the same too; elsewhere every run looks at new ones.
settings.register_profile(
    "untimed", deadline=None, derandomize="CI" in os.environ, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parents[1]
collect_ignore = ["mutation/run.py"]  # it imports cosmic-ray, which only the environment of scripts/mutate has


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real inputs and expected outputs; where FEEMODEL_SHARED names it, it must be there."""
    named = os.environ.get("FEEMODEL_SHARED")
    folder = Path(named) if named else ROOT.parent / "shared"
    if not (folder / "vectors").is_dir():
        if named:
            pytest.fail(f"FEEMODEL_SHARED={named}: no folder vectors/ there")
        pytest.skip("needs the shared inputs: set FEEMODEL_SHARED to their folder")
    return folder


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
