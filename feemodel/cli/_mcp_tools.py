"""Tools of the Model Context Protocol, with which other programs explain, compare and forecast fees.

The tools are explain, compare, max_send, chains and forecast. `serve_stdio` serves the tools on standard input and
output. Each tool has a msgspec struct for its parameters, like the JSON-RPC methods. Each struct parses the arguments
of its tool and defines their schema. Results contain large amounts in wei as strings of decimal digits, because some
clients round large integers.

Source: Model Context Protocol, revision 2025-11-25.
"""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from feemodel import __version__
from feemodel.cli._output import length_text
from feemodel.errors import FeeModelError, InvalidInput
from feemodel.estimates.json_types import CallObject, Data, Uint64, Uint256, parse, schemas
from feemodel.ethereum._call import Call
from feemodel.ethereum._transaction import (
    LINEA_CHAIN_ID,
    Transaction,
    check_no_blobs,
    fill,
    intrinsic_gas,
    parse_transaction,
)
from feemodel.ethereum.fee_market import TRANSACTION_GAS
from feemodel.io.shipped import day_l1_fees, month_l1_fees
from feemodel.linea._explanation import explain
from feemodel.linea._node import node_checks
from feemodel.linea.parameters import DEFAULT_PRESET, linea_preset
from feemodel.linea.pricing_forms import CostPerByte, form_of
from feemodel.rollups import _sending as sending
from feemodel.rollups import chains as chain_rows
from feemodel.rollups import rule, rules_at
from feemodel.rollups.tables import MEASURED, comparison, measured_sizes

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

DOUBLE_EXACT = 2**53
MAX_PATHS = 10_000  # maximum number of sample paths of a forecast


class Subject(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A call, or a signed transaction."""

    call: CallObject | None = None
    transaction: Data | None = None
    gas: Uint64 | None = None

    def read(self) -> tuple[Call | Transaction, int]:
        """Return the call or transaction, and its gas: the given gas, its gas limit, or the gas of a transfer."""
        if (self.call is None) == (self.transaction is None):
            raise InvalidInput("call", "expected either a call or a transaction", None)
        if self.call is None:
            signed = parse_transaction(self.transaction or b"")
            return signed, signed.gas_limit if self.gas is None else self.gas
        call = self.call.request().call
        check_no_blobs(call)
        gas = call.gas if self.gas is None else self.gas
        if gas is None and (call.data or call.to is None):
            raise InvalidInput("gas", "expected the gas of the call, because this tool does not execute the call", None)
        return call, intrinsic_gas(call) if gas is None else gas


class Explain(Subject, rename="camel", forbid_unknown_fields=True):
    """Explain the parts of the fee of one call or transaction on Linea, and the prices that wallets would set."""

    preset: str = DEFAULT_PRESET

    def answer(self) -> dict[str, Any]:
        """Return the size, every part of the fee, and the result of each check of a node."""
        subject, gas = self.read()
        preset = linea_preset(self.preset)
        amounts = {"estimated": gas, "limit": gas}
        form = form_of(CostPerByte.name, preset)
        return explain(
            subject, amounts, nonce=0, chain_id=LINEA_CHAIN_ID, form=form, checks=node_checks(preset), codec="zstd"
        )


class Compare(Subject, rename="camel", forbid_unknown_fields=True):
    """Compare the fee of one call or transaction under the fee rules of rollups."""

    rules: list[str] | None = None
    at: str | None = None
    l1_base_fee: Uint256 | None = None
    blob_base_fee: Uint256 | None = None

    def answer(self) -> dict[str, Any]:
        """Return the fee under each rule, and the L1 fees."""
        subject, gas = self.read()
        if self.rules is None:
            found = [one for one in rules_at(self.at)[0] if set(one.columns) <= set(MEASURED)]
        else:
            found = [rule(name, at=self.at) for name in self.rules]
        if isinstance(subject, Call):
            signed = fill(subject, gas=gas, chain_id=LINEA_CHAIN_ID, set_code=True).with_placeholder_signature()
            table = measured_sizes([signed], gas=[gas], senders=[subject.sender or bytes(20)])
        else:
            table = measured_sizes([subject], gas=[gas])
        base_fee, blob_base_fee = self._l1_fees()
        rows = comparison(table, base_fee=base_fee, blob_base_fee=blob_base_fee, rules=found)
        return {"l1BaseFee": base_fee, "blobBaseFee": blob_base_fee, "rules": [row._asdict() for row in rows]}

    def _l1_fees(self) -> tuple[int, int]:
        """Return the given L1 fees, or the medians of the month of L1 fees in the package or of the given day."""
        if self.l1_base_fee is not None and self.blob_base_fee is not None:
            return self.l1_base_fee, self.blob_base_fee
        known = month_l1_fees() if self.at is None else day_l1_fees("at", chain_rows.timestamp("at", self.at))
        return (
            known.base_fee if self.l1_base_fee is None else self.l1_base_fee,
            known.blob_base_fee if self.blob_base_fee is None else self.blob_base_fee,
        )


class MaxSend(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Find the largest value that a balance can send on a chain, and the amount reserved for fees."""

    chain: str
    balance: Uint256
    base_fee: Uint256
    gas: Uint64 | None = None
    to: str = "0x" + "11" * 20
    l1_base_fee: Uint256 | None = None
    blob_base_fee: Uint256 | None = None
    price_per_unit: Uint256 | None = None
    blocks_ahead: int = 1
    at: str | None = None

    def answer(self) -> dict[str, Any]:
        """Return the value and the reserved amount, in wei of the chain's token."""
        if sending.needs_l1_fees(self.chain, self.price_per_unit):
            for name, fee in (("l1BaseFee", self.l1_base_fee), ("blobBaseFee", self.blob_base_fee)):
                if fee is None:
                    raise InvalidInput(name, f"expected a fee, because {self.chain} charges for data", None)
        now = sending.Now(
            base_fee=self.base_fee, l1_base_fee=self.l1_base_fee or 0,
            blob_base_fee=1 if self.blob_base_fee is None else self.blob_base_fee, price_per_unit=self.price_per_unit,
        )  # fmt: skip
        found = sending.max_send(
            self.chain, self.balance, {"to": self.to}, now=now,
            gas_limit=TRANSACTION_GAS if self.gas is None else self.gas, blocks_ahead=self.blocks_ahead, at=self.at,
        )  # fmt: skip
        return found.as_dict()


class Chains(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """List the chains with known fee rules, or the parameters of one chain with the dates of their changes."""

    chain: str | None = None

    def answer(self) -> dict[str, Any]:
        """Return the chains, or the rows of parameters of one chain.

        Each row has a source, and the day on which the row was last compared with the source.
        """
        if self.chain is None:
            found = [(one, one.at()) for one in chain_rows.CHAINS.values()]
            return {"chains": [
                {"chain": one.name, "id": one.chain_id, "family": one.family, "token": one.token,
                 "since": now.since, "unknown": list(now.unknown)}
                for one, now in found
            ]}  # fmt: skip
        one = chain_rows.chain(self.chain)
        return {"chain": one.name, "token": one.token, "rows": [
            {"since": row.since, "values": dict(row.values), "unknown": list(row.unknown), "source": row.source,
             "checked": row.checked}
            for row in one.rows
        ]}  # fmt: skip


class Forecast(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Forecast quantiles of L1 fees at several horizons after the end of the month of L1 fees in the package."""

    horizons: list[str] = msgspec.field(default_factory=lambda: ["10min", "1h", "6h", "24h"])
    method: str = "auto"
    paths: int = 1_000

    def answer(self) -> dict[str, Any]:
        """Return the quantiles of the base fee and the blob base fee at each horizon [wei / gas]."""
        from feemodel.io.shipped import read_shipped_l1_fees
        from feemodel.simulation.forecast.distribution import forecast

        if not 1 <= self.paths <= MAX_PATHS:
            raise InvalidInput("paths", f"expected a number from 1 to {MAX_PATHS:,}", self.paths)
        found = forecast(
            read_shipped_l1_fees(), horizons=self.horizons, method=self.method, paths=self.paths  # type: ignore[arg-type]
        )  # fmt: skip
        quantiles = [f"q{round(100 * one):02}" for one in found["quantile"].to_numpy().tolist()]
        rows = [
            {"horizon": length_text(seconds)}
            | {
                name: dict(zip(quantiles, found[key].isel(horizon=index).to_numpy().tolist(), strict=True))
                for name, key in (("baseFee", "base_fee_quantile"), ("blobBaseFee", "blob_base_fee_quantile"))
            }
            for index, seconds in enumerate(found["horizon"].to_numpy().tolist())
        ]
        return {"origin": str(found.attrs["origin"]), "method": str(found.attrs["method"]), "horizons": rows}


class Tool(NamedTuple):
    """Tool of the server: its name, and a struct that parses the arguments and computes the result."""

    name: str
    arguments: type[Any]


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("explain", Explain), Tool("compare", Compare), Tool("max_send", MaxSend), Tool("chains", Chains),
        Tool("forecast", Forecast),
    )
}  # fmt: skip


def input_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments.

    >>> sorted(input_schema(TOOLS["chains"])["properties"])
    ['chain']
    """
    _, components = schemas([tool.arguments])
    text = json.dumps(components).replace("#/components/schemas/", "#/$defs/")
    definitions = json.loads(text)
    schema: dict[str, Any] = definitions.pop(tool.arguments.__name__)
    return schema | ({"$defs": definitions} if definitions else {})


def call_tool(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a tool.

    Parameters
    ----------
    name : name of the tool.
    arguments : arguments of the request.

    Raises `InvalidInput` for an unknown tool or invalid arguments. Errors raised by the tool itself are passed on.

    >>> call_tool("chains", {"chain": "taiko"})["token"]
    'ETH'
    """
    if name not in TOOLS:
        raise InvalidInput("name", f"expected one of {', '.join(TOOLS)}", name)
    answer: Callable[[], dict[str, Any]] = parse("arguments", arguments, TOOLS[name].arguments).answer
    readable: dict[str, Any] = _exact(answer())
    return readable


def _exact(value: Any) -> Any:
    """Return a result in which integers beyond the exact range of a double are written as decimal strings."""
    if isinstance(value, dict):
        return {key: _exact(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_exact(one) for one in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) <= DOUBLE_EXACT else str(value)
    return value if value is None or isinstance(value, (bool, float, str)) else str(value)


def tool_server() -> "Server[Any]":
    """Return a server of the Model Context Protocol with the five tools."""
    import mcp_types as types
    from anyio import to_thread
    from mcp.server.lowlevel import Server

    async def listed(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name, description=tool.arguments.__doc__, input_schema=input_schema(tool)
                )
                for tool in TOOLS.values()
            ]
        )  # fmt: skip

    async def called(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            answer = await to_thread.run_sync(call_tool, params.name, params.arguments or {})
        except FeeModelError as error:
            said = types.TextContent(type="text", text=str(error))
            return types.CallToolResult(content=[said], is_error=True)
        said = types.TextContent(type="text", text=json.dumps(answer))
        return types.CallToolResult(content=[said], structured_content=answer)

    return Server("feemodel", version=__version__, on_list_tools=listed, on_call_tool=called)


def serve_stdio() -> None:
    """Serve the tools on standard input and output until the client closes the connection.

    Raises `MissingExtra` without the extra `mcp`.
    """
    import anyio
    from mcp.server.stdio import stdio_server

    server = tool_server()

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(run)
