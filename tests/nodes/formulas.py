"""Formulas with a judge that is others' own code: how inputs are drawn, what is asked, and this package's answer."""

import gzip
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from ethereum_rlp import rlp

from feemodel.errors import ExecutionFailed, InvalidInput
from feemodel.ethereum import fee_market
from feemodel.ethereum._quantities import to_hex
from feemodel.ethereum.fee_market import BlobRules
from feemodel.execution import Limits, estimate_gas
from feemodel.execution._forks import fork_named
from feemodel.execution._message import Message, intrinsic_gas
from feemodel.execution._state import CallState
from feemodel.ledger.scheme import scheme_of
from feemodel.ledger.tree import Tree
from feemodel.rollups import (
    arbitrum,
    arbitrum_l1_pricing,
    arbitrum_l2_pricing,
    mantle,
    optimism,
    scroll,
    starknet,
    taiko,
    zksync,
    zksync_os,
)  # fmt: skip
from feemodel.sizes import FastLz, Lzss, Zstd
from feemodel.sizes._lzss import LONGEST_INPUT
from tests.helpers.development import minimal
from tests.helpers.engine_differences import POOR, SENDER, STRANGER, call_state, message
from tests.helpers.inputs import inputs
from tests.helpers.trees import empty_tree, put

UINT32, INT63, UINT64, UINT128 = 2**32 - 1, 2**63 - 1, 2**64 - 1, 2**128 - 1
GWEI = 10**9
KOALABEAR, BLS12_377 = 2**31 - 2**24 + 1, 0x12AB655E9A2CA55660B44D1E5C37B00159AA76FED00000010A11800000000001

FRAME = Zstd(level=3, magicless=False, content_size=True, capped=False)  # as ZSTD_compress writes it

Arguments = tuple[Any, ...]


class Draw:
    """Numbers and bytes of one input: of usual size, or anything that the node's types hold, extremes above all."""

    def __init__(self, rng: random.Random, *, usual: bool) -> None:
        self.rng, self.usual = rng, usual

    def whole(self, most: int, usual: int, least: int = 0) -> int:
        """A whole number from `least` up to `most`, or up to `usual` in an input of usual size."""
        limit = usual if self.usual else most
        kind = self.rng.random()
        if kind < 0.15:
            return int(self.rng.choice([least, min(least + 1, limit), limit, max(limit - 1, least)]))
        if kind < 0.3:
            edge: int = self.rng.choice([2, 10]) ** self.rng.randrange(1, 78) + self.rng.randrange(-2, 3)
            return min(max(edge, least), limit)
        if kind < 0.5:
            return self.rng.randint(least, limit)
        return min(max(self.rng.getrandbits(self.rng.randint(1, max(limit.bit_length(), 1))), least), limit)

    def choice(self, *values: Any) -> Any:
        return self.rng.choice(values)

    def payload(self, longest: int = 3_000) -> bytes:
        """Bytes that compress in many ways: noise, runs, repeats, what transactions look like; ends of every kind."""
        rng = self.rng
        size = rng.randrange(64) if rng.random() < 0.3 else min(int(rng.expovariate(1 / 300)), longest)
        if not self.usual and rng.random() < 0.01:
            size = rng.randrange(20 * longest)
        kind = rng.randrange(5)
        if kind == 0:
            return rng.randbytes(size)
        if kind == 1:
            return bytes(rng.choices([0, rng.randrange(256)], k=size))
        if kind == 2:
            pieces = [bytes(12), bytes(29), rng.randbytes(3), rng.randbytes(20), b"\xff" * rng.randrange(1, 300)]
            return b"".join(rng.choice(pieces) for _ in range(size // 12)) + rng.randbytes(rng.randrange(3))
        if kind == 3:
            word = rng.randbytes(rng.randrange(1, 40))
            return (word * (size // len(word) + 1))[:size] + rng.randbytes(rng.choice([0, 0, rng.randrange(20)]))
        return transaction(rng, rng.randbytes(4) + b"".join(words(rng, size // 32)))


def words(rng: random.Random, count: int) -> list[bytes]:
    """Words of calldata: small numbers, addresses, hashes."""
    return [rng.choice([rng.randrange(2**16).to_bytes(32), bytes(12) + rng.randbytes(20), rng.randbytes(32)])
            for _ in range(count)]  # fmt: skip


def transaction(rng: random.Random, data: bytes) -> bytes:
    """A transaction of type 2, signed by random numbers or not at all."""
    numbers = [10, rng.randrange(300), rng.randrange(10**7), rng.randrange(10**10), rng.randrange(10**6)]
    signature = [rng.randrange(2), rng.getrandbits(255), rng.getrandbits(255)] if rng.random() < 0.7 else []
    to, value = rng.randbytes(20), minimal(rng.choice([0, 10**18]))
    fields: list[Any] = [*map(minimal, numbers), to, value, data, [], *map(minimal, signature)]
    return b"\x02" + rlp.encode(fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """One formula, its judge and its inputs."""

    program: str  #: of `tests/nodes/sources`
    asked: str  #: name of the formula there
    draw: Callable[[Draw], Arguments]
    ours: Callable[..., Any]
    #: Whether `ours` takes arrays in place of numbers: those of usual size must give the same then.
    arrays: bool = False
    question: Callable[..., str] | None = None  #: arguments → those of the question; the arguments as they are
    judge: str = ""  #: who answers, where it is not the program's module

    def line(self, arguments: Arguments) -> str:
        return f"{self.asked} {self.question(*arguments) if self.question else ' '.join(map(str, arguments))}"


def named(function: Callable[..., Any], names: str) -> Callable[..., Any]:
    """A function by keywords as one of the same arguments in this order."""
    return lambda *values: function(**dict(zip(names.split(), values, strict=True)))


def text(value: Any) -> str:
    """A value as the programs write it."""
    return " ".join(map(text, value)) if isinstance(value, (tuple, list)) else str(value)


# OP Stack: op-geth, core/types/rollup_cost.go and consensus/misc/eip1559

UPGRADES = tuple(row.name for row in optimism.UPGRADES)


def _l1_fee_inputs(draw: Draw, upgrade: str) -> Arguments:
    fees = draw.whole(2**256 - 1, 10**13), draw.whole(2**256 - 1, 10**13, least=1)
    scalars = draw.whole(UINT32, 2 * 10**6), draw.whole(UINT32, 2 * 10**6)
    before = draw.whole(UINT128, 3_000), draw.whole(UINT128, 10**6)
    sizes = draw.whole(2**40, 2**17), draw.whole(2**40, 2**17, least=1), draw.whole(2**40, 2**17)
    return (upgrade, *sizes, *fees, *scalars, *before)


def _l1_fee(
    upgrade: str, zeros: Any, nonzeros: Any, fastlz: Any, base_fee: Any, blob_fee: Any, base: Any, blob: Any,
    overhead: Any, scalar: Any,
) -> Any:  # fmt: skip
    rule = optimism.upgrade_named(upgrade).l1_rule
    if rule == "bedrock":
        return optimism.bedrock_l1_fee(
            zeros, nonzeros, l1_base_fee=base_fee, overhead=overhead, scalar=scalar, upgrade=upgrade
        )
    terms = {"l1_base_fee": base_fee, "blob_base_fee": blob_fee, "base_fee_scalar": base, "blob_base_fee_scalar": blob}
    if rule == "ecotone":
        return optimism.ecotone_l1_fee(zeros, nonzeros, **terms)
    return optimism.fjord_l1_fee(fastlz, **terms)


def _footprint_inputs(draw: Draw) -> Arguments:
    raws = [transaction(draw.rng, draw.payload()) for _ in range(draw.rng.randrange(1, 5))]
    signed = [raw for raw in raws if len(rlp.decode(raw[1:])) == 12]
    return (draw.whole(2**16 - 1, 2_000, least=1), *(raw.hex() for raw in signed))


def _footprint(gas_scalar: int, *raws: str) -> int:
    sizes = FastLz().sizes([bytes.fromhex(raw) for raw in raws])
    return sum(int(optimism.da_footprint(int(size), gas_scalar=gas_scalar)) for size in sizes)


def _op_base_fee_inputs(draw: Draw, upgrade: str) -> Arguments:
    elasticity, limit = draw.whole(1_000, 20, least=1), draw.whole(INT63, 10**9, least=1_000)
    used, footprint = (min(draw.whole(INT63, 10**9), limit) for _ in range(2))
    denominator, least = draw.whole(UINT32, 2_000, least=1), draw.whole(UINT64, 10**9)
    if draw.rng.random() < 0.2:
        used = limit // elasticity
    fee = draw.whole(2**256 - 1, 10**12)
    return (upgrade, fee, used, limit, elasticity, denominator, footprint, least)


def _operator_fee_inputs(draw: Draw, upgrade: str) -> Arguments:
    return upgrade, draw.whole(UINT64, 10**8), draw.whole(UINT32, 10**6), draw.whole(UINT64, 10**15)


OP_MAINNET = 5_227, 1_014_213, 188, 684_000  # both scalars since Ecotone, overhead and scalar before it


@cache
def transactions() -> tuple[str, ...]:
    """Signed transactions of OP Mainnet, hexadecimal."""
    return lines_of("op_mainnet_channel_2024-06-14.jsonl.gz", "raw")


def lines_of(name: str, key: str) -> tuple[str, ...]:
    """A value of each line of a file of real transactions, hexadecimal without 0x."""
    with gzip.open(inputs() / "data" / name, "rt", encoding="utf-8") as lines:
        return tuple(json.loads(line)[key].removeprefix("0x") for line in lines)


def _transaction_inputs(draw: Draw, upgrade: str) -> Arguments:
    fees = _l1_fee_inputs(draw, upgrade)[4:6]
    scalars = OP_MAINNET if draw.usual else _l1_fee_inputs(draw, upgrade)[6:]
    return upgrade, draw.choice(*transactions()), *fees, *scalars


def _l1_fee_of_transaction(upgrade: str, raw: str, *terms: Any) -> Any:
    data = bytes.fromhex(raw)
    return _l1_fee(upgrade, data.count(0), len(data) - data.count(0), FastLz().size(data), *terms)


def _estimated_size(raw: str) -> Any:
    return optimism.scaled_size(FastLz().size(bytes.fromhex(raw))) // 10**6


OP_GETH: dict[str, Formula] = {
    "FastLZ": Formula(
        program="op_geth", asked="fastlz", draw=lambda draw: (draw.payload().hex(),),
        ours=lambda payload: FastLz().size(bytes.fromhex(payload)),
    ),
    "OP Stack L1 gas": Formula(
        program="op_geth", asked="l1_gas", draw=lambda draw: (draw.whole(2**40, 2**17, least=1),),
        ours=optimism.fjord_l1_gas, arrays=True,
    ),
    "OP Stack estimated size": Formula(
        program="op_geth", asked="estimated_size", draw=lambda draw: (draw.choice(*transactions()),),
        ours=_estimated_size,
    ),
    "OP Stack data footprint": Formula(
        program="op_geth", asked="da_footprint", draw=_footprint_inputs, ours=_footprint
    ),
}  # fmt: skip
for upgrade in UPGRADES:
    OP_GETH |= {
        f"OP Stack L1 fee of a transaction, {upgrade}": Formula(
            program="op_geth", asked="l1_fee_of_transaction", draw=partial(_transaction_inputs, upgrade=upgrade),
            ours=_l1_fee_of_transaction,
        ),
        f"OP Stack L1 fee, {upgrade}": Formula(
            program="op_geth", asked="l1_fee", draw=partial(_l1_fee_inputs, upgrade=upgrade), ours=_l1_fee, arrays=True
        ),
        f"OP Stack operator fee, {upgrade}": Formula(
            program="op_geth", asked="operator_fee", draw=partial(_operator_fee_inputs, upgrade=upgrade),
            ours=named(optimism.operator_fee, "upgrade gas scalar constant"), arrays=True,
        ),
        f"OP Stack base fee, {upgrade}": Formula(
            program="op_geth", asked="base_fee", draw=partial(_op_base_fee_inputs, upgrade=upgrade), arrays=True,
            ours=named(
                optimism.next_base_fee,
                "upgrade base_fee gas_used gas_limit elasticity denominator footprint min_base_fee",
            ),
        ),
    }  # fmt: skip

# Ethereum: go-ethereum, consensus/misc/{eip1559, eip4844}, core/state_transition.go, eth/gasestimator

FORKS = ("paris", "shanghai", "cancun", "prague", "osaka", "bpo1", "bpo2")


def _base_fee_inputs(draw: Draw) -> Arguments:
    limit = draw.whole(INT63, 10**9, least=2)
    used = limit // 2 if draw.rng.random() < 0.1 else min(draw.whole(INT63, 10**9), limit)
    return draw.whole(2**256 - 1, 10**13), used, limit


def _blob_fee_inputs(draw: Draw, row: BlobRules) -> Arguments:
    """A time at which the rules of a row are in force, its first and last seconds above all, and an excess."""
    later = [other.timestamp for other in fee_market.MAINNET.rows if other.timestamp > row.timestamp]
    last = min(later, default=2**40) - 1
    timestamp = draw.choice(row.timestamp, row.timestamp + 1, last, draw.rng.randint(row.timestamp, last))
    return timestamp, draw.whole(fee_market.LARGEST_EXPONENT * row.update_fraction, 30 * row.update_fraction)


def _excess_inputs(draw: Draw, row: BlobRules) -> Arguments:
    used = fee_market.GAS_PER_BLOB * draw.rng.randrange(22) if draw.usual else draw.whole(2**58, 2**22)
    return (*_blob_fee_inputs(draw, row), used, draw.whole(2**256 - 1, 10**13))


def _intrinsic_inputs(draw: Draw) -> Arguments:
    addresses = draw.choice(0, 0, 1, draw.rng.randrange(1, 40))
    slots = draw.rng.randrange(60) if addresses else 0
    signed = draw.choice(0, 0, 1, 7)
    return draw.choice(*FORKS), draw.choice(0, 1), draw.payload().hex(), addresses, slots, signed


def _intrinsic_gas(fork: str, creates: int, data: str, addresses: int, slots: int, signed: int) -> int:
    listed = tuple((bytes(20), (bytes(32),) * (slots if place == 0 else 0)) for place in range(addresses))
    unread: Any = (None,) * signed  # only their number counts
    found = Message(
        to=None if creates else bytes(20), data=bytes.fromhex(data), access_list=listed, authorizations=unread
    )
    return intrinsic_gas(found, fork_named(fork))


def _floor_gas(fork: str, data: str) -> int:
    zeros = bytes.fromhex(data).count(0)
    return int(fee_market.calldata_floor_gas(zeros, len(data) // 2 - zeros))


class Estimated(NamedTuple):
    """A call on a state whose gas is estimated."""

    world: CallState
    call: Message
    gas_cap: int  #: the most that an execution may have [gas]
    gas: int  #: that the call names; 0 where it names none [gas]


def _estimated(seed: int) -> Estimated:
    """A state of random programs and a random call on it, now and then one that its sender cannot pay for."""
    rng = random.Random(seed)
    world = call_state(rng, fork_named(rng.choice(["cancun", "prague", "osaka", "osaka", "bpo2"])))
    kept = {
        key: one for key, one in world.accounts.items() if one.code or not one.storage
    }  # the program commits nothing
    world = replace(world, accounts=kept, block=replace(world.block, base_fee=0, prev_randao=bytes(32)))
    call = message(rng, world)._replace(authorizations=(), blob_hashes=())
    if rng.random() < 0.2:
        changes = {
            "gas_price": rng.choice([0, 1, 7, 8, 10**9, 10**12, 10**14]),
            "value": rng.choice([0, 10**18, 10**19]),
        }
        call = call._replace(**changes, sender=rng.choice([SENDER, SENDER, POOR, STRANGER]))
    gas_cap = rng.choice([50_000_000, 50_000_000, 1_000_000, 100_000])
    return Estimated(world, call, gas_cap, rng.choice([0, 0, 0, 20_999, 21_000, 60_000, 10**6, 2**40]))


def _estimate_question(seed: int) -> str:
    world, call, gas_cap, gas = _estimated(seed)
    accounts = {
        to_hex(address): {
            "balance": hex(account.balance), "nonce": hex(account.nonce), "code": to_hex(account.code),
            "storage": {str(slot): hex(value) for slot, value in account.storage.items()},
        }
        for address, account in world.accounts.items()
    }  # fmt: skip
    block = world.block
    return _compact({
        "fork": world.fork.name, "accounts": accounts, "coinbase": to_hex(block.coinbase), "number": block.number,
        "timestamp": block.timestamp, "gasLimit": block.gas_limit, "gasCap": gas_cap, "baseFee": hex(block.base_fee),
        "excessBlobGas": block.excess_blob_gas, "to": None, **_call_object(call),
        "gas": min(gas, gas_cap),
    })  # fmt: skip


def _call_object(call: Message) -> dict[str, Any]:
    found: dict[str, Any] = {
        "from": to_hex(call.sender), "value": hex(call.value), "data": to_hex(call.data),
        "gasPrice": hex(call.gas_price),
        "accessList": [{"address": to_hex(address), "storageKeys": list(map(to_hex, slots))}
                       for address, slots in call.access_list],
    }  # fmt: skip
    return found if call.to is None else found | {"to": to_hex(call.to)}


def _estimate(seed: int) -> str:
    world, call, gas_cap, gas = _estimated(seed)
    asked = _call_object(call) | ({"gas": hex(gas)} if gas else {})
    limits = Limits(gas_cap=gas_cap, total_gas=10**12, seconds=600.0)
    try:
        return str(estimate_gas(asked, world, search="geth", limits=limits).gas_limit)
    except ExecutionFailed as error:
        return "failed" if error.data is None else f"reverted {error.data}"


GO_ETHEREUM: dict[str, Formula] = {
    "base fee": Formula(
        program="go_ethereum", asked="base_fee", draw=_base_fee_inputs, ours=fee_market.next_base_fee, arrays=True
    ),
    "intrinsic gas": Formula(
        program="go_ethereum", asked="intrinsic_gas", draw=_intrinsic_inputs, ours=_intrinsic_gas
    ),
    "calldata floor gas": Formula(
        program="go_ethereum", asked="floor_gas", ours=_floor_gas,
        draw=lambda draw: (draw.choice("prague", "osaka", "bpo1", "bpo2"), draw.payload().hex()),
    ),
    "gas estimate": Formula(
        program="go_ethereum", asked="estimate", draw=lambda draw: (draw.rng.getrandbits(48),), ours=_estimate,
        question=_estimate_question,
    ),
}  # fmt: skip
for row in fee_market.MAINNET.rows:
    GO_ETHEREUM |= {
        f"blob base fee, {row.name}": Formula(
            program="go_ethereum", asked="blob_base_fee", draw=partial(_blob_fee_inputs, row=row), arrays=True,
            ours=lambda timestamp, excess: fee_market.blob_base_fee(excess, timestamp),
        ),
        f"excess blob gas, {row.name}": Formula(
            program="go_ethereum", asked="excess_blob_gas", draw=partial(_excess_inputs, row=row), arrays=True,
            ours=lambda timestamp, excess, used, fee: fee_market.next_excess_blob_gas(excess, used, fee, timestamp),
        ),
    }  # fmt: skip

# Linea: consensys/compress, gnark-crypto


@cache
def dictionary() -> Path:
    """The published dictionary of the compressor."""
    return inputs() / "data" / "linea-dict-2025-04-21.bin"


@cache
def _lzss() -> Lzss:
    return Lzss(dictionary().read_bytes())


def _lzss_payload(draw: Draw) -> Arguments:
    payload, shared = draw.payload(), _lzss().dictionary
    for _ in range(draw.choice(0, 0, 1, 3)):  # a part of the dictionary somewhere
        start, length = draw.rng.randrange(len(shared)), int(draw.rng.expovariate(1 / 40))
        place = draw.rng.randrange(len(payload) + 1)
        payload = payload[:place] + shared[start : start + length] + payload[place:]
    return (payload[:LONGEST_INPUT].hex(),)


def _elements(draw: Draw, field: int, size: int) -> bytes:
    return draw.whole(field - 1, field - 1).to_bytes(size)


def _poseidon2_message(draw: Draw) -> Arguments:
    return (b"".join(_elements(draw, KOALABEAR, 4) for _ in range(8 * draw.rng.randrange(1, 9))).hex(),)


def _mimc_message(draw: Draw) -> Arguments:
    return (b"".join(_elements(draw, BLS12_377, 32) for _ in range(draw.rng.randrange(1, 9))).hex(),)


@cache
def _tree(hashing: str, generation: int) -> tuple[Tree, list[bytes]]:
    """A tree of random keys, the largest and the smallest among them."""
    rng, tree, keys = random.Random(f"{hashing} {generation}"), empty_tree(hashing), []
    scheme = tree.scheme
    for _ in range(2 ** rng.randrange(8)):
        word = rng.choice([rng.randbytes(32), rng.randrange(9).to_bytes(32), b"\xff" * 32])
        value = rng.choice([rng.randbytes(32), bytes(31) + b"\x01"])
        put(tree, scheme.word_hash(word), scheme.word_hash(value), value)
        keys.append(word)
    return tree, keys


def _proof_inputs(draw: Draw) -> Arguments:
    """One leaf of the proof of a key that is there, or of one that is not: its neighbours are."""
    hashing = draw.choice("poseidon2", "mimc")
    tree, keys = _tree(hashing, draw.rng.randrange(20))
    word = draw.rng.choice(keys) if draw.rng.random() < 0.5 else draw.rng.randbytes(32)
    (found,) = tree.prove([tree.scheme.word_hash(word)])
    leaf = draw.rng.choice(found)
    return (hashing, leaf.leaf_index, tree.root.hex(), *(node.hex() for node in leaf.entries))


CONSENSYS = {
    "LZSS": Formula(
        program="consensys", asked="lzss", draw=_lzss_payload,
        ours=lambda payload: _lzss().raw_size(bytes.fromhex(payload)),
    ),
    "Poseidon2": Formula(
        program="consensys", asked="poseidon2", draw=_poseidon2_message,
        ours=lambda words: scheme_of("poseidon2").digest(bytes.fromhex(words)).hex(),
    ),
    "MiMC": Formula(
        program="consensys", asked="mimc", draw=_mimc_message,
        ours=lambda words: scheme_of("mimc").digest(bytes.fromhex(words)).hex(),
    ),
    "state proof": Formula(
        program="consensys", asked="proof", draw=_proof_inputs, ours=lambda hashing, index, root, *nodes: root,
        question=lambda hashing, index, root, *nodes: " ".join((hashing, str(index), *nodes)),
    ),
}  # fmt: skip

# Rules whose nodes cannot be built: ported step by step in nodes/ports, in the nodes' types

KINDS = arbitrum_l2_pricing.RESOURCE_KINDS


def _constraint_rows(draw: Draw, *, weighed: bool) -> list[dict[str, Any]]:
    rows = []
    for _ in range(draw.rng.randrange(1, 5)):
        row: dict[str, Any] = {
            "target": draw.whole(UINT64, 10**8, least=1), "backlog": draw.whole(UINT64, 10**12),
            "window": draw.whole(UINT32, 10**5, least=1),
        }  # fmt: skip
        if weighed:
            kinds = draw.rng.sample(range(1, len(KINDS)), draw.rng.randrange(1, 5))
            row["weights"] = {kind: draw.whole(UINT64, 100, least=1) for kind in kinds}
        rows.append(row)
    return rows


def _block_inputs(draw: Draw, *, weighed: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {
        "constraints": _constraint_rows(draw, weighed=weighed), "seconds": draw.whole(UINT64, 100),
        "min_base_fee": str(draw.whole(UINT128, 10**9)),
    }  # fmt: skip
    if weighed:
        kinds = draw.rng.sample(range(len(KINDS)), draw.rng.randrange(1, 6))
        found["used"] = {kind: draw.whole(2**60, 10**7) for kind in kinds}
        found["gas_used"] = sum(found["used"].values()) if draw.usual else draw.whole(UINT64, 10**7)
        found["header_base_fee"] = str(draw.whole(UINT128, 10**10))
    return found


def _compact(value: Mapping[str, Any], *words: str) -> str:
    return " ".join((json.dumps(value, separators=(",", ":")), *words))


def _by_name(values: Mapping[int, int]) -> dict[str, int]:
    return {KINDS[kind]: value for kind, value in values.items()}


def _weighed(block: Mapping[str, Any]) -> list[arbitrum_l2_pricing.MultiGasConstraint]:
    return [
        arbitrum_l2_pricing.MultiGasConstraint(row["target"], row["window"], _by_name(row["weights"]))
        for row in block["constraints"]
    ]


def _constraints(block: Mapping[str, Any]) -> Arguments:
    constraints = [arbitrum_l2_pricing.GasConstraint(row["target"], row["window"]) for row in block["constraints"]]
    update = arbitrum_l2_pricing.update_pricing(
        [row["backlog"] for row in block["constraints"]], block["seconds"], constraints=constraints,
        min_base_fee=int(block["min_base_fee"]),
    )  # fmt: skip
    return update.base_fee, update.backlogs


def _multi_gas(block: Mapping[str, Any]) -> Arguments:
    update = arbitrum_l2_pricing.update_multi_gas_pricing(
        [row["backlog"] for row in block["constraints"]], block["seconds"], constraints=_weighed(block),
        min_base_fee=int(block["min_base_fee"]),
    )  # fmt: skip
    refund = arbitrum_l2_pricing.multi_gas_refund(
        _by_name(block["used"]), gas_used=block["gas_used"], base_fee=int(block["header_base_fee"]),
        next_base_fee=update.base_fee, fees=update.fees,
    )  # fmt: skip
    return update.base_fee, tuple(update.fees[kind] for kind in KINDS), update.backlogs, refund


def _backlog(block: Mapping[str, Any], operation: str) -> int:
    return arbitrum_l2_pricing.change_multi_gas_backlog(
        block["constraints"][0]["backlog"], _by_name(block["used"]), _weighed(block)[0], shrink=operation == "shrink"
    )


def _legacy_inputs(draw: Draw) -> Arguments:
    limit, tolerance = draw.whole(2**40, 10**8, least=1), draw.whole(2**20, 100)
    return draw.whole(UINT64, 10**11), draw.whole(UINT128, 10**9), limit, draw.whole(2**30, 10**3, least=1), tolerance


def _report_inputs(draw: Draw) -> Arguments:
    price, units, fees = draw.whole(UINT128, 10**11), draw.whole(UINT64, 10**10), draw.whole(UINT128, 10**20)
    due = draw.whole(UINT128, 10**20), draw.whole(UINT128, 10**18)
    surplus = draw.choice(-1, 1) * draw.whole(UINT128, 10**20)
    times = sorted(draw.whole(2**40, 2 * 10**9) for _ in range(3))
    last, updated, now = times if draw.rng.random() < 0.9 else (0, times[1], times[1])
    spent, l1_base_fee, cap = (
        draw.whole(UINT128, 10**19),
        draw.whole(UINT128, 10**12),
        draw.choice(0, 0, draw.whole(UINT64, 20_000)),
    )
    controller = draw.whole(UINT64, 100), draw.whole(UINT128, 10**9, least=1), draw.whole(UINT64, 100, least=1)
    return (price, units, fees, *due, surplus, last, updated, now, spent, l1_base_fee, cap, *controller)


def _report(
    price: int, units: int, fees: int, posters: int, rewards: int, surplus: int, last: int, updated: int, now: int,
    spent: int, l1_base_fee: int, cap: int, reward: int, equilibration: int, inertia: int,
) -> Arguments:  # fmt: skip
    before = arbitrum_l1_pricing.L1Pricing(
        price_per_unit=price, units_since_update=units, fees_available=fees, due_to_posters=posters,
        due_for_rewards=rewards, last_surplus=surplus, last_update_time=last,
    )  # fmt: skip
    after = arbitrum_l1_pricing.reported(
        before, update_time=updated, current_time=now, wei_spent=spent, l1_base_fee=l1_base_fee, cost_cap_bips=cap,
        per_unit_reward=reward, equilibration_units=equilibration, inertia=inertia,
    ).state  # fmt: skip
    paid = after.units_since_update, after.fees_available, after.due_to_posters, after.due_for_rewards
    return (after.price_per_unit, *paid, after.last_surplus)


def _poster_inputs(draw: Draw) -> Arguments:
    return draw.whole(2**30, 10**5), draw.whole(UINT128, 10**12), draw.whole(UINT128, 10**11, least=1)


def _scroll_fees(draw: Draw) -> Arguments:
    scalar = 10**10 if draw.usual else UINT128
    return (
        draw.whole(UINT128, 10**12),
        draw.whole(UINT128, 10**12),
        draw.whole(scalar, 10**10),
        draw.whole(scalar, 10**10),
    )


def _feynman_inputs(draw: Draw) -> Arguments:
    length, plain = draw.whole(2**40, 10**4), draw.choice(0, draw.whole(2**40, 10**4, least=1))
    compressed = draw.whole(2**40, 10**4, least=1)
    penalty = draw.whole(UINT128, 10**10), draw.whole(UINT128, 10**10)
    return (length, plain, compressed, *_scroll_fees(draw), *penalty)


def _starknet_price_inputs(draw: Draw) -> Arguments:
    target = draw.whole(2**60, 10**10, least=1)
    used = target if draw.rng.random() < 0.1 else draw.whole(2**60, 2 * 10**10)
    return draw.whole(2**100, 10**12), used, target, draw.choice(0, 8 * 10**9, draw.whole(2**100, 10**12))


def _taiko_inputs(draw: Draw) -> Arguments:
    limit = draw.whole(2**50, 10**9, least=2)
    used, seconds = min(draw.whole(2**50, 10**9), limit), draw.choice(0, 1, 2, 3, draw.whole(2**12, 2**12))
    return draw.whole(UINT64, 10**9), used, limit, seconds, draw.choice("10000000", "5000000")


def _taiko(fee: Any, used: Any, limit: Any, seconds: Any, least: str) -> Any:
    return taiko.next_base_fee(fee, used, limit, seconds, min_base_fee=int(least))


def _batch_inputs(draw: Draw) -> Arguments:
    prices = draw.whole(2**55, 10**12), draw.whole(2**55, 10**12)
    model = draw.whole(2**50, 10**9, least=1), draw.whole(2**20, 10**6), draw.whole(2**40, 10**9, least=2**16)
    scales, parts = (draw.choice(1.0, 0.3, 1.7), draw.choice(1.0, 2.5)), (draw.choice(0.0, 0.5), draw.choice(1.0, 0.3))
    # With larger units the overhead of one fits 64 bits, as it must in the node.
    return (*prices, *model, draw.whole(2**40, 10**6, least=2**16), *scales, *parts)


def _batch(
    gas_price: int, pubdata_price: int, minimal: int, overhead: int, most_gas: int, most_pubdata: int, gas_scale: float,
    pubdata_scale: float, compute: float, pubdata: float,
) -> Arguments:  # fmt: skip
    model = zksync.FeeModel(
        minimal_l2_gas_price=minimal, compute_overhead_part=compute, pubdata_overhead_part=pubdata,
        batch_overhead_l1_gas=overhead, max_gas_per_batch=most_gas, max_pubdata_per_batch=most_pubdata,
    )  # fmt: skip
    found = zksync.batch_fee_input(
        gas_price, pubdata_price, model=model, l1_gas_price_scale=gas_scale, l1_pubdata_price_scale=pubdata_scale
    )
    return (*found, *zksync.base_fee(found.fair_l2_gas_price, found.fair_pubdata_price))


def _predicted(fee: int, blobs: int, blocks: int) -> Any:
    try:
        return zksync.predicted_blob_base_fee(fee, pending_blobs=blobs, l1_blocks=blocks)
    except InvalidInput:  # of which Int64Overflow is one
        return "wraps"


def _os_inputs(draw: Draw) -> Arguments:
    def usd(digits: int) -> tuple[str, str]:
        return str(draw.whole(10**24, 10**4, least=1)), str(10 ** draw.rng.randrange(digits, digits + 4))

    ratio = draw.whole(10**6, 100, least=1)
    fill = str(ratio), str(max(ratio, draw.whole(10**6, 100, least=1)))
    before = [draw.choice("", str(draw.whole(2**256 - 1, 10**12))) for _ in range(2)]
    known = before if all(before) else ["", ""]
    return ({
        "native_price_usd": usd(14), "base_token_usd": usd(14), "settlement_token_usd": usd(14),
        "native_per_gas": str(draw.whole(UINT64, 1_000, least=1)), "pubdata_price": str(draw.whole(2**256 - 1, 10**12)),
        "blobs": draw.choice(True, False), "fill_ratio": fill, "previous_native_price": known[0],
        "previous_pubdata_price": known[1], "pubdata_price_cap": draw.choice("", str(draw.whole(UINT128, 10**12))),
    },)  # fmt: skip


def _os_prices(asked: Mapping[str, Any]) -> Arguments:
    def fraction(name: str) -> Fraction:
        numerator, denominator = map(int, asked[name])
        return Fraction(numerator, denominator)

    native, pubdata, cap = (
        int(asked[name]) if asked[name] else None
        for name in ("previous_native_price", "previous_pubdata_price", "pubdata_price_cap")
    )
    previous = None if native is None or pubdata is None else zksync_os.BlockPrices(0, native, pubdata)
    return zksync_os.block_prices(
        native_price_usd=fraction("native_price_usd"), base_token_usd=fraction("base_token_usd"),
        settlement_token_usd=fraction("settlement_token_usd"), native_per_gas=int(asked["native_per_gas"]),
        pubdata_price=int(asked["pubdata_price"]), blobs=asked["blobs"], fill_ratio=fraction("fill_ratio"),
        previous=previous, pubdata_price_cap=cap,
    )  # fmt: skip


PORTS = {
    "Arbitrum legacy L2 base fee": Formula(
        program="ports", asked="arbitrum_legacy", draw=_legacy_inputs, judge="port of nitro", arrays=True,
        ours=named(arbitrum_l2_pricing.l2_base_fee, "backlog min_base_fee speed_limit inertia tolerance"),
    ),
    "Arbitrum gas constraints": Formula(
        program="ports", asked="arbitrum_constraints", draw=lambda draw: (_block_inputs(draw),), ours=_constraints,
        question=_compact, judge="port of nitro",
    ),
    "Arbitrum multi-gas fees and refund": Formula(
        program="ports", asked="arbitrum_multi_gas", draw=lambda draw: (_block_inputs(draw, weighed=True),),
        ours=_multi_gas, question=_compact, judge="port of nitro",
    ),
    "Arbitrum multi-gas backlog": Formula(
        program="ports", asked="arbitrum_backlog", ours=_backlog, question=_compact, judge="port of nitro",
        draw=lambda draw: (_block_inputs(draw, weighed=True), draw.choice("shrink", "grow")),
    ),
    "Arbitrum batch report": Formula(
        program="ports", asked="arbitrum_report", draw=_report_inputs, ours=_report, judge="port of nitro"
    ),
    "Arbitrum poster gas": Formula(
        program="ports", asked="arbitrum_poster", draw=_poster_inputs, judge="port of nitro", arrays=True,
        ours=lambda size, price, gas_price: arbitrum.poster_charge(size, price_per_unit=price, gas_price=gas_price).gas,
    ),
    "Arbitrum estimated poster gas": Formula(
        program="ports", asked="arbitrum_estimate", judge="port of nitro", arrays=True,
        draw=lambda draw: (*_poster_inputs(draw), draw.whole(UINT128, 10**9, least=1)),
        ours=named(arbitrum.estimated_poster_gas, "brotli_size price_per_unit base_fee min_base_fee"),
    ),
    "Scroll before Curie": Formula(
        program="ports", asked="scroll_pre_curie", judge="port of scroll's geth", arrays=True,
        draw=lambda draw: (draw.whole(2**40, 10**5), draw.whole(2**40, 10**5), draw.whole(UINT128, 10**12),
                           draw.whole(UINT128, 10**4), draw.whole(UINT128, 10**10)),
        ours=named(scroll.pre_curie_l1_fee, "zero_bytes nonzero_bytes l1_base_fee overhead scalar"),
    ),
    "Scroll Curie": Formula(
        program="ports", asked="scroll_curie", judge="port of scroll's geth", arrays=True,
        draw=lambda draw: (draw.whole(2**40, 10**5), *_scroll_fees(draw)),
        ours=named(scroll.curie_l1_fee, "length l1_base_fee blob_base_fee commit_scalar blob_scalar"),
    ),
    "Scroll Feynman": Formula(
        program="ports", asked="scroll_feynman", draw=_feynman_inputs, judge="port of scroll's geth", arrays=True,
        ours=named(
            scroll.feynman_l1_fee, "length data_length compressed_data_size l1_base_fee blob_base_fee exec_scalar "
            "blob_scalar penalty_threshold penalty_factor",
        ),
    ),
    "Scroll Galileo": Formula(
        program="ports", asked="scroll_galileo", judge="port of scroll's geth", arrays=True,
        ours=named(
            scroll.galileo_l1_fee,
            "compressed_size l1_base_fee blob_base_fee exec_scalar blob_scalar penalty_factor",
        ),
        draw=lambda draw: (draw.whole(2**40, 10**5), *_scroll_fees(draw), draw.whole(UINT64, 10**6)),
    ),
    "Scroll L2 base fee, Curie": Formula(
        program="ports", asked="scroll_l2_curie", judge="port of scroll's geth", arrays=True,
        draw=lambda draw: (draw.whole(UINT128, 10**12), draw.whole(UINT128, 10**15), draw.whole(UINT128, 10**9)),
        ours=named(scroll.curie_l2_base_fee, "l1_base_fee scalar overhead"),
    ),
    "Scroll L2 base fee, Feynman": Formula(
        program="ports", asked="scroll_l2_feynman", judge="port of scroll's geth", arrays=True,
        draw=lambda draw: (*_base_fee_inputs(draw), draw.whole(UINT128, 10**9)),
        ours=named(scroll.feynman_l2_base_fee, "base_fee gas_used gas_limit overhead"),
    ),
    "Starknet L2 gas price": Formula(
        program="ports", asked="starknet_price", draw=_starknet_price_inputs, judge="port of the sequencer",
        ours=named(starknet.next_l2_gas_price, "price gas_used gas_target min_gas_price"),
    ),
    "Starknet fee proposal": Formula(
        program="ports", asked="starknet_proposal", judge="port of the sequencer",
        draw=lambda draw: (draw.whole(2**100, 10**20), draw.whole(2**100, 10**12)),
        ours=lambda rate, median: (starknet.fee_target(rate), starknet.fee_proposal(starknet.fee_target(rate), median)),
    ),
    "Starknet L1 prices": Formula(
        program="ports", asked="starknet_l1", judge="port of the sequencer", ours=starknet.l1_prices,
        draw=lambda draw: (draw.whole(2**100, 10**12), draw.whole(2**100, 10**12)),
    ),
    "Taiko base fee": Formula(
        program="ports", asked="taiko_base_fee", draw=_taiko_inputs, ours=_taiko, judge="port of alethia-reth",
        arrays=True,
    ),
    "ZKsync Era predicted blob fee": Formula(
        program="ports", asked="zksync_predicted", ours=_predicted, judge="port of zksync-era",
        draw=lambda draw: (draw.whole(2**60, 10**12, least=1), draw.whole(2**40, 200), draw.whole(2**40, 20)),
    ),
    "ZKsync OS block prices": Formula(
        program="ports", asked="zksync_os_prices", draw=_os_inputs, ours=_os_prices, question=_compact,
        judge="port of zksync-os-server",
    ),
    "ZKsync Era batch": Formula(
        program="ports", asked="zksync_batch", draw=_batch_inputs, ours=_batch, judge="port of zksync-era"
    ),
}  # fmt: skip

# Mantle: core/types/rollup_cost.go of its own op-geth; libzstd

OTHERS = {
    "Mantle L1 fee before Arsia": Formula(
        program="mantle", asked="before_arsia", arrays=True,
        draw=lambda draw: (draw.whole(2**60, 10**6), draw.whole(UINT128, 3_000), draw.whole(UINT128, 10**11),
                           draw.whole(UINT128, 10**6), draw.whole(UINT64, 10**4)),
        ours=named(mantle.before_arsia_l1_fee, "data_gas overhead l1_base_fee scalar token_ratio"),
    ),
    "Mantle L1 fee since Arsia": Formula(
        program="mantle", asked="arsia", arrays=True,
        ours=named(
            mantle.arsia_l1_fee,
            "fastlz_size l1_base_fee blob_base_fee base_fee_scalar blob_base_fee_scalar token_ratio",
        ),
        draw=lambda draw: (*_l1_fee_inputs(draw, "fjord")[3:8], draw.whole(UINT64, 10**4)),
    ),
    "zstd": Formula(
        program="zstd", asked="zstd", draw=lambda draw: (draw.payload().hex(),),
        ours=lambda payload: FRAME.size(bytes.fromhex(payload)),
    ),
}  # fmt: skip

FORMULAS = OP_GETH | GO_ETHEREUM | CONSENSYS | PORTS | OTHERS
