"""Parsers of requests under bad input: seeds, the inputs that once reached or broke something, and random mutations."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from feemodel.errors import InvalidInput
from feemodel.ethereum._call import parse_call
from feemodel.execution._state import parse_overrides
from tests.conftest import ROOT
from tests.fuzz import rpc_bodies, transactions
from tests.fuzz.mutators import nearby_bytes
from tests.fuzz.target import Target, accepts

FOLDER = ROOT / "tests" / "fuzz"
TARGETS: dict[str, Target] = {**rpc_bodies.TARGETS, **transactions.TARGETS}
#: Bodies with a kept call or kept overrides.
BODIES = {
    "call": b'{"jsonrpc":"2.0","id":1,"method":"rollup_estimateGas","params":[%s]}',
    "overrides": b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{},"latest",%s]}',
}
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
    kind = path.parent.name
    accepts(*(TARGETS["rpc"], BODIES[kind] % data) if kind in BODIES else (TARGETS[kind], data))


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


def test_a_slot_that_is_named_twice_is_refused():
    """In lower case and in capitals: one of its values would be lost."""
    slots = {"0x" + digits * 32: "0x" + "00" * 32 for digits in ("ab", "AB")}
    with pytest.raises(InvalidInput, match="stateDiff"):
        parse_overrides({"0x" + "11" * 20: {"stateDiff": slots}})
