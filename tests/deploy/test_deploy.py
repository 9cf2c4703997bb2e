"""The examples of how it is run: every setting at its default, and no flag, variable or path that is not there."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml

from feemodel.cli import main
from feemodel.server.dispatch import BATCH_SECONDS
from feemodel.server.settings import DEFAULTS, ENVIRONMENT_PREFIX, Settings, load_settings
from feemodel.server.workers import IDLE_SECONDS, STOP_SECONDS
from tests.conftest import ROOT
from tests.server.parts import opened
from tests.server.test_settings import BESIDE

DEPLOY = ROOT / "deploy"
FILE = (DEPLOY / "feemodel.toml").read_text(encoding="utf-8")
UNIT = (DEPLOY / "feemodel@.service").read_text(encoding="utf-8").replace("%i", "8547")  # as an instance
UNITS = sorted(DEPLOY.glob("*.service"))
SITE = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
IMAGE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")


def entries():
    """Name, value and whether it is only shown, of every setting in the file."""
    for line in FILE.splitlines():
        if found := re.match(r"(# )?(\w+) = (.*?)  +# ", line):
            yield found[2], tomllib.loads(f"value = {found[3]}")["value"], found[1] is not None


def unit_commands():
    """The commands of the unit as they would be split, without the program."""
    return [shlex.split(command)[1:] for command in re.findall(r"^ExecStart(?:Pre)?=(.*)$", UNIT, flags=re.MULTILINE)]


def instruction(name):
    """An instruction of the last stage, its lines joined."""
    text = IMAGE.replace("\\\n", " ").rpartition("\nFROM ")[2]
    (found,) = re.findall(rf"^{name} (.*)$", text, flags=re.MULTILINE)
    return found.strip()


def test_the_file_says_every_setting_once():
    assert list(DEFAULTS) == [name for name, *_ in entries()]


def test_the_file_is_the_defaults():
    assert load_settings(file=DEPLOY / "feemodel.toml", environment={}) == Settings()


def test_what_is_only_shown_is_unset_by_default_and_would_be_taken():
    for name, value, is_only_shown in entries():
        if is_only_shown:
            assert name == "workers" or DEFAULTS[name] is None
            assert getattr(load_settings(flags={name: str(value), **BESIDE.get(name, {})}), name) == value


@pytest.mark.parametrize("command", unit_commands(), ids=" ".join)
def test_the_unit_s_commands_are_taken(command, capsys):
    assert "--config" in command
    place = command.index("--config") + 1
    assert f"deploy/feemodel.toml {command[place]}" in UNIT  # where the installation puts it
    given = [*command[:place], str(DEPLOY / "feemodel.toml"), *command[place + 1 :], "--json"]
    given += [] if "--check" in given else ["--check"]

    assert main(given) == 0
    answer = json.loads(capsys.readouterr().out)
    assert "rollup_estimateGas" in str(answer)


@pytest.mark.parametrize("text", [UNIT, IMAGE], ids=["unit", "image"])
def test_variables_are_settings(text):
    named = set(re.findall(rf"\b({ENVIRONMENT_PREFIX}[A-Z0-9_]+)", text))
    known = {f"{ENVIRONMENT_PREFIX}{name.upper()}" for name in DEFAULTS} | {"FEEMODEL_CONFIG"}

    assert named
    assert set() == named - known


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_takes_the_unit(unit, tmp_path):
    installed = tmp_path / unit.name.replace("@", "@8547")
    installed.write_text(unit.read_text(encoding="utf-8").replace("/opt/feemodel/bin/feemodel", sys.executable))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(installed)], capture_output=True, text=True, timeout=60
    )

    assert (verified.returncode, verified.stderr) == (0, "")


def test_the_unit_that_follows_has_options_that_are_there(capsys):
    (command,) = re.findall(
        r"^ExecStart=\S+ (.*)$", (DEPLOY / "feemodel-follow.service").read_text(), flags=re.MULTILINE
    )
    ledger = "/var/lib/feemodel/ledger.db"
    assert shlex.split(command) == ["follow", "--store", ledger, "--node", "${FOLLOWED_NODE}"]
    assert main(shlex.split(command)) == 3
    assert capsys.readouterr().err == (f"feemodel: --store {ledger}: no such ledger; --genesis FILE creates a ledger\n")


def test_an_instance_has_the_time_to_answer_what_it_has_read():
    (stop,) = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, flags=re.MULTILINE)
    assert int(stop) > STOP_SECONDS


def test_nginx_spreads_calls_over_the_instances_of_the_unit():
    (command,) = re.findall(r"enable --now (.*)$", UNIT, flags=re.MULTILINE)
    instances = re.findall(r"feemodel@(\d+)", command)
    upstream = SITE[SITE.index("upstream feemodel {") : SITE.index("upstream feemodel_node")]
    assert len(instances) == 2
    assert instances == re.findall(r"server 127\.0\.0\.1:(\d+)", upstream)


def test_the_image_is_built_from_what_is_there_and_pinned():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for sources in re.findall(r"^COPY (?!--from)(.*) \S+$", IMAGE, flags=re.MULTILINE):
        for source in sources.split():
            assert (ROOT / source).exists(), source
            assert f"!{source}" in ignored, source
    assert ignored[1] == "*"
    bases = re.findall(r"^(?:FROM |COPY --from=)(\S+)", IMAGE, flags=re.MULTILINE)
    assert {"python:3.12.12-bookworm", "python:3.12.12-slim-bookworm", "rust:1.95.0-slim-bookworm", "build"} == set(
        bases
    )
    for requirements in re.findall(r"requirements/\S+\.txt", IMAGE + UNIT):
        assert (ROOT / requirements).is_file()


def test_the_image_runs_as_nobody_s_root_and_serves():
    assert instruction("USER") == "10001"
    assert json.loads(instruction("ENTRYPOINT")) == ["feemodel", "serve"]
    environment = dict(re.findall(r"(FEEMODEL_\w+)=(\S+)", instruction("ENV")))
    assert load_settings(environment=environment).host == "0.0.0.0"
    assert instruction("EXPOSE") == str(load_settings(environment=environment).port)


def test_kubernetes_probes_what_the_server_answers():
    deployment, service = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))
    pod = deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    environment = {variable["name"]: variable["value"] for variable in container["env"]}
    assert all(name.startswith(ENVIRONMENT_PREFIX) for name in environment)
    settings = load_settings(environment=environment)
    (port,) = container["ports"]
    assert (port["containerPort"], settings.host) == (settings.port, "0.0.0.0")
    assert pod["metadata"]["annotations"]["prometheus.io/port"] == str(settings.port)
    assert deployment["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"] == service["spec"]["selector"]
    assert service["spec"]["ports"] == [{"name": "rpc", "port": settings.port, "targetPort": port["name"]}]
    assert settings.behind_proxy
    assert pod["spec"]["terminationGracePeriodSeconds"] > STOP_SECONDS
    flags = [flag for flag in container["args"] if flag.startswith("--")]
    assert {flag[2:] for flag in flags} <= set(Settings.__struct_fields__)
    probes = {name: container[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert {probe["port"] for probe in probes.values()} == {port["name"]}
    with opened() as client:
        assert {client.http("GET", probe["path"]).status for probe in probes.values()} == {200}


def seconds(name, text=SITE):
    (found,) = re.findall(rf"^\s*{name} (\d+)s;", text, flags=re.MULTILINE)
    return int(found)


def test_times_and_sizes_of_nginx_fit_the_server_s():
    upstream = SITE[SITE.index("upstream") : SITE.index("server {")]

    assert seconds("keepalive_timeout", upstream) < IDLE_SECONDS
    assert seconds("proxy_read_timeout") > BATCH_SECONDS
    assert "client_max_body_size 1m;" in SITE
