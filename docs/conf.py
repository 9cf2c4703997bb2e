"""The site: MyST pages, a tutorial and a gallery that are executed, and a reference made from the code."""

import asyncio
import contextlib
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import feemodel
from docs import reference
from feemodel.cli import VERBS, main

HERE = Path(__file__).parent
BUILT = HERE / "built"  # what is made here and not kept: pages of the commands, the gallery

(BUILT / "pages").mkdir(parents=True, exist_ok=True)

project = "feemodel"
author = copyright = "the feemodel authors"
release = version = feemodel.__version__
extensions = ["myst_parser", "sphinx_gallery.gen_gallery"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["templates", "built/api", "paper"]
suppress_warnings = ["config.cache"]  # the gallery's order is a class, which cannot be pickled
html_theme = "furo"
html_title = "feemodel"
html_extra_path = ["built/pages"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
sphinx_gallery_conf = {
    "examples_dirs": ["tutorial", "gallery"],
    "gallery_dirs": ["built/tutorial", "built/gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 3600,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "capture_repr": (),  # what is printed, not what a last line returns
}


def commands_page() -> str:
    """What `feemodel COMMAND --help` says, for each command."""
    parts = [
        "# Commands\n",
        "`feemodel --help` lists the commands. The output of `feemodel COMMAND --help` is below.\n",
    ]
    for verb, sentence in VERBS.items():
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
            main([verb, "--help"])
        parts.append(f"## {verb}\n\n{sentence[0].upper()}{sentence[1:]}.\n\n```text\n{text.getvalue().rstrip()}\n```\n")
    return "\n".join(parts)


def methods_page() -> str:
    """The JSON-RPC methods, as the server describes them."""
    from feemodel.server.loaded import load
    from feemodel.server.service import Service
    from feemodel.server.settings import Settings

    async def methods() -> Mapping[str, Any]:
        return Service(load(Settings(), None)).methods

    parts = [
        "# JSON-RPC methods\n",
        "A running server answers these, with a schema of every parameter and result, at `GET /openrpc.json`.\n",
    ]
    for name, method in sorted(asyncio.run(methods()).items()):
        parts.append(f"## {name}\n\n{method.summary}.\n")
        parts += [f"- `{one.name}`{'' if one.required else ' (optional)'}" for one in method.parameters]
        parts.append("")
    return "\n".join(parts)


def quantities_page() -> str:
    """The nomenclature: each name that a formula takes, with its unit and meaning."""
    from tests.helpers.formulas import functions

    rows = {
        (name, quantity.unit, quantity.words)
        for _, function in functions()
        for name, quantity in getattr(function, "quantities", {}).items()
    }
    table = "\n".join(f"| `{name}` | {unit} | {words} |" for name, unit, words in sorted(rows))
    return f"# Quantities\n\nThe numbers that formulas take.\n\n| name | unit | meaning |\n|---|---|---|\n{table}\n"


def write_generated(_: Sphinx) -> None:
    """The pages that the code says, before the others are read."""
    os.environ["COLUMNS"] = "100"
    folder = BUILT / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "commands.md").write_text(commands_page(), encoding="utf-8")
    (folder / "methods.md").write_text(methods_page(), encoding="utf-8")
    (folder / "quantities.md").write_text(quantities_page(), encoding="utf-8")
    reference.write(BUILT / "pages" / "api", gallery=HERE / "gallery")


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", write_generated, priority=1)
