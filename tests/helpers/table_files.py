"""The same transactions as cryo, ethereum-etl, Dune, a node, a script and raw lines write them."""

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from feemodel.ethereum._hashes import Signature
from feemodel.ethereum._transaction import Transaction

TIME = 1_690_164_981  # 2023-07-24 02:16:21 UTC
SENDER = bytes.fromhex("22" * 20)
SIGNATURE = {"r": 2**255 + 5, "s": 2**254 + 7}
CHAIN_ID = 59_144
TRANSACTIONS = [
    Transaction(type=2, chain_id=CHAIN_ID, nonce=7, max_priority_fee=10**9, max_fee=3 * 10**9, gas_limit=90_000,
                to=b"\x11" * 20, value=0, data=bytes.fromhex("a9059cbb") + bytes(12) + b"\x33" * 20 + bytes(32)),
    Transaction(type=0, chain_id=CHAIN_ID, nonce=2**33, gas_price=2 * 10**9, gas_limit=21_000, to=b"\x44" * 20,
                value=10**24 + 1),
    Transaction(type=2, chain_id=CHAIN_ID, nonce=0, max_priority_fee=1, max_fee=8, gas_limit=900_000, to=None,
                data=bytes.fromhex("6080604052") * 30),
    Transaction(type=1, chain_id=CHAIN_ID, nonce=1, gas_price=9, gas_limit=60_000, to=b"\x11" * 20, data=b"\x01" * 40),
]  # fmt: skip
GAS_USED = [50_000, 21_000, 800_000, 55_000]
SIZES = 4
NAMES = ("Legacy", "AccessList", "DynamicFee", "Blob")


def signed(one: Transaction) -> Transaction:
    parity = 35 + 2 * CHAIN_ID if one.type == 0 else 0
    return Transaction(**{name: getattr(one, name) for name in (
        "type", "chain_id", "nonce", "gas_price", "max_priority_fee", "max_fee", "gas_limit", "to", "value", "data",
        "access_list")}, signature=Signature(parity, **SIGNATURE))  # fmt: skip


def hexadecimal(data: bytes | None) -> str | None:
    return None if data is None else "0x" + data.hex()


def price(one: Transaction) -> int:
    return one.gas_price or 10**9 + 7


def fees(one: Transaction) -> tuple[int | None, int | None]:
    return (one.max_fee, one.max_priority_fee) if one.type == 2 else (None, None)


def cryo(path: Path, *, value: str = "string", text: bool = False, signature: bool = False) -> Path:
    """`cryo transactions`, with the value in one encoding; `text`: with --hex."""
    data = pa.large_string() if text else pa.large_binary()
    encode: Callable[[Any], Any] = hexadecimal if text else lambda given: given
    values = [one.value for one in TRANSACTIONS]
    encoded = {
        "string": ("value_string", pa.array([str(amount) for amount in values], pa.large_string())),
        "binary": ("value_binary", pa.array([encode(amount.to_bytes(32, "big")) for amount in values], data)),
        "decimal": ("value", pa.array(values, pa.decimal128(38, 0))),
        "f64": ("value_f64", pa.array([float(amount) for amount in values])),
    }[value]
    count = len(TRANSACTIONS)
    columns = {
        "block_number": pa.array([41_640] * count, pa.uint32()),
        "transaction_index": pa.array(range(count), pa.uint64()),
        "transaction_hash": pa.array([encode(bytes([i]) * 32) for i in range(count)], data),
        "nonce": pa.array([one.nonce for one in TRANSACTIONS], pa.uint64()),
        "from_address": pa.array([encode(SENDER)] * count, data),
        "to_address": pa.array([encode(one.to) for one in TRANSACTIONS], data),
        encoded[0]: encoded[1],
        "input": pa.array([encode(one.data) for one in TRANSACTIONS], data),
        "gas_limit": pa.array([one.gas_limit for one in TRANSACTIONS], pa.uint64()),
        "gas_used": pa.array(GAS_USED, pa.uint64()),
        "gas_price": pa.array([price(one) for one in TRANSACTIONS], pa.uint64()),
        "transaction_type": pa.array([one.type for one in TRANSACTIONS], pa.uint32()),
        "max_priority_fee_per_gas": pa.array([fees(one)[1] for one in TRANSACTIONS], pa.uint64()),
        "max_fee_per_gas": pa.array([fees(one)[0] for one in TRANSACTIONS], pa.uint64()),
        "success": pa.array([True] * count),
        "n_input_bytes": pa.array([len(one.data) for one in TRANSACTIONS], pa.uint32()),
        "chain_id": pa.array([CHAIN_ID] * count, pa.uint64()),
    }
    if signature:
        columns |= {
            "v": pa.array([signed(one).signature.v for one in TRANSACTIONS], pa.uint64()),
            **{
                name: pa.array([encode(number.to_bytes(32, "big"))] * count, data) for name, number in SIGNATURE.items()
            },
        }
    pq.write_table(pa.table(columns), path, compression="lz4")
    return path


def etl_rows() -> list[dict[str, Any]]:
    return [
        {
            "hash": hexadecimal(bytes([index]) * 32), "nonce": one.nonce, "block_hash": "0x" + "55" * 32,
            "block_number": 41_640, "transaction_index": index, "from_address": hexadecimal(SENDER),
            "to_address": hexadecimal(one.to), "value": one.value, "gas": one.gas_limit, "gas_price": price(one),
            "input": hexadecimal(one.data), "block_timestamp": TIME, "max_fee_per_gas": fees(one)[0],
            "max_priority_fee_per_gas": fees(one)[1], "transaction_type": one.type,
        }
        for index, one in enumerate(TRANSACTIONS)
    ]  # fmt: skip


def write_csv(path: Path, rows: list[dict[str, Any]], *, none: str = "") -> Path:
    lines = [",".join(rows[0])]
    lines += [",".join(none if cell is None else str(cell) for cell in row.values()) for row in rows]
    text = "\n".join(lines).encode() + b"\n"
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def etl_csv(path: Path) -> Path:
    return write_csv(path, etl_rows())


def etl_json(path: Path) -> Path:
    """The stream of ethereum-etl: an item a line, which says what it is under `type`."""
    items = ({"type": "transaction", **row, "value": str(row["value"])} for row in etl_rows())
    path.write_text("\n".join(map(json.dumps, items)))
    return path


def dune_rows() -> list[dict[str, Any]]:
    moment = datetime.fromtimestamp(TIME, UTC).strftime("%Y-%m-%d %H:%M:%S.000 UTC")
    return [
        {
            "block_time": moment, "block_number": 41_640, "block_date": moment[:10], "value": str(one.value),
            "gas_limit": one.gas_limit, "gas_price": price(one), "gas_used": used, "max_fee_per_gas": fees(one)[0],
            "max_priority_fee_per_gas": fees(one)[1], "nonce": one.nonce, "index": index, "success": "true",
            "from": hexadecimal(SENDER), "to": hexadecimal(one.to), "data": hexadecimal(one.data),
            "hash": hexadecimal(bytes([index]) * 32), "type": NAMES[one.type],
        }
        for index, (one, used) in enumerate(zip(TRANSACTIONS, GAS_USED, strict=True))
    ]  # fmt: skip


def dune_csv(path: Path) -> Path:
    return write_csv(path, dune_rows(), none="<nil>")


def dune_json(path: Path) -> Path:
    rows = [{**row, "success": True} for row in dune_rows()]
    path.write_text(json.dumps({"execution_id": "1", "state": "QUERY_STATE_COMPLETED", "result": {"rows": rows}}))
    return path


def dune_parquet(path: Path) -> Path:
    rows = dune_rows()
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns["block_time"] = pa.array([datetime.fromtimestamp(TIME, UTC)] * len(rows), pa.timestamp("ms", "UTC"))
    columns["success"] = [True] * len(rows)
    for name in ("from", "to", "data", "hash"):
        columns[name] = [None if cell is None else bytes.fromhex(cell[2:]) for cell in columns[name]]
    pq.write_table(pa.table(columns), path)
    return path


def rpc_rows() -> list[dict[str, Any]]:
    return [
        {
            "blockHash": "0x" + "55" * 32, "blockNumber": hex(41_640), "transactionIndex": hex(index),
            "hash": hexadecimal(bytes([index]) * 32), "type": hex(one.type), "from": hexadecimal(SENDER),
            "to": hexadecimal(one.to), "nonce": hex(one.nonce), "value": hex(one.value), "gas": hex(one.gas_limit),
            "input": hexadecimal(one.data), "gasPrice": hex(price(one)), "chainId": hex(CHAIN_ID),
            **({"maxFeePerGas": hex(one.max_fee), "maxPriorityFeePerGas": hex(one.max_priority_fee)}
               if one.type == 2 else {}),
            **({"accessList": []} if one.type else {}), "v": hex(signed(one).signature.v),
            **{name: hex(number) for name, number in SIGNATURE.items()},
        }
        for index, one in enumerate(TRANSACTIONS)
    ]  # fmt: skip


def rpc_block(path: Path) -> Path:
    block = {"number": hex(41_640), "timestamp": hex(TIME), "gasUsed": "0x1", "transactions": rpc_rows()}
    path.write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "result": block}))
    return path


def rpc_list(path: Path) -> Path:
    path.write_text(json.dumps(rpc_rows()))
    return path


def own_csv(path: Path) -> Path:
    """A table of one's own, written with pandas: names of its own, gwei, and numbers that became doubles."""
    import pandas as pd

    rows = [
        {"who": hexadecimal(SENDER), "whom": hexadecimal(one.to), "wei": str(one.value),
         "payload": hexadecimal(one.data), "n": float(one.nonce), "limit": one.gas_limit, "price": price(one) / 1e9,
         "cap": None if fees(one)[0] is None else fees(one)[0] / 1e9,
         "bribe": None if fees(one)[1] is None else fees(one)[1] / 1e9, "kind": one.type, "note": "mine"}
        for one in TRANSACTIONS
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


OWN_COLUMNS = {
    "from": "who", "to": "whom", "value": "wei", "input": "payload", "nonce": "n", "gas_limit": "limit",
    "gas_price": "price:gwei", "max_fee_per_gas": "cap:gwei", "max_priority_fee_per_gas": "bribe:gwei", "type": "kind",
}  # fmt: skip


def raw_csv(path: Path) -> Path:
    return write_csv(path, [{"raw": hexadecimal(signed(one).signed()), "sender": hexadecimal(SENDER)}
                            for one in TRANSACTIONS])  # fmt: skip


def raw_parquet(path: Path) -> Path:
    pq.write_table(pa.table({"raw": [signed(one).signed() for one in TRANSACTIONS], "sender": [SENDER] * SIZES}), path)
    return path


def raw_lines(path: Path) -> Path:
    rows = ({"raw": hexadecimal(signed(one).signed()), "sender": hexadecimal(SENDER)} for one in TRANSACTIONS)
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "cryo string": cryo,
    "cryo binary": lambda path: cryo(path, value="binary"),
    "cryo decimal": lambda path: cryo(path, value="decimal"),
    "cryo hex": lambda path: cryo(path, value="binary", text=True),
    "cryo signed": lambda path: cryo(path, signature=True),
    "etl csv": etl_csv, "etl json": etl_json,
    "etl csv.gz": lambda path: etl_csv(path.with_suffix(".gz")),
    "dune csv": dune_csv, "dune json": dune_json, "dune parquet": dune_parquet,
    "rpc block": rpc_block, "rpc list": rpc_list,
    "raw csv": raw_csv, "raw parquet": raw_parquet, "raw lines": raw_lines,
}  # fmt: skip
SIGNED = ("cryo signed", "rpc block", "rpc list", "raw csv", "raw parquet", "raw lines")
