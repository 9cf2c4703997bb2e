"""The development genesis: what it promises stands in it, and its contracts do what their sources say."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from feemodel.estimates.chain import development_genesis
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import WEI_PER_ETH, from_hex, to_hex
from feemodel.execution import execute_call
from feemodel.ledger import parse_genesis
from feemodel.linea.extra_data import PricingRecord
from feemodel.linea.parameters import linea_preset
from tests.conftest import ROOT
from tests.helpers import anvil
from tests.helpers.development import (
    ALDER,
    BIRCH,
    CONTRACTS,
    DEVELOPMENT,
    HOLDERS,
    POOL,
    RECORDS,
    UNIT,
    development_state,
    encoded,
    words,
)

COMPILER = anvil.PEERS / "node_modules" / ".bin" / "solcjs"
ENDLESS = 2**256 - 1
STATE = development_state()
STRANGER = bytes.fromhex("57a49e4057a49e4057a49e4057a49e4057a49e40")


def view(contract, signature, *arguments):
    """The number that a function answers."""
    return int.from_bytes(execute_call({"to": contract, "data": encoded(signature, *arguments)}, STATE))


def test_the_accounts_are_those_of_the_well_known_mnemonic():
    listed = [account.address for account in parse_genesis(development_genesis())]

    assert listed[:10] == HOLDERS
    assert [to_hex(HOLDERS[place]) for place in (0, 9)] == [
        "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", "0xa0ee7a142d267c1f36714e4a8f75612f20a79720",
    ]  # fmt: skip
    assert listed[10:] == [ALDER, BIRCH, POOL, RECORDS]
    assert {STATE.account(holder).balance for holder in HOLDERS} == {10_000 * WEI_PER_ETH}


def test_the_header_says_what_an_unconfigured_server_prices_with():
    genesis, preset = development_genesis(), linea_preset()
    record = PricingRecord.from_bytes(from_hex(genesis["extraData"]))

    expected = (preset.fixed_cost, preset.variable_cost, preset.eth_gas_price)
    assert expected == (record.fixed_cost, record.variable_cost, record.eth_gas_price)
    assert (preset.base_fee, 2_000_000_000) == (int(genesis["baseFeePerGas"], 16), int(genesis["gasLimit"], 16))
    assert tuple(genesis["config"][field] for field in ("chainId", "homesteadBlock", "osakaTime")) == (1337, 0, 0)


def test_the_description_of_the_folder_is_of_these_files():
    text = (DEVELOPMENT / "README.md").read_text()

    for name in ("genesis.json", "contracts.json"):
        assert hashlib.sha256((DEVELOPMENT / name).read_bytes()).hexdigest() in text, name
    for name, contract in CONTRACTS.items():
        assert f"{name}.sol" in text
        for address in contract["addresses"]:
            assert address in text
        for entry in contract["abi"]:
            if entry["type"] == "function":
                arguments = ",".join(argument["type"] for argument in entry["inputs"])
                assert f"`{entry['name']}({arguments})`" in text


@pytest.mark.parametrize(("token", "supply"), [(ALDER, 15_000_000 * UNIT), (BIRCH, 30_000_000 * UNIT)])
def test_the_supply_of_a_token_is_what_its_holders_have(token, supply):
    held = [view(token, "balanceOf(address)", holder) for holder in [*HOLDERS, POOL]]

    assert supply == view(token, "totalSupply()") == sum(held)
    assert all(held)


def test_the_reserves_of_the_pool_are_its_balances():
    for place, (token, reserve) in enumerate([(ALDER, 5_000_000 * UNIT), (BIRCH, 10_000_000 * UNIT)]):
        assert token == view(POOL, f"token{place}()").to_bytes(20)
        assert reserve == view(POOL, f"reserve{place}()") == view(token, "balanceOf(address)", POOL)


@pytest.mark.parametrize("token", [ALDER, BIRCH])
def test_the_accounts_allow_the_pool_and_their_neighbour(token):
    for place, holder in enumerate(HOLDERS):
        neighbour = HOLDERS[(place + 1) % 10]
        allowed = [view(token, "allowance(address,address)", holder, who) for who in (POOL, neighbour, STRANGER)]

        assert [500_000 * UNIT if place % 2 else ENDLESS, 1_000 * UNIT, 0] == allowed


def test_the_records_are_those_that_filling_stores():
    values = [int.from_bytes(keccak256(words(0, index))) >> 64 | 1 for index in range(200)]

    assert view(RECORDS, "length()") == 200
    assert (values[0], values[199]) == tuple(view(RECORDS, "valueAt(uint256)", index) for index in (0, 199))
    assert sum(values[:50]) == view(RECORDS, "sum(uint256)", 50)


def test_the_files_are_what_the_sources_build():
    compiler = os.environ.get("FEEMODEL_SOLC") or (str(COMPILER) if COMPILER.exists() else None)
    if compiler is None:
        if anvil.needed():
            pytest.fail(f"{COMPILER}: not there, although FEEMODEL_PEERS is 1; see scripts/install-peers")
        pytest.skip("needs the compiler: scripts/install-peers puts it into tests/peers/, or FEEMODEL_SOLC names it")

    command = [sys.executable, str(ROOT / "scripts" / "build-contracts"), "--check"]
    environment = os.environ | {"FEEMODEL_SOLC": str(Path(compiler).resolve())}
    built = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    assert (built.returncode, built.stderr) == (0, "")
