"""The built-in pricing policies, compiled: one rule for the data price, one for the price of L2 execution.

The state of a built-in policy is one float array: the kind of the data rule, where the execution rule's part begins,
then the data rule's parameters and memory, then the execution rule's kind, parameters and memory.
"""

import numpy as np

from feemodel.compiled import kept
from feemodel.linea.kernels import recorded
from feemodel.rollups.arbitrum_kernels import base_fees
from feemodel.simulation.closed_loop import observations as seen_at

# Kinds of data rules, in state[0].
NO_DATA_PRICE, FIXED, LINEA, OP_STACK, ARBITRUM, VAULT, VAULT_EIP1559 = range(7)
# Kinds of execution rules.
FIXED_EXECUTION, EIP1559, TAIKO, ARBITRUM_L2 = range(4)
EXECUTION = 1  # where state holds the place of the execution rule
FIRST = 2  # where the data rule's parameters begin


@kept(makes_arrays=False, nogil=True, error_model="numpy")
def announce(state, seen, price):  # type: ignore[no-untyped-def]
    """Prices of the step from what is seen."""
    kind, execution = int(state[0]), int(state[EXECUTION])
    if kind == FIXED:
        price[seen_at.PER_BYTE] = state[FIRST]
    elif kind == LINEA:
        price[seen_at.PER_BYTE] = _linea(state, seen)
    elif kind == OP_STACK:
        weighted = 16.0 * state[FIRST] * seen[seen_at.BASE_FEE] + state[FIRST + 1] * seen[seen_at.BLOB_BASE_FEE]
        price[seen_at.PER_BYTE] = weighted * state[FIRST + 2] / 1e6
    elif kind == ARBITRUM:
        price[seen_at.PER_BYTE] = state[FIRST + 5] * state[FIRST + 4]
    elif kind == VAULT:
        price[seen_at.PER_BYTE] = _vault(state, seen)
    elif kind == VAULT_EIP1559:
        price[seen_at.PER_BYTE] = state[FIRST + 4]
    else:
        price[seen_at.PER_BYTE] = 0.0
    price[seen_at.PER_GAS] = state[execution + 1] + state[execution + 2]
    price[seen_at.PER_TRANSACTION] = state[execution + 3]


@kept(nogil=True, error_model="numpy")
def settle(state, settled):  # type: ignore[no-untyped-def]
    """The state after a step: accounts of posting, then L2 blocks."""
    kind, execution = int(state[0]), int(state[EXECUTION])
    if kind == ARBITRUM:
        _arbitrum(state, settled)
    elif kind == VAULT_EIP1559 and settled[seen_at.POSTED_BYTES] > 0.0:
        target, denominator, least, most = state[FIRST], state[FIRST + 1], state[FIRST + 2], state[FIRST + 3]
        error = min(max((target - settled[seen_at.SEEN_BALANCE]) / target, -8.0), 1.0)
        state[FIRST + 4] = min(max(state[FIRST + 4] * (1.0 + error / denominator), least), most)
    rule = int(state[execution])
    if rule == EIP1559:
        _eip1559(state, execution, settled[seen_at.GAS_USED])
    elif rule == TAIKO:
        _taiko(state, execution, settled[seen_at.GAS_USED])
    elif rule == ARBITRUM_L2:
        _arbitrum_l2(state[execution:], settled[seen_at.GAS_USED])


# Linea: 0 execution gas, 1 blob gas, 2 bytes, 3 margin, 4 lower bound, 5 upper bound, 6 steps an update, 7 window in
# steps, 8 estimate margin, 9 pressure's denominator (0: no pressure), 10 its target a second, 11 announced before the
# estimate margin, 12 calldata since the update, 13–17 sums over the window, 18 tip in place of the one seen (below 0:
# none), 19 row of the oldest block, from 20 on the window's rows of five.
LINEA_SUMS = 13
LINEA_TIP = 18
LINEA_ROW = 19
LINEA_WINDOW = 20


@kept(makes_arrays=False, nogil=True, error_model="numpy")
def _linea(state, seen):  # type: ignore[no-untyped-def]
    updates, oldest = int(state[FIRST + 6]), int(state[FIRST + LINEA_ROW])
    weight, blob_weight = seen[seen_at.GAS_USED_RATIO], seen[seen_at.BLOB_GAS_USED_RATIO]
    sums, row = FIRST + LINEA_SUMS, FIRST + LINEA_WINDOW + 5 * oldest
    state[FIRST + LINEA_ROW] = oldest + 1 if oldest + 1 < state[FIRST + 7] else 0
    tip = state[FIRST + LINEA_TIP]
    if tip < 0.0:
        tip = seen[seen_at.TIP]
    base_fee, blob_base_fee = seen[seen_at.BASE_FEE], seen[seen_at.BLOB_BASE_FEE]
    _replace(state, sums, row, base_fee * weight)
    _replace(state, sums + 1, row + 1, tip * weight)
    _replace(state, sums + 2, row + 2, weight)
    _replace(state, sums + 3, row + 3, blob_base_fee * blob_weight)
    _replace(state, sums + 4, row + 4, blob_weight)
    state[FIRST + 12] += seen[seen_at.CALLDATA]
    if updates == 1 or int(seen[seen_at.STEP]) % updates == 0:
        if state[sums + 2] > 0.0:
            base_fee, tip = state[sums] / state[sums + 2], state[sums + 1] / state[sums + 2]
        if state[sums + 4] > 0.0:
            blob_base_fee = state[sums + 3] / state[sums + 4]
        cost = ((base_fee + tip) * state[FIRST] + blob_base_fee * state[FIRST + 1]) * state[FIRST + 3]
        cost = min(max(cost / state[FIRST + 2], state[FIRST + 4]), state[FIRST + 5])
        if state[FIRST + 9] > 0.0:
            target = state[FIRST + 10]
            pressure = min(max((state[FIRST + 12] - target) / target, -1.0), 1.0)
            cost = max(cost, state[FIRST + 11] * (1.0 + pressure / state[FIRST + 9]))
        state[FIRST + 12] = 0.0
        state[FIRST + 11] = recorded(cost)
    return state[FIRST + 11] * state[FIRST + 8]


@kept(makes_arrays=False, nogil=True, error_model="numpy")
def _replace(state, total, place, value):  # type: ignore[no-untyped-def]
    """Put a value into the window in place of the oldest one, and into the window's sum."""
    state[total] = state[total] - state[place] + value
    state[place] = value


# Arbitrum: 0 equilibration units, 1 inertia, 2 reward a unit, 3 delay in batches, 4 units a byte, 5 price a unit,
# 6 surplus, 7 last surplus, 8 batches posted, from 9 on (surplus, units) of batches not yet reported.
ARBITRUM_QUEUE = 9


@kept(makes_arrays=False, nogil=True, error_model="numpy")
def _arbitrum(state, settled):  # type: ignore[no-untyped-def]
    state[FIRST + 6] += settled[seen_at.DATA_FEES]
    if settled[seen_at.POSTED_BYTES] <= 0.0:
        return
    units = settled[seen_at.POSTED_BYTES] * state[FIRST + 4]
    state[FIRST + 6] -= settled[seen_at.POSTED_COST] + state[FIRST + 2] * units
    delay, batch = int(state[FIRST + 3]), int(state[FIRST + 8])
    place = ARBITRUM_QUEUE + 2 * (batch % (delay + 1))
    state[FIRST + place], state[FIRST + place + 1] = state[FIRST + 6], units
    state[FIRST + 8] += 1.0
    if batch < delay:
        return
    reported = ARBITRUM_QUEUE + 2 * ((batch - delay) % (delay + 1))
    surplus, units = state[FIRST + reported], state[FIRST + reported + 1]
    desired = -surplus / state[FIRST + 0]
    actual = (surplus - state[FIRST + 7]) / units
    state[FIRST + 5] = max(
        0.0, state[FIRST + 5] + (desired - actual) * units / (state[FIRST + 0] / state[FIRST + 1] + units)
    )
    state[FIRST + 7] = surplus


# Vault: 0 target balance, 1 fee per base fee, 2 fee per blob base fee, 3 proportional, 4 integral, 5 derivative,
# 6 least P term, 7 least integral, 8 greatest integral, 9 beta, 10 least fee, 11 greatest fee, 12 range, 13 integral,
# 14 filtered derivative, 15 last error, 16 tip seen in feed-forward.
@kept(makes_arrays=False, nogil=True, error_model="numpy")
def _vault(state, seen):  # type: ignore[no-untyped-def]
    error = (state[FIRST + 0] - seen[seen_at.BALANCE]) / state[FIRST + 0]
    state[FIRST + 13] = min(max(state[FIRST + 13] + error, state[FIRST + 7]), state[FIRST + 8])
    change = error - state[FIRST + 15] if seen[seen_at.STEP] > 0.0 else 0.0
    state[FIRST + 14] = state[FIRST + 9] * state[FIRST + 14] + (1.0 - state[FIRST + 9]) * change
    state[FIRST + 15] = error
    proportional = max(state[FIRST + 3] * error * state[FIRST + 12], state[FIRST + 6])
    feedback = (
        proportional + (state[FIRST + 4] * state[FIRST + 13] + state[FIRST + 5] * state[FIRST + 14]) * state[FIRST + 12]
    )
    forward = (
        state[FIRST + 1] * (seen[seen_at.BASE_FEE] + seen[seen_at.TIP]) + state[FIRST + 2] * seen[seen_at.BLOB_BASE_FEE]
    )
    return min(max(forward + feedback, state[FIRST + 10]), state[FIRST + 11])


# EIP-1559: 0 kind, 1 base fee, 2 further price a gas, 3 price a transaction, 4 gas target a block, 5 denominator,
# 6 least fee, 7 gas limit a block, 8 blocks a step, 9 greatest fee.
@kept(makes_arrays=False, nogil=True, error_model="numpy")
def _eip1559(state, at, gas):  # type: ignore[no-untyped-def]
    target = np.int64(state[at + 4])
    state[at + 1] = _moved(state, at, gas, target, target)


# Taiko: as EIP-1559, and 10 the block time [s]: EIP-4396 compares with a target adjusted to it.
@kept(makes_arrays=False, nogil=True, error_model="numpy")
def _taiko(state, at, gas):  # type: ignore[no-untyped-def]
    target = np.int64(state[at + 4])
    state[at + 1] = _moved(
        state, at, gas, target, min(target * np.int64(state[at + 10]) // 2, np.int64(state[at + 7]) * 95 // 100)
    )


@kept(makes_arrays=False, nogil=True, error_model="numpy")
def _moved(state, at, gas, target, adjusted):  # type: ignore[no-untyped-def]
    """The base fee after a step's blocks of equal gas, in the nodes' integers."""
    blocks, denominator = int(state[at + 8]), np.int64(state[at + 5])
    used = np.int64(min(gas / blocks, state[at + 7]))
    fee, least, most = np.int64(state[at + 1]), np.int64(state[at + 6]), np.int64(state[at + 9])
    distance = abs(used - adjusted)
    for _ in range(blocks):
        # fee · distance // target in two parts, neither of which passes 64 bits
        change = (fee // target * distance + fee % target * distance // target) // denominator
        if used > adjusted:
            fee = fee + max(change, 1)
        elif used < adjusted:
            fee = fee - change
        fee = min(max(fee, least), most)
    return fee


# Arbitrum's L2 price: 0 kind, 1 base fee, 2 and 3 as above, 4 least base fee, 5 constraints, 6 seconds a step, then
# targets, scales (window · target) and backlogs. One block a second.
ARBITRUM_L2_TABLE = 7


@kept(nogil=True, error_model="numpy")
def _arbitrum_l2(rule, gas):  # type: ignore[no-untyped-def]
    count, seconds = int(rule[5]), int(rule[6])
    table = rule[ARBITRUM_L2_TABLE : ARBITRUM_L2_TABLE + 3 * count].astype(np.int64)
    used = np.full(seconds, np.int64(gas / seconds))
    fees = np.empty(seconds, dtype=np.int64)
    elapsed = np.ones(seconds, dtype=np.int64)
    backlogs = table[2 * count :]
    _, stored = base_fees(
        used, elapsed, table[:count], table[count : 2 * count], backlogs, np.int64(rule[4]), np.int64(rule[1]), fees
    )
    rule[1] = stored
    for place in range(count):
        rule[ARBITRUM_L2_TABLE + 2 * count + place] = backlogs[place]
