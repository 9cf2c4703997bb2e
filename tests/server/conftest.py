"""The server and the node that most tests ask."""

import pytest

from feemodel.estimates.chain import LEDGER
from feemodel.io.shipped import shipped_path
from tests.helpers import node_server
from tests.server.parts import answering, opened


@pytest.fixture(scope="package")
def client():
    """The development chain and its ledger."""
    with opened(store=shipped_path(LEDGER), started=False) as client:
        yield client


@pytest.fixture
def node():
    with node_server.running() as node:
        answering(node)
        yield node
