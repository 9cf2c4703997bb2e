"""eth_estimateGas over HTTP compared with anvil and geth, on the same genesis and two cores, measured by wrk.

geth's search has a tolerance of 1.5 %, like this server's default. anvil's search is exact, and this server is also
measured with an exact search, and with its reference engine. All requests have different senders, amounts or data, and
no run repeats a request, so no server can use a cached result. Needs wrk, and anvil (`scripts/install-peers`). geth is
built from its Go module, which takes minutes the first time. Without Go, geth is left out.
"""

import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from benchmarks import ratio
from feemodel.errors import FeeModelError
from feemodel.ethereum._quantities import to_hex
from tests.helpers import anvil
from tests.helpers.development import ALDER, BALANCES, BIRCH, GENESIS, HOLDERS, RECORDS, UNIT, encoded, mapped
from tests.system.start import Started, serving

CONNECTIONS, WORKERS = 16, 2
ROUNDS, SECONDS, CHECKED_SECONDS = 5, 3, 1
REFERENCE_SECONDS = 10
PATIENCE = 60.0  # seconds for the reference engine's processes to start
SETTLE = 10.0  # seconds to wait for the other servers' processes to start
CHECKED = 50  # responses of each kind to compare before the measurement
TOLERANCE = 0.015

SERVERS = {"1.5 %": (), "exact": ("--tolerance", "0")}  # the flags of `feemodel serve`
PEER = "anvil, exact"
GETH, GETH_VERSION = "geth, 1.5 %", "v1.17.10"
NODES = Path(__file__).resolve().parents[1] / "out" / "nodes"
KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"  # first holder's private key, publicly known
REFERENCE = "reference alone, 1.5 %"

# wrk sends the lines of a file in turn, and prints a last line of JSON.
SCRIPT = """
local bodies = {}
for line in io.lines("%s") do bodies[#bodies + 1] = line end
local place, headers = 0, {["Content-Type"] = "application/json"}
function request()
    place = place %% #bodies + 1
    return wrk.format("POST", "/", headers, bodies[place])
end
%s
function done(summary, latency)
    local failed, found = summary.errors, {}
    for place = 1, #latency do found[place] = string.format("[%%d,%%d]", latency(place)) end
    io.write('\\n{"latencies":[', table.concat(found, ","), ']')
    io.write(string.format(',"requests":%%d,"micros":%%d,"p50":%%d,"p99":%%d,"failed":%%d}\\n', summary.requests,
        summary.duration, latency:percentile(50), latency:percentile(99),
        failed.connect + failed.read + failed.write + failed.status + failed.timeout))
end
"""
# A wrong response ends the run: wrk prints the response instead of the last line.
CHECK = """
function response(status, _, body)
    if status ~= 200 or not body:find('"%s"', 1, true) then io.write(status, " ", body, "\\n"); os.exit(1) end
end
"""

Params = list[Any]
Draw = Callable[[random.Random], Params]


class MissingTool(FeeModelError):
    """A required program is not installed."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of request."""

    draw: Draw
    fastest: int  #: more requests per second than any server answers; sets the number of bodies
    answer: str = "result"  #: "result" or "error"


def token(rng: random.Random) -> Params:
    """Return an ERC-20 transfer to a new holder."""
    data = encoded("transfer(address,uint256)", rng.randbytes(20), 1 + rng.randrange(10**6 * UNIT))
    return [asked(rng.choice(HOLDERS), rng.choice([ALDER, BIRCH]), data), "latest"]


def token_override(rng: random.Random) -> Params:
    """Return an ERC-20 transfer whose sender gets the tokens by a state override."""
    sender, contract, held = rng.randbytes(20), rng.choice([ALDER, BIRCH]), 1 + rng.randrange(10**6 * UNIT)
    data = encoded("transfer(address,uint256)", rng.randbytes(20), 1 + rng.randrange(held))
    slots = {to_hex(mapped(BALANCES, sender).to_bytes(32)): to_hex(held.to_bytes(32))}
    return [asked(sender, contract, data), "latest", {to_hex(contract): {"stateDiff": slots}}]


def stores(rng: random.Random) -> Params:
    """Return a call that writes fifty new slots."""
    data = encoded("fill(uint256,uint256)", 50, rng.randrange(2**256))
    return [asked(rng.choice(HOLDERS), RECORDS, data), "latest"]


def transfer(rng: random.Random) -> Params:
    """Return a transfer of ETH to a new account; anvil estimates it without executing it."""
    to, value = to_hex(rng.randbytes(20)), hex(1 + rng.randrange(UNIT))
    return [{"from": to_hex(rng.choice(HOLDERS)), "to": to, "value": value}, "latest"]


def reverting(rng: random.Random) -> Params:
    """Return an ERC-20 transfer of more than the sender has."""
    data = encoded("transfer(address,uint256)", rng.randbytes(20), 10**7 * UNIT + rng.randrange(2**200))
    return [asked(rng.choice(HOLDERS), rng.choice([ALDER, BIRCH]), data), "latest"]


def asked(sender: bytes, to: bytes, data: bytes) -> dict[str, str]:
    return {"from": to_hex(sender), "to": to_hex(to), "data": to_hex(data)}


KINDS = {
    "ERC-20 transfer": Kind(token, 30_000),
    "ERC-20, stateDiff": Kind(token_override, 30_000),
    "50 SSTORE": Kind(stores, 15_000),
    "transfer": Kind(transfer, 80_000),
    "revert": Kind(reverting, 80_000, answer="error"),
}


@dataclass(frozen=True, slots=True)
class Run:
    """Results of one run of wrk."""

    requests: int
    micros: int  #: duration of the run [µs]
    p50: int  #: median latency [µs]
    p99: int  #: 99th percentile of the latency [µs]
    failed: int
    latencies: list[list[int]]  #: pairs of a latency [µs] and its number of requests

    @property
    def rate(self) -> float:
        return self.requests / self.micros * 1e6


def bodies(kind: Kind, seed: int, count: int) -> Iterator[str]:
    """Yield request bodies, all different."""
    rng = random.Random(seed)
    for number in range(count):
        call = {"jsonrpc": "2.0", "id": number, "method": "eth_estimateGas", "params": kind.draw(rng)}
        yield json.dumps(call, separators=(",", ":")) + "\n"


def load(url: str, kind: Kind, seed: int, folder: Path, *, seconds: int = SECONDS, checked: bool = False) -> Run:
    """Run wrk once; `checked` makes wrk check every response, which slows it down.

    Raises `FeeModelError` with wrk's output if a request failed, there was no response, wrk sent more requests than
    there are bodies, or a checked response was wrong.
    """
    lines = folder / f"{seed}.txt"
    if not lines.exists():
        lines.write_text("".join(bodies(kind, seed, kind.fastest * seconds)))
    run = run_wrk(url, lines, folder=folder, seconds=seconds, check=CHECK % kind.answer if checked else "")
    if run.requests > kind.fastest * seconds:
        raise FeeModelError(f"{url}, {run.requests} requests: more than there were bodies")
    return run


def run_wrk(url: str, lines: Path, *, folder: Path, seconds: int, check: str = "") -> Run:
    """Run wrk with the bodies in a file; raises `FeeModelError` with wrk's output if a request failed."""
    script = folder / "script.lua"
    script.write_text(SCRIPT % (lines, check))
    options = ["--threads", "1", "--connections", str(CONNECTIONS), "--duration", str(seconds), "--timeout", "30s"]
    command = ["wrk", *options, "--script", str(script), url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = done.stdout.rstrip().rsplit("\n", 1)[-1]
    run = Run(**json.loads(last)) if done.returncode == 0 and last.startswith("{") else None
    if run is None or run.failed or not run.requests:
        raise FeeModelError(f"{url}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return run


def check_answers(name: str, kind: Kind, nodes: Mapping[str, anvil.Node]) -> None:
    """Raise `FeeModelError` if an estimate is below anvil's, or above it by more than the search's tolerance."""
    for body in bodies(kind, 0, CHECKED):
        params = json.loads(body)["params"]
        answers = {who: node.ask("eth_estimateGas", *params) for who, node in nodes.items()}
        if any((kind.answer not in answer) for answer in answers.values()):
            raise FeeModelError(f"{name}: expected {kind.answer}, got {answers}")
        if kind.answer == "error":
            continue
        gas = {who: int(answer["result"], 16) for who, answer in answers.items()}
        exact = gas.pop(PEER)
        if gas.get(GETH, gas["1.5 %"]) != gas["1.5 %"]:
            raise FeeModelError(f"{name}: geth says {gas[GETH]:,} gas, and this server {gas['1.5 %']:,}")
        if gas.pop("exact") != exact or not all(exact <= other <= exact / (1 - TOLERANCE) for other in gas.values()):
            raise FeeModelError(f"{name}: anvil says {exact:,} gas, and this server {gas}")


def measured(kind: Kind, nodes: Mapping[str, anvil.Node], folder: Path) -> dict[str, list[Run]]:
    """Measure all servers in turn, after one run that checks every response."""
    names = list(nodes)
    for place, name in enumerate(names):
        load(nodes[name].url, kind, 1 + place, folder, seconds=CHECKED_SECONDS, checked=True)
    runs: dict[str, list[Run]] = {name: [] for name in names}
    for number in range(ROUNDS):
        for name in names[number % len(names) :] + names[: number % len(names)]:  # rotate the order
            runs[name].append(load(nodes[name].url, kind, 100 + number, folder))
    return runs


def report(name: str, runs: Mapping[str, list[Run]]) -> None:
    """Print medians and ranges, and the ratios of the rates in each round."""
    print(f"  {name}")
    seconds = {who: [1 / run.rate for run in each] for who, each in runs.items()}
    for who, each in runs.items():
        rates, p99 = [run.rate for run in each], [run.p99 / 1e3 for run in each]
        print(
            f"    {who:<22} {statistics.median(rates):>7,.0f} a second ({min(rates):,.0f} to {max(rates):,.0f}), "
            f"p99 {statistics.median(p99):.1f} ms ({min(p99):.1f} to {max(p99):.1f})"
            + ("" if who in (PEER, GETH) or PEER not in runs else f", {ratio(seconds, PEER, who)} of anvil's")
            + ("" if who in (PEER, GETH) or GETH not in runs else f", {ratio(seconds, GETH, who)} of geth's")
        )


def check_tools() -> None:
    """Raise `MissingTool` if wrk or anvil is not installed."""
    for tool, remedy in (("wrk", "apt-get install wrk"), (str(anvil.binary()), "scripts/install-peers")):
        if shutil.which(tool) is None:
            raise MissingTool(f"{tool}: not found; {remedy} installs it")


def main() -> None:
    check_tools()
    print(f"  wrk, {CONNECTIONS} connections, {ROUNDS} rounds of {SECONDS} s; this server: {WORKERS} workers")
    beside_anvil()
    reference_alone()


def beside_anvil() -> None:
    with ExitStack() as stack:
        pool = stack.enter_context(anvil.asking())
        nodes = {name: anvil.Node(stack.enter_context(served(*flags)).address, pool) for name, flags in SERVERS.items()}
        nodes[PEER] = stack.enter_context(anvil.running(GENESIS))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="feemodel-geth-")))
        geth = built_geth()
        if geth is not None:
            nodes[GETH] = stack.enter_context(running_geth(geth, folder, pool))
        time.sleep(SETTLE)
        for name, kind in KINDS.items():
            check_answers(name, kind, nodes)
            with bodies_folder() as folder:
                report(name, measured(kind, nodes, Path(folder)))


def built_geth() -> Path | None:
    """Return geth, built once from its Go module; if this fails, print a line and return `None`."""
    program = NODES / f"geth-{GETH_VERSION}" / "geth"
    if program.exists():
        return program
    if shutil.which("go") is None:
        print("  not measured: geth needs go on PATH")
        return None
    module = f"github.com/ethereum/go-ethereum/cmd/geth@{GETH_VERSION}"
    environment = os.environ | {"GOBIN": str(program.parent), "GOFLAGS": "-mod=mod"}
    built = subprocess.run(["go", "install", module], env=environment, capture_output=True, text=True, check=False)
    if built.returncode:
        print(f"  not measured: geth did not build: {built.stderr.strip().splitlines()[-1]}")
        return None
    return program


@contextmanager
def running_geth(
    program: Path, folder: Path, pool: urllib3.PoolManager, genesis: Path = GENESIS, *, develops: bool = False
) -> Iterator[anvil.Node]:
    """Run geth on a genesis, without a network.

    geth stays on block 0; with `develops`, it puts each transaction into a block and can sign with KEY.
    """
    data, password = ["--datadir", str(folder / "data"), "--verbosity", "1"], folder / "password"
    subprocess.run([program, *data, "init", str(genesis)], check=True, capture_output=True)
    more: list[str] = []
    if develops:
        more = ["--dev", "--password", str(password)]
        (key := folder / "key").write_text(KEY)
        password.touch()
        command = [program, *data, "--lightkdf", "account", "import", *more[1:], str(key)]
        subprocess.run(command, check=True, capture_output=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    alone = ["--nodiscover", "--maxpeers", "0", "--port", "0", "--authrpc.port", "0", "--ipcdisable", *more]
    command = [program, *data, *alone, "--http", "--http.api", "eth,debug", "--http.port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            node, end = anvil.Node(f"http://127.0.0.1:{port}", pool), time.monotonic() + PATIENCE
            while True:
                try:
                    node.ask("eth_chainId")
                    break
                except urllib3.exceptions.HTTPError:
                    if process.poll() is not None or time.monotonic() > end:
                        raise FeeModelError(f"geth {GETH_VERSION} did not answer") from None
                    time.sleep(0.05)
            yield node
        finally:
            process.terminate()


def reference_alone() -> None:
    """Measure the reference engine separately: it starts slowly, and continues to work on requests after wrk ends."""
    with served("--engine", "reference") as server, bodies_folder() as folder:
        for place, (name, kind) in enumerate(KINDS.items()):
            for number in range(CONNECTIONS):
                wait_for_answer(server.address, kind, number)
            report(name, {REFERENCE: [load(server.address, kind, place, Path(folder), seconds=REFERENCE_SECONDS)]})


def wait_for_answer(url: str, kind: Kind, seed: int) -> None:
    """Send a request on a new connection, which may reach any worker, until a worker answers it."""
    (body,) = bodies(kind, 1_000 + seed, 1)
    with anvil.asking() as pool:
        node, end = anvil.Node(url, pool), time.monotonic() + PATIENCE
        while kind.answer not in (answer := node.ask("eth_estimateGas", *json.loads(body)["params"])):
            if time.monotonic() > end:
                raise FeeModelError(f"{url}: {answer}")


def bodies_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="feemodel-bodies-")


def served(*flags: str) -> AbstractContextManager[Started]:
    return serving("--workers", str(WORKERS), *flags)


if __name__ == "__main__":
    main()
