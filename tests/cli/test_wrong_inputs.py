"""The command line under wrong inputs: every verb, every option and operand, and values and files of every wrong kind.

What is tried follows from the parsers themselves, so that no verb and no option can be left out.
"""

import gzip
import importlib
import inspect
import json
import re
import warnings
from typing import Any, NamedTuple, get_args

import pytest

from feemodel.cli import UNFORESEEN, VERBS, main, verb_of
from feemodel.cli.verb import verb
from tests.cli.test_cli import RAW
from tests.conftest import ROOT

VALUES = [
    "", " ", "-1", "0", "1", "-0.5", "1.5", "nan", "inf", "-inf", "1e400", "1,2", "0x", "0xzz", "abc", "☃", "9" * 30,
    "9" * 5_000,     "a/b", "{", "[]", "http://", "http://[", "1:2:3",
]  # fmt: skip
FILES = {
    "empty": b"",
    "text": b"hello, state\nand more\n",
    "binary": bytes(range(256)) * 4,
    "parquet": b"PAR1" + bytes(100),
    "object.json": b'{"a": 1}',
    "list.json": b"[1, 2]",
    "nested.json": b"[" * 100_000,
    "surrogate.json": b'{"a": "\\ud800"}',
    "columns.csv": b"a,b\n1,2\n",
    "cut.gz": gzip.compress(b"hello" * 100)[:20],
    "text.gz": gzip.compress(b"hello"),
}
NOT_NUMBERS = {"", " ", "nan", "inf", "-inf", "1e400", "1,2", "0x", "0xzz", "abc", "☃", "{", "9" * 5_000}
DOCUMENTED = {0, 1, 2, 3, 4}
STEP = 20  # one of so many values is tried here


def write_inputs(folder):
    """Wrong files of every kind, and right ones that the verbs can begin from."""
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "directory").mkdir()
    (folder / "transactions.jsonl").write_text(json.dumps({"raw": RAW}) + "\n" + RAW + "\n")
    (folder / "many.jsonl").write_text((RAW + "\n") * 50)
    (folder / "sweep.toml").write_text(
        'formula = "priority_fee"\n[grid]\nmargin = [1.0, 1.2]\ncompressed_size = 128\ngas = 21000\n'
        "variable_cost = 1\nfixed_cost = 1\n"
    )
    (folder / "genesis.json").write_text(json.dumps({"alloc": {"0x" + "11" * 20: {"balance": "0x5"}}}))
    (folder / "blocks.jsonl").write_text("")
    rows = (f"{1_767_795_000 + 600 * place},270556984,1000000" for place in range(6))
    (folder / "hour.csv").write_text("\n".join(["time,base_fee,blob_base_fee", *rows, ""]))
    store = str(folder / "ledger.db")
    assert main(["follow", "--store", store, "--genesis", str(folder / "genesis.json"), "--final"]) == 0
    proof = ["--address", "0x" + "11" * 20, "--out", str(folder / "proof.json"), "--json"]
    assert main(["prove", "--store", store, *proof]) == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    return folder


#: What each verb needs to begin; the case under test replaces or adds to it.
NEEDED = {
    "demo": {"--figure": "{folder}/demo.png", "--overwrite": None},
    "fee": {"--size": "128", "--gas": "21000"},
    "explain": {"SUBJECT": RAW},
    "compare": {"SUBJECT": RAW},
    "report": {"PATHS": str(ROOT / "tests" / "data" / "reports" / "run-latest.json"), "--only": "linea"},
    "chains": {},
    "max-send": {"CHAIN": "linea", "CALL": "{}", "--balance": "5", "--base-fee": "7"},
    "sweep": {"SPEC": "{folder}/sweep.toml"},
    "backtest": {"--hours": "1", "--arrival-rate": "0.02"},
    "calibrate": {"--hours": "1", "--arrival-rate": "0.02", "--paths": "2"},
    "simulate": {"--l1": "{folder}/hour.csv", "--step": "600", "--paths": "1", "--arrival-rate": "0.02"},
    "forecast": {"--horizon": "10min", "--paths": "2", "--method": "persistence"},
    "recommend": {"FAMILY": "op-stack", "--paths": "2", "--hold": "3600"},
    "sizes": {"TRANSACTIONS": "{folder}/transactions.jsonl"},
    "train": {"TRANSACTIONS": "{folder}/many.jsonl", "--out": "{folder}/trained.bin", "--overwrite": None},
    "follow": {"--store": "{folder}/ledger.db"},
    "finalize": {"--store": "{folder}/ledger.db", "--block": "0"},
    "prove": {"--store": "{folder}/ledger.db", "--address": "0x" + "11" * 20},
    "check-proof": {"PROOF": "{folder}/proof.json", "--root": "0x" + "11" * 32},
    "serve": {"--check": None},
    "ledger": {"ACTION": "info", "--store": "{folder}/ledger.db"},
    "earnings": {"--node": "http://127.0.0.1:1", "--l1-node": "http://127.0.0.1:1", "--blocks": "1:2"},
    "fetch": {"--node": "http://127.0.0.1:1", "--blocks": "1:2", "--out": "{folder}/blocks.parquet"},
}


class Option(NamedTuple):
    """An option or operand of a verb that takes a value."""

    name: str
    is_number: bool
    default: Any


def options_of(verb):
    """Every option and operand of a verb that takes a value."""
    arguments = verb_of(verb).assemble_argument_collection()
    return [
        Option(one.name, bool({int, float} & {one.hint, *get_args(one.hint)}), one.field_info.default)
        for one in arguments
        if one.show and one.token_count()[0]
    ]


SHARED = {option.name for option in options_of("backtest")}  # calibrate reads them by the same code
CASES = [
    (verb, option)
    for verb in VERBS
    for option in options_of(verb)
    if not (verb == "calibrate" and option.name in SHARED)
]


def test_every_verb_is_tried():
    assert set(NEEDED) == set(VERBS), "each verb needs a row of NEEDED in this file"
    assert {verb for verb, _ in CASES} == set(VERBS)
    for name, needed in NEEDED.items():
        operands = {option.name for option in options_of(name) if not option.name.startswith("-")}
        assert {one for one in needed if not one.startswith("-")} <= operands, name


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_shows_every_default_as_it_is(verb, capsys):
    assert main([verb, "--help"]) == 0
    said = re.sub(r"[\s│]", "", capsys.readouterr().out)  # lines are broken anywhere

    assert "xitcodes" in said
    assert ("--json" in said, "Commands" in said) == (True, False)
    for option in options_of(verb):
        if option.default not in (None, False, (), inspect.Parameter.empty) and option.default != []:
            assert f"default:{option.default}" in said


def test_an_unexpected_error_is_one_line_and_its_traceback_is_there_on_demand(capsys, monkeypatch):
    def broken():
        raise KeyError("gas\nlimit")

    monkeypatch.setattr(importlib.import_module("feemodel.cli.fee"), "command", verb()(broken))
    arguments = ["fee"]

    assert main(arguments) == UNFORESEEN == 70
    expected = "feemodel: unexpected error (--debug shows the traceback): KeyError: 'gas\\nlimit'\n"
    assert expected == capsys.readouterr().err
    with pytest.raises(KeyError):
        main([*arguments, "--debug"])


def arguments_of(verb, folder, name, value):
    given = {
        key: None if text is None else text.format(folder=folder) if "{folder}" in text else text
        for key, text in NEEDED[verb].items()
    }
    given[name] = value
    words = [verb]
    for key, text in given.items():
        if key.startswith("-"):
            words.append(key if text is None else f"{key}={text}")
        else:
            words += ["--", text] if text.startswith("-") and text != "-" else [text]
    return words


def tried(capsys, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def values_of(folder):
    """Wrong values and files for an option."""
    files = [str(folder / file) for file in (*FILES, "directory", "missing")]
    return [*VALUES, *files]


def badly_answered(verb, option, folder, values, capsys):
    """Each value whose answer is not one line and a documented code."""
    found = []
    for value in values:
        arguments = arguments_of(verb, folder, option.name, value)
        code, out, err = tried(capsys, arguments)
        lines = [line for line in err.splitlines() if not re.match(r"feemodel: (warning: |[\d,]+ evaluations)", line)]
        number = option.is_number and value in NOT_NUMBERS
        if (
            code not in DOCUMENTED
            or "Traceback" in err
            or (number and code != 2)
            or (code > 1 and (len(lines) != 1 or out))
        ):
            found.append((code, value[:60], err[-300:]))
    return found


@pytest.mark.parametrize(("verb", "option"), CASES, ids=lambda value: getattr(value, "name", value))
def test_a_wrong_value_is_one_line_and_a_documented_code(verb, option, folder, capsys, monkeypatch):
    """One of twenty values, other ones for the next option; `tests/system` tries all."""
    monkeypatch.chdir(folder)  # what a value like `abc` may name is not in the checkout
    values = values_of(folder)[CASES.index((verb, option)) % STEP :: STEP]

    assert badly_answered(verb, option, folder, values, capsys) == []
