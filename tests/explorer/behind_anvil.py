"""A server in front of an anvil with one transaction, whose answers are in `sent.json`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.helpers import anvil
from tests.helpers.development import GENESIS
from tests.server.parts import ANY_AGE
from tests.system.start import Started, serving, wait_until

#: Of each method `params` and `result`.
SENT: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("sent.json").read_text(encoding="utf-8"))
MINED_AT = 1_769_299_212  # Unix time of block 1, 12 s after the genesis


@contextmanager
def behind_anvil() -> Iterator[Started]:
    """anvil on the development genesis behind a server, with the transaction in its first block."""
    with (
        anvil.running(GENESIS) as node,
        serving("--workers", "1", "--node", node.url, "--max-age", str(ANY_AGE)) as server,
    ):
        assert "error" not in node.ask("evm_setNextBlockTimestamp", MINED_AT)
        sent = server.ask("eth_sendRawTransaction", *SENT["eth_sendRawTransaction"]["params"])
        assert sent["result"] == SENT["eth_sendRawTransaction"]["result"]
        wait_until(lambda: server.ask("eth_getTransactionReceipt", sent["result"])["result"], "it is mined")
        yield server
