"""Reports of projects: what is read of Foundry's broadcasts, priced as `compare` prices it, and limits."""

import json

import pytest

from feemodel.cli import main
from feemodel.errors import UnreadableFile
from feemodel.io.reports import read_project
from tests.conftest import ROOT

REPORTS = ROOT / "tests" / "data" / "reports"
BROADCAST = str(REPORTS / "run-latest.json")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run-latest.json"


@pytest.fixture
def run():
    """The recorded broadcast, to be changed."""
    return json.loads((REPORTS / "run-latest.json").read_text())


def test_a_broadcast_has_its_transactions_with_the_gas_of_their_receipts():
    uses, said = read_project(BROADCAST)

    assert [(use.name, use.gas_used, use.transaction.gas_limit) for use in uses] == [
        ("deploy Counter", 496_371, 645_282), ("Counter.setNumber(uint256)", 43_718, 60_385),
        ("Counter.note(string)", 44_815, 61_899),
    ]  # fmt: skip
    assert said == []
    assert uses[1].transaction.data == bytes.fromhex("3fb5c1cb") + (7).to_bytes(32)  # setNumber(uint256)
    assert uses[1].transaction.max_fee == 0x34668EAA


def test_receipts_are_joined_by_nonce_and_not_by_the_hash_that_forge_wrote(run, path):
    """The recorded run was sent in parallel: forge wrote the hashes of the two calls in the wrong order."""
    path.write_text(json.dumps(run | {"transactions": run["transactions"][::-1], "receipts": run["receipts"][::-1]}))
    assert [use.gas_used for use in read_project(path).uses] == [44_815, 43_718, 496_371]

    path.write_text(json.dumps(run | {"receipts": run["receipts"][:2]}))  # the last transaction is still pending
    uses, said = read_project(path)
    assert [use.gas_used for use in uses] == [496_371, 43_718, 61_899]
    assert said == [f"assumed: {path}: gas limits in place of gas used; transactions without a receipt: 1"]


def test_a_creation_without_a_contract_is_a_warning(run, path):
    run["receipts"][0]["contractAddress"] = None
    path.write_text(json.dumps(run))

    assert read_project(path).said == [f"warning: {path}: deploy Counter: its receipt has no contract"]


def test_a_receipt_of_no_transaction_is_refused(run, path):
    run["receipts"][1]["to"] = "0x" + "11" * 20
    path.write_text(json.dumps(run))
    with pytest.raises(UnreadableFile, match="receipts: expected the receipts of the transactions"):
        read_project(path)


def test_the_folder_of_a_project_has_its_latest_broadcasts_without_dry_runs(tmp_path):
    for part in ("Deploy.s.sol/31337", "Deploy.s.sol/1/dry-run"):
        (tmp_path / "broadcast" / part).mkdir(parents=True)
        (tmp_path / "broadcast" / part / "run-latest.json").write_bytes((REPORTS / "run-latest.json").read_bytes())

    assert [use.source for use in read_project(tmp_path).uses] == [
        str(tmp_path / "broadcast/Deploy.s.sol/31337/run-latest.json")
    ] * 3
    with pytest.raises(UnreadableFile, match="found none"):
        read_project(tmp_path / "broadcast" / "Deploy.s.sol" / "1" / "dry-run")


def test_a_broadcast_of_several_chains_has_the_transactions_of_each(run, path):
    path.write_text(json.dumps({"deployments": [run, run | {"receipts": []}]}))
    uses, said = read_project(path)

    assert [use.gas_used for use in uses] == [496_371, 43_718, 44_815, 645_282, 60_385, 61_899]
    assert said == [f"assumed: {path}: gas limits in place of gas used; transactions without a receipt: 3"]


@pytest.mark.parametrize(("limit", "code"), [("509000000000", 1), ("600000000000", 0)])
def test_a_fee_above_the_limit_is_the_exit_code_1(limit, code, capsys):
    fees = ("--l1-base-fee", "69335406", "--blob-base-fee", "4002699", "--only", "op-mainnet")
    assert main(["report", BROADCAST, *fees, "--max-wei", limit]) == code
    assert ("Above the limit: 1 of 3 fees." in capsys.readouterr().out) is bool(code)


def test_l1_fees_are_the_median_of_a_day_or_of_the_month(capsys):
    found = []
    for arguments in ((), ("--at", "2026-02-01")):
        assert main(["report", BROADCAST, "--only", "op-mainnet", "--json", *arguments]) == 0
        found.append(json.loads(capsys.readouterr().out)["l1BaseFeeWei"])
    assert found == [69_335_406, 153_278_231]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda run: run["transactions"][1].pop("transaction"), "transactions[1].transaction: expected an object"),
        (lambda run: run["transactions"][1]["transaction"].update(gas="0xzz"), "gas"),
        (lambda run: run["transactions"][1]["transaction"].pop("gas"), "expected the gas limit"),
        (lambda run: run["receipts"][1].update(gasUsed=None), "gasUsed"),
        (lambda run: run.update(transactions=7), "transactions: expected a list"),
        (lambda run: run.update(receipts=[3]), "receipts[0]: expected an object"),
    ],
)
def test_a_broadcast_that_is_wrong_is_refused_with_the_place(change, said, run, path):
    change(run)
    path.write_text(json.dumps(run))
    with pytest.raises(UnreadableFile) as error:
        read_project(path)

    assert str(path) in str(error.value)
    assert said in str(error.value)


@pytest.mark.parametrize(
    "text", ["", "{", "7", '{"a": 1}', '[{"contract": 3}]', '[{"contract": "a:B", "deployment": 1}]']
)
def test_a_file_of_another_kind_is_refused(text, tmp_path):
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match=str(path)):
        read_project(path)


def test_a_transaction_of_type_3_is_left_out(run, path):
    run["transactions"][2]["transaction"] |= {"maxFeePerBlobGas": "0x1", "blobVersionedHashes": ["0x01" + "00" * 31]}
    path.write_text(json.dumps(run))
    uses, said = read_project(path)

    assert len(uses) == 2
    assert said == [f"left out: {path}, transactions[2], a transaction of type 3, for which no fee is published"]
