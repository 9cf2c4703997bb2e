"""The package on a read-only root where no kernel can be kept, in a mount namespace of its own; see test_image.py."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import urllib3

from tests.conftest import ROOT
from tests.system.start import START

COMPILED = 4 * START  # seconds for a first proof where the worker compiles the hashing anew
IMAGE = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")
#: Shows the root and the image read-only, but for a temporary folder, and runs a command there.
NAMESPACE = """
set -e
root=$1 image=$2; shift 2
mount --make-rprivate /
mount --rbind / "$root"
mount -o remount,bind,ro "$root"
mount --bind "$image" "$root/mnt"
mount -o "remount,bind,ro" "$root/mnt"
mount -t tmpfs tmpfs "$root/mnt/tmp"
exec chroot "$root" "$@"
"""


def inside(folder, *command):
    return ["unshare", "-m", "sh", "-c", NAMESPACE, "sh", str(folder / "root"), str(folder / "image"), *command]


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """The package as it is installed."""
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare, of util-linux")
    folder = tmp_path_factory.mktemp("container")
    for name in ("root", "image/tmp", "image/site"):
        (folder / name).mkdir(parents=True)
    tried = subprocess.run(inside(folder, "true"), capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no mount namespace here: {tried.stderr.strip()}")
    install = ["pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--no-compile"]
    site = folder / "image" / "site"
    subprocess.run([sys.executable, "-m", *install, "--target", str(site), str(ROOT)], check=True)
    return folder


def environment():
    """The variables of the image, with its folders where they are here, but for that of kernels."""
    return {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/nonexistent",
        "TMPDIR": "/mnt/tmp",
        "PYTHONPATH": "/mnt/site",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def feemodel(folder):
    command = [sys.executable, "-m", "feemodel.cli", "serve", "--port", "0", "--workers", "1", "--json"]
    return {"args": inside(folder, *command), "env": environment(), "cwd": "/"}


def test_the_library_computes_where_no_kernel_can_be_kept(image):
    """Nothing can be written, so every kernel module must be defined without numba's cache."""
    modules = sorted(
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "feemodel").rglob("*.py")
        if re.search(r"^@(cached_njit|numba|njit)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    )
    assert len(modules) > 10
    program = f"""
import importlib, numpy, feemodel
for name in {modules}:
    importlib.import_module(name)
fee = feemodel.priority_fee(numpy.full(100_000, 100), 21_000, variable_cost=10**9, fixed_cost=3 * 10**7)
print(set(fee.tolist()) == {{feemodel.priority_fee(100, 21_000, variable_cost=10**9, fixed_cost=3 * 10**7)}})
print(feemodel.compressed_size(bytes(1_000), feemodel.FastLz()))
"""
    command = inside(image, sys.executable, "-c", program)
    run = subprocess.run(command, env=environment(), cwd="/", capture_output=True, text=True, check=False)

    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.split() == ["True", "21"]


def test_a_read_only_root_serves_without_kernels(image):
    with (
        subprocess.Popen(**feemodel(image), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server,
        urllib3.PoolManager(timeout=COMPILED, retries=3) as pool,
    ):
        try:
            text = ""
            while not text.endswith("}\n"):
                line = server.stdout.readline()
                assert line, server.stderr.read()
                text += line
            asked = {"jsonrpc": "2.0", "id": 1, "method": "rollup_getProof", "params": ["0x" + "11" * 20, [], "latest"]}
            reply = pool.request("POST", json.loads(text)["address"], json=asked).json()
        finally:
            server.terminate()
            server.wait(START)
        said = server.stderr.read()
    assert reply["result"]["accountProof"]
    assert (server.returncode, said) == (0, "")  # it logs warnings and errors only


def test_the_documented_command_is_the_one_that_is_tried():
    """Read-only but for one folder of temporary files."""
    (command,) = re.findall(r"docker run (.*?)feemodel\n", IMAGE.replace("\\\n#", ""), flags=re.DOTALL)

    assert command.split().count("--tmpfs") == 1
    assert {"--read-only", "/tmp"} <= set(command.split())
    assert Path("/mnt").is_dir()
