"""Check that readers who cannot tell red from green can tell the lines of a figure apart."""

from itertools import combinations

import matplotlib.colors
from colorspacious import cspace_convert, deltaE
from matplotlib.figure import Figure

DEUTERANOPIA = {"name": "sRGB1+CVD", "cvd_type": "deuteranomaly", "severity": 100}  # Machado et al. 2009
LEAST = 10.0  # distance of two colours in CAM02-UCS; about 1 can just be seen side by side


def check_colours(figure: Figure) -> None:
    """Raise `ValueError` for two lines of one plot whose different colours look alike in simulated deuteranopia.

    Lines of different dashes or markers may have similar colours.
    """
    for ax in figure.axes:
        lines = {
            (matplotlib.colors.to_hex(line.get_color()), line.get_linestyle(), str(line.get_marker()))
            for line in ax.get_lines()
        }
        for (one, *shape), (other, *others) in combinations(sorted(lines), 2):
            if one != other and shape == others and distance(one, other) < LEAST:
                raise ValueError(f"{ax.get_title(loc='left')!r}: the colours {one} and {other} look alike")


def distance(one: str, other: str) -> float:
    """Return the distance of two colours as a reader with deuteranopia sees them."""
    seen = (cspace_convert(matplotlib.colors.to_rgb(colour), DEUTERANOPIA, "sRGB1") for colour in (one, other))
    return float(deltaE(*seen))
