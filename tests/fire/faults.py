"""Breaks what a server stands on, one thing after the other, and says what was seen.

    python -m tests.fire.faults [--only WORD]...

A line a fault: "held" where callers got the right answer or a clear error, and all was well again afterwards.
"""

import argparse
import sys
from collections.abc import Iterator

from tests.fire import node_faults, process_faults, store_faults, two_nodes
from tests.fire.findings import Finding

GROUPS = {
    "node": node_faults.findings, "nodes": two_nodes.findings, "store": store_faults.findings,
    "process": process_faults.findings,
}  # fmt: skip


def findings(groups: list[str]) -> Iterator[Finding]:
    """All faults of the groups."""
    for name in groups:
        yield from GROUPS[name]()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/faults", description="Break what a server stands on.")
    parser.add_argument("--only", action="append", choices=list(GROUPS), help="faults of what; of all unless given")
    options = parser.parse_args(arguments)
    found = []
    for finding in findings(options.only or list(GROUPS)):
        print(finding, flush=True)
        found.append(finding)
    failed = [finding for finding in found if finding.held is False]
    untried = sum(finding.held is None for finding in found)
    print(f"{len(found)} faults, {len(failed)} not held, {untried} not tried")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
