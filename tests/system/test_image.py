"""The image's steps as in the Containerfile, and the unit under systemd: in overlays of this root, offline.

Each stage is an overlay, so that nothing outside of it is written. The base image is this system with the Python that
runs the tests, whose packages stand for what pip would fetch: pip checks them against the pins and fetches nothing. The
compiled engine of that Python stands for the one that the image builds; `scripts/check-wheel` builds it. The container
is the last stage, read-only except for /tmp and its volume, with the loopback alone, as the image's user without any
capability. The unit is started and stopped by a systemd that is PID 1 of the first stage.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from feemodel.ethereum._quantities import to_hex
from tests.conftest import ROOT
from tests.helpers.development import HOLDERS
from tests.system.start import START

#: The base image's Python and what pip would fetch, where the stages have them.
BASE = {
    "PATH": "/srv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LD_LIBRARY_PATH": "/srv/lib",
    "PYTHONPATH": "/mnt", "PYTHONFAULTHANDLER": "1", "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0",
}  # fmt: skip
LOCKS = r"python scripts/native-crates lock\s*&& "  # the versions of its crates
BUILDS = "&& /opt/feemodel/bin/pip install --no-cache-dir ./native"  # the compiled engine
UNPRIVILEGED = "--clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs"
UNIT = (ROOT / "deploy" / "feemodel@.service").read_text(encoding="utf-8").replace("%i", "8545")
ALONE = ["unshare", "--mount", "--net", "--pid", "--cgroup", "--fork", "--kill-child", "sh", "-c"]
LONGEST = 300.0  # seconds until systemd has ended
BEGIN = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"; cd "$1"
ip link set lo up
stage() {
    mkdir "$1.changes" "$1.work" "$1"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$1.changes,workdir=$1.work" "$1"
    mount --rbind /dev "$1/dev"; mount -t proc proc "$1/proc"; mount -t tmpfs tmpfs "$1/tmp"
    mount --bind "$2" "$1/mnt"; mount -o remount,bind,ro "$1/mnt"
    mount --bind "$3" "$1/srv"; mount -o remount,bind,ro "$1/srv"
}
"""
SEE = """
import json, os, socket, urllib.request
import feemodel
def answer(method, *params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request("http://127.0.0.1:8545/", body, {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=300))
def metrics():
    return urllib.request.urlopen("http://127.0.0.1:8545/metrics").read().decode()
def written(path):
    try:
        open(path, "w").close()
    except OSError as error:
        return error.strerror
    return "yes"
print(json.dumps({
    "chain": answer("eth_chainId"),
    "estimate": answer("rollup_estimateGas", {"from": "HOLDER", "to": "0x" + "22" * 20}),
    "proof": answer("rollup_getProof", "HOLDER", [], "latest"),
    "package": feemodel.__file__,
    "engines": [line for line in metrics().splitlines() if line.startswith("feemodel_engine{")],
    "interfaces": [name for _, name in socket.if_nameindex()],
    "user": os.getuid(),
    "capabilities": [line.split()[1] for line in open("/proc/self/status") if line.startswith("CapEff")],
    "writable": {path: written(path) for path in ("/opt/feemodel/x", "/var/cache/feemodel/x", "/tmp/x",
                                                  "/var/lib/feemodel/x")},
}))
"""


def instructions():
    """The steps of the file: name and argument."""
    lines = [line for line in (ROOT / "deploy" / "Containerfile").read_text().splitlines() if not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line:
            name, _, argument = line.partition(" ")
            yield name, argument.strip()


def command_of(argument):
    """What a step executes, in either form."""
    return json.loads(argument) if argument.startswith("[") else ["sh", "-c", argument]


class Image:
    """The script that executes the steps, and what they say of the container."""

    def __init__(self):
        self.script, self.stage, self.stages = [BEGIN], "", 0
        self.environment, self.folder, self.user, self.said = {}, "/", "", {}
        for name, argument in instructions():
            getattr(self, f"do_{name.lower()}", self.keep(name))(argument)

    def keep(self, name):
        return lambda argument: self.said.update({name: argument})

    def run(self, command):
        """A command in the stage, as it would be executed there."""
        given = {**BASE, **self.environment}
        user = f"setpriv --reuid={self.user} --regid={self.user} {UNPRIVILEGED} " if self.user else ""
        words = shlex.join(["env", "-i", *(f"{name}={value}" for name, value in given.items()), *command])
        return f"chroot {self.stage} sh -c {shlex.quote(f'cd {self.folder} && exec {user}{words}')}"

    def do_from(self, argument):
        self.stage = argument.partition(" AS ")[2] or "container"
        self.environment, self.folder, self.user = {}, "/", ""
        self.script.append(shlex.join(["stage", self.stage, sysconfig.get_path("purelib"), sys.base_prefix]))
        named = f"{self.stage}/usr/local/bin/python"  # as in the base image, where Debian's has no such name
        self.script.append(f"[ -e {self.stage}/srv/bin/python ] || ln -s /srv/bin/python3 {named}")

    def do_workdir(self, argument):
        self.folder = argument
        self.script.append(f"mkdir -p {self.stage}{argument}")

    def do_copy(self, argument):
        if argument.startswith("--from="):
            stage, source, target = argument.removeprefix("--from=").split()
            if ":" in stage:  # Rust, of another image
                return
            self.script.append(f"mkdir -p {self.stage}{target} && cp -a {stage}{source}/. {self.stage}{target}/")
            return
        *sources, target = argument.split()
        for source in sources:
            if source == "native":
                continue
            where = f"{self.stage}{self.folder}/{target}"
            copied = f"mkdir -p {where} && cp -r {ROOT}/{source}/. {where}/"
            one_file = f"mkdir -p $(dirname {where}) && cp {ROOT}/{source} {where}"
            self.script.append(copied if (ROOT / source).is_dir() else one_file)

    def do_env(self, argument):
        for name, value in re.findall(r"(\w+)=(\S+)", argument):
            self.environment[name] = value.replace("$PATH", self.environment.get("PATH", BASE["PATH"]))

    def do_user(self, argument):
        self.user = argument

    def do_run(self, argument):
        self.script.append(self.run(command_of(re.sub(LOCKS, "", argument.replace(BUILDS, "")))) + " >&2")

    def container(self):
        """The documented command: read-only, a folder for temporary files, the volume; then what is seen inside."""
        volume, check = self.said["VOLUME"], command_of(self.said["HEALTHCHECK"].partition("CMD ")[2])
        self.script += [
            f"owner=$(stat -c %u:%g {self.stage}{volume})",
            f"mount -o remount,ro {self.stage}; mount -t tmpfs tmpfs {self.stage}/tmp",
            f"mount -t tmpfs tmpfs {self.stage}{volume}; chown $owner {self.stage}{volume}",
            self.run(json.loads(self.said["ENTRYPOINT"])) + " >&2 & server=$!",
            f"for _ in $(seq {START * 2:.0f}); do {self.run(check)} 2>/dev/null && break; sleep 0.5; done",
            self.run(["python", "-c", SEE.replace("HOLDER", to_hex(HOLDERS[0]))]),
            "pkill -TERM --parent $server 2>/dev/null || kill -TERM $server",
            "code=0; wait $server || code=$?; echo $code",
        ]
        return "\n".join(self.script)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An empty folder, where overlays can be mounted."""
    if any(shutil.which(tool) is None for tool in ("unshare", "setpriv", "ip")):
        pytest.skip("needs unshare and setpriv of util-linux, and ip of iproute2")
    folder = tmp_path_factory.mktemp("image")
    (folder / "overlays").mkdir()
    tried = executed(BEGIN + 'stage tried "$1" "$1"', folder)
    if tried.returncode:
        pytest.skip(f"no overlay in a namespace here: {tried.stderr.strip()}")
    return folder


def executed(script, folder):
    """A script in namespaces of its own, which are gone when it ends."""
    command = [*ALONE, script, "sh", str(folder / "overlays"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)


@pytest.fixture(scope="module")
def seen(folder):
    """What was seen in the container, and with which code its command ended."""
    done = executed(Image().container(), folder)
    assert done.returncode == 0, done.stderr
    *shown, code = done.stdout.splitlines()
    return json.loads(shown[-1]), int(code)


def test_the_image_serves_as_its_steps_built_it(seen):
    found, _ = seen
    assert found["package"].startswith("/opt/feemodel/")
    assert found["chain"]["result"] == "0x539"
    assert found["proof"]["result"]["accountProof"]
    assert int(found["estimate"]["result"]["gasLimit"], 16) == 21_000


def test_it_runs_without_a_network_a_capability_or_a_place_to_write(seen):
    found, _ = seen
    assert found["interfaces"] == ["lo"]
    assert (found["user"], found["capabilities"]) == (10001, ["0000000000000000"])
    refused = "Read-only file system"
    assert found["writable"] == {
        "/opt/feemodel/x": refused, "/var/cache/feemodel/x": refused, "/tmp/x": "yes", "/var/lib/feemodel/x": "yes"
    }  # fmt: skip


def test_the_engine_is_the_compiled_one(seen):
    steps = " ".join(argument for _, argument in instructions())
    assert re.search(LOCKS, steps)
    assert BUILDS in steps
    assert [line.partition(" ")[0] for line in seen[0]["engines"]] == ['feemodel_engine{name="native"}']


def test_it_ends_when_it_is_told_to(seen):
    assert seen[1] == 0


SYSTEMD = Path("/lib/systemd/systemd")
#: Boots the first stage with systemd as PID 1, the unit, and another one that looks at it; `$2` is where the files are.
BOOT = """
cd "$1"
root=$PWD/build
mkdir -p $root/etc/systemd/system $root/etc/feemodel $root/outside
mount -t sysfs -o ro sysfs $root/sys
mount -t tmpfs tmpfs $root/run
mount -t cgroup2 cgroup2 $root/sys/fs/cgroup
cp "$2/feemodel.service" "$2/see.service" $root/etc/systemd/system/
cp "$2/feemodel.toml" $root/etc/feemodel/
echo 0123456789abcdef0123456789abcdef > $root/etc/machine-id
mount --rbind $root $root
cd $root
pivot_root . outside
export container=test
exec /lib/systemd/systemd --system --unit=see.service --log-target=null --show-status=no
"""
LOOK = """
folder=/outside$1
read='import urllib.request as r; print(r.urlopen("http://127.0.0.1:8545/health").read().decode())'
for _ in $(seq 200); do
    /opt/feemodel/bin/python -c "$read" > $folder/seen.json && break
    sleep 0.5
done 2> /dev/null
process=$(systemctl show feemodel --property MainPID --value)
grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/$process/status > $folder/held
stat -c %U /proc/$process >> $folder/held
systemctl stop feemodel
systemctl show feemodel --property Result,ExecMainStatus,ActiveState > $folder/stopped
systemctl --no-block poweroff --force --force
"""


@pytest.fixture(scope="module")
def under_systemd(folder):
    """What was seen of the unit under a systemd of its own; the package is installed as in the image."""
    if not SYSTEMD.exists():
        pytest.skip("needs systemd")
    base = "Environment=" + " ".join(f"{name}={value}" for name, value in BASE.items())
    (folder / "feemodel.service").write_text(UNIT.replace("[Service]\n", f"[Service]\n{base}\n"))
    shutil.copy(ROOT / "deploy" / "feemodel.toml", folder)
    (folder / "look.sh").write_text(LOOK)
    (folder / "see.service").write_text(
        "[Unit]\nWants=feemodel.service\nAfter=feemodel.service\nDefaultDependencies=no\n[Service]\nType=oneshot\n"
        f"{base}\nExecStart=sh /outside{folder}/look.sh {folder}\n"
    )
    script = Image().script
    first = script[: next(place for place, step in enumerate(script) if step.startswith("stage container"))]
    done = executed("\n".join([*first, BOOT]), folder)
    assert (folder / "stopped").exists(), done.stdout + done.stderr
    return folder


def lines(path):
    return set(path.read_text().splitlines())


def test_the_unit_serves_under_systemd_until_it_is_stopped(under_systemd):
    assert json.loads((under_systemd / "seen.json").read_text())["status"] == "ok"
    assert lines(under_systemd / "stopped") == {"Result=success", "ExecMainStatus=0", "ActiveState=inactive"}


def test_the_unit_runs_as_a_user_of_its_own_without_capabilities_and_filtered(under_systemd):
    assert lines(under_systemd / "held") == {"CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "feemodel"}
