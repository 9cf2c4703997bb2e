"""The how-to pages that add something to the package: what each changes, and following them in a copy."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FOLDER = ROOT / "docs/how-to/add"
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "out", "node_modules")


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)


def new_files(page: str) -> dict[str, str]:
    """Path → text of the blocks that begin with the path of a new file."""
    written = [*blocks(page, "python"), *blocks(page, "toml")]
    found = [re.fullmatch(r"# (\S+\.(?:py|toml))\n(.*)", block, flags=re.DOTALL) for block in written]
    return {match[1]: match[2] for match in found if match}


def differences(page: str) -> list[tuple[str, str, str]]:
    """Path, text before and text after, of every part of the blocks that change a file."""
    found = []
    for block in blocks(page, "diff"):
        for path, body in re.findall(r"^--- (\S+)\n(.*?)(?=^--- |\Z)", block, flags=re.DOTALL | re.MULTILINE):
            for part in re.split(r"^@@\n", body, flags=re.MULTILINE)[1:]:
                lines = part.splitlines(keepends=True)
                before = "".join(line[1:] for line in lines if line[0] in " -")
                found.append((path, before, "".join(line[1:] for line in lines if line[0] in " +")))
    return found


def follow(page: str, checkout: Path) -> list[str]:
    """Do what a page says in a checkout; returns the files that it added or changed."""
    for path, text in new_files(page).items():
        assert not (checkout / path).exists(), f"{path} is there already"
        (checkout / path).write_text(text, encoding="utf-8")
    for path, before, after in differences(page):
        text = (checkout / path).read_text(encoding="utf-8")
        assert text.count(before) == 1, f"{path} has this {text.count(before)} times:\n{before}"
        (checkout / path).write_text(text.replace(before, after), encoding="utf-8")
    return sorted({*new_files(page), *(path for path, *_ in differences(page))})


def followed_pages(checkout: Path) -> dict[str, list[str]]:
    """Copy the repository to a folder and do there what each page says; returns the files by page."""
    for name in ("feemodel", "tests", "data", "docs/gallery", "docs/how-to"):
        shutil.copytree(ROOT / name, checkout / name, ignore=NOT_COPIED)
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, checkout)
    return {title: follow(page, checkout) for title, page in PAGES.items()}


def run(checkout: Path, *arguments: str) -> None:
    """Run a module of Python in the copy, which must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
