"""What the native engine is built from: permissive licences only, and no C but libsecp256k1.

python -m tests.helpers.native_crates        # prints how many crates under which licences; fails on others
"""

import re
import subprocess
import sys
from collections import Counter

from tests.conftest import ROOT

MANIFEST = ROOT / "native" / "Cargo.toml"
PERMISSIVE = frozenset(
    (
        "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT",
        "Unicode-3.0", "Zlib",
    )
)  # fmt: skip
COMPILES_C = frozenset(("cmake", "bindgen", "autotools", "nasm-rs"))


def permissive(licence: str) -> bool:
    """Whether a licence expression leaves a choice of permissive ones only.

    >>> permissive("MIT OR LGPL-3.0"), permissive("MIT AND LGPL-3.0"), permissive("(MIT OR GPL-2.0) AND ISC")
    (True, False, True)
    """
    every = re.split(
        r"\s+AND\s+", re.sub(r"\(([^()]*)\)", lambda inner: _chosen(inner[1]), licence.replace("/", " OR "))
    )
    return all(any(one.strip() in PERMISSIVE for one in re.split(r"\s+OR\s+", part)) for part in every)


def _chosen(choice: str) -> str:
    """A permissive one of several, or all of them."""
    found = [one.strip() for one in re.split(r"\s+OR\s+", choice)]
    return next((one for one in found if one in PERMISSIVE), choice)


def crates(*options: str) -> dict[str, str]:
    """The crates that the package is built from on this machine, and their licences."""
    form = ["--edges", "normal,build", "--prefix", "none", "--format", "{p}\t{l}"]
    tree = ["cargo", "tree", "--manifest-path", MANIFEST, *form, *options]
    lines = subprocess.run(tree, capture_output=True, text=True, check=True).stdout.splitlines()
    pairs = [line.removesuffix(" (*)").split("\t") for line in lines if "\t" in line]
    return {name.split(" ")[0]: licence for name, licence in pairs}


def main() -> bool:
    found = crates()
    wrong = {name: licence for name, licence in found.items() if not permissive(licence)}
    wrong |= dict.fromkeys(found.keys() & COMPILES_C, "compiles C")
    wrong |= dict.fromkeys(crates("--invert", "cc", "--depth", "1").keys() - {"cc", "secp256k1-sys"}, "compiles C")
    for licence, count in Counter(found.values()).most_common():
        print(f"{count:>5}  {licence}")
    for name, reason in wrong.items():
        print(f"{name}: {reason}")
    print(f"{len(found)} crates, {len(wrong)} that may not be there")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
