"""README and pages: sessions print what they show, links lead somewhere; their Python is run as doctests."""

import json
import re
import shlex

import pytest

import feemodel
from feemodel.cli import main
from tests.conftest import ROOT
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE
from tests.server.parts import opened

needs_native = pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)

PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for pattern in ("README.md", "docs/how-to/[ps][yh]*.md", "docs/explanation/*.md", "docs/reference/*.md")
    for path in sorted(ROOT.glob(pattern))
}
SESSIONS = sorted(
    {
        session
        for text in PAGES.values()
        for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL)
        for session in re.split(r"^(?=\$ )", block, flags=re.MULTILINE)
        if session
    }
)
CURL = re.compile(r"    curl -s http://127\.0\.0\.1:8545 [^']*'[^']*' -d '([^']*)'\n    (\{.*\})\n")


@pytest.mark.parametrize(
    "session",
    [pytest.param(one, marks=[needs_native] * ("--intact" in one), id=one.splitlines()[0]) for one in SESSIONS],
)
def test_a_session_prints_what_the_page_shows(session, capsys, monkeypatch):
    command, *expected = session.replace("\\\n", " ").splitlines()
    program, *arguments = shlex.split(command.removeprefix("$ "))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(ROOT)

    assert program == "feemodel"
    assert main(arguments) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in printed if line] == [line.rstrip() for line in expected if line.strip()]


def test_the_readme_is_short():
    assert len(PAGES["README.md"].splitlines()) < 80


@pytest.mark.parametrize("page", [name for name, text in PAGES.items() if "curl -s" in text])
def test_a_request_by_curl_is_answered_as_the_page_shows(page):
    ((body, expected),) = CURL.findall(PAGES[page])
    with opened() as client:
        answer = client.http("POST", body=body.encode())

    assert answer.json() == json.loads(expected)


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_links_to_is_there(page):
    linked = [link for link in re.findall(r"\]\(([^)#]+)", PAGES[page]) if "://" not in link and "built/" not in link]

    assert [link for link in linked if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_the_citation_names_this_version():
    cited = dict(re.findall(r"^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE))

    assert (cited["version"], cited["license"], cited["cff-version"]) == (feemodel.__version__, "Apache-2.0", "1.2.0")
