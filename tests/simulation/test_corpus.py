"""The corpus: reproducible, decodable, and of the lengths, sizes and gas that real transactions have."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from feemodel.errors import InvalidInput
from feemodel.ethereum._transaction import intrinsic_gas, parse_sender_unsigned, parse_transaction
from feemodel.simulation.corpus import CHUNK, LINEA_MIX, Corpus, corpus
from feemodel.simulation.corpus._fitted import LINEA
from feemodel.sizes._codecs import compressed_sizes

QUANTILES = (10, 25, 50, 75, 90)

# 2,282 real Linea transactions, out of the tracer's replays and of one blob (Consensys/linea-monorepo), measured here.
REAL_LENGTHS = (69, 104, 263, 500, 1034)
REAL_ZSTD_SIZES = (69, 94, 137, 195, 330.4)
REAL_RATIOS = {"zstd": 0.3943, "brotli": 0.4979, "deflate": 0.3814, "fastlz": 0.4371}  # of the totals
REAL_MEAN_LENGTH = 541.64
REAL_ZERO_SHARE = 0.5567
REAL_SENDERS = 1_326


@pytest.fixture(scope="module")
def made() -> Corpus:
    return corpus(20_000)


def words_of(data: bytes) -> list[int]:
    return [int.from_bytes(data[at : at + 32], "big") for at in range(4, len(data), 32)]


def lengths(payloads: list[bytes]) -> np.ndarray:
    return np.array([len(payload) for payload in payloads])


def test_the_same_seed_gives_the_same_corpus() -> None:
    first, sequence = corpus(CHUNK + 10, rng=7), np.random.SeedSequence(7)

    for rng in (7, sequence, sequence, np.random.default_rng(7)):
        again = corpus(CHUNK + 10, rng=rng)
        assert first.payloads == again.payloads
        assert first.calldata == again.calldata
        assert first.kinds.tolist() == again.kinds.tolist()
        assert first.gas.tolist() == again.gas.tolist()
    assert first.payloads != corpus(CHUNK + 10, rng=8).payloads
    assert len(set(first.payloads)) == len(first)


def test_as_many_as_asked_for() -> None:
    for count in (0, 1, CHUNK, CHUNK + 1):
        made = corpus(count)
        assert [count] * 5 == [len(made), len(made.payloads), len(made.calldata), len(made.kinds), len(made.gas)]
    assert made.gas.dtype == np.int64


def test_every_payload_is_a_transaction_that_could_be_sent(made: Corpus) -> None:
    for payload, data, kind, gas in zip(made.payloads, made.calldata, made.kinds, made.gas, strict=True):
        sender, transaction = parse_sender_unsigned(payload)
        assert payload == sender + transaction.unsigned()
        assert data == transaction.data
        assert (kind == "deployment") == (transaction.to is None)
        assert (kind == "plain_transfer") == (not data)
        assert intrinsic_gas(transaction) <= gas <= transaction.gas_limit
        assert transaction.chain_id == 59_144
        assert transaction.max_priority_fee <= transaction.max_fee


def test_transfers_and_approvals_decode() -> None:
    for kind, selector in (("erc20_transfer", "a9059cbb"), ("approval", "095ea7b3")):
        for data in corpus(200, mix={kind: 1}).calldata:
            address, _ = words_of(data)
            assert selector == data[:4].hex()
            assert 0 < address < 2**160


def test_nft_transfers_leave_their_sender() -> None:
    made = corpus(200, mix={"nft_transfer": 1})

    for payload, data in zip(made.payloads, made.calldata, strict=True):
        assert data[:4].hex() == "42842e0e"
        assert payload[:20] == data[16:36]


def test_bundles_of_user_operations_decode() -> None:
    """handleOps((address,uint256,bytes,bytes,uint256 × 5,bytes,bytes)[],address): each offset leads where it should."""
    for data in corpus(100, mix={"account_abstraction": 1}).calldata:
        words = words_of(data)
        operations = words[0] // 32
        assert (words[operations], words[operations + 1]) == (1, 0x20)
        operation = operations + 2
        code, call, paymaster, signature = (operation + words[operation + place] // 32 for place in (2, 3, 9, 10))
        assert words[code] == 0
        assert call == code + 1
        assert paymaster == call + 1 + words[call] // 32
        assert words[paymaster] == 0
        assert (signature, words[signature]) == (paymaster + 1, 65)
        assert signature + 1 + 3 == len(words)


@pytest.mark.parametrize(
    ("kind", "selector", "offset_word"), [("bridge_message", "9f3ce55a", 2), ("swap", "5f575529", 3)]
)
def test_bytes_arguments_decode(kind: str, selector: str, offset_word: int) -> None:
    """sendMessage(address,uint256,bytes) and swap(string,address,uint256,bytes): the last argument fills the rest."""
    found = [words_of(data) for data in corpus(1000, mix={kind: 1}).calldata if data[:4].hex() == selector]

    assert found
    for words in found:
        start = words[offset_word] // 32
        assert words[start] == 32 * (len(words) - start - 1)


def test_the_mix_is_kept() -> None:
    made = corpus(20_000, mix={"swap": 3, "deployment": 1, "approval": 0})
    counts = Counter(made.kinds.tolist())

    assert {"swap", "deployment"} == set(counts)
    assert counts["swap"] / len(made) == pytest.approx(0.75, abs=0.02)


def test_the_default_mix_is_the_real_one(made: Corpus) -> None:
    counts = Counter(made.kinds.tolist())

    assert sum(LINEA_MIX.values()) == pytest.approx(1)
    for kind, share in LINEA_MIX.items():
        assert counts[kind] / len(made) == pytest.approx(share, abs=4 * np.sqrt(share / len(made)))


def test_lengths_and_sizes_are_like_the_real_ones(made: Corpus) -> None:
    """Over twelve seeds, quantiles were off by up to 7 % (length) and 3.2 % (zstd), the mean length by 5.3 %, the ratio
    of the totals by 1.4 % (zstd), and by 3.4 % under the codecs that nothing was fitted to."""
    plain = lengths(made.payloads)
    sizes = {codec: compressed_sizes(made.payloads, codec) for codec in REAL_RATIOS}

    assert np.percentile(plain, QUANTILES) == pytest.approx(REAL_LENGTHS, rel=0.1)
    assert np.percentile(sizes["zstd"], QUANTILES) == pytest.approx(REAL_ZSTD_SIZES, rel=0.05)
    assert plain.mean() == pytest.approx(REAL_MEAN_LENGTH, rel=0.08)
    for codec, ratio in REAL_RATIOS.items():
        assert sizes[codec].sum() / plain.sum() == pytest.approx(ratio, rel=0.05), codec


def test_zero_bytes_and_senders_recur_like_the_real_ones(made: Corpus) -> None:
    zeros = sum(payload.count(0) for payload in made.payloads) / lengths(made.payloads).sum()
    senders = {payload[:20] for payload in made.payloads[:2282]}

    assert zeros == pytest.approx(REAL_ZERO_SHARE, abs=0.02)
    assert len(senders) == pytest.approx(REAL_SENDERS, rel=0.05)


def real_transactions(shared: Path) -> list[tuple[bytes, int | None]]:
    """Payload and gas used."""
    found: list[tuple[bytes, int | None]] = []
    with gzip.open(shared / "data/linea_mainnet_transactions.jsonl.gz") as lines:
        for row in map(json.loads, lines):
            unsigned = parse_transaction(row["raw"]).unsigned()
            found.append((bytes.fromhex(row["sender"][2:]) + unsigned, row["gas_used"]))
    with gzip.open(shared / "data/linea_blob_24288348_24288678.jsonl.gz") as lines:
        found += [(bytes.fromhex(json.loads(line)["sender_and_unsigned_transaction"][2:]), None) for line in lines]
    return found


def test_the_real_figures_are_those_of_the_real_set(shared: Path) -> None:
    payloads = [payload for payload, _ in real_transactions(shared)]
    plain = lengths(payloads)

    assert len(payloads) == sum(fit.seen for fit in LINEA.shapes.values()) == 2282
    assert np.percentile(plain, QUANTILES) == pytest.approx(REAL_LENGTHS)
    assert np.percentile(compressed_sizes(payloads), QUANTILES) == pytest.approx(REAL_ZSTD_SIZES, rel=0.01)
    assert plain.mean() == pytest.approx(REAL_MEAN_LENGTH, abs=0.01)
    assert sum(payload.count(0) for payload in payloads) / plain.sum() == pytest.approx(REAL_ZERO_SHARE, abs=1e-4)
    assert len({payload[:20] for payload in payloads}) == REAL_SENDERS
    for codec, ratio in REAL_RATIOS.items():
        assert compressed_sizes(payloads, codec).sum() / plain.sum() == pytest.approx(ratio, rel=0.005)


def test_gas_is_like_the_real_gas(made: Corpus, shared: Path) -> None:
    """The quartiles of approvals, one function that was seen often; a transfer of ether uses the least there is."""
    real = [
        gas
        for payload, gas in real_transactions(shared)
        if gas is not None and parse_sender_unsigned(payload)[1].data[:4].hex() == "095ea7b3"
    ]
    approvals = made.gas[made.kinds == "approval"]
    assert len(real) == 115
    assert np.percentile(approvals, (25, 50, 75)) == pytest.approx(np.percentile(real, (25, 50, 75)), rel=0.1)
    assert np.median(made.gas[made.kinds == "plain_transfer"]) == 21_000


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"count": -1}, "count: expected an integer of at least 0, got -1"),
        ({"count": 1.5}, "count"),
        ({"count": 1, "rng": "seed"}, "rng: expected an integer"),
        ({"count": 1, "rng": -1}, "rng"),
        ({"count": 1, "mix": {"swaps": 1}}, "mix: expected one of plain_transfer, .*got 'swaps'"),
        ({"count": 1, "mix": {"swap": -0.5}}, r"mix\['swap'\]: .*got -0.5"),
        ({"count": 1, "mix": {"swap": float("inf")}}, r"mix\['swap'\]: .*got inf"),
        ({"count": 1, "mix": {"swap": 0}}, "mix: expected a weight above zero"),
        ({"count": 1, "mix": {}}, "mix: expected a weight above zero"),
        ({"count": 1, "mix": "swap"}, "mix: expected a mapping"),
    ],
)
def test_what_no_corpus_can_be_made_of(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        corpus(**arguments)
