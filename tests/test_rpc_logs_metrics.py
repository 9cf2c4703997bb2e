"""What the server counts over its processes, and what it logs: JSON lines without calldata and keys."""

import asyncio
import io
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager

import pytest
import urllib3

from feemodel.rpc.app import Access, App
from feemodel.rpc.keys import Key, Keys
from feemodel.rpc.metrics import HALF, LABELS, Board, Metrics
from feemodel.rpc.processes import BEAT, JsonLines
from tests import node_server
from tests.execution_engines import HAS_NATIVE
from tests.rpc_calls import ANNA, BERT, TOKEN, TRANSFER
from tests.rpc_parts import JSON, PATIENCE, Client, head_block, listening, request

CHAIN_ID = 'feemodel_calls_total{code="0",method="eth_chainId"}'
KEY, CALLDATA = "k3y-0f-nobody-else", "feedfacefeedfacefeedface"
ACCESS = Access(keys=Keys.of({KEY: Key(name="api_key", operator=True)}))
FLAT = {
    "oldestBlock": "0x10", "baseFeePerGas": ["0x42c1d80"] * 2, "gasUsedRatio": [0.5], "reward": [["0x5f5e100"]],
    "baseFeePerBlobGas": ["0x3d0900"] * 2, "blobGasUsedRatio": [0.5],
}  # fmt: skip

# What is asked for, how often, and the code that each answer has.
ASKED = [
    (("eth_chainId",), 0, 20),
    (("rollup_estimateGas", TRANSFER), 0, 12),
    (("eth_estimateGas", {"from": ANNA, "to": BERT, "data": "0x" + CALLDATA}), 0, 6),
    (("eth_estimateGas", {"from": ANNA, "to": TOKEN, "data": "0x" + CALLDATA}), 3, 4),
    (("rollup_estimateGas", {"from": ANNA, "to": TOKEN}, {TOKEN: {"code": "0x5f1e50"}}), 0, 2),  # CLZ
    (("rollup_estimateGas", {"value": f"0x0{CALLDATA}"}), -32602, 3),
    (("eth_getBalance", ANNA, "0x5"), -32000, 2),
    (("eth_sendTransaction", "0x" + CALLDATA), -32601, 5),
    ((KEY,), -32601, 1),
]
REFUSED = Counter({401: 2, 404: 1, 415: 2, 403: 1, 413: 1, 400: 3})  # of the requests of `refused`
WITHOUT_METHOD = [(b"{" + CALLDATA.encode(), -32700), (b"[]", -32600), (b'{"method": "' + KEY.encode() + b'"}', -32600)]


@contextmanager
def serving(folder, *flags):
    """A server in processes of its own: its address, and what it has logged so far."""
    command = [sys.executable, "-m", "feemodel.cli", "serve", "--port", "0", "--json", *flags]
    log = folder / "log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as server,
    ):
        try:
            text = ""
            while not text.endswith("}\n"):
                line = server.stdout.readline()
                assert line, log.read_text()
                text += line
            yield json.loads(text)["address"], lambda: [json.loads(line) for line in log.read_text().splitlines()]
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(PATIENCE)


def numbers(text):
    """Sample → value, of Prometheus' text format."""
    samples = re.findall(r"^(\w+(?:\{[^}]*\})?) (\S+)$", text, flags=re.MULTILINE)
    assert len(samples) == len(dict(samples))
    return {name: float(value) for name, value in samples}


def get(pool, url):
    """Over a new connection, which any of the processes may accept."""
    return pool.request("GET", url, headers={"connection": "close"})


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """A server of two processes, asked what ASKED says: its log, and what it counted, as each process tells it."""
    with node_server.running() as l1:
        newest = head_block(number="0x10")
        l1.always = node_server.results(eth_chainId="0x1", eth_feeHistory=FLAT, eth_getBlockByNumber=newest)
        flags = [
            "--workers",
            "2",
            "--log",
            "requests",
            "--api-key",
            KEY,
            "--costs",
            "l1",
            "--l1-node",
            f"{l1.url}/{KEY}",
        ]
        folder = tmp_path_factory.mktemp("server")
        with (
            serving(folder, *flags) as (address, log),
            urllib3.PoolManager(timeout=PATIENCE, retries=3) as pool,
        ):
            rpc = f"{address}/v3/{KEY}"
            greetings = until_both_answer(pool, rpc, log)
            for call, code, times in ASKED:
                for _ in range(times):
                    headers = {**JSON, "connection": "close"}
                    answer = pool.request("POST", rpc, body=request(*call), headers=headers).json()
                    assert answer.get("error", {"code": 0})["code"] == code, answer
            for body, code in WITHOUT_METHOD:
                assert pool.request("POST", rpc, body=body, headers=JSON).json()["error"]["code"] == code
            refused(pool, address)
            time.sleep(2 * BEAT)  # until both processes have shown what they counted
            scrapes = [get(pool, f"{address}/metrics").data.decode() for _ in range(12)]
            health = get(pool, f"{address}/health").json()
            expected = expected_calls() + Counter({("web3_clientVersion", 0): greetings})
            yield log(), [numbers(scrape) for scrape in scrapes], health, expected


def until_both_answer(pool, rpc, log):
    """Greet the server over new connections until both of its processes have answered; how often."""
    end, greetings = time.monotonic() + PATIENCE, 0
    while len({line["process"] for line in log()}) < 2:
        assert time.monotonic() < end
        pool.request("POST", rpc, body=request("web3_clientVersion"), headers={**JSON, "connection": "close"})
        greetings += 1
        time.sleep(0.02)
    return greetings


def refused(pool, address):
    """Requests with the key in all places, that are refused before any method is looked for."""
    for path, status in ((f"/v3/{KEY}x", 401), (f"/{KEY}", 404), (f"/health?{KEY}", 200), (f"/v3/{KEY}/", 401)):
        assert pool.request("GET", address + path).status == status
    for headers, status in (
        ({"content-type": KEY}, 415),
        ({**JSON, "content-encoding": KEY}, 415),
        ({**JSON, "host": KEY}, 403),
        ({**JSON, "content-length": "99999999"}, 413),
    ):
        body = b"" if "content-length" in headers else request("eth_chainId")
        answer = raw(address, f"/v3/{KEY}", headers, body)
        assert answer.split()[1] == b"%d" % status
    for head in (
        f"GET /v3/{KEY}\x00 HTTP/1.1\r\n\r\n",
        f"{KEY}\r\n\r\n",
        f"POST /v3/{KEY} HTTP/1.1\r\ncontent-length: x\r\n\r\n",
    ):
        assert sent(address, head.encode()).split()[1] == b"400"


def raw(address, path, headers, body):
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in {"host": "localhost", **headers}.items())]
    if "content-length" not in headers:
        lines.append(f"content-length: {len(body)}")
    return sent(address, "\r\n".join([*lines, "", ""]).encode() + body)


def sent(address, data):
    """The first bytes of the answer to bytes that no client would send."""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        connection.sendall(data)
        return connection.recv(100)


def expected_calls():
    counts = Counter()
    for (method, *_), code, times in ASKED:
        counts[method if code != -32601 else "unknown", code] += times
    for _, code in WITHOUT_METHOD:
        counts["", code] += 1
    return counts


# Metrics


def test_the_counts_add_up_over_the_processes_whichever_is_asked(observed):
    _, scrapes, _, expected = observed
    counted = {f'feemodel_calls_total{{code="{code}",method="{method}"}}': float(times)
               for (method, code), times in expected.items()}  # fmt: skip
    for scrape in scrapes:
        assert {name: value for name, value in scrape.items() if name.startswith("feemodel_calls_total")} == counted


def test_every_call_is_timed(observed):
    _, scrapes, _, expected = observed
    for method in {method for method, _ in expected}:
        times = sum(count for (name, _), count in expected.items() if name == method)
        label = f'{{method="{method}"}}'
        for scrape in scrapes:
            assert scrape[f"feemodel_call_seconds_count{label}"] == times
            assert 0 <= scrape[f"feemodel_call_seconds_sum{label}"] < times * PATIENCE
            assert scrape[f'feemodel_call_seconds_bucket{{le="+Inf",method="{method}"}}'] == times


def test_estimates_are_counted_by_their_engine(observed):
    _, scrapes, _, _ = observed
    name = "feemodel_estimates_total"
    engines = {sample: count for sample, count in scrapes[0].items() if sample.startswith(name)}
    assert sum(engines.values()) == 12 + 6 + 2
    assert [f'{name}{{engine="{"native" if HAS_NATIVE else "reference"}"}}'] == list(engines)


def test_refusals_are_counted_by_their_status(observed):
    _, scrapes, _, _ = observed
    for scrape in scrapes:
        found = {status: scrape.get(f'feemodel_http_answers_total{{status="{status}"}}') for status in REFUSED}
        assert found == REFUSED


def test_ages_and_the_final_block_are_those_of_now(observed):
    _, scrapes, health, _ = observed
    for scrape in scrapes:
        assert scrape["feemodel_finalized_block"] == 0.0
        assert 0.0 <= scrape["feemodel_pricing_poll_age_seconds"] < PATIENCE
        assert 0.0 <= scrape["feemodel_pricing_age_seconds"] < 2 * PATIENCE
    assert health["finalizedBlock"] == 0
    assert health["pricing"]["reachable"]


def counted(*boards_places):
    """The samples of a board, by what its last place tells."""
    metrics = [Metrics(board, place) for board, place in boards_places]
    for each in metrics:
        each.observe("eth_chainId", 0, 0.001)
        each.write()
    return numbers(metrics[-1].text(pricing_age_seconds=3.0, finalized_block=7, node_poll_age_seconds=None).decode())


def test_what_stands_at_a_moment_is_that_of_the_process_that_is_asked():
    board = Board(2)
    found = counted((board, 0), (board, 1))
    assert found['feemodel_calls_total{code="0",method="eth_chainId"}'] == 2.0
    assert (found["feemodel_pricing_age_seconds"], found["feemodel_finalized_block"]) == (3.0, 7.0)


def test_a_process_goes_on_with_the_counts_of_the_one_that_it_replaces():
    board = Board(1)
    assert [counted((board, 0))[CHAIN_ID] for _ in range(3)] == [1.0, 2.0, 3.0]


def test_a_writing_that_was_broken_off_leaves_the_one_before_it():
    board = Board(2)
    for number in range(1, 4):
        board.write(1, b"%d" % number)
    board._memory[-HALF + 16] ^= 1  # in the half of the third and last writing
    assert (board.read(0), board.read(1)) == (b"", b"2")


def test_a_count_that_is_too_long_to_show_is_lost_and_no_answer_with_it():
    board = Board(1)
    board.write(0, b"short")
    board.write(0, bytes(HALF))
    assert board.read(0) == b"short"


def test_codes_of_a_node_are_counted_together_where_they_are_many_or_long():
    metrics = Metrics(Board(1), 0)
    for code in [10**400, *range(2 * LABELS)]:
        metrics.observe("eth_call", code, 0.0)
    found = numbers(metrics.text().decode())
    calls = {name: count for name, count in found.items() if name.startswith("feemodel_calls_total")}
    assert calls['feemodel_calls_total{code="other",method="eth_call"}'] == LABELS + 2
    assert (len(calls), sum(calls.values())) == (LABELS, 2 * LABELS + 1)


# Logs


def test_there_is_one_line_a_call_with_method_code_and_time(observed):
    log, _, _, expected = observed
    calls = [line for line in log if line["event"] == "call"]
    assert Counter((line["method"], line["code"]) for line in calls) == expected
    for line in calls:
        assert list(line) == ["time", "level", "process", "event", "method", "code", "ms", "request"]
        assert 0 <= line["ms"] < 1_000 * PATIENCE
        assert abs(line["time"] - time.time()) < 10 * PATIENCE
    assert len({line["process"] for line in calls}) == 2


def test_no_line_has_a_key_or_calldata(observed):
    """Neither of answers nor of refusals, nor of what is no HTTP; the address of the L1 node has the key too."""
    log, _, _, _ = observed
    text = json.dumps(log)
    assert KEY not in text
    assert CALLDATA not in text
    refused = Counter(line["status"] for line in log if line["event"] == "refused")
    assert refused == REFUSED
    others = {line["event"].partition(":")[0] for line in log} - {"call", "refused"}
    assert others == {"started", "refused a request with a wrong key from 127.0.0.1"}


@pytest.mark.parametrize("kind", ["requests", "errors", "off"])
def test_what_is_logged_is_a_setting(kind):
    script = """
import logging, sys
from feemodel.rpc import processes

processes.set_up_log(sys.argv[1])
log = logging.getLogger("asyncio")
log.info("a start")
log.warning("a %s", "warning")
try:
    1 / 0
except ZeroDivisionError:
    log.exception("an error")
"""
    command = [sys.executable, "-c", script, kind]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["event"] for line in lines] == ([] if kind == "off" else ["a warning", "an error"])
    for line in lines:
        assert line["level"] in ("warning", "error")
        assert line["process"] != os.getpid()
    assert all("ZeroDivisionError: division by zero" in line["trace"] for line in lines if line["event"] == "an error")


@pytest.fixture
def written():
    """What is logged, as the server writes it."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(JsonLines())
    logging.getLogger().addHandler(handler)
    yield lambda: [json.loads(line) for line in text.getvalue().splitlines()]
    logging.getLogger().removeHandler(handler)


def broken(*values):
    raise ZeroDivisionError("unforeseen")


async def broken_metrics():
    broken()


def test_the_unforeseen_is_one_line_with_its_id_and_without_what_was_asked(written):
    with asyncio.Runner() as loop:
        client = Client(App({"broken": broken}, access=ACCESS), loop)
        answer = client.http("POST", f"/v3/{KEY}", request("broken", CALLDATA)).json()
    (line,) = written()
    assert line["event"] == f"internal error {answer['error']['data']['id']}"
    assert (line["level"], "ZeroDivisionError: unforeseen" in line["trace"]) == ("error", True)
    assert KEY not in json.dumps(line)
    assert CALLDATA not in json.dumps(line)


def test_an_error_of_the_application_is_a_500_and_one_line(written):
    with listening(App({}, metrics=broken_metrics, access=ACCESS)) as port:
        address = f"http://127.0.0.1:{port}"
        assert sent(address, f"GET /metrics?{KEY} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()).split()[1] == b"500"
        assert sent(address, b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").split()[1] == b"200"
    (line,) = written()
    assert (line["event"], "ZeroDivisionError" in line["trace"]) == ("unforeseen error in a request", True)
    assert KEY not in json.dumps(line)
