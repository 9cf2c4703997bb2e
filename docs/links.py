"""Whether each link inside a built site leads somewhere, and no page has odd text: `python -m docs.links FOLDER`."""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        self.links += [value for name in ("href", "src") if (value := given.get(name))]


def broken(folder: Path) -> Iterator[str]:
    """Every link to a missing page, file or anchor, with the page that has the link."""
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            found = pages.get(target / "index.html" if target.is_dir() else target)
            if not target.exists() or (found is not None and unquote(parts.fragment) not in found.anchors):
                yield f"{path.relative_to(folder.resolve())}: {link}"


def unwanted(folder: Path) -> Iterator[str]:
    """Every page that shows what Python writes in place of documentation, or the path of this checkout."""
    texts = ("Alias for field number", "str(object=", "&lt;factory&gt;", r"\x00\x00\x00", str(Path.cwd()))
    for path in sorted(folder.rglob("*.html")):
        content = path.read_text(encoding="utf-8")
        yield from (f"{path.relative_to(folder)}: unwanted text {text}" for text in texts if text in content)


def main(arguments: list[str]) -> int:
    (folder,) = map(Path, arguments)
    found = [*broken(folder), *unwanted(folder)]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(list(folder.rglob('*.html'))):,} pages, {len(found)} broken links or unwanted texts")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
