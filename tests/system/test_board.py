"""The board: the published libraries answer as its page says."""

from tests.conftest import ROOT
from tests.peers.board import CRATE, HERE, main

PAGE = (ROOT / "docs" / "board" / "index.md").read_text(encoding="utf-8")


def test_the_table_of_the_page_is_what_the_libraries_answer(tmp_path, capsys):
    assert main(["--out", str(tmp_path)]) == 0

    for line in capsys.readouterr().out.splitlines():
        assert line in PAGE.splitlines()


def test_an_adapter_has_at_most_sixty_lines():
    adapters = [*HERE.glob("*.mjs"), *HERE.glob("*.py"), *(CRATE / "src" / "bin").glob("*.rs")]

    assert len(adapters) >= 10
    assert all(len(path.read_text(encoding="utf-8").splitlines()) <= 60 for path in adapters)
