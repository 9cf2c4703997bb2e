"""The settings: a file, then the environment, then flags; what is wrong is named as its source spells it."""

import json
import os
import re
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.server.settings import DEFAULTS, ENVIRONMENT_PREFIX, HIDDEN, Settings, load_settings
from tests.conftest import ROOT

KINDS = get_type_hints(Settings)
#: Values of settings whose type does not say which text they may have.
VALID = {
    "host": "::1", "preset": "linea-mainnet-2025-02", "node": "http://127.0.0.1:1/key",
    "l1_node": "https://user:pass@l1.example",
}  # fmt: skip
OTHER_FORM = {"pricing": "verification-cost"}
#: What a setting cannot be without.
BESIDE = {
    "l1_node": {"costs": "l1"},
    "min_gas_price": OTHER_FORM, "verification_gas_cost": OTHER_FORM, "verification_capacity": OTHER_FORM,
    "gas_price_ratio": OTHER_FORM,
}  # fmt: skip


def another_value(name):
    """A valid value of a setting that is not its default."""
    kind, default = KINDS[name], DEFAULTS[name]
    if name in VALID:
        return VALID[name]
    if get_origin(kind) is Literal:
        return next(value for value in get_args(kind) if value != default)
    if default is None:
        (kind,) = set(get_args(kind)) - {type(None)}
        return kind(2)
    return not default if kind is bool else default + 1 if kind is int else default / 2


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


@pytest.mark.parametrize("name", DEFAULTS)
def test_each_source_gives_a_setting_its_value(tmp_path, name):
    value, beside = another_value(name), BESIDE.get(name, {})
    in_file = json.dumps(value)
    text = in_file.strip('"')
    for source in (
        {"file": written(tmp_path, f"{name} = {in_file}\n"), "flags": beside},
        {"environment": {f"{ENVIRONMENT_PREFIX}{name.upper()}": text}, "flags": beside},
        {"flags": {name: text, **beside}},
    ):
        found = load_settings(**source)
        assert (
            (getattr(found, name), type(getattr(found, name))) == (value, type(value)) != (DEFAULTS[name], type(value))
        )
        assert found == Settings(**{name: value, **beside})


def test_the_environment_goes_before_the_file_and_flags_before_both(tmp_path):
    path = written(tmp_path, "port = 1\nworkers = 1\nlog = 'errors'\nmargin = 1.1\n")
    found = load_settings(
        file=path,
        environment={"FEEMODEL_WORKERS": "2", "FEEMODEL_LOG": "errors", "FEEMODEL_MARGIN": "1.2"},
        flags={"log": "requests", "margin": None},
    )
    assert (found.port, found.workers, found.log, found.margin) == (1, 2, "requests", 1.2)


def test_only_variables_with_the_prefix_are_read_from_the_environment():
    environment = {"FEEMODEL_SHARED": "/inputs", "FEEMODEL_CONFIG": "x", "PORT": "2", "XFEEMODEL_PORT": "4"}
    assert load_settings(environment=environment) == Settings()


@pytest.mark.parametrize(
    ("variable", "suggestion"),
    [("FEEMODEL_BASEFEE", "; did you mean base_fee?"), ("FEEMODEL_", ""), ("FEEMODEL_QQQQQQ", "")],
)
def test_a_variable_that_no_setting_has_is_refused_without_its_value(variable, suggestion):
    with pytest.raises(InvalidInput) as refused:
        load_settings(environment={variable: "s3cret"})
    assert f"{variable}: no setting has this name{suggestion}, got '{HIDDEN}'" == str(refused.value)


ADDRESS = "expected an address such as https://host:port/path"


@pytest.mark.parametrize(
    ("name", "in_file", "text", "message"),
    [
        ("port", "65536", "65536", "expected `int` <= 65535, got"),
        ("port", "-1", "-1", "expected `int` >= 0, got"),
        ("port", "true", None, "expected `int`, got True"),
        *(
            ("port", json.dumps(text), text, "expected `int`, got")
            for text in ("http", "8,5", "1_0", "0b11", " 7", "٣", "")
        ),
        ("log", '"all"', "all", "expected one of requests, errors, got 'all'"),
        ("preset", '"linea"', "linea", "expected one of linea-mainnet-2026-01, "),
        ("margin", "nan", "nan", "expected `float` >= 0.0, got"),
        ("margin", "inf", "inf", "expected `float` <= 1.7976931348623157e+308, got"),
        *(("margin", json.dumps(text), text, "expected `float") for text in ("high", "1_0", " 1", "")),
        ("tolerance", "1.0", "1.0", "expected `float` < 1.0, got"),
        ("packed", '"yes"', "yes", "expected `bool`, got 'yes'"),
        ("gas_cap", str(2**63), str(2**63), "expected `int` <= 268435456, got"),
        ("seconds", "0", "0", "expected `float` >= 0.01, got"),
        *(
            ("node", json.dumps(text), text, ADDRESS)
            for text in ("localhost:8545", "ftp://h", "http://", "http://[::1", "http://h:99999", "http://h:0")
        ),
        ("genesis", '""', "", "expected `str` of length >= 1, got ''"),
    ],
)
def test_a_bad_value_is_named_as_its_source_spells_it(tmp_path, name, in_file, text, message):
    path = written(tmp_path, f"{name} = {in_file}\n")
    sources = {f"{path}: {name}": {"file": path}}
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
        ("[serve]\n", "serve: no setting has this name"),
        ("nod = 's3cret'\n", "nod: no setting has this name; did you mean node?"),
        ("[server]\n[server]\n", "not TOML: Cannot declare"),
        ("[server\n", "not TOML: Expected ']' at the end of a table declaration (at line 1, column 8)"),
        ("port = 1e\n", "not TOML: Expected"),
    ],
)
def test_a_file_with_other_names_is_refused_with_the_place(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises((InvalidInput, UnreadableFile)) as refused:
        load_settings(file=path)
    assert str(refused.value).startswith(f"{path}: {message}")
    assert "s3cret" not in str(refused.value)


def test_the_assumptions_name_settings_that_there_are():
    """A table that names a flag of an earlier server sends its reader to an option that is refused."""
    section = (ROOT / "ASSUMPTIONS.md").read_text(encoding="utf-8").partition("## The server")[2].partition("\n## ")[0]
    named = set(re.findall(r"`--([a-z][a-z0-9-]+)`", section))
    assert "gas-cap" in named
    assert sorted(named - {name.replace("_", "-") for name in DEFAULTS}) == []


SECRETS = ["s3cret", "us3r", "pa55"]
URL = "https://us3r:pa55@node.example/s3cret"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"genesis": "g", "node": URL}, "node: expected either this or genesis"),
        ({"node": URL, "intact": "true"}, "intact: expected no node"),
        ({"costs": "l1"}, "l1_node: expected the URL of an L1 node if costs = l1, and only then, got None"),
        ({"l1_node": URL}, "l1_node: expected the URL of an L1 node if costs = l1, and only then"),
        ({"host": "0.0.0.0"}, "host: expected a loopback address, or behind_proxy, got '0.0.0.0'"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings, message):
    with pytest.raises(InvalidInput) as refused:
        load_settings(flags={name: str(value) for name, value in settings.items()})
    assert str(refused.value).startswith(message)
    assert not any(secret in str(refused.value) for secret in SECRETS)


@pytest.mark.parametrize(
    ("name", "value"), [("port", -1), ("host", "10.0.0.1"), ("margin", float("nan")), ("port", "80")]
)
def test_settings_made_in_python_are_checked_too(name, value):
    with pytest.raises(InvalidInput, match=f"^{name}: expected"):
        Settings(**{name: value})
