"""Parameters of one example call of each method, for the OpenRPC document."""

from typing import Any

SENDER, RECEIVER = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
CALL = {"from": SENDER, "to": RECEIVER, "value": "0x1"}
POINT = {"compressedSize": 128, "gas": "0x5208"}

EXAMPLES: dict[str, list[Any]] = {
    "eth_call": [CALL, "latest"],
    "eth_estimateGas": [CALL, "latest"],
    "eth_feeHistory": ["0x1", "latest", [10, 50]],
    "eth_getBalance": [SENDER, "latest"],
    "eth_getBlockByHash": ["0x" + "00" * 32, False],
    "eth_getBlockByNumber": ["latest", False],
    "eth_getCode": [SENDER, "latest"],
    "eth_getStorageAt": [SENDER, "0x0", "latest"],
    "eth_getTransactionCount": [SENDER, "latest"],
    "feemodel_compare": [CALL, {"at": "2026-02-01"}],
    "feemodel_curve": [{**POINT, "axis": "gas", "from": "0x5208", "to": "0xf4240", "points": 10}],
    "feemodel_explain": [CALL],
    "feemodel_fee": [POINT],
    "feemodel_feeHistory": [POINT],
    "linea_estimateGas": [CALL],
    "linea_getProof": [SENDER, ["0x0"], "latest"],
    "rollup_estimateGas": [CALL, "latest", {SENDER: {"balance": "0xde0b6b3a7640000"}}, {"blocks": 5}],
    "rollup_getProof": [SENDER, ["0x0"], "latest"],
}  # a method without parameters needs none
