"""The size of a checkout: lines by room, modules, and the names that the package and its rooms export."""

import ast
from collections import Counter
from pathlib import Path


def lines_of(path: Path) -> int:
    """Lines of a file, everything counted."""
    return len(path.read_text(encoding="utf-8").splitlines())


def sizes(root: Path) -> dict[str, int]:
    """Lines by room of the package, then totals, the page's own files, modules and exported names."""
    package = root / "feemodel"
    modules = sorted(package.rglob("*.py"))
    rooms: Counter[str] = Counter()
    for path in modules:
        parts = path.relative_to(package).parts
        rooms["top level" if len(parts) == 1 else parts[0]] += lines_of(path)
    page = (path for kind in ("*.js", "*.css", "*.html") for path in package.rglob(kind) if "uplot" not in path.parts)
    return {
        **dict(sorted(rooms.items())),
        "package": rooms.total(),
        "tests": sum(map(lines_of, _sources(root / "tests", "*.py"))),
        "Rust": sum(map(lines_of, _sources(root / "native/src", "*.rs"))),
        "JavaScript, CSS and HTML": sum(map(lines_of, page)),
        "modules": len(modules),
        "exported names": sum(len(exported(path)) for path in modules if _is_room(path, package)),
    }


def _sources(folder: Path, pattern: str) -> list[Path]:
    """Files of a folder without those that package managers installed there."""
    return [path for path in folder.rglob(pattern) if not {"node_modules", ".venv"} & set(path.parts)]


def _is_room(path: Path, package: Path) -> bool:
    return path.name == "__init__.py" and len(path.relative_to(package).parts) <= 2


def exported(path: Path) -> set[str]:
    """Public names that an `__init__` imports as themselves, for users and type checkers."""
    imports = [
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.ImportFrom)
    ]
    names = {alias.asname for node in imports for alias in node.names if alias.asname == alias.name}
    return {name for name in names if not name.startswith("_")}
