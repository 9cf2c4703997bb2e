"""The suite of `eth_estimateGas` in `data/estimates`: written by this package, and asked of a node.

python -m tests.nodes.estimates --write      # writes the files; needs the full inputs and the native engine
python -m tests.nodes.estimates URL          # asks a node for every estimate, and prints a table by cause

What an estimate does is judged here, by the native engine: whether the call succeeds with it, and whether every call
and creation in it ends as with ample gas.
"""

import argparse
import gzip
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from feemodel.errors import FeeModelError
from feemodel.estimates.json_types import call_object
from feemodel.ethereum import from_hex, to_hex
from feemodel.ethereum._call import parse_call
from feemodel.execution import Account, Block, CallState, Limits, Message, estimate_gas
from feemodel.execution._clients import node_named
from feemodel.execution._engines import engine_named
from feemodel.execution._forks import fork_named
from tests.helpers import anvil
from tests.helpers.captures import read_replay
from tests.helpers.inputs import ROOT, inputs
from tests.helpers.replays import estimate_call, steps
from tests.nodes.estimate_calls import SENDER, TARGET, Contracts, own_calls

FOLDER = ROOT / "data" / "estimates"
FORK, CAP, CHAIN = "osaka", 16_777_216, 1337  # rules, and the largest gas limit of a transaction under them, EIP-7825
UNLIMITED = Limits(gas_cap=CAP, total_gas=10**12, seconds=10**6)
#: Searches whose limit a row has: search and tolerance.
SEARCHES = {"geth": ("geth", 0.015), "besu": ("besu", 0.015), "exact": ("geth", 0), "intact": ("intact", 0)}
SENT = (
    "data", "value", "gasPrice", "maxFeePerGas", "maxPriorityFeePerGas", "accessList", "authorizationList", "to"
)  # fmt: skip
Row = dict[str, Any]


def quantity(text: str) -> str:
    """A number without leading zeros."""
    return hex(int(text, 16))


def call_state(row: Row) -> CallState:
    """The accounts and the block of a row."""
    block = row["block"]
    accounts = {
        from_hex(address): Account(
            balance=int(one["balance"], 16),
            nonce=int(one["nonce"], 16),
            code=from_hex(one["code"]),
            storage={int(slot, 16): int(value, 16) for slot, value in one["storage"].items()},
        )
        for address, one in row["pre"].items()
    }
    return CallState(
        accounts=accounts,
        block=Block(
            number=int(block["number"], 16),
            timestamp=int(block["time"], 16),
            gas_limit=int(block["gasLimit"], 16),
            base_fee=int(block["baseFeePerGas"], 16),
            coinbase=from_hex(block["feeRecipient"]),
            prev_randao=from_hex(block["prevRandao"]),
        ),
        chain_id=CHAIN,
        fork=fork_named(row["fork"]),
    )


class Judge:
    """How every frame of a row's call ends with its cap, and with other limits."""

    def __init__(self, row: Row) -> None:
        self.state = call_state(row)
        self.message: Message = node_named("intact").message(parse_call(row["call"]), self.state)
        self.whole = self._traced(int(row["call"]["gas"], 16))

    def _traced(self, gas_limit: int) -> Any:
        return engine_named("native").trace(self.state, self.message, gas_limit, frames=True)  # type: ignore[attr-defined]

    def outcome(self, gas_limit: int) -> Row:
        """Whether the call succeeds, its gas, and the first frame that ends in another way than with the cap."""
        traced = self._traced(gas_limit)
        ends = [[frame[:4] for frame in one.frames] for one in (self.whole, traced)]
        changed = next((at for at, pair in enumerate(zip(*ends, strict=False)) if pair[0] != pair[1]), None)
        if changed is None and len(ends[0]) != len(ends[1]):
            changed = min(map(len, ends))
        return {
            "status": traced.outcome.status.value,
            "gasUsed": hex(traced.outcome.charged),
            "changedFrame": changed,
        }


def row_of(name: str, cause: str, source: str, state: CallState, call: Mapping[str, Any]) -> Row | None:
    """A row with its limits; `None` if the call does not succeed with the cap, or asks for the hash of a block."""
    block = replace(state.block, gas_limit=CAP, hashes={}, excess_blob_gas=0)
    state = replace(state, block=block, chain_id=CHAIN, fork=fork_named(FORK), overrides={})
    given = {key: call[key] for key in SENT if call.get(key) is not None} | {"from": call["from"]}
    payable = int(given.get("gasPrice", given.get("maxFeePerGas", "0x0")), 16)
    payable = payable or block.base_fee
    balance = state.account(from_hex(call["from"])).balance - int(given.get("value", "0x0"), 16)
    given["gas"] = hex(min(CAP, balance // payable if payable else CAP))
    row: Row = {
        "name": name, "cause": cause, "source": source, "fork": FORK,
        "block": {
            "number": hex(block.number), "time": hex(block.timestamp), "gasLimit": hex(CAP),
            "baseFeePerGas": hex(block.base_fee), "feeRecipient": to_hex(block.coinbase),
            "prevRandao": to_hex(block.prev_randao),
        },
        "pre": {
            to_hex(address): {
                "balance": hex(account.balance), "nonce": hex(account.nonce), "code": to_hex(account.code),
                "storage": {to_hex(slot.to_bytes(32)): to_hex(value.to_bytes(32))
                            for slot, value in sorted(account.storage.items()) if value},
            }
            for address, account in sorted(state.accounts.items())
        },
        "call": given,
    }  # fmt: skip
    try:
        judge = Judge(row)
        found = {
            name: estimate_gas(given, judge.state, search=search, tolerance=tolerance, limits=UNLIMITED)
            for name, (search, tolerance) in SEARCHES.items()
        }
    except FeeModelError:
        return None
    if not judge.whole.outcome.succeeded:
        return None
    row["limits"] = {name: hex(one.gas_limit) for name, one in found.items()}
    row["outcomes"] = {"cap": judge.outcome(int(given["gas"], 16))} | {
        name: judge.outcome(one.gas_limit) for name, one in found.items()
    }
    place = found["intact"].prevented_by
    row["intact"] = found["intact"].intact
    row["preventedBy"] = place and {
        "frame": place.frame, "address": to_hex(place.address), "opcode": place.opcode
    }  # fmt: skip
    return row


def linea_rows() -> Iterator[Row]:
    """One real call of each contract, function and outcome of its estimates, on the state that it touches."""
    seen = set()
    for file in sorted((inputs() / "data" / "replays").glob("*.mainnet.json.gz")):
        for step in steps(read_replay(file), fork=FORK):
            transaction, state = step.transaction, step.call_state
            call = estimate_call(transaction)
            if call.from_address is None or call.to is None or not call.data:
                continue
            unpriced = {name: given for name, given in call_object(replace(call, authorizations=())).items() if given}
            slots = {(address, slot) for address, slot, _ in transaction.state.slots}
            touched = {address for address, *_ in transaction.state.accounts} | {address for address, _ in slots}
            kept = {
                address: replace(
                    account, storage={slot: held for slot, held in account.storage.items() if (address, slot) in slots}
                )
                for address, account in state.accounts.items()
                if address in touched
            }
            source = "Consensys/linea-monorepo at cb180134"
            name = f"linea-{step.block.number}-{step.index}"
            row = row_of(name, "real call", source, replace(state, accounts=kept), unpriced)
            if row is None:
                continue
            ends = tuple((one["status"], one["changedFrame"] is None) for one in row["outcomes"].values())
            key = (call.to, call.data[:4], ends)
            if key not in seen:
                seen.add(key)
                yield row


def state_test_rows() -> Iterator[Row]:
    """Calls of ethereum/tests, by the rules of Osaka."""
    with gzip.open(inputs() / "data" / "estimates" / "state_tests.jsonl.gz", "rt") as lines:
        for line in lines:
            test = json.loads(line)
            header, given = test["header"], test["transaction"]
            block = {
                "number": header["number"], "time": header["timestamp"], "gasLimit": header["gasLimit"],
                "baseFeePerGas": header.get("baseFeePerGas", "0x0"), "feeRecipient": header["coinbase"],
                "prevRandao": header["mixHash"],
            }  # fmt: skip
            call = {key: given[key] for key in SENT if given.get(key) not in (None, "")} | {"from": given["sender"]}
            call |= {key: quantity(call[key]) for key in call if key == "value" or "Price" in key or "Fee" in key}
            state = call_state({"block": block, "pre": test["pre"], "fork": FORK})
            source = f"ethereum/tests at 4c87ebbf, GeneralStateTests/{test['file']}"
            if row := row_of(test["name"], "state test", source, state, call):
                yield row


def own_rows() -> Iterator[Row]:
    """Contracts of our own for each cause."""
    for cause, name, code, contracts, fields in own_calls():
        accounts: Contracts = {TARGET: (code, {})} | contracts
        state = CallState(
            accounts={
                address: Account(balance=10**6, nonce=1, code=from_hex(f"0x{code}"), storage=storage)
                for address, (code, storage) in accounts.items()
            } | {SENDER: Account(balance=10**18)},
            block=Block(number=1_000, timestamp=1_800_000_000, base_fee=7, coinbase=bytes(19) + b"\xc0"),
        )  # fmt: skip
        call = {"from": to_hex(SENDER), "to": to_hex(TARGET), "data": "0x00", "gasPrice": "0x7"} | fields
        if (row := row_of(name, cause, "own", state, call)) is None:
            raise ValueError(f"{cause}, {name}: does not succeed")
        yield row


FILES = {"own_contracts": own_rows, "linea_calls": linea_rows, "state_tests": state_test_rows}


def rows(folder: Path = FOLDER) -> Iterator[Row]:
    """Every row of the suite."""
    for name in FILES:
        with gzip.open(folder / f"{name}.jsonl.gz", "rt") as lines:
            yield from map(json.loads, lines)


def write() -> None:
    """Write the files; equal rows give equal bytes."""
    for name, written in FILES.items():
        lines = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in written())
        (FOLDER / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
        print(f"{name}: {lines.count(chr(10)):,} rows")


def overrides(row: Row) -> Row:
    """The accounts of a row as a state override."""
    return {
        address: {key: one[key] for key in ("balance", "nonce", "code")} | {"state": one["storage"]}
        for address, one in row["pre"].items()
    }


def asked(node: anvil.Node, row: Row, setters: str) -> Row:
    """A node's answer to the estimate of a row, by overrides or with the accounts set by its own methods."""
    if not setters:
        block = {key: row["block"][key] for key in ("number", "time", "baseFeePerGas", "feeRecipient", "prevRandao")}
        return node.ask("eth_estimateGas", row["call"], "latest", overrides(row), block)
    snapshot = node.ask("evm_snapshot")["result"]
    try:
        for address, one in row["pre"].items():
            node.ask(f"{setters}_setBalance", address, one["balance"])
            node.ask(f"{setters}_setNonce", address, one["nonce"])
            node.ask(f"{setters}_setCode", address, one["code"])
            for slot, value in one["storage"].items():
                node.ask(f"{setters}_setStorageAt", address, quantity(slot), value)
        return node.ask("eth_estimateGas", row["call"])
    finally:
        node.ask("evm_revert", snapshot)


COLUMNS = ("cases", "refused", "reverts", "changes a frame", "keeps all", "as geth", "as Besu", "exact", "intact")


def check(url: str, setters: str, causes: Sequence[str], verbose: bool) -> int:
    """Ask a node for every row, and print the table."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    with anvil.asking() as pool:
        node = anvil.Node(url, pool)
        for row in rows():
            if causes and row["cause"] not in causes:
                continue
            answer, count = asked(node, row, setters), table[row["cause"]]
            count["cases"] += 1
            if "result" not in answer:
                count["refused"] += 1
                if verbose:
                    print(f"{row['name']}: {answer['error'].get('message', answer['error'])}"[:200])
                continue
            limit = int(answer["result"], 16)
            outcome = Judge(row).outcome(limit)
            kept = "keeps all" if outcome["changedFrame"] is None else "changes a frame"
            end = kept if outcome["status"] == "success" else "reverts"
            count[end] += 1
            for column, name in zip(COLUMNS[5:], ("geth", "besu", "exact", "intact"), strict=True):
                count[column] += limit == int(row["limits"][name], 16)
            if verbose and hex(limit) not in row["limits"].values():
                print(f"{row['name']}: {limit:,}, {end}; {row['limits']}")
    table["all"] = sum(table.values(), Counter())
    print("| cause |" + "".join(f" {name} |" for name in COLUMNS))
    print("|---|" + "---:|" * len(COLUMNS))
    for cause, count in table.items():
        print(f"| {cause} |" + "".join(f" {count[name]:,} |" for name in COLUMNS))
    return 0 if table["all"]["cases"] > table["all"]["refused"] else 1


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", nargs="?", help="JSON-RPC address of a node by the rules of Osaka")
    parser.add_argument("--write", action="store_true", help="write data/estimates")
    parser.add_argument(
        "--set-state", default="", metavar="PREFIX", help="set accounts by PREFIX_setCode …, no overrides"
    )
    parser.add_argument("--cause", action="append", default=[], help="only the rows of this cause; several are allowed")
    parser.add_argument("--verbose", action="store_true", help="also print what no search of the suite gives")
    options = parser.parse_args(arguments)
    if options.write:
        write()
        return 0
    if options.url is None:
        parser.error("expected the URL of a node, or --write")
    return check(options.url, options.set_state, options.cause, options.verbose)


if __name__ == "__main__":
    sys.exit(main())
