"""The settings: a file, then the environment, then flags; what is wrong is named as its source spells it."""

import json
import os
import re
import subprocess
import sys
import tomllib

import msgspec
import pytest

from feemodel.cli import main
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.linea.parameters import linea_preset
from feemodel.processors import cores
from feemodel.server.prices import configured_prices
from feemodel.server.settings import ENVIRONMENT_PREFIX, HIDDEN, SECTIONS, Settings, load_settings
from tests.conftest import ROOT

#: Of every setting: what a file has, what the environment and flags have, and what it comes to.
EXAMPLES = {
    "host": ('"::1"', "::1", "::1"),
    "port": ("9000", "9000", 9000),
    "workers": ("3", "3", 3),
    "prefix": ('"scroll"', "scroll", "scroll"),
    "allowed_hosts": ('["a.example", "b.example"]', "a.example, b.example", ("a.example", "b.example")),
    "cors_origins": ('["*"]', "*", ("*",)),
    "log": ('"requests"', "requests", "requests"),
    "genesis": ('"genesis.json"', "genesis.json", "genesis.json"),
    "replay": ('"replay.json.gz"', "replay.json.gz", "replay.json.gz"),
    "node": ('"http://127.0.0.1:1/key"', "http://127.0.0.1:1/key", "http://127.0.0.1:1/key"),
    "node_timeout": ("2.5", "2.5", 2.5),
    "node_requests": ("2", "2", 2),
    "node_queue": ("2", "2", 2),
    "node_bytes": ("1024", "1,024", 1_024),
    "store": ('"ledger.db"', "ledger.db", "ledger.db"),
    "pricing": ('"verification-cost"', "verification-cost", "verification-cost"),
    "costs": ('"record"', "record", "record"),
    "preset": ('"linea-mainnet-2025-02"', "linea-mainnet-2025-02", "linea-mainnet-2025-02"),
    "margin": ("1.5", "1.5", 1.5),
    "base_fee": ("8", "8", 8),
    "variable_cost": ("1_000_000_000", "1,000,000,000", 10**9),
    "fixed_cost": ("30000000", "30_000_000", 30_000_000),
    "min_gas_price": ("100", "0x64", 100),
    "verification_gas_cost": ("1", "1", 1),
    "verification_capacity": ("1", "1", 1),
    "gas_price_ratio": ("15", "15", 15.0),
    "l1_node": ('"https://user:pass@l1.example"', "https://user:pass@l1.example", "https://user:pass@l1.example"),
    "fallback_node": ('"http://127.0.0.1:2"', "http://127.0.0.1:2", "http://127.0.0.1:2"),
    "l1_history": ('"l1.csv"', "l1.csv", "l1.csv"),
    "l1_blocks": ("1024", "1024", 1_024),
    "l1_percentile": ("100", "100.0", 100.0),
    "l1_margin": ("1", "1", 1.0),
    "poll_seconds": ("0.05", "0.05", 0.05),
    "max_age": ("0", "0", 0.0),
    "codec": ('"brotli"', "brotli", "brotli"),
    "dictionary": ('"words.bin"', "words.bin", "words.bin"),
    "measured": ('"signed"', "signed", "signed"),
    "packed": ("true", "true", True),
    "engine": ('"reference"', "reference", "reference"),
    "tolerance": ("0", "0", 0.0),
    "gas_cap": ("21000", "21000", 21_000),
    "total_gas": ("21000", "21_000", 21_000),
    "seconds": ("0.5", "0.5", 0.5),
    "max_call_gas": ("21000", "21,000", 21_000),
    "processes": ("1", "1", 1),
    "queue": ("1", "1", 1),
    "body_limit": ("1", "1", 1),
    "batch_limit": ("1", "1", 1),
    "batch_seconds": ("0.5", "0.5", 0.5),
    "batch_bytes": ("1", "1", 1),
    "batch_gas": ("21000", "21_000", 21_000),
    "override_accounts": ("0", "0", 0),
    "override_slots": ("0", "0", 0),
    "key_limit": ("1", "1", 1),
    "connections": ("1", "1", 1),
    "requests": ("1", "1", 1),
    "idle_seconds": ("1", "1", 1),
    "body_seconds": ("0.01", "0.01", 0.01),
    "websockets": ("1", "1", 1),
    "write_seconds": ("0.01", "0.01", 0.01),
    "stop_seconds": ("1", "1", 1),
}
#: What a setting cannot be without.
BESIDE = {
    "l1_node": {"costs": "l1"}, "fallback_node": {"costs": "record"}, "min_gas_price": {"pricing": "verification-cost"},
    "verification_gas_cost": {"pricing": "verification-cost"},
    "verification_capacity": {"pricing": "verification-cost"}, "gas_price_ratio": {"pricing": "verification-cost"},
}  # fmt: skip
SECTION = {name: section for section, names in SECTIONS.items() for name in names}


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """No setting of the machine that the tests run on."""
    for name in os.environ:
        if name.startswith(ENVIRONMENT_PREFIX):
            monkeypatch.delenv(name)


def written(folder, text):
    path = folder / "feemodel.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_setting_is_tried_here():
    assert EXAMPLES.keys() == SECTION.keys() == set(Settings.__struct_fields__)


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_source_gives_a_setting_its_value(tmp_path, name):
    in_file, text, expected = EXAMPLES[name]
    beside = BESIDE.get(name, {})
    path = written(tmp_path, f"[{SECTION[name]}]\n{name} = {in_file}\n")
    variable = f"{ENVIRONMENT_PREFIX}{name.upper()}"
    for sources in (
        {"file": path, "flags": beside},
        {"environment": {variable: text}, "flags": beside},
        {"flags": {name: text, **beside}},
    ):
        found = load_settings(**sources)
        assert getattr(found, name) == expected
        assert type(getattr(found, name)) is type(expected)
        others = Settings(**{name: expected, **beside})
        assert found == others


def test_nothing_said_is_the_design():
    found = load_settings()
    assert found == Settings()
    assert (found.host, found.port, found.workers, found.allowed_hosts) == ("127.0.0.1", 8545, cores(), ())
    assert (found.cors_origins, found.costs) == ((), "configured")
    prices = configured_prices(found)
    assert (prices.form.fixed_cost, prices.form.variable_cost, prices.form.base_fee) == (30_000_000, 10**9, 7)
    assert prices.preset == linea_preset("linea-mainnet-2026-01")


def test_the_environment_goes_before_the_file_and_flags_before_both(tmp_path):
    path = written(tmp_path, "[server]\nport = 1\nworkers = 1\nprefix = 'file'\n[pricing]\nmargin = 1.1\n")
    found = load_settings(
        file=path,
        environment={"FEEMODEL_WORKERS": "2", "FEEMODEL_PREFIX": "environment", "FEEMODEL_MARGIN": "1.2"},
        flags={"prefix": "flag", "margin": None},
    )
    assert (found.port, found.workers, found.prefix, found.margin) == (1, 2, "flag", 1.2)


def test_only_variables_with_the_prefix_are_read_from_the_environment():
    environment = {"FEEMODEL_SHARED": "/inputs", "FEEMODEL_CONFIG": "x", "PORT": "2", "XFEEMODEL_PORT": "4"}
    assert load_settings(environment=environment) == Settings()


@pytest.mark.parametrize(
    ("variable", "suggestion"),
    [
        ("feemodel_base_fee", "; did you mean FEEMODEL_BASE_FEE?"),
        ("FEEMODEL_Base_Fee", "; did you mean FEEMODEL_BASE_FEE?"),
        ("FEEMODEL_BASEFEE", "; did you mean FEEMODEL_BASE_FEE?"),
        ("FEEMODEL_", ""),
        ("FEEMODEL_QQQQQQ", ""),
    ],
)
def test_a_variable_that_no_setting_has_is_refused_without_its_value(variable, suggestion):
    with pytest.raises(InvalidInput) as refused:
        load_settings(environment={variable: "s3cret"})
    assert f"{variable}: no setting has this name{suggestion}, got '{HIDDEN}'" == str(refused.value)


@pytest.mark.parametrize(
    ("name", "in_file", "text", "message"),
    [
        ("port", "65536", "65536", "expected at most 65,535, got 65536"),
        ("port", "-1", "-1", "expected an integer of at least 0, got -1"),
        ("port", "1.5", None, "expected `int`"),
        ("port", "true", None, "expected `int`, got True"),
        ("port", '"http"', "http", "expected a whole number, got 'http'"),
        ("workers", "0", "0", "expected an integer of at least 1, got 0"),
        ("workers", "[1]", None, "expected `int`"),
        ("log", '"all"', "all", "invalid enum value 'all', got 'all'"),
        ("engine", "1", "1", ""),
        ("preset", '"linea"', "linea", "expected one of linea-mainnet-2026-01, "),
        ("margin", "-0.1", "-0.1", "expected `float` >= 0.0, got"),
        ("margin", "nan", "nan", "expected `float` >= 0.0, got"),
        ("margin", "inf", "inf", "expected `float` <= 1.7976931348623157e+308, got"),
        ("margin", '"high"', "high", "expected `float"),
        ("tolerance", "1.0", "1.0", "expected `float` < 1.0, got"),
        ("l1_percentile", "100.5", "100.5", "expected `float` <= 100.0, got"),
        ("l1_blocks", "1025", "1025", "expected at most 1,024, got 1025"),
        ("packed", '"yes"', "yes", "expected `bool`, got 'yes'"),
        ("packed", "2", "2", "expected `bool`, got"),
        ("cors_origins", "[1]", None, "expected `str`, got [1]"),
        ("cors_origins", "5", None, "expected `array`, got 5"),
        ("gas_cap", "20999", "20999", "expected an integer of at least 21,000, got 20999"),
        ("body_seconds", "0", "0", "expected `float` >= 0.01, got"),
        ("node", '"localhost:8545"', "localhost:8545", "expected an address such as https://host:port/path"),
        ("node", '"ftp://h"', "ftp://h", "expected an address such as https://host:port/path"),
        ("node", '"http://"', "http://", "expected an address such as https://host:port/path"),
        ("node", '"http://[::1"', "http://[::1", "expected an address such as https://host:port/path"),
        ("l1_node", "8545", "8545", "expected "),
        ("node", '"http://h:99999"', "http://h:99999", "expected an address such as https://host:port/path"),
        ("node", '"http://h:0"', "http://h:0", "expected an address such as https://host:port/path"),
        ("prefix", '"eth"', "eth", "expected another prefix than eth, feemodel, net, rpc, web3, got 'eth'"),
        ("prefix", '"net"', "net", "expected another prefix than"),
        ("prefix", '"web3"', "web3", "expected another prefix than"),
        ("prefix", '"feemodel"', "feemodel", "expected another prefix than"),
        ("prefix", '"ETH"', "ETH", "expected another prefix than"),
        ("prefix", '"foo bar"', "foo bar", "expected up to 32 letters, digits and underscores, a letter"),
        ("prefix", '"eth_x"', "eth_x", "expected another prefix than"),
        ("prefix", '"_x"', "_x", "expected up to 32 letters, digits and underscores"),
        ("prefix", '"1st"', "1st", "expected up to 32 letters, digits and underscores"),
        ("prefix", '""', "", "expected text without space at its ends"),
        ("prefix", '"eth\\n"', "eth\n", "expected text without space at its ends"),
        ("host", '" ::1"', " ::1", "expected text without space at its ends"),
        ("genesis", '"a\\u0000"', "a\0", "expected text without space at its ends and without control characters"),
        (
            "allowed_hosts",
            '["a.example:80"]',
            "a.example:80",
            "expected a host without scheme, port, path and brackets",
        ),
        ("allowed_hosts", '["http://a"]', "http://a", "expected a host without scheme, port, path and brackets, or *"),
        ("allowed_hosts", '["[::1]"]', "[::1]", "expected a host without scheme, port, path and brackets, or *"),
        ("allowed_hosts", '[""]', "", "expected text without space at its ends"),
        ("allowed_hosts", '["a", ""]', "a,,b", "expected text without space at its ends"),
        ("cors_origins", '["app.example"]', "app.example", "expected an origin as browsers send it"),
        ("cors_origins", '["https://a/"]', "https://a/", "expected an origin as browsers send it"),
        ("cors_origins", '["https://A"]', "https://A", "expected an origin as browsers send it"),
        ("cors_origins", '["https://a:443"]', "https://a:443", "expected an origin as browsers send it"),
        ("port", '"8,5,4,5"', "8,5,4,5", "expected a whole number, got '8,5,4,5'"),
        ("port", '"1_0"', "1_0", "expected a whole number, got '1_0'"),
        ("port", '"010"', "010", "expected a whole number, got '010'"),
        ("port", '"0b11"', "0b11", "expected a whole number, got '0b11'"),
        ("port", '" 7"', " 7", "expected a whole number, got ' 7'"),
        ("port", '"٣"', "٣", "expected a whole number, got '٣'"),
        ("port", '""', "", "expected a whole number, got ''"),
        ("workers", "1025", "1025", "expected at most 1,024, got 1025"),
        ("gas_cap", str(2**63), str(2**63), "expected at most 9,223,372,036,854,775,807, got"),
        ("margin", '"1_0"', "1_0", "expected `float"),
        ("margin", '" 1"', " 1", "expected `float"),
        ("margin", '""', "", "expected `float"),
        ("node_timeout", "1e300", "1e300", "expected `float` <= 31536000.0, got"),
        ("poll_seconds", "inf", "inf", "expected `float` <= 31536000.0, got"),
        ("max_age", "-1.0", "-1", "expected `float` >= 0.0, got"),
    ],
)
def test_a_bad_value_is_named_as_its_source_spells_it(tmp_path, name, in_file, text, message):
    path = written(tmp_path, f"[{SECTION[name]}]\n{name} = {in_file}\n")
    sources = {f"{path}: {SECTION[name]}.{name}": {"file": path}}
    if text is not None:
        variable, flag = f"FEEMODEL_{name.upper()}", f"--{name.replace('_', '-')}"
        sources |= {variable: {"environment": {variable: text}}, flag: {"flags": {name: text}}}
    for spelled, source in sources.items():
        with pytest.raises(InvalidInput) as refused:
            load_settings(**source)
        assert str(refused.value).startswith(f"{spelled}: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[serve]\n",
            "serve: expected one of the tables server, chain, pricing, size, execution, limits; did you mean",
        ),
        ("[sever]\nnode = 's3cret'\n", "sever: expected one of the tables server"),
        ("[chain]\nnod = 's3cret'\n", "chain.nod: expected one of genesis, replay"),
        ("port = 1\n", "port: expected one of the tables"),
        ("server = 1\n", "server: expected one of the tables"),
        ("[server]\nprot = 1\n", "server.prot: expected one of host, port, workers"),
        ("[chain]\nport = 1\n", "chain.port: expected one of genesis, replay"),
        ("[server]\n[server]\n", "not TOML: Cannot declare"),
        ("[server\n", "not TOML: Expected ']' at the end of a table declaration (at line 1, column 8)"),
        ("[server]\nport = 1e\n", "not TOML: Expected"),
    ],
)
def test_a_file_with_other_names_is_refused_with_the_place(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises((InvalidInput, UnreadableFile)) as refused:
        load_settings(file=path)
    assert str(refused.value).startswith(f"{path}: {message}")
    assert "s3cret" not in str(refused.value)


def test_a_key_of_the_file_that_no_setting_has_comes_with_a_suggestion(tmp_path):
    path = written(tmp_path, "[chain]\nnod = 's3cret'\n")
    with pytest.raises(InvalidInput, match=r"store; did you mean node\?"):
        load_settings(file=path)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(UnreadableFile, match=r"missing.toml: no such file"):
        load_settings(file=tmp_path / "missing.toml")
    with pytest.raises(UnreadableFile, match="a folder, not a file"):
        load_settings(file=tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(UnreadableFile, match="binary: not TOML: 'utf-8' codec"):
        load_settings(file=tmp_path / "binary")


def test_the_assumptions_name_settings_that_there_are():
    """A table that names a flag of an earlier server sends its reader to an option that is refused."""
    section = (ROOT / "ASSUMPTIONS.md").read_text(encoding="utf-8").partition("## The server")[2].partition("\n## ")[0]
    named = set(re.findall(r"`--([a-z][a-z0-9-]+)`", section))
    assert "gas-cap" in named
    assert sorted(named - {name.replace("_", "-") for name in SECTION}) == []


SECRETS = ["s3cret", "us3r", "pa55"]
URL = "https://us3r:pa55@node.example/s3cret"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"genesis": "g", "replay": "r"}, "replay: expected either this or genesis, got 'r'"),
        ({"genesis": "g", "node": URL}, "node: expected either this or genesis"),
        ({"replay": "r", "node": URL}, "node: expected either this or replay"),
        ({"costs": "l1"}, "l1_node: expected the URL of an L1 node with costs = l1, and only then, got None"),
        ({"l1_node": URL}, "l1_node: expected the URL of an L1 node with costs = l1, and only then"),
        ({"codec": "lzss"}, "dictionary: expected a file with codec = lzss"),
        ({"codec": "brotli", "dictionary": "d"}, "dictionary: expected only with codec = lzss or zstd, got 'd'"),
        ({"fallback_node": URL}, "fallback_node: expected only with costs = record or l1"),
        ({"min_gas_price": 1}, "min_gas_price: expected only with the other form of the fee, got 1"),
        ({"gas_price_ratio": 1.0}, "gas_price_ratio: expected only with the other form of the fee"),
        ({"pricing": "verification-cost", "variable_cost": 5}, "variable_cost: expected only with the other form"),
        ({"pricing": "verification-cost", "fixed_cost": 5}, "fixed_cost: expected only with the other form"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings, message):
    with pytest.raises(InvalidInput) as refused:
        load_settings(flags={name: str(value) for name, value in settings.items()})
    assert str(refused.value).startswith(message)
    assert not any(secret in str(refused.value) for secret in SECRETS)


def test_the_example_that_ships_is_a_file_of_settings():
    for path in ROOT.glob("deploy/*.toml"):
        tomllib.loads(path.read_text())
        load_settings(file=path)


# feemodel serve --check


def checked(capsys, *flags):
    """Exit code, standard output and standard error of `serve --check`."""
    code = main(["serve", "--check", *flags])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_server_that_would_answer_is_described_and_is_0(capsys):
    code, said, errors = checked(capsys, "--json", "--port", "0")
    found = json.loads(said)
    assert (code, errors, found["unready"]) == (0, "", [])
    assert found["settings"] == json.loads(msgspec.json.encode(Settings(port=0)))
    assert {"rollup_estimateGas", "rollup_getProof", "feemodel_explain"} <= set(found["methods"])

    code, said, errors = checked(capsys)
    assert (code, errors) == (0, "")
    assert "gas_cap                50,000,000\n" in said
    assert f"{len(found['methods'])} methods: eth_accounts, eth_blobBaseFee, eth_blockNumber, " in said


def test_a_server_that_could_not_answer_yet_says_why_and_is_1(capsys):
    flags = ["--node", "http://us3r:pa55@127.0.0.1:1/s3cret", "--node-timeout", "1"]
    code, said, _ = checked(capsys, "--json", *flags)
    assert code == 1
    (reason,) = json.loads(said)["unready"]
    assert reason.startswith("the newest block: none yet, the node: no connection (")
    code, said, _ = checked(capsys, *flags)
    assert (code, "\nnot ready: the newest block: none yet, the node: no connection (" in said) == (1, True)


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["--port", "x"], 2, "--port: expected a whole number, got 'x'"),
        (["--genesis", "g", "--replay", "r"], 2, "replay: expected either this or genesis, got 'r'"),
        (["--genesis", "missing.json"], 3, "missing.json: no such file"),
        (["--replay", "missing.json"], 3, "missing.json: no such file"),
        (["--store", "missing.db"], 3, "missing.db: no such ledger"),
        (["--config", "missing.toml"], 3, "missing.toml: no such file"),
        (["--codec", "lzss", "--dictionary", "missing.bin"], 3, "missing.bin: no such file"),
        (["--dictionary", "missing.bin"], 3, "missing.bin: no such file"),
        (["--pricing", "verification-cost", "--min-gas-price", "6"], 2,
         "min_gas_price: expected at least the base fee, got 6"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_one_line_and_an_exit_code(capsys, tmp_path, monkeypatch, flags, code, message):
    monkeypatch.chdir(tmp_path)
    assert checked(capsys, *flags) == (code, "", f"feemodel: {message}\n")


def test_a_genesis_without_a_record_cannot_be_priced_by_it(capsys, tmp_path):
    path = tmp_path / "genesis.json"
    path.write_text(json.dumps({"config": {"chainId": 1}, "gasLimit": "0x5208", "alloc": {}}))
    assert checked(capsys, "--genesis", str(path))[0] == 0
    expected = "feemodel: extra_data: expected 32 bytes, counted 0, got '0x'\n"
    assert checked(capsys, "--genesis", str(path), "--costs", "record") == (2, "", expected)


def test_no_password_is_shown(capsys, monkeypatch, tmp_path):
    """From whichever source; of an address no more than where it is."""
    path = written(tmp_path, '[pricing]\ncosts = "l1"\n')
    monkeypatch.setenv("FEEMODEL_NODE", "http://us3r:pa55@127.0.0.1:1/s3cret?of=s3cret")
    flags = ["--config", str(path), "--l1-node", "http://us3r:pa55@127.0.0.1:2/s3cret", "--node-timeout", "1"]
    for form in (["--json"], []):
        code, said, errors = checked(capsys, *form, *flags)
        assert code == 1
        assert not any(secret in said + errors for secret in SECRETS)
        assert all(shown in said for shown in ("http://127.0.0.1:1", "http://127.0.0.1:2"))


def test_the_environment_may_name_the_file(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("FEEMODEL_CONFIG", str(written(tmp_path, "[server]\nworkers = 7\nport = 1\n")))
    monkeypatch.setenv("FEEMODEL_PORT", "2")
    code, said, _ = checked(capsys, "--json", "--packed", "--prefix", "mine")
    found = json.loads(said)["settings"]
    assert (code, found["workers"], found["port"], found["prefix"], found["packed"]) == (0, 7, 2, "mine", True)
    code, said, _ = checked(capsys, "--json", "--no-packed", "--config", str(written(tmp_path, "")))
    found = json.loads(said)["settings"]
    assert (code, found["workers"], found["packed"]) == (0, cores(), False)


def test_a_list_may_be_given_several_times(capsys):
    code, said, _ = checked(capsys, "--json", "--allowed-hosts", "a,b", "--allowed-hosts", "c")
    assert (code, json.loads(said)["settings"]["allowed_hosts"]) == (0, ["a", "b", "c"])


def test_the_help_names_every_flag_and_its_default(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    for name in SECTION:
        assert f"--{name.replace('_', '-')}" in said


def test_a_server_that_cannot_begin_ends_with_one_line(tmp_path):
    """What only its workers meet: they say it once, whatever their number, and without a trace."""
    command = [sys.executable, "-m", "feemodel.cli", "serve", "--port", "0", "--workers", "2"]
    done = subprocess.run(
        [*command, "--replay", "missing.json"], capture_output=True, text=True, timeout=60, cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
        | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "feemodel: missing.json: no such file\n")


def test_settings_alone_are_checked_without_the_node(capsys):
    """A node that is down is no fault of the settings: `ExecStartPre` must let the server start and wait for it."""
    flags = ["serve", "--check-settings", "--json", "--node", "http://127.0.0.1:1", "--node-timeout", "1"]
    assert main(flags) == 0
    assert json.loads(capsys.readouterr().out)["unready"] == []
    assert main(["serve", "--check-settings", "--prefix", "eth"]) == 2
    assert main(["serve", "--check-settings", "--genesis", "missing.json"]) == 3


@pytest.mark.parametrize(("flags", "variable"), [(["--config", ""], None), ([], "FEEMODEL_CONFIG")])
def test_an_empty_name_of_the_file_is_refused(capsys, monkeypatch, flags, variable):
    if variable is not None:
        monkeypatch.setenv(variable, "")
    assert (2, "", f"feemodel: {variable or '--config'}: expected a file, got ''\n") == checked(capsys, *flags)


def test_the_help_has_the_exit_codes(capsys):
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    said = capsys.readouterr().out
    assert "exit codes of --check and --check-settings:\n  0  it would serve" in said


@pytest.mark.parametrize(("name", "value"), [("port", -1), ("prefix", "eth"), ("margin", float("nan")), ("port", "80")])
def test_settings_made_in_python_are_checked_too(name, value):
    with pytest.raises(InvalidInput, match=f"^{name}: expected"):
        Settings(**{name: value})
