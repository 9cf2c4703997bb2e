"""The field's fee vectors in `data/vectors`: written from the answers of nodes' code, and checked against this package.

python -m tests.nodes.vectors --write        # asks the programs of tests/nodes; needs Go and the full inputs
python -m tests.nodes.vectors                # asks them again: the same answers
"""

import argparse
import gzip
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

from feemodel import FastLz, PricingRecord, priority_fee
from feemodel.ethereum import from_hex
from tests.helpers.inputs import ROOT, inputs
from tests.nodes.formulas import FORMULAS, Arguments, Draw, dictionary, fee_market, optimism, text
from tests.nodes.programs import answers
from tests.vectors import Case, compare, guarded, rollups

FOLDER = ROOT / "data" / "vectors"
ROWS, LONGEST = 30, 1_500  # of each rule and upgrade; characters of one row's inputs
REAL = 40  # transactions of the real channel and of real Linea blocks
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")

CODE, PORT = "node code, called by tests/nodes/sources", "ported step by step in tests/nodes/sources/ports"
#: Kind, repository and version, licence.
SOURCES = {
    "op-geth": (CODE, "ethereum-optimism/op-geth v1.101702.3", "LGPL-3.0-or-later"),
    "go-ethereum": (CODE, "ethereum/go-ethereum v1.17.10", "LGPL-3.0-or-later"),
    "compress": (CODE, "Consensys/compress v0.2.5", "Apache-2.0"),
    "nitro": (PORT, "OffchainLabs/nitro at 6dce8d1", "Apache-2.0"),
    "scroll": (PORT, "scroll-tech/go-ethereum at 5f34f2a", "Apache-2.0"),
    "mantle": (PORT, "mantle-xyz/op-geth at 11fa810", "Apache-2.0"),
    "sequencer": (PORT, "starkware-libs/sequencer at 60161ba", "Apache-2.0"),
    "alethia-reth": (PORT, "taikoxyz/alethia-reth, crates/consensus/src/eip4396.rs", "Apache-2.0"),
    "zksync-era": (PORT, "matter-labs/zksync-era at 3e29e4a", "Apache-2.0"),
}  # fmt: skip

UNITS = {
    "payload": "hexadecimal bytes of a signed transaction or of any data", "data": "hexadecimal calldata",
    "zero_bytes": "zero bytes of the signed transaction", "nonzero_bytes": "nonzero bytes of the signed transaction",
    "fastlz_size": "bytes, FastLZ level 1 of the signed transaction", "l1_base_fee": "wei / gas",
    "blob_base_fee": "wei / blob gas", "base_fee_scalar": "millionths", "blob_base_fee_scalar": "millionths",
    "overhead": "gas", "scalar": "millionths", "constant": "wei", "gas": "gas", "base_fee": "wei / gas",
    "gas_used": "gas", "gas_limit": "gas", "elasticity": "1", "denominator": "1", "footprint": "gas",
    "min_base_fee": "wei / gas", "token_ratio": "wei of the token / wei", "timestamp": "s, Unix time",
    "excess_blob_gas": "blob gas", "blob_gas_used": "blob gas", "creates": "1 if the transaction creates a contract",
    "addresses": "addresses of the access list", "slots": "storage keys of the access list",
    "authorizations": "authorizations of EIP-7702", "gas_scalar": "gas / byte",
    "transaction": "hexadecimal signed transaction", "transactions": "hexadecimal signed transactions",
    "backlog": "gas", "speed_limit": "gas / s", "inertia": "1",
    "tolerance": "s", "size": "bytes", "price_per_unit": "wei / unit", "gas_price": "wei / gas", "seconds": "s",
    "constraints": "target [gas / s], window [s], backlog [gas]", "commit_scalar": "billionths",
    "blob_scalar": "billionths", "exec_scalar": "billionths", "length": "bytes", "plain_size": "bytes",
    "compressed_size": "bytes", "penalty_threshold": "billionths", "penalty_factor": "billionths or basis points",
    "price": "wei / gas", "gas_target": "gas", "min_price": "fri / gas", "wei_per_unit": "wei",
    "pending_blobs": "blobs", "l1_blocks": "blocks", "l1_gas": "gas", "rate": "fri / ETH",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule of one chain: the differential test's formula that computes it, and the names of its arguments."""

    formula: str
    chain: str
    upgrade: str  #: "" if each row has its own
    rule: str
    names: str  #: a last name with * takes all other arguments; one with 0x is bytes; empty: the argument is an object
    source: str
    expected: str = "wei"
    leading: bool = False  #: whether the first argument is the upgrade

    def row(self, arguments: Arguments) -> dict[str, Any]:
        """The inputs by name, numbers as decimal strings, and the upgrade."""
        upgrade, rest = (arguments[0], arguments[1:]) if self.leading else (self.upgrade, arguments)
        if not self.names:
            return {"chain": self.chain, "upgrade": upgrade, "rule": self.rule, "inputs": written(rest[0])}
        named: dict[str, Any] = {}
        words = list(rest)
        for name in self.names.split():
            plain = name.strip("*").removeprefix("0x")
            taken = words[:] if name.startswith("*") else words[:1]
            del words[: len(taken)]
            found = [f"0x{one}" if "0x" in name else written(one) for one in taken]
            named[plain] = found if name.startswith("*") else found[0]
        return {"chain": self.chain, "upgrade": upgrade, "rule": self.rule, "inputs": named}

    def arguments(self, row: dict[str, Any]) -> Arguments:
        """The arguments of the formula, from a row."""
        start = (row["upgrade"],) if self.leading else ()
        if not self.names:
            return (*start, read(row["inputs"]))
        found: list[Any] = list(start)
        for name in self.names.split():
            value = row["inputs"][name.strip("*").removeprefix("0x")]
            for one in value if name.startswith("*") else [value]:
                found.append(one.removeprefix("0x") if "0x" in name else read(one))
        return tuple(found)


def written(value: Any) -> Any:
    """A value with decimal strings in place of numbers."""
    if isinstance(value, dict):
        return {str(key): written(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [written(one) for one in value]
    return value if isinstance(value, bool) or value is None else str(value)


def read(value: Any) -> Any:
    """A value with numbers in place of decimal strings."""
    if isinstance(value, dict):
        return {key: read(one) for key, one in value.items()}
    if isinstance(value, list):
        return [read(one) for one in value]
    if isinstance(value, str) and (number := NUMBER.fullmatch(value)):
        return float(value) if number[1] or number[2] else int(value)
    return value


def rules() -> Iterator[Rule]:
    """Every rule whose answers the nodes' code gives."""
    op: dict[str, Any] = {"chain": "op-stack", "source": "op-geth"}
    l1 = "l1_base_fee blob_base_fee base_fee_scalar blob_base_fee_scalar"
    for upgrade in (one.name for one in optimism.UPGRADES):
        op |= {"upgrade": upgrade, "leading": True}
        yield Rule(
            formula=f"OP Stack L1 fee, {upgrade}", rule="l1_fee",
            names=f"zero_bytes nonzero_bytes fastlz_size {l1} overhead scalar", **op,
        )  # fmt: skip
        yield Rule(formula=f"OP Stack operator fee, {upgrade}", rule="operator_fee", names="gas scalar constant", **op)
        yield Rule(
            formula=f"OP Stack base fee, {upgrade}", rule="next_base_fee", expected="wei / gas",
            names="base_fee gas_used gas_limit elasticity denominator footprint min_base_fee", **op,
        )  # fmt: skip
    for formula, upgrade, rule, names, expected in (
        ("FastLZ", "fjord", "fastlz_size", "0xpayload", "bytes"),
        ("OP Stack L1 gas", "fjord", "l1_gas", "fastlz_size", "gas"),
        ("OP Stack data footprint", "jovian", "data_footprint", "gas_scalar *0xtransactions", "gas"),
    ):
        yield Rule(
            formula=formula, rule=rule, names=names, expected=expected, **op | {"upgrade": upgrade, "leading": False}
        )
    mantle = {"chain": "mantle", "source": "op-geth", "rule": "l1_fee"}
    yield Rule(
        formula="Mantle L1 fee since Arsia", upgrade="arsia",
        names=f"fastlz_size {l1} overhead scalar token_ratio", **mantle,
    )  # fmt: skip
    yield Rule(
        formula="Mantle L1 fee before Arsia", upgrade="before-arsia",
        names="l1_gas overhead l1_base_fee scalar token_ratio", **mantle | {"source": "mantle"},
    )  # fmt: skip
    ethereum = {"chain": "ethereum", "source": "go-ethereum"}
    yield Rule(
        formula="base fee", upgrade="london", rule="next_base_fee", names="base_fee gas_used gas_limit",
        expected="wei / gas", **ethereum,
    )  # fmt: skip
    yield Rule(
        formula="intrinsic gas", upgrade="", leading=True, rule="intrinsic_gas", expected="gas",
        names="creates 0xdata addresses slots authorizations", **ethereum,
    )  # fmt: skip
    yield Rule(
        formula="calldata floor gas",
        upgrade="",
        leading=True,
        rule="calldata_floor_gas",
        names="0xdata",
        expected="gas",
        **ethereum,
    )
    for row in fee_market.MAINNET.rows:
        name = row.name.lower().replace(" ", "-")
        yield Rule(
            formula=f"blob base fee, {row.name}", upgrade=name, rule="blob_base_fee", names="timestamp excess_blob_gas",
            expected="wei / blob gas", **ethereum,
        )  # fmt: skip
        yield Rule(
            formula=f"excess blob gas, {row.name}", upgrade=name, rule="next_excess_blob_gas", expected="blob gas",
            names="timestamp excess_blob_gas blob_gas_used base_fee", **ethereum,
        )  # fmt: skip
    for formula, chain, upgrade, rule, names, expected, source in PORTED:
        yield Rule(
            formula=formula, chain=chain, upgrade=upgrade, rule=rule, names=names, expected=expected, source=source
        )


#: Formula, chain, upgrade, rule, names of the inputs, unit of the result, source.
PORTED = [
    ("Arbitrum legacy L2 base fee", "arbitrum", "before-arbos-50", "l2_base_fee",
     "backlog min_base_fee speed_limit inertia tolerance", "wei / gas", "nitro"),
    ("Arbitrum gas constraints", "arbitrum", "arbos-50", "l2_base_fee",
     "", "wei / gas, then the backlogs [gas]", "nitro"),
    ("Arbitrum poster gas", "arbitrum", "nitro", "poster_gas",
     "size price_per_unit gas_price", "gas", "nitro"),
    ("Arbitrum estimated poster gas", "arbitrum", "nitro", "estimated_poster_gas",
     "size price_per_unit base_fee min_base_fee", "gas", "nitro"),
    ("Scroll before Curie", "scroll", "bernoulli", "l1_fee",
     "zero_bytes nonzero_bytes l1_base_fee overhead scalar", "wei", "scroll"),
    ("Scroll Curie", "scroll", "curie", "l1_fee",
     "size l1_base_fee blob_base_fee commit_scalar blob_scalar", "wei", "scroll"),
    ("Scroll Feynman", "scroll", "feynman", "l1_fee",
     "length plain_size compressed_size l1_base_fee blob_base_fee exec_scalar blob_scalar penalty_threshold "
     "penalty_factor", "wei", "scroll"),
    ("Scroll Galileo", "scroll", "galileo", "l1_fee",
     "size l1_base_fee blob_base_fee exec_scalar blob_scalar penalty_factor", "wei", "scroll"),
    ("Scroll L2 base fee, Curie", "scroll", "curie", "l2_base_fee",
     "l1_base_fee scalar overhead", "wei / gas", "scroll"),
    ("Scroll L2 base fee, Feynman", "scroll", "feynman", "l2_base_fee",
     "base_fee gas_used gas_limit overhead", "wei / gas", "scroll"),
    ("Starknet L2 gas price", "starknet", "0.14", "next_l2_gas_price",
     "price gas_used gas_target min_price", "fri / gas", "sequencer"),
    ("Taiko base fee", "taiko", "shasta", "next_base_fee",
     "base_fee gas_used gas_limit seconds min_base_fee", "wei / gas", "alethia-reth"),
    ("ZKsync Era predicted blob fee", "zksync-era", "v2", "predicted_blob_base_fee",
     "blob_base_fee pending_blobs l1_blocks", "wei / blob gas", "zksync-era"),
]  # fmt: skip


def rule_of(row: dict[str, Any]) -> Rule:
    """The rule of a row that nodes' code answered."""
    key = row["chain"], row["rule"]
    return next(one for one in rules() if (one.chain, one.rule) == key and one.upgrade in ("", row["upgrade"]))


def asked() -> Iterator[dict[str, Any]]:
    """Rows of every rule with the answers of the nodes' code: half of usual size, half extreme."""
    for rule in rules():
        formula, rng = FORMULAS[rule.formula], random.Random(f"vectors {rule.chain} {rule.upgrade} {rule.rule}")
        drawn = (formula.draw(Draw(rng, usual=place % 2 == 0)) for place in count())
        short = list(islice((row for row in drawn if len(text(row)) < LONGEST), ROWS))
        for arguments, answer in zip(short, answers(formula.program, map(formula.line, short)), strict=True):
            words = answer.replace("[", " ").replace("]", " ").split()
            if all(NUMBER.fullmatch(word) for word in words):
                yield rule.row(arguments) | {"expected": words if len(words) > 1 else words[0], "source": rule.source}


def real() -> Iterator[dict[str, Any]]:
    """Sizes of real transactions: FastLZ by op-geth, and Linea's LZSS by its compressor."""
    data = inputs() / "data"
    raws = _lines(data / "op_mainnet_channel_2024-06-14.jsonl.gz", "raw")
    sizes = answers("op_geth", [f"fastlz {raw.removeprefix('0x')}" for raw in raws])
    for raw, size in zip(raws, sizes, strict=True):
        yield {"chain": "op-stack", "upgrade": "fjord", "rule": "fastlz_size", "inputs": {"payload": raw},
               "expected": size, "source": "op-geth"}  # fmt: skip
    yield from _fees_of_transactions(raws[:10], sizes[:10])
    lzss = FORMULAS["LZSS"]
    rng = random.Random("vectors lzss")
    short = list(
        islice((row for row in (lzss.draw(Draw(rng, usual=True)) for _ in count()) if len(row[0]) < LONGEST), REAL)
    )
    for (payload,), size in zip(short, answers("consensys", map(lzss.line, short), [str(dictionary())]), strict=True):
        yield {"chain": "linea", "upgrade": "beta-v1", "rule": "lzss_size", "inputs": {"payload": f"0x{payload}"},
               "expected": size, "source": "compress"}  # fmt: skip


def _fees_of_transactions(raws: list[str], sizes: list[str]) -> Iterator[dict[str, Any]]:
    """L1 fees of whole transactions, for libraries that count and compress the bytes themselves."""
    rng = random.Random("vectors transactions")
    for upgrade in (one.name for one in optimism.UPGRADES):
        terms = [
            {
                "l1_base_fee": rng.randrange(10**7, 10**11), "blob_base_fee": rng.randrange(1, 10**10),
                "base_fee_scalar": 5_227, "blob_base_fee_scalar": 1_014_213, "overhead": 188, "scalar": 684_000,
            }
            for _ in raws
        ]  # fmt: skip
        counts = [(data.count(0), len(data) - data.count(0)) for data in map(from_hex, raws)]
        rows = [(upgrade, *count, size, *term.values()) for count, size, term in zip(counts, sizes, terms, strict=True)]
        fees = answers("op_geth", ["l1_fee " + " ".join(map(str, row)) for row in rows])
        for raw, term, fee in zip(raws, terms, fees, strict=True):
            yield {"chain": "op-stack", "upgrade": upgrade, "rule": "l1_fee_of_transaction",
                   "inputs": {"transaction": raw, **written(term)}, "expected": fee, "source": "op-geth"}  # fmt: skip


def _lines(path: Path, key: str) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        values = (json.loads(line)[key] for line in lines)
        return list(islice((value for value in values if len(value) < LONGEST), REAL))


def published() -> Iterator[dict[str, Any]]:
    """Rows of the published vectors: tests of nodes, receipts and rows derived from a specification."""
    folder = inputs() / "vectors"
    for name in ("fees", "chains", "today"):
        for row in json.loads((folder / "rollups" / f"{name}.json").read_bytes())["vectors"]:
            yield _published(row["chain"], row["model"], row["inputs"], row["expected"], row["source"])
    linea = json.loads((folder / "linea" / "fees.json").read_bytes())
    kwei = ("fixedCostKWei", "variableCostKWei", "ethGasPriceKWei")
    for row in linea["extraData_onchain"]["blocks"]:
        costs = [row[name] for name in kwei]
        yield _published("linea", "pricing_record", {"extra_data": row["hex"]}, costs, row["source"])
    derived = "derived from Consensys/linea-monorepo at cb18013"
    for row in linea["priority_fee_current_derived"]:
        terms = {"variable_cost": row["variableCostWei"], "compressed_size": row["compressedTxSize"], "gas": row["gas"],
                 "fixed_cost": row["fixedCostWei"], "margin": row["minMargin"]}  # fmt: skip
        yield _published("linea", "priority_fee", terms, row["priorityFeePerGas"], derived)
    onchain = linea["mainnet_exact_priority_fee"]
    for row in onchain["items"]:
        record = PricingRecord.from_bytes(from_hex(row["extraData"]))
        terms = {"variable_cost": record.variable_cost, "compressed_size": row["compressedTxSize"],
                 "gas": row["gasEstimate"], "fixed_cost": record.fixed_cost, "margin": row["minMargin"]}  # fmt: skip
        yield _published("linea", "priority_fee", terms, row["priorityFeePerGas"], onchain["source"])


def _published(chain: str, rule: str, named: Any, expected: Any, source: str) -> dict[str, Any]:
    row = {"chain": chain, "upgrade": "published", "rule": rule, "inputs": written(named)}
    return row | {"expected": written(expected), "source": source}


def _fee_of_transaction(row: dict[str, Any]) -> str:
    terms = read({name: value for name, value in row["inputs"].items() if name != "transaction"})
    data = from_hex(row["inputs"]["transaction"])
    counts = data.count(0), len(data) - data.count(0), FastLz().size(data)
    return text(FORMULAS[f"OP Stack L1 fee, {row['upgrade']}"].ours(row["upgrade"], *counts, *terms.values()))


OURS = {
    ("op-stack", "l1_fee_of_transaction"): _fee_of_transaction,
    ("linea", "lzss_size"): lambda row: str(FORMULAS["LZSS"].ours(row["inputs"]["payload"].removeprefix("0x"))),
    ("linea", "pricing_record"): lambda row: _record(row["inputs"]["extra_data"]),
    ("linea", "priority_fee"): lambda row: str(priority_fee(**read(row["inputs"]))),
}


def _record(extra_data: str) -> list[str]:
    record = PricingRecord.from_bytes(from_hex(extra_data))
    return [str(int(cost) // 1_000) for cost in (record.fixed_cost, record.variable_cost, record.eth_gas_price)]


def answer(row: dict[str, Any]) -> Any:
    """This package's answer to a row, written as the row's."""
    if ours := OURS.get((row["chain"], row["rule"])):
        return ours(row)
    rule = rule_of(row)
    words = text(FORMULAS[rule.formula].ours(*rule.arguments(row))).replace("[", " ").replace("]", " ").split()
    return words if len(words) > 1 else words[0]


def run(rows: list[dict[str, Any]]) -> Iterator[Case]:
    """Every row of a file, compared with this package."""
    for row in rows:
        yield from guarded(row["id"], _case(row))


def _case(row: dict[str, Any]) -> Iterator[Case]:
    key = row["chain"], row["rule"]
    if row["upgrade"] == "published" and key not in OURS:
        ours = written(rollups.MODELS[key](read(row["inputs"])))
    else:
        ours = answer(row)
    yield compare(row["id"], read(row["expected"]), read(ours))


def files() -> dict[Path, dict[str, Any]]:
    """The files of `data/vectors` as they should be, by path."""
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in (*asked(), *real(), *published()):
        rows = grouped[row["chain"], row["upgrade"]]
        rows.append({"id": f"{row['chain']}/{row['upgrade']}/{row['rule']}/{len(rows):03}", **row})
    units = {(one.chain, one.rule): one.expected for one in rules()}
    found = {}
    for (chain, upgrade), rows in grouped.items():
        names = {name for row in rows for name in row["inputs"]}
        used = {row["source"] for row in rows}
        fields = ("kind", "reference", "licence")
        found[FOLDER / chain / f"{upgrade}.json"] = {
            "version": 1, "chain": chain, "upgrade": upgrade,
            "units": {name: UNITS[name] for name in sorted(names & set(UNITS))},
            "expected": {row["rule"]: units.get((chain, row["rule"]), "as in the source") for row in rows},
            "sources": {name: dict(zip(fields, SOURCES[name], strict=True)) for name in sorted(used & set(SOURCES))},
            "vectors": rows,
        }  # fmt: skip
    return found


def printed(file: dict[str, Any]) -> str:
    """A file as text, one row on each line."""
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in file["vectors"])
    head = json.dumps(file | {"vectors": []}, indent=1, ensure_ascii=False)
    return head.replace('"vectors": []', f'"vectors": [\n{rows}\n]') + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the files; by default they are compared")
    write = parser.parse_args().write
    wrong = 0
    for path, file in files().items():
        if write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(printed(file), encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != printed(file):
            wrong += 1
            print(f"{path.relative_to(ROOT)} differs")
        print(f"{path.relative_to(ROOT)}: {len(file['vectors'])} rows")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
