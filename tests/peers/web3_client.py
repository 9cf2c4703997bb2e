"""web3.py as scripts use it: python web3_client.py ADDRESS SCENARIO PARAMETERS

Takes one step after the other and prints a JSON object: of each its value, or its error. Runs where web3.py is, which
need not be where the tests run.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from web3 import HTTPProvider, Web3
from web3.method import Method
from web3.module import Module

DEVELOPMENT = Path(__file__).resolve().parents[2] / "data" / "development"
CONTRACTS = json.loads((DEVELOPMENT / "contracts.json").read_bytes())
TOO_MUCH = 10**30

Steps = dict[str, Callable[[], Any]]


class Rollup(Module):
    """The rollup's methods as `w3.rollup`."""

    estimate_gas: Method[Any] = Method("rollup_estimateGas")
    get_proof: Method[Any] = Method("rollup_getProof")


def reads(w3: Web3, account: str) -> Steps:
    """What can be asked of any chain."""
    return {
        "connected": w3.is_connected,
        "chain": lambda: [w3.eth.chain_id, w3.net.version, w3.eth.block_number],
        "block": lambda: w3.eth.get_block("latest"),
        "noBlock": lambda: w3.eth.get_block(2**40),
        "prices": lambda: [w3.eth.gas_price, w3.eth.max_priority_fee],
        "feeHistory": lambda: w3.eth.fee_history(4, "latest", [10, 50]),
        "balance": lambda: w3.eth.get_balance(account),
        "nonce": lambda: w3.eth.get_transaction_count(account, "pending"),
    }


def estimates(w3: Web3, holder: str, stranger: str) -> Steps:
    transfer = {"from": holder, "to": stranger, "value": 5}
    unfunded, funds = {"from": stranger, "to": holder, "value": 5}, {stranger: {"balance": 10**18}}
    return {
        "attached": lambda: w3.rollup.estimate_gas(transfer),
        "estimate": lambda: w3.eth.estimate_gas(transfer),
        "estimateOverridden": lambda: w3.eth.estimate_gas(unfunded, "latest", funds),
        "noFunds": lambda: w3.rollup.estimate_gas(unfunded),
        "ethNoFunds": lambda: w3.eth.estimate_gas(unfunded),
    }


def contracts(w3: Web3, holder: str, stranger: str) -> Steps:
    """Reads, calls and reverts of the contracts of the development genesis."""

    def contract(name: str) -> Any:
        about = CONTRACTS[name]
        return w3.eth.contract(address=Web3.to_checksum_address(about["addresses"][0]), abi=about["abi"])

    token, pool, records = map(contract, ("Token", "Pool", "Records"))
    transfer, too_much = token.functions.transfer(stranger, 5), token.functions.transfer(stranger, TOO_MUCH)

    def batched() -> Any:
        with w3.batch_requests() as batch:
            batch.add(token.functions.symbol())
            batch.add(w3.eth.get_block("latest"))
            batch.add(token.functions.balanceOf(holder))
            symbol, block, balance = batch.execute()
        return [symbol, block["number"], balance]

    return {
        "reads": lambda: [
            token.functions.name().call(),
            token.functions.decimals().call(),
            token.functions.balanceOf(holder).call(),
        ],
        "code": lambda: w3.eth.get_code(token.address),
        "contractGas": lambda: transfer.estimate_gas({"from": holder}),
        "simulated": lambda: transfer.call({"from": holder}),
        "built": lambda: transfer.build_transaction({"from": holder, "nonce": w3.eth.get_transaction_count(holder)}),
        "batch": batched,
        "proof": lambda: w3.rollup.get_proof(holder, ["0x0"], "latest"),
        "revert": lambda: too_much.estimate_gas({"from": holder}),
        "callRevert": lambda: too_much.call({"from": holder}),
        "customError": lambda: pool.functions.quote(stranger, 5).call(),
        "panic": lambda: records.functions.valueAt(10**9).call(),
        "noMethod": lambda: w3.eth.get_logs({}),
        "sent": lambda: w3.eth.send_raw_transaction(b"\x02\xc0"),
    }


def outcome(step: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"value": step()}
    except Exception as error:
        return {
            "kinds": [kind.__name__ for kind in type(error).__mro__],
            "message": str(error),
            "data": getattr(error, "data", None),
            "response": getattr(error, "rpc_response", None),
        }


def plain(value: Any) -> Any:
    """Bytes as hexadecimal, web3.py's own mappings as objects."""
    return "0x" + value.hex().removeprefix("0x") if isinstance(value, bytes) else dict(value)


def main(address: str, parameters: dict[str, Any]) -> None:
    w3 = Web3(HTTPProvider(address))
    w3.attach_modules({"rollup": Rollup})
    account, stranger = (Web3.to_checksum_address(parameters[name]) for name in ("account", "stranger"))
    steps = reads(w3, account) | estimates(w3, account, stranger) | contracts(w3, account, stranger)
    json.dump({name: outcome(step) for name, step in steps.items()}, sys.stdout, default=plain)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[3]))
