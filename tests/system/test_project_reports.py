"""`feemodel report` on real projects: the how-to followed from an empty folder with forge and anvil, and Hardhat."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from feemodel.ethereum._abi import example_calldata
from tests.conftest import ROOT
from tests.helpers import anvil

PEERS = anvil.PEERS
HARDHAT = PEERS / "node_modules" / "hardhat" / "internal" / "cli" / "bootstrap.js"
GUIDE = (ROOT / "docs" / "how-to" / "report.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"`([\w./]+)`:\n\n```\w+\n(.*?)```", GUIDE, flags=re.DOTALL))
WITHOUT_FILES = re.sub(r"```.*?```", "", GUIDE, flags=re.DOTALL)
COMMANDS = [one.replace("\\\n", " ") for one in re.findall(r"^    (\w+ (?:.*\\\n)*.*)$", WITHOUT_FILES, re.MULTILINE)]


def require(*paths):
    missing = [str(path) for path in paths if not Path(path).exists()]
    if missing and not anvil.needed():
        pytest.skip(f"not installed: {', '.join(missing)} (scripts/install-peers)")
    assert missing == []


def run(command, folder, **variables):
    """The output of a shell command; forge finds the compiler of npm, and the commands those of this environment."""
    programs = [Path(sys.executable).parent, anvil.binary("forge").parent, anvil.binary("cast").parent]
    path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "FOUNDRY_SOLC": str(PEERS / "solc.cjs"), "HOME": str(folder)} | variables
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
    return done.stdout


def priced(folder, *arguments):
    return json.loads(run(f"feemodel report {' '.join(arguments)} --json", folder))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The project of the how-to, with its commands done in order."""
    require(anvil.binary("forge"), anvil.binary(), PEERS / "node_modules" / "solc")
    folder = tmp_path_factory.mktemp("project")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    with anvil.running(None) as node:
        for command in COMMANDS:
            if not command.startswith("npx"):
                run(command.replace("http://127.0.0.1:8545", node.url), folder)
    return folder


def test_the_guide_makes_a_project_of_four_files():
    assert [*FILES] == ["foundry.toml", "src/Counter.sol", "test/Counter.t.sol", "script/Deploy.s.sol"]
    assert [command.split()[0] for command in COMMANDS].count("feemodel") == 4


def test_the_functions_of_the_tests_are_priced(project):
    answer = priced(project, "gas.json")

    names = ["deploy Counter", "Counter.increment()", "Counter.note(string)", "Counter.setNumber(uint256)"]
    assert [use["name"] for use in answer["uses"]] == names
    assert all(len(use["fees"]) > 5 for use in answer["uses"])


def test_the_broadcast_is_priced_as_compare_prices_it(project):
    answer = priced(project, ".")

    assert [use["name"] for use in answer["uses"]] == [
        "deploy Counter", "Counter.setNumber(uint256)", "Counter.note(string)",
    ]  # fmt: skip
    for use in answer["uses"]:
        (project / "one.json").write_text(2 * (json.dumps(use["transaction"]) + "\n"))
        compared = json.loads(run("feemodel compare one.json --json", project))["rules"]
        assert {row["rule"]: row["total"] for row in compared} == {fee["rule"]: 2 * fee["total"] for fee in use["fees"]}


@pytest.mark.parametrize(
    ("signature", "answer"),
    [
        ("transfer(address,uint256)", 2),
        ("g(bytes,uint8[3],(address,string,(bool,bytes4)[])[2],int64)", 4),
        ("h(string[],uint256[][2])", 2),
        ("i(bytes32,int256,bool,bytes1)", 4),
    ],
)
def test_cast_decodes_the_example_calldata(signature, answer, tmp_path):
    require(anvil.binary("cast"))
    data = example_calldata(signature).hex()
    decoded = json.loads(run(f"cast decode-calldata --json '{signature}' 0x{data}", tmp_path))

    assert len(decoded) == answer


def test_a_hardhat_project_is_priced(tmp_path):
    require(HARDHAT, PEERS / "node_modules" / "hardhat-gas-reporter")
    folders = {"BUILT": str(tmp_path), "HOME": str(tmp_path), "GAS_REPORT": str(tmp_path / "gas.json")}
    run(f"node {HARDHAT} test", PEERS / "hardhat", **folders)
    answer = priced(tmp_path, "gas.json", "--only", "op-mainnet,linea")

    assert [use["name"] for use in answer["uses"]] == ["deploy Counter", "Counter.increment()"]
    assert all(fee["total"] > 0 for use in answer["uses"] for fee in use["fees"])
