"""What web3.py sends: python web3_sending.py ADDRESS SCENARIO {"contract": {abi, bytecode}}; see web3_client.py."""

import asyncio
import json
import sys
from typing import Any

from eth_account import Account
from web3 import AsyncWeb3, HTTPProvider, Web3, WebSocketProvider

Account.enable_unaudited_hdwallet_features()
MNEMONIC = "test test test test test test test test test test test junk"


def over_http(address: str, contract: dict[str, Any]) -> dict[str, Any]:
    """Deploy, write, read, filter."""
    w3 = Web3(HTTPProvider(address))
    account = Account.from_mnemonic(MNEMONIC, account_path="m/44'/60'/0'/0/2")
    counter = w3.eth.contract(abi=contract["abi"], bytecode=contract["bytecode"])

    def sent(call: Any) -> Any:
        nonce = w3.eth.get_transaction_count(account.address)
        transaction = call.build_transaction({"from": account.address, "nonce": nonce})
        signed = account.sign_transaction(transaction)
        return w3.eth.wait_for_transaction_receipt(w3.eth.send_raw_transaction(signed.raw_transaction))

    deployed = sent(counter.constructor())
    counter = w3.eth.contract(address=deployed["contractAddress"], abi=contract["abi"])
    blocks = w3.eth.filter("latest")
    written = sent(counter.functions.increment())
    (log,) = counter.events.Counted().get_logs(from_block=written["blockNumber"])
    return {
        "deployed": deployed["status"],
        "written": [written["status"], log["args"]["count"], counter.functions.count().call()],
        "filtered": [block.hex() for block in blocks.get_new_entries()] == [written["blockHash"].hex()],
        "accounts": w3.eth.accounts,
    }


async def over_websocket(address: str) -> dict[str, Any]:
    """Subscribe to new blocks, of which one comes with a transaction."""
    account = Account.from_mnemonic(MNEMONIC, account_path="m/44'/60'/0'/0/3")
    async with AsyncWeb3(WebSocketProvider(address.replace("http", "ws"))) as w3:
        identity = await w3.eth.subscribe("newHeads")
        transaction = {
            "to": account.address, "value": 1, "gas": 21_000, "maxFeePerGas": 10**10, "maxPriorityFeePerGas": 1,
            "nonce": await w3.eth.get_transaction_count(account.address), "chainId": await w3.eth.chain_id,
        }  # fmt: skip
        await w3.eth.send_raw_transaction(account.sign_transaction(transaction).raw_transaction)
        async for message in w3.socket.process_subscriptions():
            found = {"subscribed": message["subscription"] == identity, "number": message["result"]["number"]}
            break
        return {**found, "unsubscribed": await w3.eth.unsubscribe(identity)}


if __name__ == "__main__":
    _, served, scenario, parameters = sys.argv
    if scenario == "websocket":
        steps = asyncio.run(over_websocket(served))
    else:
        steps = over_http(served, **json.loads(parameters))
    print(json.dumps({name: {"value": value} for name, value in steps.items()}))
