"""The command line: answers for people and programs, and a named error with its exit code for everything else."""

import gzip
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest

from feemodel import _extras as extras
from feemodel._extras import install_command
from feemodel.cli import VERBS, main
from feemodel.cli.verb import verb
from feemodel.ethereum._quantities import to_hex
from feemodel.execution import engine_named, estimate_gas
from feemodel.rollups.chains import CHAINS
from feemodel.sizes._codecs import CODECS
from tests.conftest import ROOT
from tests.helpers import node_server
from tests.helpers.development import ALDER, GENESIS, HOLDERS, UNIT, development_state, encoded
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE
from tests.server.parts import opened

# Linea mainnet block 41,640, transaction 0: a transfer that offers 5 gwei
RAW = (
    "0x02f87782e7088255f885012a05f200852e90edd000825208945e971b1e3d22764789442cde789efd2fe8cb8498872386f26fc1006880c0"
    "01a0e634f8712b93499615e1ef9fa3c1ba88ded15a68fcaecc5d37098bb7afce0fe7a002533afbcaaa9b382697dcee1e99bfdc38ba4cbc61"
    "81ad750889431141541c7a"
)
CALL = {"to": "0x" + "11" * 20, "value": "0x1"}
REPORT = ROOT / "tests" / "data" / "reports" / "run-latest.json"


def answer(capsys, *arguments, code=0):
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def complaint(capsys, *arguments):
    code = main(list(arguments))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return code, captured.err.strip().removeprefix("feemodel: ")


def test_the_guide_has_a_row_for_every_verb():
    rows = [line for line in (ROOT / "docs/how-to/shell.md").read_text().splitlines() if line.startswith("|")]
    named = {name.split()[0] for line in rows for name in re.findall(r"`(?:feemodel )?([a-z][^`]*)`", line)}

    assert set() == set(VERBS) - named, "each verb needs a row in docs/how-to/shell.md"


def test_fee_takes_its_costs_from_a_record_or_one_by_one(capsys):
    record = "0x01" + "00004e20" + "000003e8" + "00000000" + "00" * 19

    found = answer(capsys, "fee", "--size", "128", "--gas", "21000", "--record", record, "--margin", "1")
    assert found["feePerGas"] == {"base": 7, "fixed": 20_000_000, "size": 6_095, "margin": 0, "floor": 0}
    costs = ["--fixed-cost", "0", "--variable-cost", "21000", "--margin", "1", "--base-fee", "9"]
    assert answer(capsys, "fee", "--size", "128", "--gas", "21000", *costs)["totalWei"] == (128 + 9) * 21_000


def test_explain_a_signed_transaction(capsys):
    found = answer(capsys, "explain", RAW)

    assert (found["subject"], found["measuredBytes"], found["offeredPricePerGas"]) == ("transaction", 74, 5_000_000_007)
    assert sum(found["feeWei"].values()) == found["totalWei"]
    assert [stage["outcome"] for stage in found["stages"]] == ["accepted"] * 3


def test_explain_a_call_from_a_file_and_from_standard_input(tmp_path, capsys, monkeypatch):
    path = tmp_path / "call.json"
    path.write_text(json.dumps(CALL))
    from_file = answer(capsys, "explain", str(path))
    with path.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        from_stdin = answer(capsys, "explain", "-")

    assert from_file == from_stdin == answer(capsys, "explain", json.dumps(CALL))
    assert from_file["offeredPricePerGas"] is None


TRANSFER = {
    "from": to_hex(HOLDERS[0]), "to": to_hex(ALDER),
    "data": to_hex(encoded("transfer(address,uint256)", bytes(19) + b"\x01", UNIT)),
}  # fmt: skip


def test_explain_executes_a_call_as_the_server_does(capsys):
    """An ERC-20 transfer on the development chain, by default and as a genesis: gas, size and fee of an estimate."""
    with opened() as client:
        estimate = client.result("rollup_estimateGas", TRANSFER)
    found = answer(capsys, "explain", json.dumps(TRANSFER))
    assert found == answer(capsys, "explain", json.dumps(TRANSFER), "--genesis", str(GENESIS))
    assert found["gas"]["used"] == estimate_gas(TRANSFER, development_state()).gas_used
    assert hex(found["gas"]["estimated"]) == hex(found["gas"]["limit"]) == estimate["gasLimit"]
    assert (hex(found["priorityFeePerGas"]), len(found["stages"])) == (estimate["priorityFeePerGas"], 4)
    named, given = json.dumps(TRANSFER | {"gas": hex(90_000)}), ["--gas", "90000"]
    for words in ([named], [json.dumps(TRANSFER), *given]):
        assert answer(capsys, "explain", *words)["gas"] == {"estimated": 90_000, "limit": 90_000}
    reverting = json.dumps({"to": to_hex(ALDER), "data": "0x12"})
    assert complaint(capsys, "explain", reverting) == (2, "execution reverted")
    assert main(["explain", json.dumps(CALL | {"data": "0x12"} | {"from": to_hex(HOLDERS[0])})]) == 0
    assert f"There is no code at {CALL['to']}." in " ".join(capsys.readouterr().out.split())


@pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)
def test_explain_says_whether_every_inner_call_stays_intact(tmp_path, capsys):
    """On calls of each kind; geth's limit breaks the inner call of the first."""
    with gzip.open(ROOT / "data" / "estimates" / "own_contracts.jsonl.gz", "rt") as lines:
        cases = [case for case in map(json.loads, lines) if case["outcomes"]["geth"]["changedFrame"] is not None]
    for kind in ("proven", "searched", "not possible"):
        case = next(case for case in cases if case["intact"] == kind)
        block, place = case["block"], case["preventedBy"]
        header = {"timestamp": block["time"], "coinbase": block["feeRecipient"], "mixHash": block["prevRandao"]}
        config = {"chainId": 1, "londonBlock": 0, "osakaTime": 0}
        genesis = tmp_path / f"{kind}.json"
        genesis.write_text(json.dumps({**block, **header, "config": config, "alloc": case["pre"]}))
        words = ["explain", json.dumps(case["call"]), "--genesis", str(genesis), "--intact"]
        found = answer(capsys, *words)

        least, broken = (int(case["limits"][search], 16) for search in ("intact", "geth"))  # with tolerance 0
        assert least <= found["gas"]["estimated"] <= least / (1 - 0.015)
        assert kind != "proven" or broken < least == found["gas"]["estimated"]
        assert (found["intact"], found["preventedBy"]) == (kind, place)
        assert main(words) == 0
        because = f", because of {place['opcode']} in frame {place['frame']}, {place['address']}" if place else ""
        assert f"Every inner call intact: {kind}{because}." in " ".join(capsys.readouterr().out.split())


def test_intact_needs_the_native_engine(capsys, monkeypatch):
    monkeypatch.setattr("feemodel.execution._estimate.engine_of", lambda _: engine_named("reference"))
    said = "search: intact needs the native engine, see docs/install.md, got 'intact'"
    assert complaint(capsys, "explain", json.dumps(TRANSFER), "--intact") == (2, said)


@pytest.fixture
def transactions(tmp_path):
    path = tmp_path / "transactions.jsonl.gz"
    with gzip.open(path, "wt") as lines:
        lines.write(json.dumps({"raw": RAW}) + "\n" + RAW + "\n")
    return str(path)


def test_sizes_of_a_file(transactions, tmp_path, capsys):
    out = tmp_path / "sizes.csv"
    found = answer(capsys, "sizes", transactions, "--all", "--out", str(out))

    totals = {row["codec"]: row["total"] for row in found["codecs"]}
    assert totals["length"] == 2 * 74
    assert set(totals) == {"length", *CODECS}
    assert out.read_text().splitlines()[1] == f"0,74,{','.join(str(totals[c] // 2) for c in list(totals)[1:])}"
    assert answer(capsys, "sizes", transactions, "--packed")["codecs"][1]["total"] == 2 * 96


def test_a_dictionary_that_is_not_published_is_told(transactions, tmp_path, capsys):
    dictionary = tmp_path / "own.bin"
    dictionary.write_bytes(b"\x00" * 64)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["sizes", transactions, "--codec", "lzss", "--dictionary", str(dictionary)]) == 0

    assert capsys.readouterr().err.startswith(f"feemodel: warning: {dictionary}: 64 bytes with SHA-256 f5a5fd42")


def test_train_a_dictionary_and_use_it(shared, tmp_path, capsys):
    file, dictionary = str(shared / "data" / "linea_mainnet_transactions.jsonl.gz"), tmp_path / "trained.bin"
    found = answer(capsys, "train", file, "--out", str(dictionary), "--size", "8192")
    without, sizes = (answer(capsys, "sizes", file, *more) for more in ([], ["--dictionary", str(dictionary)]))

    assert found["bytes"] == dictionary.stat().st_size == 8192
    assert found["zstdBytesWithDictionary"] < 0.9 * found["zstdBytes"]
    assert sizes["codecs"][1]["total"] < 0.9 * without["codecs"][1]["total"]


def test_the_demo_prices_real_transactions_and_draws_a_figure(tmp_path, capsys):
    figure = tmp_path / "recovery.png"
    found = answer(capsys, "demo", "--figure", str(figure))
    posting, verification = found["results"]

    assert figure.stat().st_size > 10_000
    assert (posting["pricing"], verification["pricing"]) == ("cost-per-byte", "verification-cost")
    assert all(row["recovery"] == row["feesWei"] / row["costWei"] > 1 for row in found["results"])


def test_compare_one_transaction_under_every_rule(tmp_path, capsys):
    figure = tmp_path / "rules.png"
    fees = ["--l1-base-fee", "1_000_000_000", "--blob-base-fee", "1"]
    found = answer(capsys, "compare", RAW, *fees, "--figure", str(figure))

    rows = {row["rule"]: row for row in found["rules"]}
    assert (found["gas"], found["signedBytes"], rows["linea"]["ratio"]) == (21_000, 122, 1.0)
    # 100 bytes, the floor of Fjord's regression: 1e8 · (16 · 5,227 · 1e9 + 1,014,213) // 1e12, and the operator fee 0
    assert rows["op-mainnet/karst"]["l1_fee"] == 8_363_200_101
    assert all(row["total"] == row["l1_fee"] + row["l2_fee"] for row in rows.values())
    assert figure.stat().st_size > 10_000


def test_compare_takes_the_first_rule_as_reference_where_linea_is_not_among_them(capsys):
    found = answer(capsys, "compare", RAW, "--only", "op-mainnet/jovian,taiko")["rules"]

    assert (found[0]["rule"], found[0]["ratio"]) == ("op-mainnet/jovian", 1.0)
    assert found[1]["ratio"] == pytest.approx(found[1]["total"] / found[0]["total"])


def test_max_send_says_what_is_held_back(capsys):
    fees = ["--base-fee", "1000000", "--l1-base-fee", "1000000000", "--blob-base-fee", "10000000"]
    found = answer(capsys, "max-send", "op-mainnet", '{"to": "0x%s"}' % ("11" * 20), "--balance", str(10**15), *fees)

    assert (found["maxValue"], found["held"]) == (999_968_410_338_780, 31_589_661_220)
    assert found["held"] == found["gasLimit"] * found["maxFeePerGas"] + found["l1Fee"]
    code = main(["max-send", "linea", "{}", "--balance", "5", "--base-fee", "7"])
    assert (code, "the balance does not cover the fees" in capsys.readouterr().out) == (0, True)


def test_compare_a_file_and_a_call(transactions, tmp_path, capsys):
    """`--out` has the fee of each transaction, whose sums are printed."""
    out = ["--only", "taiko,linea", "--overwrite", "--out", str(tmp_path / "fees.csv")]
    one, two = (answer(capsys, "compare", subject, *out) for subject in (RAW, transactions))
    each = pd.read_csv(tmp_path / "fees.csv").groupby("chain")[["l1_fee", "l2_fee"]].sum()
    assert each.loc["linea"].tolist() == [two["rules"][1][part] for part in ("l1_fee", "l2_fee")]
    call = answer(capsys, "compare", json.dumps(CALL), "--only", "linea,op-mainnet/regolith")

    assert two["rules"][0]["total"] == 2 * one["rules"][0]["total"]
    assert [row["rule"] for row in call["rules"]] == ["op-mainnet/regolith", "linea"]  # the cheapest is the first


def test_a_ledger_from_genesis_to_a_checked_proof(tmp_path, capsys, monkeypatch):
    store, proof, genesis = (str(tmp_path / name) for name in ("ledger.db", "proof.json", "genesis.json"))
    account, slot = "0x" + "11" * 20, "0x01"
    alloc = {account: {"balance": "0x5", "code": "0x6001", "storage": {slot: "0x07"}}}
    Path(genesis).write_text(json.dumps({"alloc": alloc}))
    started = answer(capsys, "follow", "--store", store, "--genesis", genesis)
    blocks = tmp_path / "blocks.jsonl"
    change = {"storage": {slot: ["0x7", "0x8"]}}
    blocks.write_text(json.dumps({"number": "0x1", "hash": "0x" + "01" * 32, "accounts": {account: change}}) + "\n")
    grown = answer(capsys, "follow", "--store", store, "--blocks", str(blocks))
    marked = answer(capsys, "finalize", "--store", store, "--block", "1")
    written = answer(capsys, "prove", "--store", store, "--address", account, "--slot", slot, "--out", proof)
    words, out = ["check-proof", proof, "--root", grown["stateRoot"], "--address", account], f"{proof}.csv"
    found = answer(capsys, *words, "--slot", slot, "--out", out)

    assert (started["head"], started["finalized"]) == (0, None)
    assert (grown["head"], grown["finalized"], marked["finalized"]) == (1, None, 1)
    assert (written["block"], written["stateRoot"]) == (1, grown["stateRoot"])
    assert (found["account"]["balance"], list(found["storage"].values())) == (5, ["0x8"])
    assert pd.read_csv(out)[["address", "balance", "value"]].values.tolist() == [[account, 5, "0x8"]]
    monkeypatch.setenv("COLUMNS", "80")
    for words in (["check-proof", proof, "--root", grown["stateRoot"]], ["ledger", "info", "--store", store]):
        assert main(words) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 80, words
    for number in ("1", "0x1"):
        assert answer(capsys, "prove", "--store", store, "--address", account, "--slot", slot, "--block", number) == (
            json.loads(Path(proof).read_bytes())
        )
    assert complaint(capsys, "check-proof", proof, "--root", started["stateRoot"])[0] == 1
    assert complaint(capsys, "prove", "--store", store, "--address", account, "--block", "0x2")[1].startswith(
        "block 0x2"
    )
    assert answer(capsys, "follow", "--store", store, "--blocks", str(blocks))["head"] == 1, "what is there is skipped"


def test_blocks_are_final_by_the_rule_that_is_asked_for_and_looking_writes_nothing(tmp_path, capsys):
    store, genesis = str(tmp_path / "ledger.db"), tmp_path / "genesis.json"
    genesis.write_text(json.dumps({"config": {"chainId": 59144}, "alloc": {"0x" + "11" * 20: {"balance": "0x5"}}}))
    blocks = [tmp_path / name for name in ("one", "two")]
    for number, path in enumerate(blocks, 1):
        path.write_text(json.dumps({"number": hex(number), "accounts": {}}) + "\n")
    answer(capsys, "follow", "--store", store, "--genesis", str(genesis))
    assert answer(capsys, "follow", "--store", store, "--blocks", str(blocks[0]))["finalized"] is None
    assert answer(capsys, "follow", "--store", store, "--blocks", str(blocks[1]), "--final")["finalized"] == 2
    assert complaint(capsys, "follow", "--store", store, "--final")[1].startswith("--final: expected only with")
    held = Path(store).read_bytes()
    for words in (["follow"], ["ledger", "verify"]):
        answer(capsys, *words, "--store", store)
    shown = answer(capsys, "ledger", "info", "--store", store)
    assert held == Path(store).read_bytes()
    assert [shown[name] for name in ("chainId", "head", "finalized", "accounts")] == [59144, 2, 2, 1]
    Path(store).write_bytes(held[: len(held) // 2])
    for words in (["ledger", "info"], ["ledger", "verify"], ["follow"]):
        assert complaint(capsys, *words, "--store", store)[0] == 3


def test_a_ledger_begins_with_a_genesis(tmp_path, capsys):
    for words in ([], ["--blocks", "blocks.jsonl"]):
        assert complaint(capsys, "follow", "--store", str(tmp_path / "ledger.db"), *words)[0] == 3
    assert list(tmp_path.iterdir()) == []


def test_fetch_writes_a_file_with_the_tips_at_a_percentile(tmp_path, capsys):
    out = tmp_path / "blocks.parquet"
    with node_server.running() as server:
        arguments = ["--node", server.url, "--blocks", "100:103", "--out", str(out), "--tip-percentile", "15"]
        found = answer(capsys, "fetch", *arguments)

    assert found == {"firstBlock": 100, "lastBlock": 102, "blocks": 3, "tipPercentile": 15.0}
    table = pd.read_parquet(out)
    assert table["base_fee_per_gas"].to_list() == [107, 108, 109]
    assert table["tip"].to_list() == [100_000, 101_000, 0]


def test_a_package_of_an_extra_that_is_not_installed_is_named(capsys, monkeypatch):
    for name in ("uvicorn", "msgspec"):  # as with the extra `execution` alone
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "feemodel.cli.serve", raising=False)
    said = f"serve needs the package uvicorn: {install_command('uvicorn')}"

    assert complaint(capsys, "serve", "--port", "0") == (2, said)


@pytest.mark.parametrize(
    ("package", "installed"),
    [
        ("prometheus_client", "'feemodel[serve,execution]'"), ("distributed", "'feemodel[dask]'"),
        ("nbclient", "'feemodel[notebooks]'"), ("ethereum.state", "'feemodel[execution]'"),
        ("feemodel_native", shlex.quote(f"{ROOT}/native")), ("pandas", "'feemodel[simulation]'"),
        ("matplotlib", "'feemodel[plots]'"), ("cryo", "cryo"),
    ],
)  # fmt: skip
def test_every_package_has_a_command_that_installs_it(package, installed, capsys, monkeypatch, tmp_path):
    def lacking():
        raise ModuleNotFoundError(name=package)

    monkeypatch.setattr(importlib.import_module("feemodel.cli.fee"), "command", verb()(lacking))
    monkeypatch.setattr(extras, "NO_EXECUTION", (4,))  # also on a later version of Python

    assert complaint(capsys, "fee") == (2, f"fee needs the package {package}: pip install {installed}")
    if package == "feemodel_native":
        monkeypatch.setattr(extras, "__file__", str(tmp_path / "feemodel" / "extras.py"))
        assert install_command(package) == "pip install 'feemodel[native]'"


def test_no_command_installs_the_reference_engine_where_it_has_no_wheels(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 13, 1, "final", 0))
    assert install_command("uvicorn") == "pip install 'feemodel[serve]'"
    assert install_command("ethereum") == "python3.12 -m pip install 'feemodel[execution]'"


def test_a_call_without_an_engine_names_the_command():
    """In a process of its own: modules that are imported already would be found."""
    script = """
import sys
sys.modules["ethereum"] = sys.modules["feemodel_native"] = None
from feemodel.errors import InvalidInput
from feemodel.execution import engine_named
for engine in ("auto", "native", "reference"):
    try:
        engine_named(engine)
    except InvalidInput as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    said = done.stdout.splitlines()

    assert len(said) == 3
    assert all(line.startswith("engine: expected an installed engine: ") and "pip install " in line for line in said)


def test_a_node_that_is_not_there_has_an_exit_code_of_its_own(tmp_path, capsys):
    out = tmp_path / "blocks.parquet"
    arguments = ["--node", "http://127.0.0.1:1", "--blocks", "1:2", "--out", str(out)]
    code, text = complaint(capsys, "fetch", *arguments)

    assert code == 4
    assert "127.0.0.1:1" in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["fee", "--size", "128", "--gas", "21000"], ["chains", "--json"], ["--version"]])
def test_a_full_disk_has_the_exit_code_of_a_file_that_cannot_be_written(words):
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([sys.executable, "-m", "feemodel", *words], stdout=full, stderr=-1, env=buffered)

    assert (done.returncode, done.stderr) == (3, b"feemodel: no space left on device\n")


def test_a_call_is_priced_at_the_gas_that_it_used_and_not_at_its_limit(capsys):
    """The encoded gas limit stays that of the call, whatever gas is given."""
    call = {**CALL, "gas": hex(46_000)}
    used = answer(capsys, "compare", json.dumps({**call, "gasUsed": hex(33_500)}), "--only", "op-mainnet")
    given = answer(capsys, "compare", json.dumps(call), "--only", "op-mainnet", "--gas", "33500")
    limit = answer(capsys, "compare", json.dumps(call), "--only", "op-mainnet")

    assert (used["gas"], given["gas"], limit["gas"]) == (33_500, 33_500, 46_000)
    assert used["rules"] == given["rules"]
    assert used["rules"][0]["l1_fee"] == limit["rules"][0]["l1_fee"]
    assert used["signedBytes"] == limit["signedBytes"]


@pytest.mark.parametrize("words", [["report", str(REPORT), "--only", "linea"], ["demo"]])
def test_a_result_names_the_date_of_its_l1_fees(words, capsys):
    assert main(words) == 0
    assert "2026-01-07 to 2026-02-06" in " ".join(capsys.readouterr().out.split())


def test_tables_fit_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    file = str(ROOT / "tests" / "data" / "tables" / "raw-lines")
    verbs = [["compare", json.dumps(CALL)], ["compare", file], ["demo"], ["chains"],
             ["report", str(REPORT), "--only", "op-mainnet,linea"]]  # fmt: skip
    for words in [*verbs, *(["chains", name] for name in CHAINS)]:
        assert main(words) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 80, words
