"""eth_estimateGas of real mainnet calls compared with anvil, on captured states and two cores, with exact searches.

Reads the captures in `data/replays` of the folder FEEMODEL_SHARED. For each capture, both servers start from the same
genesis file. It contains the accounts before the first block of the capture, with this block's number and time, under
Osaka's rules. The mix contains all captured calls that both servers can estimate, with equal weights. Needs wrk, and
anvil (`scripts/install-peers`).
"""

import json
import os
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.peer_anvil import PEER, SETTLE, Run, check_tools, run_wrk, served
from feemodel.errors import FeeModelError
from feemodel.ethereum import Transaction
from feemodel.ethereum._quantities import to_hex
from feemodel.execution._state import CallState
from tests.helpers import anvil
from tests.helpers.captures import read_replay
from tests.helpers.replays import steps

CAPTURES = "data/replays/*.mainnet.json.gz"
ROUNDS, SECONDS = 3, 1
EXACT = "this server, exact"
FORKS = {f"{name}Block": 0 for name in ("homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople")}
FORKS |= {f"{name}Block": 0 for name in ("petersburg", "istanbul", "berlin", "london", "mergeNetsplit")}
FORKS |= {f"{name}Time": 0 for name in ("shanghai", "cancun", "prague", "osaka")}


@dataclass(frozen=True, slots=True)
class Capture:
    """The calls of a capture, and the genesis for their estimates."""

    name: str
    genesis: Mapping[str, Any]
    calls: Sequence[Mapping[str, Any]]


def captures(folder: Path) -> list[Capture]:
    """Read the captured estimates of wallets on mainnet."""
    found: list[Capture] = []
    for file in sorted(folder.glob(CAPTURES)):
        captured = list(steps(read_replay(file)))
        calls = [call_object(step.transaction.sent) for step in captured]
        found.append(Capture(file.name.partition(".")[0], genesis(captured[0].call_state), calls))
    if not found:
        raise FeeModelError(f"{folder / CAPTURES}: no captures there; FEEMODEL_SHARED names the folder")
    return found


def call_object(transaction: Transaction) -> dict[str, Any]:
    """Return the call as JSON-RPC parameters, without gas and price."""
    listed = [
        {"address": to_hex(address), "storageKeys": [to_hex(key) for key in keys]}
        for address, keys in transaction.access_list or ()
    ]
    return {
        "from": to_hex(transaction.from_address),
        **({} if transaction.to is None else {"to": to_hex(transaction.to)}),
        "value": hex(transaction.value),
        "data": to_hex(transaction.data),
        **({"accessList": listed} if listed else {}),
    }


def genesis(call_state: CallState) -> dict[str, Any]:
    """Return a geth genesis with the accounts and the block of a state."""
    block = call_state.block
    return {
        "config": {"chainId": call_state.chain_id, **FORKS, "terminalTotalDifficulty": 0},
        "number": hex(block.number),
        "timestamp": hex(block.timestamp),
        "gasLimit": hex(block.gas_limit),
        "baseFeePerGas": hex(block.base_fee),
        "coinbase": to_hex(block.coinbase),
        "mixHash": to_hex(block.prev_randao),
        "difficulty": "0x0",
        "alloc": {
            to_hex(address): {
                "balance": hex(account.balance),
                "nonce": hex(account.nonce),
                "code": to_hex(account.code),
                "storage": {
                    to_hex(slot.to_bytes(32)): to_hex(value.to_bytes(32))
                    for slot, value in account.storage.items()
                    if value
                },
            }
            for address, account in call_state.accounts.items()
        },
    }


def answered(capture: Capture, nodes: Mapping[str, anvil.Node], ends: Counter[str]) -> list[Mapping[str, Any]]:
    """Return the calls that both servers estimate; `ends` counts the outcomes."""
    kept = []
    for call in capture.calls:
        answers = {name: node.ask("eth_estimateGas", call, "latest") for name, node in nodes.items()}
        gas = [int(answer["result"], 16) for answer in answers.values() if "result" in answer]
        ends["refused by both" if not gas else "refused by one" if len(gas) == 1 else "estimated"] += 1
        if len(gas) == len(nodes):
            ends["equal" if gas[0] == gas[1] else "another limit"] += 1
            kept.append(call)
        if len(gas) == 1 or len(set(gas)) == len(nodes):
            print(f"    {capture.name}: {call['from']} to {call.get('to')}: {answers}"[:400])
    return kept


def main() -> None:
    check_tools()
    ends: Counter[str] = Counter()
    runs: dict[str, list[tuple[int, list[Run]]]] = {EXACT: [], PEER: []}
    for capture in captures(Path(os.environ.get("FEEMODEL_SHARED", "../shared"))):
        with TemporaryDirectory(prefix="feemodel-mix-") as folder, ExitStack() as stack:
            file = Path(folder, "genesis.json")
            file.write_text(json.dumps(capture.genesis))
            base_fee, gas_limit = (int(capture.genesis[name], 16) for name in ("baseFeePerGas", "gasLimit"))
            pool = stack.enter_context(anvil.asking())
            server = stack.enter_context(served("--tolerance", "0", "--genesis", str(file)))
            peer = stack.enter_context(anvil.running(file, base_fee=base_fee, gas_limit=gas_limit))
            nodes = {EXACT: anvil.Node(server.address, pool), PEER: anvil.Node(peer.url, pool)}
            calls = answered(capture, nodes, ends)
            if not calls:
                continue
            time.sleep(SETTLE)
            lines = Path(folder, "bodies.txt")
            lines.write_text("".join(bodies(calls)))
            measured: dict[str, list[Run]] = {name: [] for name in nodes}
            for number in range(-1, ROUNDS):  # the first run is a warm-up
                for name in sorted(nodes, reverse=bool(number % 2)):
                    run = run_wrk(nodes[name].url, lines, folder=Path(folder), seconds=SECONDS)
                    if number >= 0:
                        measured[name].append(run)
            for name, each in measured.items():
                runs[name].append((len(calls), each))
    report(runs, ends)


def bodies(calls: Sequence[Mapping[str, Any]]) -> list[str]:
    """Yield requests as lines."""
    return [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_estimateGas", "params": [call, "latest"]}) + "\n"
        for call in calls
    ]


def report(runs: Mapping[str, list[tuple[int, list[Run]]]], ends: Counter[str]) -> None:
    """Print rates and latencies of the mix in each round. All calls have the same weight."""
    print("  calls: " + ", ".join(f"{count:,} {end}" for end, count in sorted(ends.items())))
    rates = {name: [mix_rate(each, place) for place in range(ROUNDS)] for name, each in runs.items()}
    for name, each in runs.items():
        p50, p99 = (
            statistics.median(mix_latency(each, place, part) for place in range(ROUNDS)) / 1e3 for part in (0.5, 0.99)
        )
        ratios = [ours / theirs for ours, theirs in zip(rates[name], rates[PEER], strict=True)]
        share = f", {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) of anvil's"
        line = f"    {name:<22} {statistics.median(rates[name]):>7,.0f} a second, p50 {p50:.1f}, p99 {p99:.1f} ms"
        print(line + ("" if name == PEER else share))


def mix_rate(each: Sequence[tuple[int, list[Run]]], place: int) -> float:
    """Return the calls per second of the mix in one round."""
    return sum(count for count, _ in each) / sum(count / runs[place].rate for count, runs in each)


def mix_latency(each: Sequence[tuple[int, list[Run]]], place: int, share: float) -> float:
    """Return a quantile of the latencies of the mix in one round [µs]."""
    weighted: Counter[int] = Counter()
    for count, runs in each:
        total = sum(times for _, times in runs[place].latencies)
        for micros, times in runs[place].latencies:
            weighted[micros] += count * times / total  # type: ignore[assignment]
    wanted, passed = share * sum(weighted.values()), 0.0
    for micros in sorted(weighted):
        passed += weighted[micros]
        if passed >= wanted:
            return micros
    raise FeeModelError("no request was answered")


if __name__ == "__main__":
    main()
