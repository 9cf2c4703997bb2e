"""Parsers of requests under bad input: seeds, the inputs that once reached or broke something, and random mutations."""

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from feemodel.errors import InvalidInput
from feemodel.ethereum._call import parse_call
from feemodel.execution._state import parse_overrides
from tests.conftest import ROOT
from tests.fuzz import rpc_bodies
from tests.fuzz.answers import check_answer
from tests.fuzz.mutators import nearby_bytes
from tests.fuzz.target import Violation, accepts
from tests.fuzz.targets import TARGETS

FOLDER = ROOT / "tests" / "fuzz"
KEPT = sorted(path for kind in ("corpus", "crashes") for path in (FOLDER / kind).rglob("*") if path.is_file())
MUTATIONS = 400  # of a target
SIZE = 20_000  # bytes of an input that is kept, at most

targets = pytest.mark.parametrize("name", TARGETS)


@pytest.fixture(scope="module", autouse=True)
def _server_that_ends() -> Iterator[None]:
    yield
    rpc_bodies.close()


@targets
def test_seeds_are_taken_or_refused_by_name(name):
    target = TARGETS[name]
    taken = [accepts(target, seed) for seed in target.seeds()]
    assert True in taken


@pytest.mark.parametrize("path", KEPT, ids=lambda path: "/".join(path.parts[-3:]))
def test_no_kept_input_shows_a_defect(path: Path):
    """Those under `crashes` once did; those under `corpus` reach what others do not."""
    data = path.read_bytes()
    assert len(data) <= SIZE
    accepts(TARGETS[path.parent.name], data)


@targets
def test_mutations_of_the_seeds_show_no_defect(name):
    target, rng = TARGETS[name], Random(name)
    mutate, seeds = nearby_bytes(rng), list(target.seeds())
    taken = 0
    for _ in range(MUTATIONS):
        data = rng.choice(seeds)
        for _ in range(rng.choice((1, 1, 2))):
            data = mutate(data) if target.mutated is None else target.mutated(data, rng, mutate)
        taken += accepts(target, data)
    if name != "rpc":  # which answers everything
        assert 0 < taken < MUTATIONS, "mutations that are all taken or all refused test little"


REQUEST = {"jsonrpc": "2.0", "id": 7, "method": "eth_chainId", "params": []}
RESULT = {"jsonrpc": "2.0", "id": 7, "result": "0x539"}
ERROR = {"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": "no"}}


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (REQUEST, None),
        (REQUEST, RESULT | {"id": 8}),
        (REQUEST, RESULT | {"id": 7.0}),
        (REQUEST, RESULT | {"id": None}),
        (REQUEST, RESULT | {"jsonrpc": "1.0"}),
        (REQUEST, RESULT | {"more": 1}),
        (REQUEST, RESULT | {"error": ERROR["error"]}),
        (REQUEST, [RESULT]),
        (REQUEST, ERROR | {"error": {"code": -32603, "message": "Internal error"}}),
        (REQUEST, ERROR | {"error": {"code": -32602, "message": ""}}),
        (REQUEST, ERROR | {"error": {"code": -32602}}),
        (REQUEST, ERROR | {"error": "no"}),
        ({"jsonrpc": "2.0", "method": "eth_chainId"}, RESULT),
        (REQUEST | {"id": []}, RESULT),
        (REQUEST | {"id": []}, ERROR | {"id": None}),
        ([REQUEST, REQUEST], [RESULT]),
        ([REQUEST], RESULT),
        ([], [ERROR]),
        ([], ERROR | {"id": None}),
    ],
)
def test_a_wrong_answer_is_seen(request_: Any, answer: Any):
    check_answer(json.dumps(REQUEST).encode(), json.dumps(RESULT).encode())
    check_answer(json.dumps(REQUEST).encode(), json.dumps(ERROR).encode())
    with pytest.raises(Violation):
        check_answer(json.dumps(request_).encode(), None if answer is None else json.dumps(answer).encode())


@pytest.mark.parametrize(
    "read",
    [
        lambda listed: parse_call({"gas": listed}),
        lambda listed: parse_call({"to": "0x" + "11" * 20, "authorizationList": [{"chainId": listed}]}),
        lambda listed: parse_overrides({"0x" + "11" * 20: {"balance": listed}}),
    ],
    ids=["a call", "an authorization", "an override"],
)
def test_a_list_where_a_number_belongs_costs_nothing(read):
    """As an array of texts each of its 2,000 cells would be as long as the longest: 800 MB of a 100 KB request."""
    listed = ["a" * 100_000, *[""] * 2_000]
    tracemalloc.start()
    with pytest.raises(InvalidInput, match='expected an integer or a quantity such as "0x5208"'):
        read(listed)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
