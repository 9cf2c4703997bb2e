"""TOML files: what cannot be read is one named error, and nothing of a file with keys is shown."""

import pytest

from feemodel.errors import UnreadableFile
from feemodel.io.toml import read_toml
from feemodel.rpc.keys import read_keys
from feemodel.rpc.settings import load_settings

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


@pytest.mark.parametrize("read", [read_keys, lambda path: load_settings(file=path)], ids=["keys", "settings"])
@pytest.mark.parametrize(("content", "_"), MISTAKES.values(), ids=MISTAKES)
def test_an_error_about_a_file_with_keys_shows_no_text_of_it(tmp_path, read, content, _):
    path = tmp_path / "file.toml"
    path.write_bytes(b'key = "hunter2"\n[hunter2]\n' + content)

    with pytest.raises(UnreadableFile) as error:
        read(path)

    assert str(error.value).startswith(f"{path}: not TOML")
    assert "hunter2" not in str(error.value)


def test_a_table_given_twice_in_a_file_with_keys_is_told_by_its_place(tmp_path):
    path = tmp_path / "file.toml"
    path.write_text("[hunter2]\n[hunter2]\n")

    with pytest.raises(UnreadableFile, match=r"not TOML: Cannot declare \('…',\) twice \(at line 2, column 9\)"):
        read_keys(path)


def test_a_byte_order_mark_is_skipped(tmp_path):
    path = tmp_path / "file.toml"
    path.write_bytes(b"\xef\xbb\xbfport = 1\n")

    assert read_toml(path) == {"port": 1}


def test_a_name_that_no_file_can_have_is_unreadable():
    with pytest.raises(UnreadableFile, match="null byte"):
        read_toml("a\0b")
