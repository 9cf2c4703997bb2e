"""The API reference, from the package's docstrings: `python -m docs.reference [FOLDER]`, out/api by default.

pdoc makes the pages. What it does not know is told to it here: the names of a package that are imported when they are
first used; that `#:` comments describe fields; how this house writes docstrings, with NumPy's sections but one line a
parameter, `name : meaning [unit].`; and that an array type is better named than spelled out.
"""

import ast
import dataclasses
import functools
import inspect
import pkgutil
import re
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from numpy.typing import ArrayLike

import feemodel
from feemodel._extras import has_native

NATIVE = () if has_native() else ("feemodel.execution.native",)  # whose types are in that package
LEFT_OUT = ("feemodel.cli", *NATIVE)  # commands are told by `feemodel --help`
FOLDER = Path(__file__).resolve().parents[1] / "out" / "api"
TEMPLATES = Path(__file__).parent / "templates"

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", flags=re.MULTILINE)
ENTRY = re.compile(r"^(\S[^:`\n]*?) : ")
DOCTEST = re.compile(r"^>>> .*?(?=\n\n|\Z)", flags=re.DOTALL | re.MULTILINE)
ARRAY = re.compile(r"numpy\.ndarray\[(?:tuple\[(?:typing\.)?Any, \.\.\.\]|[\w.]+), numpy\.dtype\[([\w.]+)\]\]")


ZEROS = re.compile(r"b'(?:\\x00){4,}'")


def modules(package: ModuleType = feemodel) -> Iterator[ModuleType]:
    """A package and all modules below it that the reference shows, imported."""
    yield package
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if found.name in LEFT_OUT or found.name.rpartition(".")[2].startswith("_"):
            continue
        module = import_module(found.name)
        yield from modules(module) if found.ispkg else [module]


def resolve_lazy_names(package: ModuleType) -> None:
    """Bind what a package imports at first use, and list its modules beside it: pdoc looks at both as they stand."""
    names = list(getattr(package, "__all__", []))
    for name in names:
        vars(package)[name] = getattr(package, name)
    if names:
        below = [found.name for found in pkgutil.iter_modules(package.__path__) if not found.name.startswith("_")]
        shown = [name for name in below if name not in names and f"{package.__name__}.{name}" not in LEFT_OUT]
        vars(package)["__all__"] = names + shown


def to_markdown(docstring: str) -> str:
    """A docstring of this house as Markdown: sections as headings, their entries as lists, doctests as code.

    Indented code and tables are Markdown already. A power such as 2**63 is no emphasis.
    """
    if docstring.startswith("Create new instance of "):  # what namedtuple says of every one
        return ""
    fenced = DOCTEST.sub(lambda found: f"```pycon\n{found[0]}\n```", docstring)
    escaped = "".join(
        part if part.startswith(("`", "```")) else part.replace("**", r"\*\*")
        for part in re.split(r"(```.*?```|`[^`]*`)", fenced, flags=re.DOTALL)
    )
    lead, *sections = SECTION.split(escaped)
    named = zip(sections[::2], sections[1::2], strict=True)
    return lead + "".join(f"###### {heading}\n\n{_with_entries(body)}" for heading, body in named)


def _with_entries(body: str) -> str:
    """A section's body with its entries as a list; a paragraph that is no entry stays one."""
    return "\n\n".join(map(_as_list, body.split("\n\n")))


def _as_list(paragraph: str) -> str:
    if not ENTRY.match(paragraph):
        return paragraph
    entries = (" ".join(entry.split()) for entry in re.split(r"\n(?=\S)", paragraph))
    return "\n".join("- " + ENTRY.sub(r"`\1`: ", entry) for entry in entries)


def short_types(annotation: str) -> str:
    """Types and defaults as they are written, not as they are made: `ArrayLike`, `NDArray[int64]`, `bytes(20)`."""
    named = ARRAY.sub(lambda found: f"NDArray[{found[1].removeprefix('numpy.')}]", annotation)
    named = ZEROS.sub(lambda found: f"bytes({found[0].count('x')})", named)
    return re.sub(r"\b(typing|collections\.abc|numpy\.typing)\.", "", named.replace(ARRAY_LIKE, "ArrayLike"))


ARRAY_LIKE = inspect.formatannotation(ArrayLike)


def field_comments(source: str) -> dict[str, str]:
    """Name → text of the `#:` comments of a module's or a class's assignments, behind them or above them."""
    source = textwrap.dedent(source)
    lines, body = source.splitlines(), ast.parse(source).body
    if len(body) == 1 and isinstance(body[0], ast.ClassDef):
        body = body[0].body
    assigned = ((node, target) for node in body if (target := _target(node)) is not None)
    return {name: comment for node, name in assigned if (comment := _comment(node, lines))}


def _target(node: ast.stmt) -> str | None:
    targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets if isinstance(node, ast.Assign) else []
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else None


def _comment(node: ast.stmt, lines: list[str]) -> str:
    last = lines[(node.end_lineno or node.lineno) - 1]
    behind = last.encode()[node.end_col_offset :].decode().partition("#:")[2].strip()  # the offset counts bytes
    above: list[str] = []
    number = node.lineno - 2
    while not behind and number >= 0 and lines[number].lstrip().startswith("#:"):
        above.insert(0, lines[number].strip().removeprefix("#:").strip())
        number -= 1
    return behind or " ".join(above)


def _teach_pdoc() -> None:
    import pdoc.doc
    import pdoc.doc_ast
    import pdoc.docstrings

    walk = pdoc.doc_ast.walk_tree

    @functools.cache
    def walk_with_comments(documented: Any) -> Any:
        info = walk(documented)
        try:
            comments = field_comments(inspect.getsource(documented))
        except (OSError, TypeError):
            return info  # made at run time, or compiled
        return dataclasses.replace(info, var_docstrings=comments | info.var_docstrings)

    pdoc.doc_ast.walk_tree = walk_with_comments
    pdoc.docstrings.convert = lambda docstring, docformat, source_file: to_markdown(docstring)
    pdoc.doc._remove_collections_abc = short_types


def gallery_uses(scripts: Path) -> dict[str, list[tuple[str, str]]]:
    """Public name → title and stem of every script of the gallery that imports it or calls it by its module."""
    uses: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(scripts.glob("plot_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        title = (ast.get_docstring(tree) or "").partition("\n")[0]
        for name in sorted(set(_names_of(tree))):
            uses.setdefault(name, []).append((title, path.stem))
    return uses


def _names_of(tree: ast.Module) -> Iterator[str]:
    """Full names of what a script takes from the package, as it writes them."""
    modules_by_alias: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("feemodel"):
            for alias in node.names:
                modules_by_alias[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            modules_by_alias |= {alias.asname or alias.name: alias.name for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules_by_alias:
            yield f"{modules_by_alias[node.value.id]}.{node.attr}"


def link_gallery(scripts: Path) -> None:
    """Append to the docstring of each function and class the gallery's scripts that use it."""
    linked: dict[int, tuple[Any, dict[str, str]]] = {}
    for name, found in gallery_uses(scripts).items():
        value = pkgutil.resolve_name(name) if name.startswith("feemodel.") else None
        if inspect.isfunction(value) or inspect.isclass(value):
            linked.setdefault(id(value), (value, {}))[1].update({stem: title for title, stem in found})
    for value, scripts_of in linked.values():
        lines = "\n".join(f"- [{title}](gallery:{stem})" for stem, title in scripts_of.items())
        value.__doc__ = f"{inspect.getdoc(value) or ''}\n\nGallery\n-------\n{lines}"


def _resolve_gallery_links(folder: Path) -> None:
    """The gallery's pages as seen from each page of the reference, which lies in `api/` of the site."""
    for page in folder.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        up = "../" * (len(page.relative_to(folder).parts))
        resolved = re.sub(r'href="gallery:(\w+)"', rf'href="{up}built/gallery/\1.html"', text)
        if resolved != text:
            page.write_text(resolved, encoding="utf-8")


def write(folder: Path, gallery: Path | None = None) -> int:
    """The reference of the package into a folder; returns the number of modules that it shows.

    With the folder of the gallery's scripts, for `api/` of a site that has the gallery too, functions link to them.
    """
    import pdoc
    import pdoc.render

    documented = list(modules())
    if gallery is not None:
        link_gallery(gallery)
    for module in documented:
        if hasattr(module, "__path__"):
            resolve_lazy_names(module)
    _teach_pdoc()
    pdoc.render.configure(
        include_undocumented=False,
        show_source=False,
        template_directory=TEMPLATES,
        footer_text=f"feemodel {feemodel.__version__}",
    )
    pdoc.pdoc("feemodel", *(f"!{name}" for name in LEFT_OUT), output_directory=folder)
    _resolve_gallery_links(folder)
    return len(documented)


if __name__ == "__main__":
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    print(f"{write(given)} modules, {given / 'index.html'}")
