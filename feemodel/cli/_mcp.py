"""`feemodel mcp`: a server of the Model Context Protocol with tools that explain, compare and forecast fees."""

import argparse

from feemodel._extras import need


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Answers the Model Context Protocol on standard input and output until they are closed. A client of the "
        "protocol runs the command `feemodel mcp`.\n\n"
        "Exit codes: 0 success, 2 the extra is not installed, 70 unexpected error."
    )


def run(options: argparse.Namespace) -> int:
    need("feemodel mcp", "mcp", "msgspec")
    from feemodel.cli._mcp_tools import serve_stdio

    serve_stdio()
    return 0
