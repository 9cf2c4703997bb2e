"""The field's fee vectors in `data/vectors`: written from the answers of nodes' code, and checked against this package.

python -m tests.nodes.vectors --write        # asks the programs of tests/nodes; needs Go
python -m tests.nodes.vectors                # asks them again: the same answers

Files named `published.json` are transcriptions of nodes' own tests, receipts and specifications; they are not written.
"""

import argparse
import csv
import gzip
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

from feemodel import Lzss, PricingRecord, fee_size, priority_fee
from feemodel.ethereum import fee_market, from_hex
from tests.helpers.inputs import ROOT, inputs
from tests.nodes.formulas import FORMULAS, Arguments, Draw, dictionary, lines_of, optimism, text, transactions
from tests.nodes.programs import answers
from tests.vectors import Case, compare, guarded, rollups

FOLDER = ROOT / "data" / "vectors"
ROWS, LONGEST = 30, 1_500  # of each rule and upgrade, of a rule of all upgrades thrice; characters of a row's inputs
REAL, LONGEST_REAL = 40, 8_000  # real transactions of each set; characters of one
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")

CODE, PORT = "node code, called by tests/nodes/sources", "ported step by step in tests/nodes/sources/ports"
CHAIN = "chain facts"
#: Kind, repository and version, licence.
SOURCES = {
    "op-geth": (CODE, "ethereum-optimism/op-geth v1.101702.3", "LGPL-3.0-or-later"),
    "go-ethereum": (CODE, "ethereum/go-ethereum v1.17.10", "LGPL-3.0-or-later"),
    "mantle": (CODE, "mantlenetworkio/op-geth v1.5.4", "LGPL-3.0-or-later"),
    "compress": (CODE, "Consensys/compress v0.2.5; dictionary with sha256 8b0ec4e5…2b7d", "Apache-2.0"),
    "libzstd": (CODE, "facebook/zstd 1.5.7, in DataDog/zstd v1.5.7", "BSD-3-Clause"),
    "nitro": (PORT, "OffchainLabs/nitro at 6dce8d1", "BUSL-1.1"),
    "scroll": (PORT, "scroll-tech/go-ethereum at 5f34f2a", "LGPL-3.0-or-later"),
    "sequencer": (PORT, "starkware-libs/sequencer at 60161ba", "Apache-2.0"),
    "alethia-reth": (PORT, "taikoxyz/alethia-reth, crates/consensus/src/eip4396.rs", "Apache-2.0"),
    "zksync-era": (PORT, "matter-labs/zksync-era at 3e29e4a", "MIT OR Apache-2.0"),
    "Ethereum": (CHAIN, "blocks 24183321 to 24399311 of Ethereum", "facts"),
    "Linea": (CHAIN, "transactions of Linea, sizes by its production compressor; Consensys/linea-monorepo at cb18013",
              "MIT OR Apache-2.0"),
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
    """Every rule whose answers the nodes' code gives; those of a formula with real inputs are asked about them too."""
    op: dict[str, Any] = {"chain": "op-stack", "source": "op-geth"}
    l1 = "l1_base_fee blob_base_fee base_fee_scalar blob_base_fee_scalar"
    for upgrade in (one.name for one in optimism.UPGRADES):
        op |= {"upgrade": upgrade, "leading": True}
        yield Rule(
            formula=f"OP Stack L1 fee, {upgrade}", rule="l1_fee",
            names=f"zero_bytes nonzero_bytes fastlz_size {l1} overhead scalar", **op,
        )  # fmt: skip
        yield Rule(
            formula=f"OP Stack L1 fee of a transaction, {upgrade}", rule="l1_fee_of_transaction",
            names=f"0xtransaction {l1} overhead scalar", **op,
        )  # fmt: skip
        yield Rule(formula=f"OP Stack operator fee, {upgrade}", rule="operator_fee", names="gas scalar constant", **op)
        yield Rule(
            formula=f"OP Stack base fee, {upgrade}", rule="next_base_fee", expected="wei / gas",
            names="base_fee gas_used gas_limit elasticity denominator footprint min_base_fee", **op,
        )  # fmt: skip
    for formula, upgrade, rule, names, expected in (
        ("FastLZ", "fjord", "fastlz_size", "0xpayload", "bytes"),
        ("OP Stack L1 gas", "fjord", "l1_gas", "fastlz_size", "gas"),
        ("OP Stack estimated size", "fjord", "estimated_size", "0xtransaction", "bytes"),
        ("OP Stack data footprint", "jovian", "data_footprint", "gas_scalar *0xtransactions", "gas"),
    ):
        yield Rule(
            formula=formula, rule=rule, names=names, expected=expected, **op | {"upgrade": upgrade, "leading": False}
        )
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
        formula="calldata floor gas", upgrade="", leading=True, rule="calldata_floor_gas", names="0xdata",
        expected="gas", **ethereum,
    )  # fmt: skip
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
    for formula, chain, upgrade, rule, names, expected, source in OTHERS:
        yield Rule(
            formula=formula, chain=chain, upgrade=upgrade, rule=rule, names=names, expected=expected, source=source
        )


#: Formula, chain, upgrade, rule, names of the inputs, unit of the result, source.
OTHERS = [
    ("LZSS", "linea", "beta-v1", "lzss_size", "0xpayload", "bytes", "compress"),
    ("zstd", "sizes", "zstd-1.5", "zstd_size", "0xpayload", "bytes", "libzstd"),
    ("Mantle L1 fee since Arsia", "mantle", "arsia", "l1_fee",
     "fastlz_size l1_base_fee blob_base_fee base_fee_scalar blob_base_fee_scalar token_ratio", "wei", "mantle"),
    ("Mantle L1 fee before Arsia", "mantle", "before-arsia", "l1_fee",
     "l1_gas overhead l1_base_fee scalar token_ratio", "wei", "mantle"),
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


def spread(values: Iterable[str]) -> list[str]:
    """Some of the values that are short enough, from the first to the last."""
    short = [value for value in values if len(value) < LONGEST_REAL]
    return short[:: max(len(short) // REAL, 1)][:REAL]


def linea_transactions() -> list[dict[str, Any]]:
    """Signed transactions of Linea whose sizes by its production compressor are known."""
    with gzip.open(inputs() / "data" / "linea_mainnet_transactions.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if "linea_lzss_size" in row and len(row["raw"]) < LONGEST_REAL]
    return rows[:: max(len(rows) // REAL, 1)][:REAL]


def real(formula: str) -> list[Arguments]:
    """Real inputs of the formulas of sizes: transactions of OP Mainnet and Linea."""
    if formula in ("FastLZ", "zstd"):
        found = [*spread(transactions()), *(row["raw"].removeprefix("0x") for row in linea_transactions())]
    elif formula == "LZSS":
        found = spread(lines_of("linea_blob_24288348_24288678.jsonl.gz", "sender_and_unsigned_transaction"))
    else:
        found = []
    return [(one,) for one in found]


def asked() -> Iterator[dict[str, Any]]:
    """Rows of every rule with the answers of the nodes' code: half of usual size, half extreme; then real ones."""
    for rule in rules():
        formula, rng = FORMULAS[rule.formula], random.Random(f"vectors {rule.chain} {rule.upgrade} {rule.rule}")
        drawn = (formula.draw(Draw(rng, usual=place % 2 == 0)) for place in count())
        size = ROWS if rule.upgrade else 3 * ROWS
        short = list(islice((row for row in drawn if len(text(row)) < LONGEST), size))
        short += real(rule.formula)
        options = [str(dictionary())] if formula.program == "consensys" else []
        for arguments, answer in zip(short, answers(formula.program, map(formula.line, short), options), strict=True):
            words = answer.replace("[", " ").replace("]", " ").split()
            if all(NUMBER.fullmatch(word) for word in words):
                yield rule.row(arguments) | {"expected": words if len(words) > 1 else words[0], "source": rule.source}


def recorded() -> Iterator[dict[str, Any]]:
    """What chains recorded: sizes of Linea's transactions, blob base fees of Ethereum."""
    for row in linea_transactions():
        for rule, key in (("lzss_size_of_transaction", "linea_lzss_size"), ("packed_size", "linea_packed_size")):
            yield {"chain": "linea", "upgrade": "beta-v1", "rule": rule, "inputs": {"transaction": row["raw"]},
                   "expected": str(row[key]), "source": "Linea"}  # fmt: skip
    path = inputs() / "data" / "l1_fees_every10_24183321_24399311.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        blocks = list(csv.DictReader(lines))
    for block in blocks[:: len(blocks) // REAL][:REAL]:
        rules_then = fee_market.MAINNET.at(int(block["timestamp"]))
        yield {"chain": "ethereum", "upgrade": rules_then.name.lower(), "rule": "blob_base_fee",
               "inputs": {"timestamp": block["timestamp"], "excess_blob_gas": block["excess_blob_gas"]},
               "expected": block["blob_base_fee"], "source": "Ethereum"}  # fmt: skip


OURS = {
    ("linea", "lzss_size_of_transaction"): lambda row: str(_fee_size(row, packed=False)),
    ("linea", "packed_size"): lambda row: str(_fee_size(row, packed=True)),
    ("linea", "pricing_record"): lambda row: _record(row["inputs"]["extra_data"]),
    ("linea", "priority_fee"): lambda row: str(priority_fee(**read(row["inputs"]))),
}


def _fee_size(row: dict[str, Any], *, packed: bool) -> Any:
    return fee_size(row["inputs"]["transaction"], codec=Lzss(dictionary().read_bytes()), packed=packed)


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


FAMILIES = {"optimism": "op-stack", "zksync_era": "zksync-era", "zksync_os": "zksync-os"}
PUBLISHED = {(FAMILIES.get(chain, chain), model): value for (chain, model), value in rollups.MODELS.items()}


def run(rows: list[dict[str, Any]]) -> Iterator[Case]:
    """Every row of a file, compared with this package."""
    for row in rows:
        yield from guarded(row["id"], _case(row))


def _case(row: dict[str, Any]) -> Iterator[Case]:
    key = row["chain"], row["rule"]
    if row["upgrade"] == "published" and key not in OURS:
        ours = written(PUBLISHED[key](read(row["inputs"])))
    else:
        ours = answer(row)
    yield compare(row["id"], read(row["expected"]), read(ours))


def files() -> dict[Path, dict[str, Any]]:
    """The files of `data/vectors` as they should be, by path."""
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in (*asked(), *recorded()):
        rows = grouped[row["chain"], row["upgrade"]]
        rows.append({"id": f"{row['chain']}/{row['upgrade']}/{row['rule']}/{len(rows):03}", **row})
    units = {(one.chain, one.rule): one.expected for one in rules()}
    units |= {("linea", rule): "bytes" for rule in ("lzss_size_of_transaction", "packed_size")}
    found = {}
    for (chain, upgrade), rows in grouped.items():
        names = {name for row in rows for name in row["inputs"]}
        used = {row["source"] for row in rows}
        fields = ("kind", "reference", "licence")
        found[FOLDER / chain / f"{upgrade}.json"] = {
            "version": 1, "chain": chain, "upgrade": upgrade,
            "units": {name: UNITS[name] for name in sorted(names)},
            "expected": {row["rule"]: units[chain, row["rule"]] for row in rows},
            "sources": {name: dict(zip(fields, SOURCES[name], strict=True)) for name in sorted(used)},
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
