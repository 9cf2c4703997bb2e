"""Published vectors and real inputs that tests read."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The part of the inputs that travels with the repository: all vectors, nine captures, small data files.
SMALL = ROOT / "tests" / "data"


def inputs() -> Path:
    """Return the folder with `vectors/` and `data/`.

    FEEMODEL_SHARED names the full set. Without it, the folder `shared` beside the repository is used if it is there,
    and otherwise the part in `tests/data`.

    Raises
    ------
    FileNotFoundError
        If FEEMODEL_SHARED names a folder without `vectors/`.
    """
    named = os.environ.get("FEEMODEL_SHARED")
    folder = Path(named) if named else ROOT.parent / "shared"
    if (folder / "vectors").is_dir():
        return folder
    if named:
        raise FileNotFoundError(f"FEEMODEL_SHARED={named}: no folder vectors/ there")
    return SMALL
