"""TOML and JSON: what cannot be read is one named error, and nothing of a file with keys is shown."""

import pytest

from feemodel.cli import main
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io import parse_fee_history, parse_transactions, read_transactions
from feemodel.io.files import read_toml
from feemodel.server.settings import load_settings

MISTAKES = {
    "no value": (b"key =", "not TOML: Invalid value (at end of document)"),
    "no equals sign": (b"port 5", "not TOML: Expected '=' after a key in a key/value pair (at line 1, column 6)"),
    "not UTF-8": (b'a = "\xe9"', "not TOML: 'utf-8' codec can't decode byte 0xe9 in position 5"),
    "a number too long to read": (b"a = 1" + b"0" * 5_000, "not TOML: Exceeds the limit (4300"),
    "too many lists in lists": (b"a = " + b"[" * 100_000, "not TOML: nested too deeply"),
}


@pytest.mark.parametrize(("content", "expected"), MISTAKES.values(), ids=MISTAKES)
def test_a_file_that_is_not_toml_is_unreadable(tmp_path, content, expected):
    path = tmp_path / "file.toml"
    path.write_bytes(content)

    with pytest.raises(UnreadableFile) as error:
        read_toml(path)

    assert str(error.value).startswith(f"{path}: {expected}")


@pytest.mark.parametrize(("content", "_"), MISTAKES.values(), ids=MISTAKES)
def test_an_error_about_a_file_with_keys_shows_no_text_of_it(tmp_path, content, _):
    path = tmp_path / "file.toml"
    path.write_bytes(b'key = "hunter2"\n[hunter2]\n' + content)

    with pytest.raises(UnreadableFile) as error:
        load_settings(file=path)

    assert str(error.value).startswith(f"{path}: not TOML")
    assert "hunter2" not in str(error.value)


def test_a_table_given_twice_in_a_file_with_keys_is_told_by_its_place(tmp_path):
    path = tmp_path / "file.toml"
    path.write_text("[hunter2]\n[hunter2]\n")

    with pytest.raises(UnreadableFile, match=r"not TOML: Cannot declare \('…',\) twice \(at line 2, column 9\)"):
        load_settings(file=path)


def test_a_byte_order_mark_is_skipped(tmp_path):
    path = tmp_path / "file.toml"
    path.write_bytes(b"\xef\xbb\xbfport = 1\n")

    assert read_toml(path) == {"port": 1}


def test_a_name_that_no_file_can_have_is_unreadable():
    with pytest.raises(UnreadableFile, match="null byte"):
        read_toml("a\0b")


TWICE = (
    '{"from": "0x'
    + "11" * 20
    + '", "nonce": "0x0", "gas": "0x5208", "gasPrice": "0x1", "value": "0x1", "value": "0x2"}'
)


def test_a_name_that_an_object_has_twice_is_refused(tmp_path, capsys):
    path = tmp_path / "transactions.jsonl"
    path.write_text(TWICE.replace(', "value": "0x2"', "") + "\n" + TWICE + "\n")

    with pytest.raises(UnreadableFile, match=r"transactions.jsonl: line 2: expected each name only once, got 'value'"):
        read_transactions(path)
    with pytest.raises(InvalidInput, match="expected each name only once, got 'value'"):
        parse_transactions(TWICE)
    assert main(["explain", TWICE]) == 2
    assert capsys.readouterr().err == "feemodel: call: expected each name only once, got 'value'\n"


@pytest.mark.parametrize("parse", [parse_fee_history, parse_transactions])
@pytest.mark.parametrize("document", [5, None, object(), b"\xff", b"", "", "{", [5], [None]])
def test_what_is_no_document_is_a_named_error(parse, document):
    with pytest.raises(InvalidInput):
        parse(document)
