"""`feemodel mcp` beside the client of the official SDK, over standard input and output."""

import sys

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from feemodel.cli._mcp_tools import TOOLS
from tests.cli.test_mcp import INVALID, VALID

SERVER = StdioServerParameters(command=sys.executable, args=["-m", "feemodel.cli", "mcp"])


def asked(*calls):
    """The tools that the server lists, and its results of calls."""

    async def ask():
        async with Client(stdio_client(SERVER)) as client:
            listed = await client.list_tools()
            return listed.tools, [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(ask)


@pytest.fixture(scope="module")
def answers():
    first = {}
    for name, arguments, said in INVALID:
        first.setdefault(name, (arguments, said))
    calls = [(name, VALID[name]) for name in TOOLS] + [(name, first[name][0]) for name in TOOLS]
    tools, results = asked(*calls)
    return tools, dict(zip(TOOLS, results, strict=False)), dict(zip(TOOLS, results[len(TOOLS) :], strict=True)), first


def test_five_tools_are_listed_with_their_schemas(answers):
    tools, *_ = answers

    assert [tool.name for tool in tools] == ["explain", "compare", "max_send", "chains", "forecast"]
    assert all(tool.input_schema["type"] == "object" and tool.description for tool in tools)


@pytest.mark.parametrize("name", TOOLS)
def test_a_valid_call_is_answered(answers, name):
    result = answers[1][name]

    assert not result.is_error
    assert result.structured_content


@pytest.mark.parametrize("name", TOOLS)
def test_an_invalid_call_is_an_error_that_names_the_argument(answers, name):
    result = answers[2][name]

    assert result.is_error
    assert answers[3][name][1] in result.content[0].text
