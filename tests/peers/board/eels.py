"""ethereum-execution, the executable specification: base fee, blob base fee, excess blob gas, gas of a transaction."""

import importlib
import json
import sys
from dataclasses import fields
from typing import Any

from ethereum.exceptions import InvalidBlock
from ethereum_types.numeric import U64, Uint

FORKS = ("london", "paris", "shanghai", "cancun", "prague", "osaka", "bpo1", "bpo2")


def module(upgrade: str, name: str) -> Any:
    return importlib.import_module(f"ethereum.forks.{upgrade}.{name}")


def header(upgrade: str, **values: Any) -> Any:
    """A header of which only the named fields are read."""
    kind = module(upgrade, "blocks").Header
    return kind(**{field.name: values.get(field.name) for field in fields(kind)})


def next_base_fee(row: dict[str, str], upgrade: str) -> int:
    limit, used, fee = Uint(int(row["gas_limit"])), Uint(int(row["gas_used"])), Uint(int(row["base_fee"]))
    return int(module(upgrade, "fork").calculate_base_fee_per_gas(limit, limit, used, fee))


def blob_base_fee(row: dict[str, str], upgrade: str) -> int:
    return int(module(upgrade, "vm.gas").calculate_blob_gas_price(U64(int(row["excess_blob_gas"]))))


def next_excess_blob_gas(row: dict[str, str], upgrade: str) -> int:
    parent = header(
        upgrade, excess_blob_gas=U64(int(row["excess_blob_gas"])), blob_gas_used=U64(int(row["blob_gas_used"])),
        base_fee_per_gas=Uint(int(row["base_fee"])),
    )  # fmt: skip
    return int(module(upgrade, "vm.gas").calculate_excess_blob_gas(parent))


RULES = {f.__name__: f for f in (next_base_fee, blob_base_fee, next_excess_blob_gas)}


def answer(vector: dict[str, Any]) -> str | None:
    """The answer to one vector; `None` if the specification does not offer it or its types do not hold the inputs."""
    rule = RULES.get(vector["rule"]) if vector["upgrade"] in FORKS else None
    try:
        return str(rule(vector["inputs"], vector["upgrade"])) if rule else None
    except (OverflowError, InvalidBlock):  # beyond its types, or a block with a gas limit below 5,000
        return None


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))))
