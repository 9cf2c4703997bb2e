"""`feemodel report` on real projects: the how-to followed from an empty folder with forge and anvil."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from feemodel.io.reports import read_project
from feemodel.rollups.tables import comparison, measured_sizes
from tests.conftest import ROOT
from tests.helpers import anvil
from tests.helpers.anvil import PEERS
from tests.system import clients

SOLC = str(PEERS / "solc.cjs")
GUIDE = (ROOT / "docs" / "how-to" / "report.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"`([\w./]+)`:\n\n```\w+\n(.*?)```", GUIDE, flags=re.DOTALL))
WITHOUT_FILES = re.sub(r"```.*?```", "", GUIDE, flags=re.DOTALL)
COMMANDS = [one.replace("\\\n", " ") for one in re.findall(r"^    (\w+ (?:.*\\\n)*.*)$", WITHOUT_FILES, re.MULTILINE)]


def run(command, folder):
    """The output of a shell command; forge finds the compiler of npm, and the commands those of this environment."""
    programs = [Path(sys.executable).parent, anvil.binary("forge").parent]
    path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
    return clients.run("sh", "-c", command, folder=folder, PATH=path, FOUNDRY_SOLC=SOLC, HOME=str(folder))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The project of the how-to, with its commands done in order."""
    clients.require(anvil.binary("forge"), anvil.binary(), PEERS / "node_modules" / "solc")
    folder = tmp_path_factory.mktemp("project")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    with anvil.running(None) as node:
        for command in COMMANDS:
            run(command.replace("http://127.0.0.1:8545", node.url), folder)
    return folder


def test_the_guide_makes_a_project_of_three_files():
    assert [*FILES] == ["foundry.toml", "src/Counter.sol", "script/Deploy.s.sol"]
    assert [command.split()[0] for command in COMMANDS].count("feemodel") == 2


def test_the_broadcast_is_priced_as_compare_prices_it(project):
    answer = json.loads(run("feemodel report . --json", project))

    names = ["deploy Counter", "Counter.setNumber(uint256)", "Counter.note(string)"]
    assert [*dict.fromkeys(row["use"] for row in answer["fees"])] == names
    fees = {"base_fee": answer["l1BaseFeeWei"], "blob_base_fee": answer["blobBaseFeeWei"]}
    for use in read_project(project).uses:
        compared = comparison(measured_sizes([use.transaction], gas=[use.gas_used]), **fees)
        found = {row["rule"]: row["total"] for row in answer["fees"] if row["use"] == use.name}
        assert found == {row.rule: row.total for row in compared}
