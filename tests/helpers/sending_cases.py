"""Generated cases of the largest sendable amount: fees move as fast as the chain's rule allows until inclusion."""

from collections import Counter

import numpy as np

from feemodel.ethereum import fee_market
from feemodel.ethereum._hashes import Signature
from feemodel.ethereum._transaction import Transaction
from feemodel.rollups import Now, max_send, optimism, rule, sending, taiko, zksync_os
from feemodel.rollups.arbitrum import poster_charge
from feemodel.rollups.arbitrum_l2_pricing import DIA_CONSTRAINTS, base_fees, update_pricing
from feemodel.rollups.chains import chain
from feemodel.rollups.sending import _blobs_at
from feemodel.sizes._codecs import SCROLL_ZSTD, Brotli, FastLz

#: Chain → day whose rule holds. Unichain: before Isthmus, since when its parameters are in no source.
CHAINS = {
    "op-mainnet": None, "base": None, "unichain": "2025-04-01", "arbitrum-one": None, "scroll": None, "linea": None,
    "zksync-era": None, "zksync-os": None, "taiko": None, "ink": "2025-01-01", "soneium": "2025-03-15",
}  # fmt: skip
NO_BOUND = {"scroll", "zksync-era"}  # whose base fee has none: the sender decides on a max fee
RECIPIENT = b"\x11" * 20


def check_cases(name: str, cases: int, seed: int) -> Counter:
    """Check so many cases of a chain; counts of what they were. Raises `AssertionError` with the case that fails."""
    rng, seen = np.random.default_rng(seed), Counter()
    for case in range(cases):
        try:
            seen.update(check_case(name, rng))
        except AssertionError as error:
            raise AssertionError(f"{name}, case {case} of seed {seed}: {error}") from error
    return seen


def check_case(name: str, rng: np.random.Generator) -> list[str]:
    """One case: the amount is valid at inclusion, and where the fee does not depend on it one wei more is not."""
    parameters, ahead = chain(name).at(CHAINS[name]), int(rng.integers(0, 12))
    blobs = _blobs_at(fee_market.MAINNET, CHAINS[name])
    have = int(10 ** rng.uniform(11, 20))
    data = rng.bytes(int(rng.integers(0, 400))) if rng.random() < 0.5 else b""
    gas = 21_000 + 40 * len(data) + int(rng.integers(0, 10**5))
    base_fee, later = base_fee_after_block(name, parameters, ahead, rng)
    excess, l1_base_fee = int(rng.integers(0, 17 * blobs.update_fraction)), int(10 ** rng.uniform(7, 11))
    now = Now(
        base_fee=base_fee, l1_base_fee=l1_base_fee,
        blob_base_fee=int(fee_market.blob_base_fee(excess, blobs.timestamp)),
        price_per_unit=int(10 ** rng.uniform(5, 11)) if name == "arbitrum-one" else None,
    )  # fmt: skip
    call = {"to": "0x" + RECIPIENT.hex(), "data": "0x" + data.hex(), "chainId": hex(chain(name).chain_id or 1)}
    decided = later if name in NO_BOUND else None
    found = max_send(
        name, have, call, now=now, gas_limit=gas, blocks_ahead=ahead, at=CHAINS[name], max_fee_per_gas=decided
    )
    assert later <= found.max_fee_per_gas, f"base fee {later} above the max fee {found.max_fee_per_gas}"
    if found.max_value is None:
        assert found.held > have
        return ["too little for the fees"]
    value = found.max_value
    signed, unsigned = signed_transfer(name, found, data, value, rng)
    worst = sending._l1_fee_bounds(now.l1_base_fee, now.blob_base_fee, l1_blocks(parameters, ahead), blobs)
    fees = moved_l1_fees(excess, l1_base_fee, l1_blocks(parameters, ahead), blobs)
    assert fees[0] <= worst[0], "L1 base fee above its bound"
    assert fees[1] <= worst[1], "blob base fee above its bound"
    owed = due(name, found, worst, signed, value, parameters)
    assert owed <= have, f"{owed} owed of {have}"
    if name == "arbitrum-one":
        lowest = poster_charge(Brotli().size(signed), price_per_unit=now.price_per_unit, gas_price=20_000_000).gas
        assert found.gas_limit >= gas + lowest, "the gas limit does not cover L1 at the lowest base fee"
    if depends_on_bytes(name, unsigned) or depends_on_bytes(
        name, signed_transfer(name, found, data, value + 1, rng)[1]
    ):
        return ["fee depends on the bytes"]
    one_more = due(name, found, worst, signed, value + 1, parameters)
    assert one_more > have, f"one wei more would be {one_more} of {have}"
    return ["one wei more is not valid"]


def l1_blocks(parameters, ahead: int) -> int:
    """L1 blocks that the chain may have seen by then."""
    return 1 + ahead * parameters.get("block_milliseconds", 12_000) // 12_000 if ahead else 0


def base_fee_after_block(name: str, parameters, ahead: int, rng) -> tuple[int, int]:
    """The base fee of now, and after so many full blocks."""
    fee = int(10 ** rng.uniform(5, 9))
    if name == "arbitrum-one":
        backlogs = [int(rng.integers(0, 10**9))] * len(DIA_CONSTRAINTS)
        before = update_pricing(backlogs, 0, constraints=DIA_CONSTRAINTS, min_base_fee=20_000_000).base_fee
        path = base_fees([64_000_000] * (ahead + 1), [0] * (ahead + 1), backlogs=backlogs, base_fee=before)
        return before, int(path.base_fees[ahead])
    if name in ("zksync-os", *NO_BOUND):
        native = -(-fee // 100)
        fee, later = (native * 100, native) if name == "zksync-os" else (fee, fee)
        if name in NO_BOUND:
            return fee, later
        for _ in range(ahead):
            later += max(1, later // zksync_os.CHANGE_DENOMINATOR)
        return fee, later * 100
    later = fee
    for _ in range(ahead):
        if name == "taiko":
            later = int(taiko.next_base_fee(later, 240_000_000, 240_000_000, int(rng.integers(0, 2))))
        elif name == "linea":
            later = int(fee_market.next_base_fee(later, 60_000_000, 60_000_000))
        else:
            limit = parameters["gas_limit"]
            later = int(optimism.next_base_fee(
                later, limit, limit, upgrade=parameters["upgrade"], elasticity=parameters["elasticity"],
                denominator=parameters["denominator"], min_base_fee=parameters.get("min_base_fee", 0),
            ))  # fmt: skip
    return fee, later


def moved_l1_fees(excess: int, base_fee: int, blocks: int, rules: fee_market.BlobRules) -> tuple[int, int]:
    """L1's fees after so many full blocks."""
    for _ in range(blocks):
        used = rules.maximum * fee_market.GAS_PER_BLOB
        excess = int(fee_market.next_excess_blob_gas(excess, used, base_fee, rules.timestamp))
        base_fee = int(fee_market.next_base_fee(base_fee, 60 * 10**6, 60 * 10**6))
    return base_fee, int(fee_market.blob_base_fee(excess, rules.timestamp))


def signed_transfer(name: str, found, data: bytes, value: int, rng) -> tuple[bytes, bytes]:
    """The transaction under a random signature, and unsigned."""
    r, s = (int.from_bytes(rng.bytes(32), "big") for _ in "rs")
    bare = Transaction(
        type=2, chain_id=chain(name).chain_id or 1, max_fee=found.max_fee_per_gas, gas_limit=found.gas_limit,
        to=RECIPIENT, value=value, data=data,
    )  # fmt: skip
    signed = Transaction(**{field: getattr(bare, field) for field in bare.__dataclass_fields__} | {
        "signature": Signature(0, r, s)})  # fmt: skip
    return signed.signed(), bare.unsigned()


def due(name: str, found, fees: tuple[int, int], signed: bytes, value: int, parameters) -> int:
    """What the chain asks of the sender at inclusion."""
    paid = found.gas_limit * found.max_fee_per_gas + value
    if chain(name).family not in ("op-stack", "scroll"):
        return paid
    sizes = {"gas": found.gas_limit, "fastlz_size": FastLz().size(signed),
             "zstd_size": min(len(signed), SCROLL_ZSTD.size(signed))}  # fmt: skip
    paid += int(rule(name, at=CHAINS[name]).fees(sizes, base_fee=fees[0], blob_base_fee=fees[1]).l1)
    if chain(name).family == "op-stack":
        terms = {short: parameters.get(f"operator_fee_{short}", 0) for short in ("scalar", "constant")}
        paid += int(optimism.operator_fee(found.gas_limit, **terms, upgrade=parameters["upgrade"]))
    return paid


def depends_on_bytes(name: str, unsigned: bytes) -> bool:
    """Whether the fee depends on the bytes of the amount: Scroll's always, the OP Stack's above 170 FastLZ bytes."""
    if chain(name).family == "op-stack":
        signed = len(unsigned) + 68
        return signed + signed // 255 + 16 > 170  # `GasPriceOracle.getL1FeeUpperBound`
    return name == "scroll"
