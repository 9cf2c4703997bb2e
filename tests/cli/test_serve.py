"""`feemodel serve` before it serves: a description, an exit code, or one line that says what is wrong."""

import json

import msgspec
import pytest

from feemodel.cli import main
from feemodel.server.settings import Settings
from tests.server.test_settings import SECRETS, bare, written

WARNING = "feemodel: warning: calls run on the reference engine, at most 1,000,000 gas each\n"
pytestmark = pytest.mark.usefixtures(bare.__name__)


def checked(capsys, *flags):
    """Exit code, standard output and standard error of `serve --check`, without the warning of the reference engine."""
    code = main(["serve", "--check", *flags])
    said = capsys.readouterr()
    return code, said.out, said.err.replace(WARNING, "")


def test_a_server_that_would_answer_is_described_and_is_0(capsys):
    code, said, errors = checked(capsys, "--json", "--port", "0")
    found = json.loads(said)
    assert (code, errors) == (0, "")
    assert found["settings"] == json.loads(msgspec.json.encode(Settings(port=0)))
    assert {"rollup_estimateGas", "rollup_getProof", "feemodel_explain"} <= set(found["methods"])

    code, said, errors = checked(capsys)
    assert (code, errors) == (0, "")
    said = " ".join(said.split())  # lines are broken at the width of the terminal
    assert "gas_cap 50000000 " in said
    assert f"{len(found['methods'])} methods: eth_accounts, eth_blockNumber, " in said


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["--port", "x"], 2, "--port: expected `int`, got 'x'"),
        (["--genesis", "missing.json"], 3, "--genesis missing.json: no such file"),
        (["--store", "missing.db"], 3, "--store missing.db: no such ledger"),
        (["--config", "missing.toml"], 3, "--config missing.toml: no such file"),
        (["--dictionary", "missing.bin"], 3, "--dictionary missing.bin: no such file"),
        (["--codec", "lzss"], 2,
         "--codec: lzss needs a dictionary file (see docs/explanation/sizes.md), got 'lzss'"),
        (["--min-gas-price", "8"], 2, "--min-gas-price: expected only with another form than cost-per-byte, got 8"),
        (["--pricing", "verification-cost", "--min-gas-price", "6"], 2,
         "--min-gas-price: expected at least the base fee, got 6"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_one_line_and_an_exit_code(capsys, tmp_path, monkeypatch, flags, code, message):
    monkeypatch.chdir(tmp_path)
    assert checked(capsys, *flags) == (code, "", f"feemodel: {message}\n")


def test_no_password_is_shown(capsys, monkeypatch, tmp_path):
    """From whichever source; of an address no more than where it is."""
    path = written(tmp_path, 'costs = "l1"\n')
    monkeypatch.setenv("FEEMODEL_NODE", "http://us3r:pa55@127.0.0.1:1/s3cret?of=s3cret")
    flags = ["--config", str(path), "--l1-node", "http://us3r:pa55@127.0.0.1:2/s3cret", "--node-timeout", "1"]
    for form in (["--json"], []):
        code, said, errors = checked(capsys, *form, *flags)
        assert code == 0
        assert not any(secret in said + errors for secret in SECRETS)
        assert all(shown in said for shown in ("http://127.0.0.1:1", "http://127.0.0.1:2"))


def test_the_environment_may_name_the_file(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("FEEMODEL_CONFIG", str(written(tmp_path, "workers = 7\nport = 1\n")))
    monkeypatch.setenv("FEEMODEL_PORT", "2")
    code, said, _ = checked(capsys, "--json", "--packed", "--queue", "9")
    found = json.loads(said)["settings"]
    assert (code, found["workers"], found["port"], found["queue"], found["packed"]) == (0, 7, 2, 9, True)
    code, said, _ = checked(capsys, "--json", "--no-packed", "--config", str(written(tmp_path, "")))
    found = json.loads(said)["settings"]
    assert (code, found["workers"], found["packed"]) == (0, 1, False)


def test_settings_are_checked_without_the_node(capsys):
    """A node that is down is no fault of the settings: `ExecStartPre` must let the server start and wait for it."""
    assert checked(capsys, "--node", "http://127.0.0.1:1", "--node-timeout", "1")[0] == 0
    assert checked(capsys, "--host", "0.0.0.0")[0] == 2


def test_an_empty_name_of_the_file_is_refused(capsys, monkeypatch):
    said = "--config: expected a value, got '' (feemodel serve --help)"
    assert checked(capsys, "--config", "") == (2, "", f"feemodel: {said}\n")
    monkeypatch.setenv("FEEMODEL_CONFIG", "")
    assert checked(capsys) == (2, "", "feemodel: FEEMODEL_CONFIG: expected a file, got ''\n")


def test_a_setting_of_the_environment_is_not_named_as_an_option(capsys, monkeypatch):
    monkeypatch.setenv("FEEMODEL_GENESIS", "missing.json")
    assert checked(capsys) == (3, "", "feemodel: missing.json: no such file\n")
    said = "node: expected either this or genesis, got 'http://127.0.0.1:1'"
    monkeypatch.setenv("FEEMODEL_NODE", "http://127.0.0.1:1")
    assert checked(capsys, "--genesis", "g") == (2, "", f"feemodel: {said}\n")
