"""What a balance can send: valid at inclusion, and where the fee does not depend on the amount one wei more is not."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.ethereum import fee_market
from feemodel.rollups import Now, max_send, rules, sending
from feemodel.rollups._chain_files import chain_of
from feemodel.rollups.factors import Factors, Rule
from tests.helpers.sending_cases import CHAINS, check_cases

TO = {"to": "0x" + "11" * 20}


@pytest.mark.parametrize("name", CHAINS)
def test_no_rollup_charges_more_than_was_held_back(name):
    """The short form of `scripts/check-max-send`."""
    assert check_cases(name, 60, 3).keys() - {"too little for the fees"}


@pytest.mark.parametrize(("change", "message"), [
    ({"call": TO | {"authorizationList": [{}]}}, r"call\.authorizationList\[0\]\.chainId: expected an integer"),
    ({"call": TO | {"maxFeePerBlobGas": "0x1"}}, "call: expected no blobs, because rollups .* type 3, got 3"),
    ({"balance_wei": 2**256}, "balance_wei: expected at most"),
    ({"call": TO | {"value": "0x1"}}, "call.value: not valid, because `max_send` computes the value"),
    ({"name": "optimism"}, "rule: expected CHAIN or CHAIN/UPGRADE"),
    ({"name": "ink"}, "ink: no source gives gas_limit of ink since 2025-03-19"),
    ({"name": "starknet"}, "chain: expected a chain with Ethereum transactions, got 'starknet'"),
    ({"name": "zksync-era"}, "max_fee_per_gas: expected a price in wei, because no bound on the base fee"),
    ({"name": "zksync-os"}, "call.chainId: expected a chain id, because several chains have this rule"),
    ({"name": "arbitrum-one", "at": "2023-01-01"}, "no source gives version of arbitrum-one since 2022-08-31"),
    ({"balance_wei": -1}, "balance_wei: expected whole wei of at least 0, got -1"),
    ({"gas_limit": -1}, "gas_limit: expected whole gas of at least 0, got -1"),
    ({"blocks_ahead": 1.5}, "blocks_ahead: expected an integer"),
])  # fmt: skip
def test_what_has_no_answer_is_refused(change, message):
    given_ = {"name": "op-mainnet", "balance_wei": 10**15, "call": TO, "now": Now(base_fee=10**6), "gas_limit": 21_000}
    with pytest.raises(InvalidInput, match=message):
        max_send(**(given_ | change))


# Faults of wallets that users reported, as what each forgot


OWN_FAMILY = """family = "own"
token = "ETH"
id = 77
checked = 2026-11-24
[[rows]]
since = 2026-01-01
source = "the operator"
l2_gas_price = 5
"""


def test_a_new_family_is_a_rule_and_a_row(monkeypatch):
    """Its data fee is held back although only its rule was written; its bound, where it has one, is used."""

    def own_rule(parameters):
        terms = parameters.known("l2_gas_price")

        def factors(columns, base_fee, blob_base_fee):
            return Factors(columns["length"], base_fee, 1, columns["gas"], terms["l2_gas_price"])

        return Rule(parameters, ("gas", "length"), tuple(terms), factors)

    family = rules.Family(own_rule, lambda parameters, base_fee, blocks: base_fee + 2 * blocks)
    for module in (rules, sending):
        monkeypatch.setattr(module, "FAMILIES", {**rules.FAMILIES, "own": family})
    own = chain_of("own", tomllib.loads(OWN_FAMILY))
    now = sending.Now(base_fee=10, l1_base_fee=1_000, blob_base_fee=1)
    found = sending.max_send(own, 10**9, {"to": "0x" + "11" * 20}, now=now, gas_limit=21_000, blocks_ahead=3)
    row = {"gas": 21_000, "length": 97}

    assert rules.rule(own).fees(row, base_fee=1_000, blob_base_fee=1) == (97_000, 105_000)
    assert found.max_fee_per_gas == 16
    assert found.l1_fee > 97 * 1_000
    assert found.held == 16 * 21_000 + found.l1_fee
    assert [one.name for one in rules.rules_at(chains={"own": own})[0]] == ["own"]


@given(
    st.sampled_from(fee_market.MAINNET.rows), st.floats(0.0, 60.0), st.integers(1, 8), st.integers(0, 10**12)
)  # fmt: skip
def test_no_blob_base_fee_passes_its_bound(rules, exponent, blocks, base_fee):
    """The node rounds its series: e^r times one wei more than the price of now is no bound from some gwei on."""
    excess = int(exponent * rules.update_fraction)
    later = excess + blocks * (rules.maximum - rules.target) * fee_market.GAS_PER_BLOB
    now, then = (fee_market.fake_exponential(1, gas, rules.update_fraction) for gas in (excess, later))
    bound = sending._l1_fee_bounds(base_fee, now, blocks, rules)[1]

    assert then <= bound
    most = sending._largest_excess(now, rules)
    assert fee_market.fake_exponential(1, most, rules.update_fraction) == now
    assert fee_market.fake_exponential(1, most + 1, rules.update_fraction) > now
    assert bound == sending._blob_base_fee_bound(most, blocks, rules)
