"""The README's console sessions are run and print what it says; its Python is run as doctests."""

import re
import shlex

import pytest

from feemodel.cli import main
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)
SESSIONS = [session for block in BLOCKS for session in re.split(r"^(?=\$ )", block, flags=re.MULTILINE) if session]


def test_there_are_sessions_to_run():
    assert len(SESSIONS) >= 4


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.splitlines()[0])
def test_a_session_prints_what_the_readme_shows(session, capsys, monkeypatch):
    command, *expected = session.replace("\\\n", " ").splitlines()
    program, *arguments = shlex.split(command.removeprefix("$ "))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(ROOT)

    assert program == "feemodel"
    assert main(arguments) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in printed if line] == [line.rstrip() for line in expected if line.strip()]
