"""`feemodel rules`: a chain's rule in a machine-readable format."""

import argparse
import json

from feemodel.cli._options import add_parameters, given_parameters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["export"], help="write the rule to standard output as JSON")
    parser.add_argument("name", help="a chain or CHAIN/UPGRADE; `feemodel chains` lists the chains")
    parser.add_argument("--format", choices=["rigid"], default="rigid", help="rigid is the format of RIP-7993, a draft")
    parser.add_argument("--at", metavar="DATE", help="use the rule of this day (default: the newest rule)")
    add_parameters(parser)


def run(options: argparse.Namespace) -> int:
    from feemodel.rollups.rigid import export_rigid
    from feemodel.rollups.rules import rule

    found = rule(options.name, at=options.at, parameters=given_parameters(options.set))
    print(json.dumps(export_rigid(found), indent=2, ensure_ascii=False))
    return 0
