"""Files that expand without end, or that end a reader, are refused in bounded time and memory by a named error."""

import contextlib
import gzip
import os
import random
import resource
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray

from feemodel.errors import UnreadableFile
from feemodel.io import (
    read_blocks,
    read_dataset,
    read_l1_fees,
    read_raw_transactions,
    read_transactions,
    write_dataset,
)
from feemodel.io._arrays import read_arrays
from feemodel.io._bounds import BYTES, SECONDS, showing_progress
from feemodel.io._documents import read_toml
from feemodel.ledger._files import read_blocks as read_state_changes
from feemodel.ledger._files import read_genesis, read_genesis_chain_id, read_proof, read_trie_logs
from feemodel.sizes._lzss import Lzss

DATA = Path(__file__).parents[1] / "data"
LONG = pa.schema(
    [*((name, pa.int64()) for name in ("block_number", "timestamp", "gas_used")), ("extra_data", pa.binary())]
)
MOST = 1 << 20  # bytes of the tests that lower the bound
RAISED = f"the environment variable {BYTES} "


def exhausted(read):
    """A reader that yields, as one that returns."""
    return lambda path: list(read(path))


READERS = {
    "blocks": read_blocks,
    "L1 fees": read_l1_fees,
    "transactions": read_transactions,
    "raw transactions": read_raw_transactions,
    "TOML": read_toml,
    "state changes": exhausted(read_state_changes),
    "trie logs": exhausted(read_trie_logs),
    "genesis": exhausted(read_genesis),
    "chain of a genesis": read_genesis_chain_id,
    "proof": read_proof,
}

#: reader → what begins a file of its kind and is repeated without end
ENDLESS = {
    "blocks": ("number,hash,timestamp,gas_used\n", "1,0x,1,1\n"),
    "L1 fees": ("timestamp,base_fee\n", "1,1000000000\n"),
    "transactions": ("", '{"raw": "0x02"}\n'),
    "raw transactions": ("", "0x02\n"),
    "capture": ('{"blocks": [', " "),
    "TOML": ("", "# a comment\n"),
    "state changes": ('{"number": "0x1", "accounts": {', " "),
    "trie logs": ('{"blockNumber": "', "1"),
    "genesis": ('{"config": {"text": "', "a"),
    "chain of a genesis": ('{"alloc": {"0x', "1"),
    "proof": ("[", "[],"),
}


@pytest.fixture
def low(monkeypatch):
    monkeypatch.setenv(BYTES, str(MOST))
    monkeypatch.setattr("feemodel.ledger._files.PARSED_WHOLE", 1 << 10)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("kind", READERS)
def test_a_file_that_expands_above_the_bound_is_refused(tmp_path, low, kind, packed):
    begin, part = ENDLESS[kind]
    content = (begin + part * (2 * MOST // len(part))).encode()
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(content) if packed else content)

    with pytest.raises(UnreadableFile) as error:
        READERS[kind](path)

    assert str(path) in str(error.value)
    assert RAISED in str(error.value)


@pytest.mark.parametrize("kind", READERS)
def test_a_device_that_never_ends_is_refused(low, kind):
    with pytest.raises(UnreadableFile, match=r"/dev/zero.*(environment variable|pipe or a device|expected an object)"):
        READERS[kind]("/dev/zero")


@pytest.mark.parametrize("read", [read_blocks, read_l1_fees, read_transactions, read_dataset, read_arrays])
def test_a_table_from_a_pipe_is_refused_before_it_is_opened(tmp_path, read):
    path = tmp_path / "pipe"
    os.mkfifo(path)  # to open it would wait for a writer

    with pytest.raises(UnreadableFile, match="a pipe or a device"):
        read(path)


def test_a_dictionary_file_is_read_up_to_its_bound():
    with pytest.raises(Exception, match="more than the maximum of"):
        Lzss.from_file("/dev/zero")


def test_the_bound_is_a_setting(tmp_path, monkeypatch):
    path = tmp_path / "fees.csv"
    path.write_text("timestamp,base_fee\n1,1000000000\n")
    monkeypatch.setenv(BYTES, "20")
    with pytest.raises(UnreadableFile, match="holds more than 20 bytes once unpacked"):
        read_l1_fees(path)
    monkeypatch.setenv(BYTES, "1000")
    assert len(read_l1_fees(path)) == 1
    for wrong in ("", "0", "-1", "1e9", "many"):
        monkeypatch.setenv(BYTES, wrong)
        with pytest.raises(UnreadableFile, match="FEEMODEL_MAX_FILE_BYTES: expected a whole number above 0"):
            read_l1_fees(path)


def test_a_table_of_very_many_short_rows_is_refused(tmp_path, low):
    path = tmp_path / "fees.csv"
    path.write_text("timestamp,base_fee\n" + "1,\n" * 40_000)

    with pytest.raises(UnreadableFile, match="holds more than 32,768 rows"):
        read_l1_fees(path)


def test_a_value_repeated_by_the_dictionary_of_a_parquet_file_is_refused_before_it_is_written_out(tmp_path):
    count, value = 100_000, bytes(1 << 20)
    repeated = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([value]))
    columns = {name: np.arange(count) for name in ("block_number", "timestamp", "gas_used")}
    path = tmp_path / "blocks.parquet"
    pq.write_table(pa.table({**columns, "extra_data": repeated}), path, compression="zstd")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with pytest.raises(UnreadableFile, match="holds more than 536,870,912 bytes once unpacked"):
        read_blocks(path)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 19  # KiB


def test_a_parquet_file_of_more_rows_than_fit_is_refused_by_its_description(tmp_path):
    path = tmp_path / "fees.parquet"
    constant = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000_000, np.int8)), pa.array([10**9]))
    pq.write_table(pa.table({"timestamp": constant, "base_fee": constant}), path, compression="zstd")

    with pytest.raises(UnreadableFile, match="holds more than 16,777,216 rows once unpacked"):
        read_l1_fees(path)


def test_long_values_of_a_parquet_file_that_all_differ_are_refused_in_bounded_memory(tmp_path, monkeypatch):
    """Two hundred mebibytes in some kilobytes: each value is a number and a mebibyte of zeros."""
    path, count = tmp_path / "blocks.parquet", 50
    with pq.ParquetWriter(path, LONG, compression="zstd", use_dictionary=False) as writer:
        for group in range(4):
            numbers = np.arange(count * group, count * (group + 1))
            values = [number.tobytes() + bytes(1 << 20) for number in numbers]
            writer.write_table(pa.table({**dict.fromkeys(LONG.names[:3], numbers), "extra_data": values}, LONG))
    assert path.stat().st_size < 1 << 18
    monkeypatch.setenv(BYTES, str(1 << 24))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with pytest.raises(UnreadableFile, match="holds more than 16,777,216 bytes once unpacked"):
        read_blocks(path)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 17  # KiB


def test_the_text_of_a_parquet_file_is_read_as_before(tmp_path):
    path = tmp_path / "blocks.parquet"
    numbers = {"block_number": [1, 2], "timestamp": [1, 2], "gas_used": [1, 1]}
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        pq.write_table(pa.table({**numbers, "extra_data": pa.array(["0x01", "0x0203"], kind)}), path)
        assert read_blocks(path)["extra_data"].to_list() == [b"\1", b"\2\3"]


def _npz(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)


def _npy(shape, data=b"", kind="<f8"):
    """A file of an array whose header states any shape."""
    file = BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    return file.getvalue() + data


@pytest.mark.parametrize(
    "member",
    [
        _npy((1 << 50,)),
        _npy((-1,)),
        _npy((3,), bytes(8)),
        _npy((1,), bytes(9)),
        b"\x93NUMPY",
        b"",
        _npy((0, 1 << 62), b"1"),
    ],
    ids=["a petabyte", "negative", "cut off", "bytes after it", "no header", "nothing", "nothing, and bytes after it"],
)
def test_an_array_whose_header_states_another_size_is_refused_before_memory_is_taken(tmp_path, member):
    path = tmp_path / "arrays.npz"
    _npz(path, {"a.npy": member})

    with pytest.raises(UnreadableFile, match="not a file of arrays"):
        read_arrays(path)


def test_arrays_of_every_kind_are_read(tmp_path):
    path = tmp_path / "arrays.npz"
    arrays = {"a": np.arange(6).reshape(2, 3).T, "b": np.array(2.5), "c": np.array(["x", "yz"]), "d": np.zeros((0, 3))}
    np.savez(path, **arrays)

    for name, array in read_arrays(path).items():
        np.testing.assert_array_equal(arrays[name], array, strict=True)


def test_objects_and_an_array_that_is_there_twice_are_refused(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez(path, a=np.array([{}], dtype=object))
    with pytest.raises(UnreadableFile, match="objects, expected numbers or text"):
        read_arrays(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.npy", _npy((1,), bytes(8)))
        file.writestr("a", _npy((1,), bytes(8)))
    with pytest.raises(UnreadableFile, match="duplicate array"):
        read_arrays(path)


@pytest.fixture
def netcdf(tmp_path):
    path = tmp_path / "result.nc"
    found = xarray.Dataset(
        {"recovery": (("path", "day"), np.arange(12.0).reshape(3, 4), {"units": "1"}), "n": ("path", np.arange(3))},
        {"path": np.arange(3), "name": ("path", ["a", "b", "c"])},
        {"source": "by hand", "note": "x"},
    )
    write_dataset(found, path)
    return path


def test_a_netcdf_file_that_hdf5_reads_without_end_is_refused_in_its_time(tmp_path, monkeypatch):
    path = tmp_path / "endless.nc"
    path.write_bytes(gzip.decompress((DATA / "endless.nc.gz").read_bytes()))
    monkeypatch.setenv(SECONDS, "6")

    with pytest.raises(UnreadableFile, match=rf"endless.nc: not read within 6 s: .*{SECONDS} raises the bound"):
        read_dataset(path)


def test_a_netcdf_file_that_expands_is_refused(netcdf, monkeypatch):
    monkeypatch.setenv(BYTES, "100")
    with pytest.raises(UnreadableFile, match="holds more than 100 bytes once unpacked"):
        read_dataset(netcdf)


def _parquet(path):
    count = 500
    columns = {"block_number": np.arange(count), "timestamp": np.arange(count) * 12, "gas_used": np.arange(count)}
    data = pa.array([b"\1" * (row % 7) for row in range(count)])
    pq.write_table(pa.table({**columns, "extra_data": data}), path, compression="zstd")


@pytest.mark.parametrize(
    ("write", "read"),
    [(_parquet, read_blocks), (lambda path: np.savez_compressed(path, a=np.arange(100)), read_arrays)],
    ids=["Parquet", "arrays"],
)
def test_changed_files_are_read_or_refused(tmp_path, write, read):
    """pyarrow ends the process where a damaged description of a column is looked at."""
    path, draw = tmp_path / "file.npz", random.Random(1)
    write(path)
    content = path.read_bytes()
    read(path)
    for _ in range(450):
        changed = bytearray(content)
        for _ in range(draw.choice((1, 2, 3, 8))):
            changed[draw.randrange(len(changed))] = draw.choice((0, 255, draw.randrange(256)))
        path.write_bytes(changed)
        with contextlib.suppress(UnreadableFile):
            read(path)


def test_progress_of_a_long_read_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("feemodel.io._bounds.LONG_READ", 1 << 10)
    path = tmp_path / "fees.csv"
    path.write_text("timestamp,base_fee\n" + "".join(f"{second},1000000000\n" for second in range(10_000)))
    counts = []

    with showing_progress(counts.append):
        read_l1_fees(path)

    assert path.stat().st_size <= sum(counts)
