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
from itertools import count, islice, starmap
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

CODE, CHAIN = "node code, called by tests/nodes/sources", "chain facts"  # kinds of sources


def heads() -> dict[Path, dict[str, Any]]:
    """What each file says before its rows: units of inputs and results, and sources; written by hand."""
    paths = [path for path in sorted(FOLDER.glob("*/*.json")) if path.stem != "published"]
    return {path: json.loads(path.read_bytes()) | {"vectors": []} for path in paths}


#: Kind, repository and version, licence.
SOURCES = {
    name: (one["kind"], one["reference"], one["licence"])
    for head in heads().values()
    for name, one in head["sources"].items()
}


@dataclass(frozen=True)
class Rule:
    """A rule of one chain: the differential test's formula that computes it, and the names of its arguments."""

    formula: str
    chain: str
    upgrade: str  #: "" if each row has its own
    rule: str
    names: str  #: a last name with * takes all other arguments; one with 0x is bytes; empty: the argument is an object
    source: str
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


L1 = "l1_base_fee blob_base_fee base_fee_scalar blob_base_fee_scalar"
#: Formula, rule, names of the inputs: of every upgrade of the OP Stack, and of every schedule of blobs.
OP_STACK = [
    ("OP Stack L1 fee", "l1_fee", f"zero_bytes nonzero_bytes fastlz_size {L1} overhead scalar"),
    ("OP Stack L1 fee of a transaction", "l1_fee_of_transaction", f"0xtransaction {L1} overhead scalar"),
    ("OP Stack operator fee", "operator_fee", "gas scalar constant"),
    ("OP Stack base fee", "next_base_fee",
     "base_fee gas_used gas_limit elasticity denominator footprint min_base_fee"),
]  # fmt: skip
BLOBS = [
    ("blob base fee", "blob_base_fee", "timestamp excess_blob_gas"),
    ("excess blob gas", "next_excess_blob_gas", "timestamp excess_blob_gas blob_gas_used base_fee"),
]
#: Formula, chain, upgrade, rule, names of the inputs, source.
BY_ONE_FORMULA = [
    ("FastLZ", "op-stack", "fjord", "fastlz_size", "0xpayload", "op-geth"),
    ("OP Stack L1 gas", "op-stack", "fjord", "l1_gas", "fastlz_size", "op-geth"),
    ("OP Stack estimated size", "op-stack", "fjord", "estimated_size", "0xtransaction", "op-geth"),
    ("OP Stack data footprint", "op-stack", "jovian", "data_footprint", "gas_scalar *0xtransactions", "op-geth"),
    ("base fee", "ethereum", "london", "next_base_fee", "base_fee gas_used gas_limit", "go-ethereum"),
    ("intrinsic gas", "ethereum", "", "intrinsic_gas", "creates 0xdata addresses slots authorizations", "go-ethereum",
     True),
    ("calldata floor gas", "ethereum", "", "calldata_floor_gas", "0xdata", "go-ethereum", True),
]  # fmt: skip


def rules() -> Iterator[Rule]:
    """Every rule whose answers the nodes' code gives; those of a formula with real inputs are asked about them too."""
    for upgrade in (one.name for one in optimism.UPGRADES):
        for formula, rule, names in OP_STACK:
            yield Rule(f"{formula}, {upgrade}", "op-stack", upgrade, rule, names, "op-geth", leading=True)
    yield from starmap(Rule, BY_ONE_FORMULA)
    for row in fee_market.MAINNET.rows:
        for formula, rule, names in BLOBS:
            upgrade = row.name.lower().replace(" ", "-")
            yield Rule(f"{formula}, {row.name}", "ethereum", upgrade, rule, names, "go-ethereum")
    yield from starmap(Rule, OTHERS)


#: As above, of other chains.
OTHERS = [
    ("LZSS", "linea", "beta-v1", "lzss_size", "0xpayload", "compress"),
    ("zstd", "sizes", "zstd-1.5", "zstd_size", "0xpayload", "libzstd"),
    ("Mantle L1 fee since Arsia", "mantle", "arsia", "l1_fee",
     "fastlz_size l1_base_fee blob_base_fee base_fee_scalar blob_base_fee_scalar token_ratio", "mantle"),
    ("Mantle L1 fee before Arsia", "mantle", "before-arsia", "l1_fee",
     "l1_gas overhead l1_base_fee scalar token_ratio", "mantle"),
    ("Arbitrum legacy L2 base fee", "arbitrum", "before-arbos-50", "l2_base_fee",
     "backlog min_base_fee speed_limit inertia tolerance", "nitro"),
    ("Arbitrum gas constraints", "arbitrum", "arbos-50", "l2_base_fee",
     "", "nitro"),
    ("Arbitrum poster gas", "arbitrum", "nitro", "poster_gas",
     "size price_per_unit gas_price", "nitro"),
    ("Arbitrum estimated poster gas", "arbitrum", "nitro", "estimated_poster_gas",
     "size price_per_unit base_fee min_base_fee", "nitro"),
    ("Scroll before Curie", "scroll", "bernoulli", "l1_fee",
     "zero_bytes nonzero_bytes l1_base_fee overhead scalar", "scroll"),
    ("Scroll Curie", "scroll", "curie", "l1_fee",
     "size l1_base_fee blob_base_fee commit_scalar blob_scalar", "scroll"),
    ("Scroll Feynman", "scroll", "feynman", "l1_fee",
     "length plain_size compressed_size l1_base_fee blob_base_fee exec_scalar blob_scalar penalty_threshold "
     "penalty_factor", "scroll"),
    ("Scroll Galileo", "scroll", "galileo", "l1_fee",
     "size l1_base_fee blob_base_fee exec_scalar blob_scalar penalty_factor", "scroll"),
    ("Scroll L2 base fee, Curie", "scroll", "curie", "l2_base_fee",
     "l1_base_fee scalar overhead", "scroll"),
    ("Scroll L2 base fee, Feynman", "scroll", "feynman", "l2_base_fee",
     "base_fee gas_used gas_limit overhead", "scroll"),
    ("Starknet L2 gas price", "starknet", "0.14", "next_l2_gas_price",
     "price gas_used gas_target min_price", "sequencer"),
    ("Taiko base fee", "taiko", "shasta", "next_base_fee",
     "base_fee gas_used gas_limit seconds min_base_fee", "alethia-reth"),
    ("ZKsync Era predicted blob fee", "zksync-era", "v2", "predicted_blob_base_fee",
     "blob_base_fee pending_blobs l1_blocks", "zksync-era"),
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
    return {path: head | {"vectors": grouped[head["chain"], head["upgrade"]]} for path, head in heads().items()}


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
