"""The site: MyST pages, a tutorial and a gallery that are executed, and a reference made from the code."""

import asyncio
import contextlib
import inspect
import io
import os
import re
import tempfile
import textwrap
from collections.abc import Mapping
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from pydoc import locate
from typing import Any, get_type_hints

import matplotlib.pyplot as plt
import nbformat
from nbconvert import MarkdownExporter
from sphinx.application import Sphinx
from sphinx_gallery.scrapers import matplotlib_scraper

import feemodel
import feemodel.errors as errors
from docs.colours import check_colours
from feemodel.cli import VERBS, main
from feemodel.quantities import quantity_of

HERE = Path(__file__).parent
BUILT = HERE / "built"  # generated, not in Git: pages of commands and names, the gallery
ROOMS = (
    "feemodel", "feemodel.ethereum", "feemodel.sizes", "feemodel.linea", "feemodel.rollups", "feemodel.execution",
    "feemodel.estimates", "feemodel.ledger", "feemodel.io", "feemodel.simulation", "feemodel.plots",
    "feemodel.server", "feemodel.explorer",
)  # fmt: skip
MODULES = {  # modules without a list of public names → names
    "feemodel.simulation.scenarios": ("bootstrap", "duration", "replay", "scenario"),
    "feemodel.simulation.surfaces": ("Submission", "Workload"),
    "feemodel.errors": tuple(name for name, value in vars(errors).items() if inspect.isclass(value) and name != "Any"),
}
PAGES: dict[str, str] = {}  # name → page of the API reference

project = "feemodel"
author = copyright = "the feemodel authors"
release = version = feemodel.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "sphinx_gallery.gen_gallery"]
copybutton_prompt_text, copybutton_prompt_is_regexp = r">>> |\.\.\. |\$ ", True
default_role = "literal"  # for single backticks, as in docstrings
autodoc_typehints = "none"  # the signature has them
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True  # names of constants, not their values
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["paper"]
suppress_warnings = ["config.cache"]  # the gallery's order is a class, which cannot be pickled
html_theme = "furo"
html_title = "feemodel"
html_use_index = False
html_static_path, html_css_files = ["static"], ["style.css"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3


def figures_in_colours_that_differ(*block: Any) -> str:
    """Check the colours of a script's figures; return their markup."""
    for number in plt.get_fignums():
        check_colours(plt.figure(number))
    return str(matplotlib_scraper(*block))


sphinx_gallery_conf = {
    "examples_dirs": ["tutorial", "gallery"],
    "gallery_dirs": ["built/tutorial", "built/gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 3600,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "image_scrapers": (figures_in_colours_that_differ,),
    "matplotlib_animations": False,
    "capture_repr": (),  # printed output, not the value of the last line
}


def commands_page() -> str:
    """What `feemodel COMMAND --help` says, for each command."""
    parts = [
        "# Commands\n",
        "`feemodel --help` lists the commands. Each page has the output of `feemodel COMMAND --help`.\n",
    ]
    for verb in VERBS:
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
            main([verb, "--help"])
        parts.append(f"## {verb}\n\n```text\n{text.getvalue().rstrip()}\n```\n")
    return "\n".join(parts)


def methods_page() -> str:
    """The JSON-RPC methods, as the server describes them."""
    from feemodel.estimates.chain import copy_development_ledger
    from feemodel.server.app import Service
    from feemodel.server.settings import Settings
    from feemodel.server.workers import load

    async def methods(ledger: Path) -> Mapping[str, Any]:
        copy_development_ledger(ledger)
        return Service(load(Settings(), ledger)).methods

    parts = [
        "# JSON-RPC methods\n",
        "A running server answers these, with a schema of every parameter and result, at `GET /openrpc.json`.\n",
    ]
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(methods(Path(folder, "ledger.db")))
    for name, method in sorted(found.items()):
        parts.append(f"## {name}\n\n{method.summary}.\n")
        parts += [f"- `{one.name}`{'' if one.required else ' (optional)'}" for one in method.parameters]
        parts.append("")
    return "\n".join(parts)


def quantities_page() -> str:
    """The nomenclature: each name that a formula takes, with its unit and meaning."""
    from tests.helpers.formulas import functions

    rows: dict[tuple[str, str], set[str]] = {}  # name and unit → meanings
    for _, function in functions():
        for name, quantity in getattr(function, "quantities", {}).items():
            rows.setdefault((name, quantity.unit), set()).add(quantity.words)
    table = ""
    for (name, unit), meanings in sorted(rows.items()):
        told = sorted(words for words in meanings if not any(words in other for other in meanings - {words}))
        table += f"| `{name}` | {unit} | {'; '.join(told)} |\n"
    return f"# Quantities\n\nThe numbers that formulas take.\n\n| name | unit | meaning |\n|---|---|---|\n{table}"


def write_in_pages(folder: Path, text: str, sentences: Mapping[str, str]) -> None:
    """A page for each section of a text, and one that lists them, with sentences by title."""
    folder.mkdir(parents=True, exist_ok=True)
    first, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    names, lines = [], []
    for section in sections:
        title = section.partition("\n")[0]
        names.append(re.sub(r"\W+", "-", title.lower()).strip("-"))
        lines.append(f"- [{title}]({names[-1]}.md){': ' * (title in sentences)}{sentences.get(title, '')}")
        (folder / f"{names[-1]}.md").write_text(f"# {section}", encoding="utf-8")
    tree = ["", "```{toctree}", ":hidden:", "", *names, "```", ""]
    (folder / "index.md").write_text("\n".join([first, *lines, *tree]), encoding="utf-8")


STYLE = re.compile(r"<style scoped>.*?</style>\n", re.DOTALL)  # of a pandas table; the theme has its own


TAGS = ("result", "figure")  # of the cells that come first on a page


def fence_printed(notebook: nbformat.NotebookNode) -> None:
    """Make blocks of what cells printed, which would otherwise continue a list above them."""
    for cell in notebook.cells:
        for index, output in enumerate(cell.get("outputs", ())):
            if output.output_type == "stream":
                data = {"text/markdown": f"```text\n{output.text.strip()}\n```"}
                cell.outputs[index] = nbformat.v4.new_output("display_data", data)


def write_notebook_pages(folder: Path) -> None:
    """A page for each notebook, with its stored outputs: the result and the key figure first, and no code."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted((HERE.parent / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        title, *cells = notebook.cells
        result, figure = (next(cell for cell in cells if tag in cell.metadata.get("tags", ())) for tag in TAGS)
        above = nbformat.v4.new_markdown_cell("*The figure is above.*")
        rest = (above if cell is figure else cell for cell in cells if cell is not result)
        notebook.cells = [result, figure, title, *rest]
        fence_printed(notebook)
        head, _, title.source = title.source.partition("\n")
        exporter = MarkdownExporter(exclude_input=True)
        text, resources = exporter.from_notebook_node(notebook, {"output_files_dir": path.stem})
        text = text.replace("## What follows\n", "", 1)  # the heading of the result
        text = re.sub("^%", r"\\%", text, flags=re.MULTILINE)  # which MyST takes for a comment
        (folder / path.stem).mkdir(exist_ok=True)
        for name, picture in resources["outputs"].items():
            (folder / name).write_bytes(picture)
        source = f"[The notebook](../../../notebooks/{path.name}) has the code."
        (folder / f"{path.stem}.md").write_text(f"{head}\n\n{STYLE.sub('', text)}\n\n{source}\n", encoding="utf-8")


def write_api_pages(folder: Path) -> None:
    """A page for each room, and a page for each public name, once: under `feemodel` if it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    shown: dict[int, str] = {}  # the page of each value
    for room in (*ROOMS, *MODULES):
        module = import_module(room)
        every = sorted(MODULES.get(room) or module.__all__, key=str.casefold)
        every = [name for name in every if callable(getattr(module, name))]  # no constants
        names = [name for name in every if id(getattr(module, name)) not in shown]
        other = [name for name in every if name not in names]
        also = ", ".join(f"[{name}]({shown[id(getattr(module, name))]}.rst)" for name in other)
        shown |= {id(getattr(module, name)): f"{room}.{name}" for name in names}
        for name in every:
            PAGES[f"{room}.{name}"] = shown[id(getattr(module, name))]
            if name[0].isupper():
                PAGES[name] = PAGES[f"{room}.{name}"]
        PAGES[room] = room
        for name in names:
            kind = "class" if inspect.isclass(getattr(module, name)) else "function"
            members = "   :members:\n" if kind == "class" else ""
            (folder / f"{room}.{name}.rst").write_text(
                f":orphan:\n\n{name}\n{'=' * len(name)}\n\n.. auto{kind}:: {room}.{name}\n{members}"
            )
        sentences = [f"- [{name}]({room}.{name}.rst): {first_sentence(getattr(module, name))}" for name in names]
        blocks = (inspect.getdoc(module) or "").split("\n\n")
        words = [block for block in blocks if not ENTRY.match(block) and not block.startswith(">>>")]
        text = "\n\n".join([f"# {room}", *words, "\n".join(sentences), f"Also: {also}." if also else ""])
        (folder / f"{room}.md").write_text(text, encoding="utf-8")


def first_sentence(value: Any) -> str:
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())


SECTION = re.compile(r"(\w[\w ]*)\n-{3,}\n")
ENTRY = re.compile(r"(\S[^:`]*?) : ")
MARKUP = re.compile(r"(`[^`]*`)|([*|]|_(?!\w))")  # code, and what only looks like markup


BOUNDED = re.compile(r"typing\.Annotated\[(?:\w+\.)*(\w+), \w+(?:\[[^\[\]]*\])?\]")  # a type with bounds


def words_of_field(name: str, text: str) -> str:
    """The comment of a field, or else what its annotation says, with the unit of its quantity, such as " [s]"."""
    record, _, field = name.rpartition(".")
    found: Any = locate(record)
    if text.startswith("Alias for field"):  # of a named tuple
        annotation = found.__annotations__[field]
        shown = getattr(annotation, "__forward_arg__", None) or inspect.formatannotation(annotation)
        kind = BOUNDED.sub(r"\1", BOUNDED.sub(r"\1", shown))
        return f"`{kind}`"
    quantity = quantity_of(get_type_hints(found, include_extras=True).get(field)) if is_dataclass(found) else None
    if quantity is None or (text.endswith("]") and not text.startswith("[")):
        return text
    unit = f"[{quantity.unit}]"
    return f"{quantity.words if text == unit else text.removesuffix('.')} {unit}".strip()


def as_restructured_text(_app: Sphinx, what: str, name: str, value: Any, _options: Any, lines: list[str]) -> None:
    """The docstrings of this project, whose formulas are indented and whose parameters are `name : meaning [unit].`"""
    if what == "attribute" and (text := " ".join(lines).strip()):
        lines[:] = [words_of_field(name, text)]
    if quantities := getattr(value, "quantities", None):
        lines += ["Parameters", "----------"]
        lines += [f"{name} : {one.words} [{one.unit}]" for name, one in quantities.items()] + [""]
    blocks = map(block_as_restructured_text, "\n".join(lines).split("\n\n"))
    lines[:] = [*"\n\n".join(blocks).splitlines(), ""]


def block_as_restructured_text(block: str) -> str:
    if block.startswith("    * "):  # a list inside an entry
        return textwrap.dedent(block)
    if block.startswith("    "):  # a formula
        return ".. code-block:: text\n\n" + textwrap.indent(block, "    ")
    if block.startswith("|"):
        rows = [line.strip("| ").split(" | ") for line in block.splitlines() if not line.startswith("|-")]
        cells = (f"{'     ' if at else '   * '}- {cell}" for row in rows for at, cell in enumerate(row))
        return "\n".join([".. list-table::", "   :header-rows: 1", "", *cells])
    if block.startswith(">>>"):
        return block
    block = MARKUP.sub(lambda found: linked(found[1]) if found[1] else "\\" + found[2], block)
    if heading := SECTION.match(block):
        entries = (" ".join(entry.split()) for entry in re.split(r"\n(?=\S[^:`\n]*? : )", block[heading.end() :]))
        listed = (ENTRY.sub(lambda found: f"- {linked(f'`{found[1]}`')}: ", entry, count=1) for entry in entries)
        return "\n\n".join([f".. rubric:: {heading[1]}", *listed])
    return block


def linked(code: str) -> str:
    """Code, or a link to the page of the name."""
    name = code.strip("`")
    return f":doc:`{name} <{PAGES[name]}>`" if name in PAGES else code


ZEROS = re.compile(r"b'((?:\\x00)+)'")
LONG = re.compile(r"=(<factory>|<function .*?>+|\w+\((?:[^()]|\([^()]*\)){60,}\))")


def short_signature(*given: Any) -> tuple[str | None, str | None] | None:
    """The signature without long defaults, and that of a protocol without what Python adds."""
    *_, signature, returns = given
    if signature is None:
        return None
    signature = ZEROS.sub(lambda found: f"bytes({len(found[1]) // 4})", signature)
    return "" if signature == "(*args, **kwargs)" else LONG.sub("=...", signature), returns


def write_generated(_: Sphinx) -> None:
    """Generate pages from the code before Sphinx reads the others."""
    os.environ["COLUMNS"] = "100"
    folder = BUILT / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    write_in_pages(folder / "commands", commands_page(), VERBS)
    write_in_pages(BUILT / "assumptions", (HERE.parent / "ASSUMPTIONS.md").read_text(encoding="utf-8"), {})
    (folder / "methods.md").write_text(methods_page(), encoding="utf-8")
    (folder / "quantities.md").write_text(quantities_page(), encoding="utf-8")
    write_api_pages(folder / "api")
    write_notebook_pages(BUILT / "notebooks")


def without_blank_last_lines(_app: Sphinx, _name: str, source: list[str]) -> None:
    """Remove the blank line that ends a doctest before its fence."""
    source[0] = re.sub("\n\n+```$", "\n```", source[0], flags=re.MULTILINE)


def setup(app: Sphinx) -> None:
    app.connect("source-read", without_blank_last_lines)
    app.connect("builder-inited", write_generated, priority=1)
    app.connect("autodoc-process-docstring", as_restructured_text)
    app.connect("autodoc-process-signature", short_signature)
