"""Random requests, asked of a geth and of the server on the same genesis: the answers are the same.

python -m tests.helpers.geth_differences 2000 --seed 7  # that many requests; needs Go, which builds geth in minutes

`eth_estimateGas` and `eth_call`, with and without overrides of the state; results, error codes and
messages. What may differ is taken off both answers, see `comparable`.
"""

import argparse
import json
import random
import re
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import urllib3

from benchmarks.peer_anvil import GETH_VERSION, MissingTool, built_geth, running_geth
from feemodel.ethereum._quantities import to_hex
from feemodel.server.dispatch import INTERNAL_ERROR, SERVER_ERROR
from tests.helpers import anvil
from tests.helpers.development import ALDER, BIRCH, GENESIS, HOLDERS, RECORDS, encoded
from tests.helpers.engine_differences import PRECOMPILES, precompile_input
from tests.system.start import serving

PEOPLE = [to_hex(holder) for holder in HOLDERS]
STRANGERS = [f"0x{number:02x}{'5a' * 19}" for number in range(0xA0, 0xA4)]
TOKENS = [to_hex(ALDER), to_hex(BIRCH)]
ETHER = 10**18
CODES = (
    "0x600160005500", "0x5f5ffd", "0xfe", "0x31", "0x6001600c60003960016000f300", "0x60ef60005360016000f3",
    "0x60016000a0", "0x60ff60005260205fa000",  # logs
    "0x5f355f5260205ff3", "0x43425f5260205260405ff3",  # calldata; block number and time
    *(f"0x{opcode}5f5260205ff3" for opcode in ("5a", "3a", "41", "44", "45", "46", "47", "48", "4a", "5f54", "5f49")),
    "0x5f5f5f5f47335af100", "0x5f5f5f5f600133620186a0f15f5260205ff3", "0x5f5f5ff000",  # payments, a creation
    "0x73" + "5a" * 20 + "ff",
)  # fmt: skip
LARGEST = "7f" + "ff" * 32
#: What ends an execution: the stack, memory without a price, code that is too long or that the gas does not pay for.
HALTS = (
    "0x80", "0x5f8f", "0x90", "0x50", "0x01", "0x" + "5f" * 1_025, "0x54", "0x5f55", "0x5f5f01f1", "0x5f5f5ff0",
    f"0x{LARGEST}51", f"0x{LARGEST}52", f"0x5f{LARGEST}52", f"0x5f{LARGEST}53", f"0x{LARGEST}5f20", f"0x5f{LARGEST}20",
    f"0x{LARGEST}5f5f37", f"0x{LARGEST}5f5f39", f"0x{LARGEST}5f5f305f3c", f"0x{LARGEST}5f5f5e", f"0x{LARGEST}5f5ff0",
    f"0x{LARGEST}5ff3", f"0x{LARGEST}5ffd", f"0x{LARGEST}5fa0", f"0x5f5f{LARGEST}5f5f305af1",
    f"0x{LARGEST}5f5f5f305afa",
    "0x67ffffffffffffffff51", "0x67ffffffffffffffe051", "0x67ffffffffffffffdf51", "0x651fffffffe151",
    "0x641fffffffc051", "0x6501000000000051", "0x63ffffffff51", "0x60016000f35f", "0x5f6001f3",
    "0x62010000620100005f3e", "0x61c0015f5ff0", "0x61c001620100005ff0", "0x615f5f61c0015f5f5ff5", "0x61c0015f5ff5",
    "0x6160015ff3", "0x6160005ff3", "0x61600060005360efff", "0x60ef5f536160015ff3", "0x60ef5f5360015ff3",
    "0x6103e85ff3", "0x620186a05ff3", "0x5b5f56", "0x5f56", "0x600a56", "0x6001600a57",
    "0x0c", "0xef", "0xfe", "0x5f355f5f3e",
)  # fmt: skip
METHODS = ("eth_estimateGas", "eth_call")
#: Halts that geth names in more detail: geth's words, and the engine's.
OTHER_WORDS = (
    (r"(out of gas: )?(gas uint64 overflow|max initcode size exceeded.*)|stack underflow.*|stack limit reached.*",
     r"out of gas|gas required exceeds allowance.*"),
    (r"contract creation code storage out of gas|invalid code: must not begin with 0xef", r"max code size exceeded.*"),
    (r".+", r"precompiled contract failed: .+"),
    (r"failed with \d+ gas: insufficient gas for floor data gas cost.*", r"gas required exceeds allowance.*"),
)  # fmt: skip

#: What a halt says beyond its kind, which only an interpreter knows.
BEYOND = re.compile(
    r" \(\d+ <=> \d+\)|(?<=stack limit reached 1024) \(1023\)|: not enough gas for (reentrancy sentry|slot access)|"
    r"(?<=kzg proof): .*"
)


def halting(rng: random.Random) -> dict[str, Any]:
    """A call that a virtual machine ends, or that has too little gas for its calldata."""
    kind = rng.random()
    if kind < 0.4:
        return {"data": rng.choice(HALTS)}
    if kind < 0.8:
        number = rng.choice([*PRECOMPILES])
        return {"to": to_hex(number.to_bytes(20)), "data": to_hex(precompile_input(rng, number))}
    data = bytes([rng.choice([0, 1])]) * rng.choice([10, 100, 1_000])
    floor = 21_000 + 10 * (len(data) if data[0] == 0 else 4 * len(data))
    return {"to": rng.choice(STRANGERS), "data": to_hex(data), "gas": hex(max(21_000, floor - rng.choice([0, 1, 500])))}


def call(rng: random.Random) -> dict[str, Any]:
    """A call of any kind, most of which can be executed."""
    target = rng.random()
    if target < 0.2:
        asked = halting(rng)
    elif target < 0.3:
        asked = {"data": rng.choice(CODES)}
    elif target < 0.5:
        amount = rng.choice([0, 1, ETHER, 10**30])
        data = encoded("transfer(address,uint256)", bytes.fromhex(rng.choice(STRANGERS)[2:]), amount)
        asked = {"to": rng.choice(TOKENS), rng.choice(["data", "input"]): to_hex(data)}
    elif target < 0.6:
        data = encoded("fill(uint256,uint256)", rng.randrange(5), rng.randrange(2**64))
        asked = {"to": to_hex(RECORDS), "data": to_hex(data)}
    else:
        asked = {"to": rng.choice(STRANGERS + PEOPLE), "data": to_hex(rng.randbytes(rng.choice([0, 0, 4, 40])))}
    if rng.random() < 0.9:
        asked["from"] = rng.choice(PEOPLE + STRANGERS)
    sometimes: dict[str, tuple[float, list[Any]]] = {
        "value": (0.3, [0, 1, ETHER, 10**24]),
        "gas": (0.3, [0, 20_999, 21_000, 30_000, 53_000, 100_000, 2**24, 2**24 + 1, 30_000_000, 10**8]),
        "nonce": (0.15, [0, 1, 5]),
        "chainId": (0.05, [1337, 1]),
    }
    price = rng.random()
    if price < 0.15:
        sometimes["gasPrice"] = 1.0, [0, 1, 7, 8, 10**9, 10**20]
    elif price < 0.4:
        # With both: without a tip, geth's own suggestion counts for an access list, and here the rollup's.
        sometimes["maxFeePerGas"] = 1.0, [0, 7, 8, 10**9]
        sometimes["maxPriorityFeePerGas"] = 1.0, [0, 1, 10**9]
    asked |= {name: hex(rng.choice(values)) for name, (share, values) in sometimes.items() if rng.random() < share}
    if rng.random() < 0.1:
        asked["accessList"] = [{"address": rng.choice(TOKENS), "storageKeys": ["0x" + "00" * 32]}]
    return asked


def state_override(rng: random.Random) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for _ in range(rng.randrange(3)):
        fields: dict[str, Any] = {}
        if rng.random() < 0.6:
            fields["balance"] = hex(rng.choice([0, 1, ETHER, 10**27]))
        if rng.random() < 0.4:
            fields["code"] = rng.choice(CODES + HALTS)
        if rng.random() < 0.2:
            fields["nonce"] = hex(rng.choice([0, 1, 7]))
        if rng.random() < 0.2:
            fields[rng.choice(["state", "stateDiff"])] = {"0x" + "00" * 32: "0x" + "05".zfill(64)}
        found[rng.choice([*STRANGERS, *PEOPLE, TOKENS[0]])] = fields
    return found


def request(rng: random.Random) -> tuple[str, list[Any]]:
    """A method and its parameters."""
    method, params = rng.choice(METHODS), [call(rng), "latest"]
    if rng.random() < 0.4:
        params.append(state_override(rng))
    return method, params


def comparable(answer: Any) -> Any:
    """An answer without what may differ, see `BEYOND`, and with geth's code in place of that of a fault here."""
    if isinstance(answer, dict):
        if answer.get("code") == INTERNAL_ERROR:
            answer = {**answer, "code": SERVER_ERROR}
        return {name: comparable(value) for name, value in answer.items()}
    return BEYOND.sub("", answer) if isinstance(answer, str) else answer


def in_other_words(theirs: Any, ours: Any) -> bool:
    """Whether both answers are errors of one code, for a halt of `OTHER_WORDS`."""
    errors = [answer.get("error", {}) for answer in (theirs, ours)]
    codes, words = ([error.get(name) for error in errors] for name in ("code", "message"))
    return codes[0] == codes[1] is not None and any(
        re.fullmatch(geth, words[0]) and re.fullmatch(engine, words[1]) for geth, engine in OTHER_WORDS
    )


def with_system_contracts(program: Path, folder: Path) -> Path:
    """The development genesis with the contracts without which geth ends no block of Prague."""
    dumped = subprocess.run([program, "--dev", "dumpgenesis"], capture_output=True, check=True).stdout
    contracts = {f"0x{where}": account for where, account in json.loads(dumped)["alloc"].items() if account.get("code")}
    genesis = json.loads(GENESIS.read_bytes())
    genesis["alloc"] = contracts | genesis["alloc"]
    path = folder / "genesis.json"
    path.write_text(json.dumps(genesis))
    return path


def main() -> bool:
    """Ask both and print what differs; whether anything does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", metavar="REQUESTS", type=int, nargs="?", default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    kinds: Counter[str] = Counter()
    with ExitStack() as stack:
        folder, pool = Path(stack.enter_context(TemporaryDirectory())), stack.enter_context(anvil.asking())
        program = built_geth()
        if program is None:
            raise MissingTool("geth: not built")
        genesis = with_system_contracts(program, folder)
        geth = stack.enter_context(running_geth(program, folder, pool, genesis))
        server = stack.enter_context(serving("--workers", "1", "--genesis", str(genesis)))
        for number in range(given.count):
            method, params = request(random.Random(f"{given.seed} {number}"))
            ours = server.ask(method, *params)
            try:
                theirs = geth.ask(method, *params)
            except urllib3.exceptions.TimeoutError:
                kinds[f"{method}, geth gives none within its time"] += 1
                continue
            kinds[f"{method}, {'error' if 'error' in theirs else 'result'}"] += 1
            if in_other_words(comparable(theirs), comparable(ours)):
                kinds[f"{method}, a halt in other words"] += 1
            elif comparable(ours) != comparable(theirs):
                kinds["DIFFERENT"] += 1
                print(json.dumps([method, params])[:2_000])
                print(f"    geth {comparable(theirs)!s:.600}\n    ours {comparable(ours)!s:.600}")
    for name, times in kinds.most_common():
        print(f"{times:>9,} {times / given.count:6.1%}  {name}")
    print(f"{given.count:,} requests of seed {given.seed}, geth {GETH_VERSION}, {kinds['DIFFERENT']:,} differences")
    return bool(kinds["DIFFERENT"])


if __name__ == "__main__":
    sys.exit(main())
