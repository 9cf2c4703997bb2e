"""The OpenRPC document of a server's methods, generated from the types that parse their parameters."""

from collections.abc import Mapping
from typing import Any

import msgspec

import feemodel
from feemodel.server.calls import schemas
from feemodel.server.dispatch import Method

#: What may be answered in place of a result: code, message and when.
FAILURES = (
    (3, "execution reverted[: reason]", "the call reverts; data has the raw bytes, Error and Panic are decoded"),
    (-32000, "a node's words", "funds, gas required exceeds allowance (N), a halt, a nonce or block unknown"),
    (-32002, "what failed", "a node that is asked cannot be reached, or costs are too old"),
    (-32004, "Upfront cost exceeds account balance", "the sender cannot pay for any gas limit, rollup methods"),
    (-32005, "the limit and its value", "gas, time, override size, calls that wait"),
    (-32600, "Invalid Request, or the block", "not a request; a batch too long; a block that is not final"),
    (-32601, "what does not exist, or what would answer it", "any other method; one that needs a node"),
    (-32602, "the field and its value", "a parameter that cannot be read; too many storage keys"),
    (-32603, "Internal error", "the unforeseen; data has the id under which the log has it"),
    (-32700, "Parse error", "not JSON"),
)


def document(methods: Mapping[str, Method]) -> bytes:
    """Return the OpenRPC document of methods, JSON.

    >>> from feemodel.server.eth import syncing
    >>> msgspec.json.decode(document({"eth_syncing": Method(syncing)}))["methods"][0]["result"]["schema"]
    {'type': 'boolean'}
    """
    kinds = [kind for method in methods.values() for kind in (*(one.kind for one in method.parameters), method.result)]
    found, components = schemas(kinds)
    described = iter(found)
    names = [f"error{abs(code)}" for code, _, _ in FAILURES]
    errors = [{"code": code, "message": message, "data": when} for code, message, when in FAILURES]
    return msgspec.json.encode(
        {
            "openrpc": "1.3.2",
            "info": {
                "title": "feemodel",
                "version": feemodel.__version__,
                "description": "What a rollup transaction must pay for L1, and proofs of the rollup's state.",
                "license": {"name": "Apache-2.0"},
            },
            "methods": sorted(
                (_described(name, method, described, names) for name, method in methods.items()),
                key=lambda one: str(one["name"]),
            ),
            "components": {"schemas": components, "errors": dict(zip(names, errors, strict=True))},
        }
    )


def _described(name: str, method: Method, described: Any, errors: list[str]) -> dict[str, Any]:
    params = [
        {"name": one.name, "required": one.required, "schema": next(described)} for one in method.parameters
    ]  # fmt: skip
    return {
        "name": name,
        "summary": method.summary,
        "paramStructure": "either",
        "params": params,
        "result": {"name": "result", "schema": next(described)},
        "errors": [{"$ref": f"#/components/errors/{error}"} for error in errors],
    }
