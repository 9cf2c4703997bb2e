"""What a balance can send: valid at inclusion, and where the fee does not depend on the amount one wei more is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.ethereum import fee_market
from feemodel.ethereum._hashes import Signature
from feemodel.ethereum._transaction import Transaction
from feemodel.rollups import Now, max_send, optimism, rule, rules, sending
from feemodel.rollups._chain_files import ChainFile
from feemodel.rollups.chains import chain
from feemodel.rollups.factors import Factors, Rule
from feemodel.rollups.sending import _blobs_at
from feemodel.sizes._codecs import Brotli, FastLz
from tests.helpers.rollup_vectors import op_stack_sendable
from tests.helpers.sending_cases import CHAINS, check_cases, depends_on_bytes

TO = {"to": "0x" + "11" * 20}
SCALARS = {"base_fee_scalar": 5_227, "blob_base_fee_scalar": 1_014_213}
L1 = {"l1_base_fee": 2_000_000_000, "blob_base_fee": 125_000_000}


def test_the_largest_base_fees_are_those_of_full_blocks():
    """Base on 2026-01-22: 2.5 % … a tenth in ten blocks would be wrong; each block may add (6 − 1) / 50."""
    terms = {"gas_limit": 375_000_000, "elasticity": 6, "denominator": 50, "min_base_fee": 10**6}

    assert fee_market.base_fee_bound(10**6, 3, **terms) == [1_100_000, 1_210_000, 1_331_000]
    assert fee_market.base_fee_bound(251, 2, gas_limit=60 * 10**6, elasticity=4, denominator=250) == [254, 257]


@given(st.integers(1, 10**11), st.integers(0, 2 * 10**8), st.integers(1, 12), st.data())
def test_no_sequence_of_l1_blocks_passes_the_bound(base_fee, excess, blocks, data):
    rules = fee_market.MAINNET.rows[-1]
    blob = fee_market.blob_base_fee(excess, rules.timestamp)
    most = sending._l1_fee_bounds(base_fee, blob, blocks)
    for _ in range(blocks):
        used = data.draw(st.integers(0, rules.maximum)) * fee_market.GAS_PER_BLOB
        excess = fee_market.next_excess_blob_gas(excess, used, base_fee, rules.timestamp)
        base_fee = fee_market.next_base_fee(base_fee, data.draw(st.integers(0, 60 * 10**6)), 60 * 10**6)

    assert base_fee <= most[0]
    assert fee_market.blob_base_fee(excess, rules.timestamp) <= most[1]


def signed_with(rng):
    """Signs with random numbers: what a size sees of a signature."""

    def sign(transaction: Transaction) -> bytes:
        r, s = (int.from_bytes(rng.bytes(32), "big") for _ in "rs")
        return Transaction(**{**_fields(transaction), "signature": Signature(0, r, s)}).signed()

    return sign


def _fields(transaction: Transaction) -> dict:
    return {name: getattr(transaction, name) for name in transaction.__dataclass_fields__}


#: Chain → the day whose rule holds; `None`: the newest, where its parameters are known.
DAYS = {"op-mainnet": None, "base": None, "unichain": "2025-04-01", "ink": "2025-01-01", "soneium": "2025-03-15",
        "linea": None}  # fmt: skip


def due(name, value, found, *, fees, fee, signed):
    """What the chain asks of the sender at inclusion, by the rule of its day."""
    parameters = chain(name).at(DAYS[name])
    paid = found.gas_limit * fee + value
    if chain(name).family == "op-stack":
        columns = {"gas": found.gas_limit, "fastlz_size": FastLz().size(signed)}
        paid += rule(name, at=DAYS[name]).fees(columns, base_fee=fees[0], blob_base_fee=fees[1]).l1
        terms = {short: parameters.get(f"operator_fee_{short}", 0) for short in ("scalar", "constant")}
        paid += optimism.operator_fee(found.gas_limit, **terms, upgrade=parameters["upgrade"])
    return paid


@pytest.mark.parametrize("name", DAYS)
def test_the_amount_is_valid_however_fees_move(name):
    """Transfers and calls with data: at the largest fees that the rules allow, the balance covers the answer."""
    rng = np.random.default_rng(2_026)
    for _ in range(200):
        have, ahead = int(rng.integers(10**14, 10**18)), int(rng.integers(1, 20))
        now = Now(base_fee=int(rng.integers(10**5, 10**9)), l1_base_fee=int(rng.integers(10**7, 10**11)),
                  blob_base_fee=int(rng.integers(1, 10**10)))  # fmt: skip
        data = rng.bytes(int(rng.integers(0, 400))) if rng.random() < 0.5 else b""
        gas = 21_000 + 40 * len(data)
        found = max_send(name, have, TO | {"data": "0x" + data.hex()}, now=now, gas_limit=gas, blocks_ahead=ahead,
                         at=DAYS[name])  # fmt: skip
        if found.max_value is None:
            assert found.held > have
            continue
        fee = (have - found.max_value - found.l1_fee - found.operator_fee) // gas
        blocks = 1 + ahead * chain(name).at(DAYS[name]).get("block_milliseconds", 12_000) // 12_000
        blobs = _blobs_at(fee_market.MAINNET, DAYS[name])
        fees = sending._l1_fee_bounds(now.l1_base_fee, now.blob_base_fee, blocks, blobs)
        transaction = Transaction(
            type=2, chain_id=chain(name).chain_id, max_fee=fee, gas_limit=gas, to=b"\x11" * 20, value=found.max_value,
            data=data,
        )  # fmt: skip
        signed = signed_with(rng)(transaction)
        assert due(name, found.max_value, found, fees=fees, fee=fee, signed=signed) <= have
        if FastLz().size(signed) <= 170 and not depends_on_bytes(name, transaction.unsigned()):
            assert due(name, found.max_value + 1, found, fees=fees, fee=fee, signed=signed) > have


@pytest.mark.parametrize("name", CHAINS)
def test_no_rollup_charges_more_than_was_held_back(name):
    """The short form of `scripts/check-max-send`."""
    assert check_cases(name, 60, 3).keys() - {"too little for the fees"}


def test_with_a_signature_the_answer_is_what_its_bytes_leave():
    rng = np.random.default_rng(7)
    now = Now(base_fee=10**6, l1_base_fee=10**10, blob_base_fee=10**8)
    call = TO | {"data": "0x" + rng.bytes(600).hex()}
    sign = signed_with(np.random.default_rng(1))
    bounded = max_send("op-mainnet", 10**16, call, now=now, gas_limit=60_000)
    exact = max_send("op-mainnet", 10**16, call, now=now, gas_limit=60_000, sign=sign)

    assert exact.max_value > bounded.max_value


def test_arbitrum_covers_l1_at_the_lowest_fee():
    now = Now(base_fee=3 * 10**7, price_per_unit=10**9)
    found = max_send("arbitrum-one", 10**16, TO, now=now, gas_limit=21_000, max_fee_per_gas=4 * 10**7)
    transfer = Transaction(type=2, chain_id=42_161, max_fee=4 * 10**7, gas_limit=found.gas_limit, to=b"\x11" * 20,
                           value=found.max_value)  # fmt: skip
    signed = signed_with(np.random.default_rng(3))(transfer)

    assert 10**16 - found.max_value == found.held == found.gas_limit * 4 * 10**7
    assert found.gas_limit - 21_000 >= 10**9 * 16 * Brotli().size(signed) // (2 * 10**7)


@pytest.mark.parametrize(("change", "message"), [
    ({"call": TO | {"authorizationList": [{}]}}, r"call\.authorizationList\[0\]\.chainId: expected an integer"),
    ({"call": TO | {"maxFeePerBlobGas": "0x1"}}, "call: expected no blobs, because rollups .* type 3, got 3"),
    ({"balance_wei": 2**256}, "balance: expected at most"),
    ({"call": TO | {"value": "0x1"}}, "call.value: not valid, because `max_send` computes the value"),
    ({"name": "optimism"}, "rule: expected CHAIN or CHAIN/UPGRADE"),
    ({"name": "ink"}, "ink: no source gives gas_limit of ink since 2025-03-19"),
    ({"name": "starknet"}, "chain: expected a chain with Ethereum transactions, got 'starknet'"),
    ({"name": "zksync-era"}, "max_fee_per_gas: expected a price in wei, because no bound on the base fee"),
    ({"name": "zksync-os"}, "call.chainId: expected a chain id, because several chains have this rule"),
    ({"name": "arbitrum-one", "at": "2023-01-01"}, "no source gives version of arbitrum-one since 2022-08-31"),
    ({"balance_wei": -1}, "balance: expected whole wei of at least 0, got -1"),
    ({"gas_limit": -1}, "gas_limit: expected whole gas of at least 0, got -1"),
    ({"blocks_ahead": 1.5}, "blocks_ahead: expected an integer"),
])  # fmt: skip
def test_what_has_no_answer_is_refused(change, message):
    given_ = {"name": "op-mainnet", "balance_wei": 10**15, "call": TO, "now": Now(base_fee=10**6), "gas_limit": 21_000}
    with pytest.raises(InvalidInput, match=message):
        max_send(**(given_ | change))


# Faults of wallets that users reported, as what each forgot


def test_a_wallet_that_forgets_the_l1_fee_is_short_by_exactly_it():
    found = max_send("op-mainnet", 10**15, TO, now=Now(base_fee=10**6, l1_base_fee=10**9, blob_base_fee=1),
                     gas_limit=21_000)  # fmt: skip

    assert 10**15 - 21_000 * 1_004_000 - found.max_value == found.l1_fee > 0


def test_a_wallet_that_sizes_arbitrum_s_gas_at_the_fee_of_now_is_short_when_it_falls():
    now = {"execution_gas": 21_000, "max_fee_per_gas": 4 * 10**7, "brotli_size": 110, "price_per_unit": 10**9}
    at_now, at_floor = (
        sending._arbitrum_sendable(10**16, **now, lowest_base_fee=fee) for fee in (4 * 10**7, 2 * 10**7)
    )

    assert at_now.gas_limit < at_floor.gas_limit
    assert at_now.max_value > at_floor.max_value


def test_a_wallet_that_takes_the_unsigned_bytes_understates_the_fee():
    transfer = Transaction(
        type=2, chain_id=10, max_fee=10**6, gas_limit=60_000, to=b"\x11" * 20, data=bytes(range(256))
    )
    unsigned, signed = transfer.unsigned(), signed_with(np.random.default_rng(1))(transfer)
    sizes = [FastLz().size(unsigned), FastLz().size(signed)]
    fees = [optimism.fjord_l1_fee(size, **SCALARS, **L1) for size in sizes]

    assert fees[0] < fees[1]


def test_a_wallet_that_holds_only_the_operator_fee_of_the_gas_used_is_short():
    terms = {"upgrade": "jovian", "max_fee_per_gas": 10**6, "fastlz_size": 120, **SCALARS, **L1}
    limit, used = (
        op_stack_sendable(10**15, gas_limit=gas, operator_fee_scalar=100, **terms) for gas in (60_000, 21_000)
    )

    assert limit.operator_fee - used.operator_fee == 39_000 * 100 * 100


def test_a_wallet_that_holds_today_s_base_fee_is_short_one_block_later():
    now = Now(base_fee=10**6, l1_base_fee=10**9, blob_base_fee=1)
    here, next_ = (max_send("op-mainnet", 10**15, TO, now=now, gas_limit=21_000, blocks_ahead=k) for k in (0, 1))

    assert here.held - here.l1_fee == 21_000 * 10**6
    assert next_.held - next_.l1_fee == 21_000 * 1_004_000


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

        def taken_apart(columns, base_fee, blob_base_fee):
            return Factors(columns["length"], base_fee, 1, columns["gas"], terms["l2_gas_price"])

        return Rule(parameters, ("gas", "length"), tuple(terms), taken_apart)

    family = rules.Family(own_rule, lambda parameters, base_fee, blocks: base_fee + 2 * blocks)
    for module in (rules, sending):
        monkeypatch.setattr(module, "FAMILIES", {**rules.FAMILIES, "own": family})
    own = ChainFile("own.toml", OWN_FAMILY).chain("own")
    now = sending.Now(base_fee=10, l1_base_fee=1_000, blob_base_fee=1)
    found = sending.max_send(own, 10**9, {"to": "0x" + "11" * 20}, now=now, gas_limit=21_000, blocks_ahead=3)
    row = {"gas": 21_000, "length": 97}

    assert rules.rule(own).fees(row, base_fee=1_000, blob_base_fee=1) == (97_000, 105_000)
    assert found.max_fee_per_gas == 16
    assert found.l1_fee > 97 * 1_000
    assert found.held == 16 * 21_000 + found.l1_fee
    assert [one.chain for one in rules.rules_at(chains={"own": own})[0]] == ["own"]


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


def test_the_bound_by_the_price_alone_was_none():
    """BPO2, three full blocks from an excess whose blob gas costs 3.8 gwei."""
    rules, excess = fee_market.MAINNET.rows[-1], 257_852_629
    now = fee_market.fake_exponential(1, excess, rules.update_fraction)
    risen = 3 * (rules.maximum - rules.target) * fee_market.GAS_PER_BLOB
    then = fee_market.fake_exponential(1, excess + risen, rules.update_fraction)

    assert (now, then) == (3_835_626_281, 4_854_464_497)
    assert fee_market.fake_exponential(now + 1, risen, rules.update_fraction) + 1 < then
    assert then <= sending._l1_fee_bounds(1, now, 3)[1]
