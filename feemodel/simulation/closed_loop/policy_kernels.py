"""The built-in pricing policies, compiled: one rule for the data price, one for the price of L2 execution.

The state of a built-in policy is one float array: the kind of the data rule, where the execution rule's part begins,
then the data rule's parameters and memory, then the execution rule's kind, parameters and memory.
"""

import numpy as np

from feemodel.compiled import kept
from feemodel.linea.kernels import recorded
from feemodel.rollups.arbitrum_kernels import base_fees
from feemodel.simulation.closed_loop.observations import (
    BALANCE,
    BASE_FEE,
    BLOB_BASE_FEE,
    BLOB_GAS_USED_RATIO,
    CALLDATA,
    DATA_FEES,
    GAS_USED,
    GAS_USED_RATIO,
    PER_BYTE,
    PER_GAS,
    PER_TRANSACTION,
    POSTED_BYTES,
    POSTED_COST,
    SEEN_BALANCE,
    STEP,
    TIP,
)

# Kinds of data rules, in state[0].
NO_DATA_PRICE, FIXED, LINEA, OP_STACK, ARBITRUM, VAULT, VAULT_EIP1559 = range(7)
# Kinds of execution rules.
FIXED_EXECUTION, EIP1559, TAIKO, ARBITRUM_L2 = range(4)
EXECUTION = 1  # where state holds the place of the execution rule
FIRST = 2  # where the data rule's parameters begin


@kept(nogil=True, error_model="numpy")
def announce(state, seen, price):  # type: ignore[no-untyped-def]
    """Prices of the step from what is seen."""
    kind, rule = int(state[0]), state[FIRST:]
    if kind == FIXED:
        price[PER_BYTE] = rule[0]
    elif kind == LINEA:
        price[PER_BYTE] = _linea(rule, seen)
    elif kind == OP_STACK:
        weighted = 16.0 * rule[0] * seen[BASE_FEE] + rule[1] * seen[BLOB_BASE_FEE]
        price[PER_BYTE] = weighted * rule[2] / 1e6
    elif kind == ARBITRUM:
        price[PER_BYTE] = rule[5] * rule[4]
    elif kind == VAULT:
        price[PER_BYTE] = _vault(rule, seen)
    elif kind == VAULT_EIP1559:
        price[PER_BYTE] = rule[4]
    else:
        price[PER_BYTE] = 0.0
    execution = state[int(state[EXECUTION]) :]
    price[PER_GAS] = execution[1] + execution[2]
    price[PER_TRANSACTION] = execution[3]


@kept(nogil=True, error_model="numpy")
def settle(state, settled):  # type: ignore[no-untyped-def]
    """The state after a step: accounts of posting, then L2 blocks."""
    kind, rule = int(state[0]), state[FIRST:]
    if kind == ARBITRUM:
        _arbitrum(rule, settled)
    elif kind == VAULT_EIP1559 and settled[POSTED_BYTES] > 0.0:
        error = min(max((rule[0] - settled[SEEN_BALANCE]) / rule[0], -8.0), 1.0)
        rule[4] = min(max(rule[4] * (1.0 + error / rule[1]), rule[2]), rule[3])
    execution = state[int(state[EXECUTION]) :]
    if int(execution[0]) == EIP1559:
        _eip1559(execution, settled[GAS_USED])
    elif int(execution[0]) == TAIKO:
        _taiko(execution, settled[GAS_USED])
    elif int(execution[0]) == ARBITRUM_L2:
        _arbitrum_l2(execution, settled[GAS_USED])


# Linea: 0 execution gas, 1 blob gas, 2 bytes, 3 margin, 4 lower bound, 5 upper bound, 6 steps an update, 7 window in
# steps, 8 estimate margin, 9 pressure's denominator (0: no pressure), 10 its target a second, 11 announced before the
# estimate margin, 12 calldata since the update, 13–17 sums over the window, 18 tip in place of the one seen (below 0:
# none), from 19 on the window's rows of five.
LINEA_SUMS = 13
LINEA_TIP = 18
LINEA_WINDOW = 19


@kept(nogil=True, error_model="numpy")
def _linea(rule, seen):  # type: ignore[no-untyped-def]
    step, window = int(seen[STEP]), int(rule[7])
    weight, blob_weight = seen[GAS_USED_RATIO], seen[BLOB_GAS_USED_RATIO]
    row = LINEA_WINDOW + 5 * (step % window)
    sums = rule[LINEA_SUMS:LINEA_TIP]
    seen_tip = seen[TIP] if rule[LINEA_TIP] < 0.0 else rule[LINEA_TIP]
    for place in range(5):
        sums[place] -= rule[row + place]
    rule[row] = seen[BASE_FEE] * weight
    rule[row + 1] = seen_tip * weight
    rule[row + 2] = weight
    rule[row + 3] = seen[BLOB_BASE_FEE] * blob_weight
    rule[row + 4] = blob_weight
    for place in range(5):
        sums[place] += rule[row + place]
    rule[12] += seen[CALLDATA]
    updates = int(rule[6])
    if step % updates == 0:
        base_fee, tip, blob_base_fee = seen[BASE_FEE], seen_tip, seen[BLOB_BASE_FEE]
        if sums[2] > 0.0:
            base_fee, tip = sums[0] / sums[2], sums[1] / sums[2]
        if sums[4] > 0.0:
            blob_base_fee = sums[3] / sums[4]
        cost = ((base_fee + tip) * rule[0] + blob_base_fee * rule[1]) * rule[3] / rule[2]
        cost = min(max(cost, rule[4]), rule[5])
        if rule[9] > 0.0:
            pressure = min(max((rule[12] - rule[10]) / rule[10], -1.0), 1.0)
            cost = max(cost, rule[11] * (1.0 + pressure / rule[9]))
        rule[12] = 0.0
        rule[11] = recorded(cost)
    return rule[11] * rule[8]


# Arbitrum: 0 equilibration units, 1 inertia, 2 reward a unit, 3 delay in batches, 4 units a byte, 5 price a unit,
# 6 surplus, 7 last surplus, 8 batches posted, from 9 on (surplus, units) of batches not yet reported.
ARBITRUM_QUEUE = 9


@kept(nogil=True, error_model="numpy")
def _arbitrum(rule, settled):  # type: ignore[no-untyped-def]
    rule[6] += settled[DATA_FEES]
    if settled[POSTED_BYTES] <= 0.0:
        return
    units = settled[POSTED_BYTES] * rule[4]
    rule[6] -= settled[POSTED_COST] + rule[2] * units
    delay, batch = int(rule[3]), int(rule[8])
    place = ARBITRUM_QUEUE + 2 * (batch % (delay + 1))
    rule[place], rule[place + 1] = rule[6], units
    rule[8] += 1.0
    if batch < delay:
        return
    reported = ARBITRUM_QUEUE + 2 * ((batch - delay) % (delay + 1))
    surplus, units = rule[reported], rule[reported + 1]
    desired = -surplus / rule[0]
    actual = (surplus - rule[7]) / units
    rule[5] = max(0.0, rule[5] + (desired - actual) * units / (rule[0] / rule[1] + units))
    rule[7] = surplus


# Vault: 0 target balance, 1 fee per base fee, 2 fee per blob base fee, 3 proportional, 4 integral, 5 derivative,
# 6 least P term, 7 least integral, 8 greatest integral, 9 beta, 10 least fee, 11 greatest fee, 12 range, 13 integral,
# 14 filtered derivative, 15 last error, 16 tip seen in feed-forward.
@kept(nogil=True, error_model="numpy")
def _vault(rule, seen):  # type: ignore[no-untyped-def]
    error = (rule[0] - seen[BALANCE]) / rule[0]
    rule[13] = min(max(rule[13] + error, rule[7]), rule[8])
    change = error - rule[15] if seen[STEP] > 0.0 else 0.0
    rule[14] = rule[9] * rule[14] + (1.0 - rule[9]) * change
    rule[15] = error
    proportional = max(rule[3] * error * rule[12], rule[6])
    feedback = proportional + (rule[4] * rule[13] + rule[5] * rule[14]) * rule[12]
    forward = rule[1] * (seen[BASE_FEE] + seen[TIP]) + rule[2] * seen[BLOB_BASE_FEE]
    return min(max(forward + feedback, rule[10]), rule[11])


# EIP-1559: 0 kind, 1 base fee, 2 further price a gas, 3 price a transaction, 4 gas target a block, 5 denominator,
# 6 least fee, 7 gas limit a block, 8 blocks a step, 9 greatest fee.
@kept(nogil=True, error_model="numpy")
def _eip1559(rule, gas):  # type: ignore[no-untyped-def]
    target = np.int64(rule[4])
    rule[1] = _moved(rule, gas, target, target)


# Taiko: as EIP-1559, and 10 the block time [s]: EIP-4396 compares with a target adjusted to it.
@kept(nogil=True, error_model="numpy")
def _taiko(rule, gas):  # type: ignore[no-untyped-def]
    target = np.int64(rule[4])
    rule[1] = _moved(rule, gas, target, min(target * np.int64(rule[10]) // 2, np.int64(rule[7]) * 95 // 100))


@kept(nogil=True, error_model="numpy")
def _moved(rule, gas, target, adjusted):  # type: ignore[no-untyped-def]
    """The base fee after a step's blocks of equal gas, in the nodes' integers."""
    blocks, denominator = int(rule[8]), np.int64(rule[5])
    used = np.int64(min(gas / blocks, rule[7]))
    fee, least, most = np.int64(rule[1]), np.int64(rule[6]), np.int64(rule[9])
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
