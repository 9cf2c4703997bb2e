"""TOML files: settings, keys, sweeps and experiments."""

import re
import tomllib
from pathlib import Path
from typing import Any

from feemodel.errors import UnreadableFile

_QUOTED = re.compile(r"""(['"])(?:[^\\]|\\.){2,}\1""")  # names of the file in an error's text, not '=' or ']'


def read_toml(path: str | Path, *, secret: bool = False) -> dict[str, Any]:
    """The document of a TOML file; a byte order mark before it is skipped.

    Parameters
    ----------
    path : the file.
    secret : whether the file may hold keys: an error then shows the place of a mistake and no name of the file.

    Raises
    ------
    UnreadableFile : a file that cannot be read, or that is not TOML.
    """
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UnreadableFile(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except RecursionError:
        raise UnreadableFile(f"{path}: not TOML: nested too deeply") from None
    except ValueError as error:  # TOML, UTF-8, a NUL in the name, and a whole number of more digits than Python reads
        reason = _QUOTED.sub("'…'", str(error)) if secret and isinstance(error, tomllib.TOMLDecodeError) else str(error)
        raise UnreadableFile(f"{path}: not TOML: {reason}") from None
