"""The package on a read-only root where no kernel can be kept, in a mount namespace of its own; see test_image.py."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

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
