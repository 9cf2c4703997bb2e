"""Files that unpack to gigabytes, and many damaged ones."""

import gzip
import subprocess
import sys
import zipfile

import pytest

from feemodel.errors import UnreadableFile
from feemodel.io._arrays import read_arrays
from tests.fuzz.netcdf import run as fuzz_netcdf
from tests.io.test_bounds import _npy


def test_a_gzip_file_that_expands_a_thousand_times_is_read_in_bounded_memory(tmp_path):
    """Five gigabytes in some megabytes, in a process that may take four gigabytes of addresses more than it has."""
    zeros, rows = tmp_path / "zeros.gz", tmp_path / "rows.gz"
    zeros.write_bytes(gzip.compress(bytes(1 << 26)) * 80)
    rows.write_bytes(
        gzip.compress(b"timestamp,base_fee\n") + gzip.compress(b"1700000000,1000000000\n" * (1 << 20)) * 230
    )
    program = f"""
import resource
from pathlib import Path
import feemodel.errors, feemodel.io, pandas, pyarrow.csv
pages = int(Path("/proc/self/statm").read_text().split()[0])
bound = pages * resource.getpagesize() + (4 << 30)
resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
for read, path in ("raw_transactions", {str(zeros)!r}), ("l1_fees", {str(rows)!r}):
    try:
        getattr(feemodel.io, f"read_{{read}}")(path)
    except feemodel.errors.UnreadableFile as error:
        print(str(error).split(": ", 1)[1])
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2_000_000  # KiB
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert [line[:15] for line in done.stdout.splitlines()] == ["holds more than"] * 2, done.stderr
    assert done.returncode == 0, done.stderr


def test_an_archive_of_arrays_above_the_bound_is_refused_by_its_directory(tmp_path):
    path = tmp_path / "zeros.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file, file.open("a.npy", "w") as member:
        member.write(_npy((3 << 27,)))
        for _ in range(3 << 4):
            member.write(bytes(1 << 24))
    assert path.stat().st_size < 4 << 20

    with pytest.raises(UnreadableFile, match="holds more than 536,870,912 bytes once unpacked"):
        read_arrays(path)


def test_changed_netcdf_files_are_read_or_refused():
    """Some of the thousands of `python -m tests.fuzz.netcdf`."""
    outcomes = fuzz_netcdf(60, seed=3)

    assert outcomes["read"] + outcomes["refused"] == 60
