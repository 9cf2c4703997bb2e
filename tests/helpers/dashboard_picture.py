"""The dashboard as a picture, of a server whose nodes are stopped one after the other. `scripts/dashboard-picture`.

No Grafana draws it: Matplotlib does, from what a real Prometheus answers to the dashboard's own queries.
"""

import argparse
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.helpers import anvil, prometheus
from tests.helpers.serving import Server, serving
from tests.server.wire import NOBODY

CALLS = (
    ("rollup_estimateGas", {"to": NOBODY, "value": "0x0"}), ("eth_blockNumber",), ("eth_gasPrice",), ("eth_chainId",),
    ("feemodel_pricing",), ("rollup_estimateGas", {"to": "0x12"}),
)  # fmt: skip
BLOCK_SECONDS = 2


def keep_asking(server: Server, stop: threading.Event) -> None:
    """Call after call, some of them wrong, ten a second."""
    while not stop.wait(0.1 * len(CALLS)):
        for call in CALLS:
            server.ask(*call)


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/dashboard-picture", description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=Path("out/dashboard.png"), help="PNG to write")
    parser.add_argument("--seconds", type=float, default=270.0, help="how long it runs; an alert waits for 30 s")
    options = parser.parse_args()
    options.file.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as first, ExitStack() as others, TemporaryDirectory() as folder:
        nodes = [stack.enter_context(anvil.running(None, base_fee=10**9)) for stack in (first, others, others)]
        for node in nodes:
            assert "error" not in node.ask("evm_setIntervalMining", BLOCK_SECONDS)
        flags = [flag for node in nodes[:2] for flag in ("--node", node.url)]
        flags += ["--costs", "l1", "--l1-node", nodes[2].url, "--poll-seconds", "2"]
        with serving("--workers", "2", *flags) as server:
            stop = threading.Event()
            asking = threading.Thread(target=keep_asking, args=(server, stop))
            asking.start()
            rules = (prometheus.DEPLOY / "alerts.yml").read_text(encoding="utf-8")
            target = server.address.removeprefix("http://")
            try:
                with prometheus.running(Path(folder), target, rules, every="1s") as told:
                    assert told.waits_for(lambda: told.value("min(feemodel_node_up)") == "1")
                    start = time.time()
                    time.sleep(options.seconds / 3)
                    events = {"node 0 stopped": time.time()}
                    first.close()
                    time.sleep(options.seconds / 3)
                    events["node 1 and the L1 node stopped too"] = time.time()
                    others.close()
                    time.sleep(start + options.seconds - time.time())
                    firing = told.firing()
                    counts = prometheus.draw(told, start, time.time(), options.file, events)
            finally:
                stop.set()
                asking.join()
    print(f"{options.file}: firing at the end: {', '.join(sorted(firing)) or 'nothing'}")
    print(f"without data: {', '.join(title for title, count in counts.items() if not count) or 'no panel'}")


if __name__ == "__main__":
    main()
