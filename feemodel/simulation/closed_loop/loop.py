"""The compiled loop of one path: announce, arrive, pay, post, pay L1, update, step by step.

Within a step: (1) the policy announces from what it has seen; (2) users see the price and arrive; (3) they pay;
(4) posting decides on this step's L1 fees; (5) costs are paid; (6) the policy's accounts are updated; (7) recorded.
"""

import math

import numba
import numpy as np

from feemodel.compiled import kept
from feemodel.ethereum.fee_market import FLOOR_GAS_PER_TOKEN, TOKENS_OF_NONZERO_BYTE, TRANSACTION_GAS
from feemodel.linea.price_cap import cap_multiplier, tip_within_caps
from feemodel.simulation.closed_loop import observations as seen_at
from feemodel.simulation.closed_loop import policy_kernels

# Columns of a day.
DATA_FEES, EXECUTION_FEES, OPERATOR_FEES = 0, 1, 2
FIRST_LINE = 3  # where the cost lines begin, in the order of `costs.LINES`
DATA_BASE_FEE, DATA_TIP, DATA_BLOB_FEE, DATA_CALLDATA, DATA_LAYER = 3, 4, 5, 6, 7
FINALIZATION_BASE_FEE, FINALIZATION_TIP, PROVING, OVERHEAD = 8, 9, 10, 11
ACCRUED_DATA, ACCRUED_FINALIZATION = 12, 13
TRANSACTIONS, BYTES, SUBMISSIONS, BLOBS, FINALIZATIONS = 14, 15, 16, 17, 18
PRICE_SUM, LAST_PRICE, LEAST_BALANCE, STEPS = 19, 20, 21, 22
OVERCHARGE, UNDERCHARGE, BYTES_BELOW_COST = 23, 24, 25
LOST_TRANSACTIONS, LOST_FEES = 26, 27
COLUMNS = 28

# Accounts of a path.
BALANCE, PEAK, DRAWDOWN, WAITED, AT_DEADLINE = 0, 1, 2, 3, 4
POSTED, FRONT, FULL = 5, 6, 7  # bytes posted; steps of the oldest byte and of the oldest full submission
FINALIZED, FINAL_FRONT, UNFINALIZED_BLOBS, NEXT_FINALIZATION = 8, 9, 10, 11
STEP_BYTES, STEP_COST = 12, 13  # posted in the step
REFUSED, REFUSED_PRICES = 14, 15  # number of the step, from 1 on, whose prices were refused; the three prices
ACCOUNTS = 18

# Posting terms.
KIND, CAPACITY, BLOB_COUNT, EXECUTION_GAS, FURTHER_BLOB_GAS, BLOB_GAS, DEADLINE = 0, 1, 2, 3, 4, 5, 6
LAYER_COST, COMMITMENT_GAS = 7, 8
TARGET_DELAY, ADJUSTMENT, TIP_PAID, FROM_FIRST_BYTE, COEFFICIENT, CAP_TIP = 9, 10, 11, 12, 13, 14
MOST_FEE, MOST_TIP, MOST_BLOB_FEE, MOST_FINALIZATION_FEE, MOST_FINALIZATION_TIP = 15, 16, 17, 18, 19
FILL, BY_DEADLINE, PRICE_CAP, BLOB_OR_CALLDATA, ALTERNATIVE_LAYER, CLAIRVOYANT = range(6)

RECORDED = 4  # series of a recorded path: price, balance, backlog, transactions
WEEK_OFFSET = 72  # hours from Monday 00:00 to 1970-01-01 00:00 UTC
CALLDATA_GAS = float(FLOOR_GAS_PER_TOKEN * TOKENS_OF_NONZERO_BYTE)  # of a nonzero byte, at the floor


@kept(nogil=True, error_model="numpy")
def hour_of_week(time):  # type: ignore[no-untyped-def]
    """0 for Monday 00:00–01:00 UTC, 167 for the last hour of Sunday; `time` since 1970 [s]."""
    return (int(time // 3_600.0) + WEEK_OFFSET) % 168


@kept(nogil=True, error_model="numpy")
def capped_tip(terms, base_fee, blob_base_fee, base_p10, blob_p10, elapsed, factor, final):  # type: ignore[no-untyped-def]
    """The tip that a capped transaction pays after `elapsed` [s], -1 where it waits [wei / gas]."""
    risen = cap_multiplier(elapsed, terms[TARGET_DELAY], terms[ADJUSTMENT], factor)
    risen_blob = cap_multiplier(elapsed, terms[TARGET_DELAY], terms[ADJUSTMENT], 1.0)
    most_fee = terms[MOST_FINALIZATION_FEE] if final else terms[MOST_FEE]
    most_tip = terms[MOST_FINALIZATION_TIP] if final else terms[MOST_TIP]
    return tip_within_caps(
        base_fee, 0.0 if final else blob_base_fee, base_p10 * risen, terms[CAP_TIP] * risen, blob_p10 * risen_blob,
        terms[COEFFICIENT], most_fee, most_tip, terms[MOST_BLOB_FEE],
    )  # fmt: skip


@kept(makes_arrays=False, nogil=True, error_model="numpy")
def _attribute(k, start, end, front, per_byte, step, offset, day_steps, prices, arrived, days, waits, accounts, final):  # type: ignore[no-untyped-def]
    """Give bytes [start, end) of the stream their cost, each on the day when it came; returns the step of `end`."""
    column = ACCRUED_FINALIZATION if final else ACCRUED_DATA
    while start < end:
        upto = min(end, arrived[front])
        size = upto - start
        if size > 0.0:
            day = (front + offset) // day_steps
            days[day, column] += size * per_byte
            if not final:
                gap = prices[front] - per_byte
                if gap > 0.0:
                    days[day, OVERCHARGE] += size * gap
                elif gap < 0.0:
                    days[day, UNDERCHARGE] -= size * gap
                    days[day, BYTES_BELOW_COST] += size
                accounts[WAITED] += size * (k - front) * step
                waits[min(k - front, waits.size - 1)] += size
            start = upto
        if arrived[front] <= start and front < k:
            front += 1
    return front


@kept(makes_arrays=False, nogil=True, error_model="numpy")
def _submit(k, size, tip, base_fee, blob_base_fee, terms, days, day, accounts):  # type: ignore[no-untyped-def]
    """Pay for a submission of `size` bytes; returns what it cost [wei]."""
    blobs = max(1.0, math.ceil(size / terms[CAPACITY] - 1e-9))
    kind = int(terms[KIND])
    if kind == ALTERNATIVE_LAYER:
        days[day, DATA_LAYER] += size * terms[LAYER_COST]
        days[day, DATA_BASE_FEE] += base_fee * terms[COMMITMENT_GAS]
        days[day, DATA_TIP] += tip * terms[COMMITMENT_GAS]
        cost = size * terms[LAYER_COST] + (base_fee + tip) * terms[COMMITMENT_GAS]
    else:
        gas = terms[EXECUTION_GAS] + terms[FURTHER_BLOB_GAS] * (blobs - 1.0)
        blob_fee = blob_base_fee * terms[BLOB_GAS] * blobs
        cost = (base_fee + tip) * gas + blob_fee
        calldata = (base_fee + tip) * (TRANSACTION_GAS + CALLDATA_GAS * size)
        if kind == BLOB_OR_CALLDATA and calldata < cost:
            cost = calldata
            days[day, DATA_CALLDATA] += calldata
            blobs = 0.0
        else:
            days[day, DATA_BASE_FEE] += base_fee * gas
            days[day, DATA_TIP] += tip * gas
            days[day, DATA_BLOB_FEE] += blob_fee
    days[day, SUBMISSIONS] += 1.0
    days[day, BLOBS] += blobs
    accounts[UNFINALIZED_BLOBS] += max(blobs, 1.0)
    accounts[STEP_BYTES] += size
    accounts[STEP_COST] += cost
    return cost


@kept(makes_arrays=False, nogil=True, error_model="numpy")
def _leaves(k, last, step, time, need, tip, base_fee, blob_base_fee, terms, caps, hours, best, arrived, accounts):  # type: ignore[no-untyped-def]
    """How many bytes leave now (0: none) and at which tip."""
    pending = arrived[k] - accounts[POSTED]
    if pending <= 0.0:
        return 0.0, tip
    front = int(accounts[FRONT])
    while arrived[front] <= accounts[POSTED] and front < k:
        front += 1
    accounts[FRONT] = front
    if pending < need:
        late = int(terms[KIND]) == BY_DEADLINE and (k - front) * step >= terms[DEADLINE]
        accounts[AT_DEADLINE] += pending if late else 0.0
        return pending if late or last else 0.0, tip
    kind = int(terms[KIND])
    if last or kind not in (PRICE_CAP, CLAIRVOYANT):
        return need, tip
    full = max(int(accounts[FULL]), front)
    while arrived[full] < accounts[POSTED] + need:
        full += 1
    accounts[FULL] = full
    if kind == CLAIRVOYANT:
        return need if k >= best[full] else 0.0, tip
    since = front if terms[FROM_FIRST_BYTE] > 0.0 else full
    factor = hours[hour_of_week(time)]
    paid = capped_tip(terms, base_fee, blob_base_fee, caps[0, k], caps[1, k], (k - since) * step, factor, False)
    if paid < 0.0:
        return 0.0, tip
    return need, paid if terms[TIP_PAID] > 0.0 else tip


@kept(makes_arrays=False, nogil=True, error_model="numpy")
def _finalization(k, last, step, time, tip, base_fee, posting, costs, caps, hours, days, day, accounts):  # type: ignore[no-untyped-def]
    """Pay for a finalization where one is due and, with a price cap, covered; returns its cost [wei]."""
    blobs = accounts[UNFINALIZED_BLOBS]
    if blobs <= 0.0:
        return 0.0
    due = costs[3] > 0.0 and blobs >= costs[3]
    due = due or (costs[4] > 0.0 and (k + 1) * step >= accounts[NEXT_FINALIZATION])
    if not (due or last):
        return 0.0
    if int(posting[KIND]) == PRICE_CAP and not last:
        elapsed = (k - int(accounts[FINAL_FRONT])) * step
        factor = hours[hour_of_week(time)]
        paid = capped_tip(posting, base_fee, 0.0, caps[0, k], caps[1, k], elapsed, factor, True)
        if paid < 0.0:
            return 0.0
        tip = paid if posting[TIP_PAID] > 0.0 else tip
    gas = costs[1] + costs[2] * blobs
    days[day, FINALIZATION_BASE_FEE] += base_fee * gas
    days[day, FINALIZATION_TIP] += tip * gas
    days[day, FINALIZATIONS] += 1.0
    accounts[UNFINALIZED_BLOBS] = 0.0
    if costs[4] > 0.0:
        while accounts[NEXT_FINALIZATION] <= (k + 1) * step:
            accounts[NEXT_FINALIZATION] += costs[4]
    return (base_fee + tip) * gas


@kept(makes_arrays=False, nogil=True, error_model="numpy")
def _answer(fee, demand):  # type: ignore[no-untyped-def]
    """Demand over demand at the reference fee [1]."""
    if fee <= 0.0:
        return demand[6]
    return min(demand[6], (fee / demand[5]) ** -demand[4])


# Not kept on disk: numba would store the user's functions there by the names of their modules, and then fail in every
# process that cannot import one of them.
@numba.njit(nogil=True, error_model="numpy")
def run_loop(  # type: ignore[no-untyped-def]
    announce, settle, state, l1, activity, clock, lags, level, demand, posting, costs, caps, hours, best, rng,
    prices, arrived, days, waits, series, accounts,
):  # fmt: skip
    """Fill prices, arrived, days, waits, series and accounts of one path.

    Parameters
    ----------
    announce, settle, state : of the policy.
    l1 : base fee, blob base fee, tip, and the two usage ratios, each of the path's length or 1.
    activity : demand before prices, of the path's length or 1.
    clock : start of the path [s], step [s], steps a day, steps of the first day before the path.
    lags : of L1 and of the balance [steps].
    demand, posting, costs : terms; caps, hours, best : of the price cap and of the clairvoyant, or of no length.
    """
    base_fees, blob_base_fees, tips, ratios, blob_ratios = l1
    count, start, step = prices.size, clock[0], clock[1]
    day_steps, offset = int(clock[2]), int(clock[3])
    tip_stride, ratio_stride, blob_ratio_stride, activity_stride = (
        int(tips.size > 1), int(ratios.size > 1), int(blob_ratios.size > 1), int(activity.size > 1)
    )  # fmt: skip
    l1_lag, balance_lag, demand_lag = int(lags[0]), int(lags[1]), int(demand[8])
    seen, settled = np.zeros(seen_at.SEEN), np.zeros(seen_at.SETTLED)
    price = np.zeros(seen_at.PRICES)
    # Rings of lag + 1 values; the place after the newest holds the oldest, which is what is seen.
    balances, fees = np.full(balance_lag + 1, accounts[BALANCE]), np.empty(demand_lag + 1)
    balance_at, fee_at = 0, 0
    need, by_deadline = posting[CAPACITY] * posting[BLOB_COUNT], int(posting[KIND]) == BY_DEADLINE
    size, gas, total, calldata, balance = demand[1], demand[2], 0.0, 0.0, accounts[BALANCE]
    peak, drawdown = balance, 0.0
    day, left_of_day = 0, day_steps - offset
    if costs[4] > 0.0:
        accounts[NEXT_FINALIZATION] = costs[4]
    for k in range(count):
        if left_of_day == 0:
            day, left_of_day = day + 1, day_steps
        left_of_day -= 1
        time, last = start + k * step, k == count - 1
        # (1) the policy announces
        then = min(max(k - l1_lag, 0), k)
        balances[balance_at] = balance
        balance_at = balance_at + 1 if balance_at < balance_lag else 0
        seen[seen_at.STEP], seen[seen_at.TIME] = k, time
        seen[seen_at.BASE_FEE], seen[seen_at.BLOB_BASE_FEE] = base_fees[then], blob_base_fees[then]
        seen[seen_at.TIP] = tips[then * tip_stride]
        seen[seen_at.GAS_USED_RATIO] = ratios[then * ratio_stride]
        seen[seen_at.BLOB_GAS_USED_RATIO] = blob_ratios[then * blob_ratio_stride]
        seen[seen_at.BALANCE] = balances[balance_at]
        seen[seen_at.CALLDATA] = calldata
        announce(state, seen, price)
        per_byte, per_gas, per_transaction = price[0] * level, price[1], price[2]
        least = min(per_byte, per_gas, per_transaction)
        if not (least >= 0.0 and per_byte + per_gas + per_transaction < np.inf):  # which NaN fails too
            accounts[REFUSED], accounts[REFUSED_PRICES] = k + 1, per_byte
            accounts[REFUSED_PRICES + 1], accounts[REFUSED_PRICES + 2] = per_gas, per_transaction
            return
        prices[k] = per_byte
        # (2) users see the price of `demand_lag` steps ago and arrive
        wanted = demand[0] * step * activity[k * activity_stride]
        mean = wanted
        if demand[4] > 0.0:
            fee = per_byte * size
            if demand[7] > 0.0:
                fee += per_gas * gas + per_transaction
            if k == 0:
                fees[:] = fee
            fees[fee_at] = fee
            fee_at = fee_at + 1 if fee_at < demand_lag else 0
            mean = wanted * _answer(fees[fee_at], demand)
        number = float(rng.poisson(mean)) if demand[9] > 0.0 else mean
        arriving = number * size
        total += arriving
        arrived[k] = total
        calldata = number * demand[3]
        # (3) they pay
        data_fees, execution_fees, operator_fees = arriving * per_byte, number * gas * per_gas, number * per_transaction
        # (4) posting decides and pays
        base_fee, blob_base_fee, tip = base_fees[k], blob_base_fees[k], tips[k * tip_stride]
        accounts[STEP_BYTES], accounts[STEP_COST] = 0.0, 0.0
        while last or by_deadline or total - accounts[POSTED] >= need:
            leaving, paid_tip = _leaves(
                k, last, step, time, need, tip, base_fee, blob_base_fee, posting, caps, hours, best, arrived, accounts
            )
            if leaving <= 0.0:
                break
            cost = _submit(k, leaving, paid_tip, base_fee, blob_base_fee, posting, days, day, accounts)
            posted = accounts[POSTED]
            end = total if leaving < need else posted + leaving
            accounts[FRONT] = _attribute(
                k, posted, end, int(accounts[FRONT]), cost / leaving, step, offset, day_steps, prices, arrived, days,
                waits, accounts, False,
            )  # fmt: skip
            accounts[POSTED] = end
        # (5) other costs
        spent = accounts[STEP_COST]
        if costs[0] > 0.0:
            final = _finalization(
                k, last, step, time, tip, base_fee, posting, costs, caps, hours, days, day, accounts
            )  # fmt: skip
            if final > 0.0 and accounts[POSTED] > accounts[FINALIZED]:
                per_final = final / (accounts[POSTED] - accounts[FINALIZED])
                accounts[FINAL_FRONT] = _attribute(
                    k, accounts[FINALIZED], accounts[POSTED], int(accounts[FINAL_FRONT]), per_final, step, offset,
                    day_steps, prices, arrived, days, waits, accounts, True,
                )  # fmt: skip
                accounts[FINALIZED] = accounts[POSTED]
            spent += final
        proving = costs[5] * number * gas + costs[6] * arriving
        spent += proving + costs[7]
        balance = balance + (data_fees + execution_fees + operator_fees) - spent
        peak = max(peak, balance)
        drawdown = max(drawdown, peak - balance)
        # (6) the policy's accounts
        settled[seen_at.POSTED_BYTES], settled[seen_at.POSTED_COST] = accounts[STEP_BYTES], accounts[STEP_COST]
        settled[seen_at.DATA_FEES], settled[seen_at.GAS_USED] = data_fees, number * gas
        settled[seen_at.ARRIVED_BYTES], settled[seen_at.END_BALANCE] = arriving, balance
        # At the end of the step the balance is one step younger than at its start.
        after = balance_at + 1 if balance_at < balance_lag else 0
        settled[seen_at.SEEN_BALANCE] = balance if balance_lag == 0 else balances[after]
        settle(state, settled)
        # (7) recorded
        days[day, DATA_FEES] += data_fees
        days[day, EXECUTION_FEES] += execution_fees
        days[day, OPERATOR_FEES] += operator_fees
        days[day, PROVING] += proving
        days[day, OVERHEAD] += costs[7]
        days[day, TRANSACTIONS] += number
        days[day, BYTES] += arriving
        days[day, PRICE_SUM] += per_byte
        days[day, LAST_PRICE] = per_byte
        days[day, LEAST_BALANCE] = min(days[day, LEAST_BALANCE], balance)
        days[day, STEPS] += 1.0
        if wanted > mean:
            days[day, LOST_TRANSACTIONS] += wanted - mean
            days[day, LOST_FEES] += (wanted - mean) * demand[5]
        if series.shape[1] > 0:
            series[0, k], series[1, k], series[2, k], series[3, k] = per_byte, balance, total - accounts[POSTED], number
    accounts[BALANCE], accounts[PEAK], accounts[DRAWDOWN] = balance, peak, drawdown


@kept(nogil=True, error_model="numpy")
def run_built_in(  # type: ignore[no-untyped-def]
    state, l1, activity, clock, lags, level, demand, posting, costs, caps, hours, best, rng,
    prices, arrived, days, waits, series, accounts,
):  # fmt: skip
    """`run_loop` with the built-in policies, whose machine code is kept on disk."""
    run_loop(policy_kernels.announce, policy_kernels.settle, state, l1, activity, clock, lags, level, demand, posting,
             costs, caps, hours, best, rng, prices, arrived, days, waits, series, accounts)  # fmt: skip
