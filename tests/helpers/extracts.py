"""Small files exactly as the extractors write them, made of facts of Ethereum mainnet and Görli.

Schemas: paradigmxyz/cryo at 559b654 (2025-01-08); blockchain-etl/ethereum-etl at 9e51c3b (2024-03).
"""

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ZERO_BLOOM = "0x" + "00" * 256

# Ethereum mainnet, 2023-05-02.
BLOCK_HASHES = {
    17173048: "0x918a700a8e7a9f3fe0b3ccb176c810ded08729331ceef8d6375af5d1eeeaa6c0",
    17173049: "0xaa5ab9bb22d8020d438496a7edb4eff508b1c5128b0dc01fdecf57f96aac1bb3",
    17173050: "0x5699ffb9477f70ec736463b144614356eb051936da75fcccec73d648f2e91de4",
}
BLOCKS: list[dict[str, Any]] = [
    {
        "number": 17173049,
        "timestamp": 1683029999,
        "gas_used": 9755040,
        "base_fee_per_gas": 80869370967,
        "extra_data": "0x7273796e632d6275696c6465722e78797a",
        "size": 40573,
        "transaction_count": 116,
        "miner": "0x1f9090aae28b8a3dceadf281b0f12828e676c326",
    },
    {
        "number": 17173050,
        "timestamp": 1683030011,
        "gas_used": 15491478,
        "base_fee_per_gas": 77334732501,
        "extra_data": "0x6265617665726275696c642e6f7267",
        "size": 77412,
        "transaction_count": 182,
        "miner": "0x388c818ca8b9251b393131c08a736a67ccb19297",
    },
]

# Görli block 8,656,134: a transfer, a call with a priority fee, a contract creation (its code shortened).
GOERLI_BLOCK_HASH = "0xca28843497204658716de4df75d5c36c34a53c570e3639c3ec4cbee77827c11d"
TRANSACTIONS: list[dict[str, Any]] = [
    {
        "hash": "0x50b791ef926cfd21ee9fb821eae93aea159537a17eb8fa21185bafb5d3dbf424",
        "nonce": 161944,
        "transaction_index": 0,
        "from_address": "0x1b7aa44088a0ea95bdc65fef6e5071e946bf7d8f",
        "to_address": "0xd1942c9fc28f4c1ec514eb596b2df024798547cc",
        "value": 50000000000000000,
        "gas": 21000,
        "gas_price": 223775454286,
        "input": "0x",
        "max_fee_per_gas": None,
        "max_priority_fee_per_gas": None,
        "transaction_type": 0,
    },
    {
        "hash": "0xf4579510f1fce5d61bfbed01e87b4b0e274774d41d91c5f4925ad663799066b9",
        "nonce": 3,
        "transaction_index": 30,
        "from_address": "0x0e9aff8f358cf22aa0ac78795b4f840734ed2c23",
        "to_address": "0xc3511006c04ef1d78af4c8e0e74ec18a6e64ff9e",
        "value": 10074622891699440,
        "gas": 175851,
        "gas_price": 6127714918,
        "input": "0xe2bbb158000000000000000000000000000000000000000000000000002386f26fc10000"
        "0129bfc705e0b51312fc56838fa51666f9b987a18bd15732e9d2b7290b1870f4",
        "max_fee_per_gas": 10870963324,
        "max_priority_fee_per_gas": 2500000000,
        "transaction_type": 2,
    },
    {
        "hash": "0x066635fa486907871971b8329be7f55e65baef409287221b473febde219a480a",
        "nonce": 57,
        "transaction_index": 31,
        "from_address": "0x81a30fd94e4381cf4a5bf11427eb6d500b263897",
        "to_address": None,
        "value": 0,
        "gas": 5776098,
        "gas_price": 6127714918,
        "input": "0x6080604052604051806040016040",
        "max_fee_per_gas": None,
        "max_priority_fee_per_gas": None,
        "transaction_type": None,
    },
]

ETL_BLOCK_HEADER = (
    "number,hash,parent_hash,nonce,sha3_uncles,logs_bloom,transactions_root,state_root,receipts_root,miner,difficulty,"
    "total_difficulty,size,extra_data,gas_limit,gas_used,timestamp,transaction_count,base_fee_per_gas"
)
ETL_BLOB_HEADER = ",withdrawals_root,withdrawals,blob_gas_used,excess_blob_gas"
ETL_TRANSACTION_HEADER = (
    "hash,nonce,block_hash,block_number,transaction_index,from_address,to_address,value,gas,gas_price,input,"
    "block_timestamp,max_fee_per_gas,max_priority_fee_per_gas,transaction_type"
)


def write_csv(path: Path, header: str, rows: list[dict[str, Any]]) -> Path:
    """As ethereum-etl: every column in order, nothing for `None`; gzipped where the name says so."""
    text = io.StringIO()
    writer = csv.DictWriter(text, header.split(","), restval="", lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def etl_blocks(path: Path, *, blobs: bool = False) -> Path:
    rows = [
        {
            **block,
            "hash": BLOCK_HASHES[block["number"]],
            "parent_hash": BLOCK_HASHES[block["number"] - 1],
            "nonce": "0x0000000000000000",
            "logs_bloom": ZERO_BLOOM,
            "difficulty": 0,
            "total_difficulty": 58750003716598352816469,
            "gas_limit": 30000000,
            "withdrawals_root": "0x062c83ae15778644bec99605c108058158bbee3e943dc64015ef9180e3710b9e",
            "withdrawals": '{"index":2210752,"validator_index":540230,"amount":45762059}',
            "blob_gas_used": 131072,
            "excess_blob_gas": 0,
        }
        for block in BLOCKS
    ]
    return write_csv(path, ETL_BLOCK_HEADER + ETL_BLOB_HEADER * blobs, rows)


def etl_transactions(path: Path, rows: list[dict[str, Any]] | None = None) -> Path:
    common = {"block_hash": GOERLI_BLOCK_HASH, "block_number": 8656134, "block_timestamp": 1678833072}
    return write_csv(path, ETL_TRANSACTION_HEADER, [{**row, **common} for row in rows or TRANSACTIONS])


def from_hex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text[2:])


def cryo_blocks(path: Path, *, hexadecimal: bool = False) -> Path:
    """The default columns of `cryo blocks`; `hexadecimal`: with `--hex`."""
    data = pa.large_string() if hexadecimal else pa.large_binary()
    encoded = (lambda text: text) if hexadecimal else from_hex
    table = pa.table(
        {
            "block_hash": pa.array([encoded(BLOCK_HASHES[block["number"]]) for block in BLOCKS], data),
            "author": pa.array([encoded(block["miner"]) for block in BLOCKS], data),
            "block_number": pa.array([block["number"] for block in BLOCKS], pa.uint32()),
            "gas_used": pa.array([block["gas_used"] for block in BLOCKS], pa.uint64()),
            "extra_data": pa.array([encoded(block["extra_data"]) for block in BLOCKS], data),
            "timestamp": pa.array([block["timestamp"] for block in BLOCKS], pa.uint32()),
            "base_fee_per_gas": pa.array([block["base_fee_per_gas"] for block in BLOCKS], pa.uint64()),
            "chain_id": pa.array([1] * len(BLOCKS), pa.uint64()),
        }
    )
    pq.write_table(table, path, compression="lz4")
    return path


def cryo_transactions_table() -> Any:
    """The default columns of `cryo transactions`, the value in its three default variants."""
    inputs = [from_hex(row["input"]) or b"" for row in TRANSACTIONS]
    zeros = [data.count(0) for data in inputs]

    def column(name: str, kind: Any) -> Any:
        return pa.array([row[name] for row in TRANSACTIONS], kind)

    def data(name: str) -> Any:
        return pa.array([from_hex(row[name]) for row in TRANSACTIONS], pa.large_binary())

    values = [row["value"] for row in TRANSACTIONS]
    return pa.table(
        {
            "block_number": pa.array([8656134] * len(TRANSACTIONS), pa.uint32()),
            "transaction_index": column("transaction_index", pa.uint64()),
            "transaction_hash": data("hash"),
            "nonce": column("nonce", pa.uint64()),
            "from_address": data("from_address"),
            "to_address": data("to_address"),
            "value_binary": pa.array([value.to_bytes(32, "big") for value in values], pa.large_binary()),
            "value_string": pa.array([str(value) for value in values], pa.large_string()),
            "value_f64": pa.array([float(value) for value in values], pa.float64()),
            "input": pa.array(inputs, pa.large_binary()),
            "gas_limit": column("gas", pa.uint64()),
            "gas_used": pa.array([21000 + row["transaction_index"] for row in TRANSACTIONS], pa.uint64()),
            "gas_price": column("gas_price", pa.uint64()),
            "transaction_type": column("transaction_type", pa.uint32()),
            "max_priority_fee_per_gas": column("max_priority_fee_per_gas", pa.uint64()),
            "max_fee_per_gas": column("max_fee_per_gas", pa.uint64()),
            "success": pa.array([row["transaction_index"] != 30 for row in TRANSACTIONS], pa.bool_()),
            "n_input_bytes": pa.array([len(data) for data in inputs], pa.uint32()),
            "n_input_zero_bytes": pa.array(zeros, pa.uint32()),
            "n_input_nonzero_bytes": pa.array(
                [len(data) - zero for data, zero in zip(inputs, zeros, strict=True)], pa.uint32()
            ),
            "chain_id": pa.array([5] * len(TRANSACTIONS), pa.uint64()),
        }
    )


def rpc_block(block: dict[str, Any]) -> dict[str, Any]:
    """A mainnet block as `eth_getBlockByNumber` answers, its transactions as hashes."""
    number = block["number"]
    return {
        "number": hex(number),
        "hash": BLOCK_HASHES[number],
        "parentHash": BLOCK_HASHES[number - 1],
        "nonce": "0x0000000000000000",
        "logsBloom": ZERO_BLOOM,
        "miner": block["miner"],
        "difficulty": "0x0",
        "extraData": block["extra_data"],
        "size": hex(block["size"]),
        "gasLimit": hex(30000000),
        "gasUsed": hex(block["gas_used"]),
        "timestamp": hex(block["timestamp"]),
        "baseFeePerGas": hex(block["base_fee_per_gas"]),
        "transactions": ["0x" + f"{index:064x}" for index in range(block["transaction_count"])],
        "uncles": [],
    }


def rpc_block_with_transactions() -> dict[str, Any]:
    """The Görli block as `eth_getBlockByNumber` answers with whole transactions."""

    def quantity(value: int | None) -> str | None:
        return None if value is None else hex(value)

    transactions = [
        {
            "blockHash": GOERLI_BLOCK_HASH,
            "blockNumber": hex(8656134),
            "transactionIndex": quantity(row["transaction_index"]),
            "hash": row["hash"],
            "type": quantity(row["transaction_type"] or 0),
            "nonce": quantity(row["nonce"]),
            "from": row["from_address"],
            "to": row["to_address"],
            "value": quantity(row["value"]),
            "gas": quantity(row["gas"]),
            "gasPrice": quantity(row["gas_price"]),
            "input": row["input"],
            "v": "0x1",
            **(
                {
                    "maxFeePerGas": quantity(row["max_fee_per_gas"]),
                    "maxPriorityFeePerGas": quantity(row["max_priority_fee_per_gas"]),
                    "chainId": "0x5",
                }
                if row["max_fee_per_gas"]
                else {}
            ),
        }
        for row in TRANSACTIONS
    ]
    return {
        **rpc_block(BLOCKS[0]),
        "number": hex(8656134),
        "hash": GOERLI_BLOCK_HASH,
        "timestamp": hex(1678833072),
        "transactions": transactions,
    }
