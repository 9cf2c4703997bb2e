"""Compiled loop that simulates one path.

Each step has seven parts. (1) The policy announces prices, based on its observations. (2) Users respond to the prices
and send transactions. (3) Users pay. (4) The operator posts data to L1. (5) The operator pays its costs. (6) The
results of the step are recorded. (7) The policy updates its state.
"""

import math
from typing import Any

import numba
import numpy as np
from numba.extending import typeof_impl

from feemodel._compiled import cached_njit
from feemodel.ethereum.fee_market import FLOOR_GAS_PER_TOKEN, TOKENS_OF_NONZERO_BYTE, TRANSACTION_GAS
from feemodel.linea import _price_cap as price_cap
from feemodel.linea._price_cap import cap_multiplier, tip_within_caps
from feemodel.linea.kernels import fee_per_gas
from feemodel.simulation.closed_loop._accounts import L1, Arrivals, Caps, Found, Path, SubmissionFees

FILL, BY_DEADLINE, PRICE_CAP, BLOB_OR_CALLDATA, ALTERNATIVE_LAYER = range(5)  # kinds of posting
WEEK_OFFSET = 72  # hours from Monday 00:00 UTC to the Unix epoch, which was a Thursday
CALLDATA_GAS = float(FLOOR_GAS_PER_TOKEN * TOKENS_OF_NONZERO_BYTE)  # gas of a nonzero calldata byte at the floor price


@cached_njit(nogil=True, error_model="numpy", forceinline=True)
def _value_at(values, k):  # type: ignore[no-untyped-def]
    """Return the value for step `k` from an array, whose only element, if it has one, is the value for all steps."""
    return values[k] if values.size > 1 else values[0]


@cached_njit(nogil=True, error_model="numpy")
def _hour_of_week(time):  # type: ignore[no-untyped-def]
    """Return the hour of the week, where hour 0 is Monday 00:00–01:00 UTC. `time` is in seconds since 1970."""
    return (int(time // 3_600.0) + WEEK_OFFSET) % 168


@cached_njit(nogil=True, error_model="numpy")
def capped_tip(k, terms, fees, caps, elapsed, time, final):  # type: ignore[no-untyped-def]
    """Return the tip that the price cap allows after a wait of `elapsed` seconds, or -1 to keep waiting [wei / gas]."""
    factor = caps.hours[_hour_of_week(time)]
    risen = cap_multiplier(elapsed, terms.target_delay, terms.adjustment, factor)
    risen_blob = cap_multiplier(elapsed, terms.target_delay, terms.adjustment, 1.0)
    return tip_within_caps(
        fees.base_fee,
        0.0 if final else fees.blob_base_fee,
        caps.base_fee_percentile[k] * risen,
        terms.tip_cap * risen,
        caps.blob_base_fee_percentile[k] * risen_blob,
        terms.coefficient,
        price_cap.MAX_FINALIZATION_FEE if final else price_cap.MAX_FEE,
        price_cap.MAX_FINALIZATION_TIP if final else price_cap.MAX_TIP,
        price_cap.MAX_BLOB_FEE,
    )


@cached_njit(nogil=True, error_model="numpy")
def _demand_factor(fee, demand):  # type: ignore[no-untyped-def]
    """Return (demand at `fee`) / (demand at the reference fee) [1]."""
    if fee <= 0.0:
        return demand.choke
    return min(demand.choke, (fee / demand.reference_fee) ** -demand.elasticity)


@cached_njit(nogil=True, error_model="numpy")
def _attribute(k, start, end, front, per_byte, path, final):  # type: ignore[no-untyped-def]
    """Add the cost of the bytes from `start` to `end` to the days on which the bytes arrived.

    Return the step in which byte `end` arrived.
    """
    clock, found, accounts = path.clock, path.found, path.accounts
    while start < end:
        upto = min(end, found.arrived[front])
        size = upto - start
        if size > 0.0:
            day = found.days[(front + clock.offset) // clock.day_steps]
            if final:
                day.accrued_finalization_cost += size * per_byte
            else:
                day.accrued_data_cost += size * per_byte
                gap = found.prices[front] / path.posting.stream_ratio - per_byte
                if gap > 0.0:
                    day.overcharge += size * gap
                elif gap < 0.0:
                    day.undercharge -= size * gap
                    day.bytes_below_cost += size
                if found.series.size > 0:
                    found.series[front].data_cost_of_step += size * per_byte
                accounts.waited += size * (k - front) * clock.step
                found.waits[min(k - front, found.waits.size - 1)] += size
            start = upto
        if found.arrived[front] <= start and front < k:
            front += 1
    return front


@cached_njit(nogil=True, error_model="numpy")
def _submit(size, fees, terms, day, accounts):  # type: ignore[no-untyped-def]
    """Pay for a submission of `size` bytes; return the cost of the submission [wei]."""
    blobs = max(1.0, math.ceil(size / terms.capacity - 1e-9))
    if terms.kind == ALTERNATIVE_LAYER:
        day.data_alternative_layer += size * terms.layer_cost
        day.data_base_fee += fees.base_fee * terms.commitment_gas
        day.data_tip += fees.tip * terms.commitment_gas
        cost = size * terms.layer_cost + (fees.base_fee + fees.tip) * terms.commitment_gas
    else:
        gas = terms.execution_gas + terms.further_blob_gas * (blobs - 1.0)
        blob_fee = fees.blob_base_fee * terms.blob_gas * blobs
        cost = (fees.base_fee + fees.tip) * gas + blob_fee
        calldata = (fees.base_fee + fees.tip) * (TRANSACTION_GAS + CALLDATA_GAS * size)
        if terms.kind == BLOB_OR_CALLDATA and calldata < cost:
            cost = calldata
            day.data_calldata += calldata
            blobs = 0.0
        else:
            day.data_base_fee += fees.base_fee * gas
            day.data_tip += fees.tip * gas
            day.data_blob_fee += blob_fee
    day.submissions += 1.0
    day.blobs += blobs
    accounts.unfinalized_blobs += max(blobs, 1.0)
    accounts.step_bytes += size
    accounts.step_cost += cost
    return cost


@cached_njit(nogil=True, error_model="numpy")
def _due_submission(k, last, need, fees, path):  # type: ignore[no-untyped-def]
    """Return the size of the submission to send now, 0 for no submission [byte], and the tip to pay [wei / gas]."""
    terms, clock, accounts, arrived = path.posting, path.clock, path.accounts, path.found.arrived
    pending = arrived[k] - accounts.posted
    if pending <= 0.0:
        return 0.0, fees.tip
    front = accounts.front
    while arrived[front] <= accounts.posted and front < k:
        front += 1
    accounts.front = front
    if pending < need:
        overdue = terms.kind == BY_DEADLINE and (k - front) * clock.step >= terms.deadline
        accounts.at_deadline += pending if overdue else 0.0
        return pending if overdue or last else 0.0, fees.tip
    if last or terms.kind != PRICE_CAP:
        return need, fees.tip
    full = max(accounts.full, front)
    while arrived[full] < accounts.posted + need:
        full += 1
    accounts.full = full
    since = front if terms.from_first_byte else full
    time = clock.start + k * clock.step
    paid = capped_tip(k, terms, fees, path.caps, (k - since) * clock.step, time, False)
    if paid < 0.0:
        return 0.0, fees.tip
    return need, paid if terms.tip_paid else fees.tip


@cached_njit(nogil=True, error_model="numpy")
def _post(k, last, fees, path, day):  # type: ignore[no-untyped-def]
    """Send all submissions that are due in this step."""
    accounts, need = path.accounts, path.posting.need
    while last or path.posting.kind == BY_DEADLINE or accounts.arrived - accounts.posted >= need:
        leaving, tip = _due_submission(k, last, need, fees, path)
        if leaving <= 0.0:
            break
        cost = _submit(leaving, SubmissionFees(fees.base_fee, fees.blob_base_fee, tip), path.posting, day, accounts)
        end = accounts.arrived if leaving < need else accounts.posted + leaving
        accounts.front = _attribute(k, accounts.posted, end, accounts.front, cost / leaving, path, False)
        accounts.posted = end


@cached_njit(nogil=True, error_model="numpy")
def _finalization(k, last, fees, path, day, accounts):  # type: ignore[no-untyped-def]
    """Finalize if a finalization is due and no price cap prevents finalization; return the cost, or 0 [wei]."""
    costs, clock, tip = path.costs, path.clock, fees.tip
    blobs, ended = accounts.unfinalized_blobs, (k + 1) * clock.step
    if blobs <= 0.0:
        return 0.0
    due = costs.finalize_blobs > 0.0 and blobs >= costs.finalize_blobs
    due = due or (costs.finalize_seconds > 0.0 and ended >= accounts.next_finalization)
    if not (due or last):
        return 0.0
    if path.posting.kind == PRICE_CAP and not last:
        elapsed, time = (k - accounts.final_front) * clock.step, clock.start + k * clock.step
        paid = capped_tip(k, path.posting, fees, path.caps, elapsed, time, True)
        if paid < 0.0:
            return 0.0
        tip = paid if path.posting.tip_paid else tip
    gas = costs.finalization_gas + costs.finalization_gas_per_blob * blobs
    day.finalization_base_fee += fees.base_fee * gas
    day.finalization_tip += tip * gas
    day.finalizations += 1.0
    accounts.unfinalized_blobs = 0.0
    if costs.finalize_seconds > 0.0:
        while accounts.next_finalization <= ended:
            accounts.next_finalization += costs.finalize_seconds
    return (fees.base_fee + tip) * gas


@cached_njit(nogil=True, error_model="numpy")
def _finalize(k, last, fees, path, day):  # type: ignore[no-untyped-def]
    """Finalize if a finalization is due, and assign the cost to the finalized bytes; return the cost [wei]."""
    accounts = path.accounts
    cost = _finalization(k, last, fees, path, day, accounts)
    if cost > 0.0 and accounts.posted > accounts.finalized:
        per_byte = cost / (accounts.posted - accounts.finalized)
        accounts.final_front = _attribute(
            k, accounts.finalized, accounts.posted, accounts.final_front, per_byte, path, True
        )
        accounts.finalized = accounts.posted
    return cost


@cached_njit(nogil=True, error_model="numpy", forceinline=True)
def _delayed(ring, k, value):  # type: ignore[no-untyped-def]
    """Store `value` for step `k` in a ring buffer of lag + 1 values, and return the value from `lag` steps ago."""
    if ring.size == 1:  # without a lag, skip the slow modulo operation
        return value
    index = k % ring.size
    ring[index] = value
    return ring[index + 1 if index + 1 < ring.size else 0]


@cached_njit(nogil=True, error_model="numpy", forceinline=True)
def _mean_transactions(k, path):  # type: ignore[no-untyped-def]
    """Return the expected number of transactions in the step, at the reference fee and at the fee of the step."""
    demand, price = path.demand, path.price
    at_reference = demand.rate * path.clock.step * _value_at(path.activity, k)
    if demand.elasticity <= 0.0:
        return at_reference, at_reference
    fee = path.found.prices[k] * demand.bytes_per_transaction
    if demand.total:
        fee += price.per_gas * demand.gas_per_transaction + price.per_transaction
    if k == 0:
        path.charges[:] = fee
    return at_reference, at_reference * _demand_factor(_delayed(path.charges, k, fee), demand)


@cached_njit(nogil=True, error_model="numpy", forceinline=True)
def _observe(k, path):  # type: ignore[no-untyped-def]
    """Set the policy's observations: L1 fees from `l1_lag` steps ago, and the balance from `balance_lag` steps ago."""
    l1, clock, seen = path.l1, path.clock, path.seen
    then = min(max(k - path.policy.l1_lag, 0), k)
    seen.step, seen.time = k, clock.start + k * clock.step
    seen.base_fee, seen.blob_base_fee = l1.base_fee[then], l1.blob_base_fee[then]
    seen.tip = _value_at(l1.tip, then)
    seen.gas_used_ratio = _value_at(l1.gas_used_ratio, then)
    seen.blob_gas_used_ratio = _value_at(l1.blob_gas_used_ratio, then)
    seen.balance = _delayed(path.balances, k, path.accounts.balance)


@cached_njit(nogil=True, error_model="numpy", forceinline=True)
def _accepted(k, path):  # type: ignore[no-untyped-def]
    """Store the data price, and return whether all prices are valid (finite and at least 0)."""
    price, accounts = path.price, path.accounts
    per_byte = price.per_byte * path.policy.level
    lowest = min(per_byte, price.per_gas, price.per_transaction)
    if lowest >= 0.0 and per_byte + price.per_gas + price.per_transaction < np.inf:  # false if a price is NaN
        path.found.prices[k] = per_byte
        return True
    accounts.refused, price.per_byte = k + 1, per_byte
    return False


@cached_njit(nogil=True, error_model="numpy", forceinline=True)
def _pay(k, last, day, path):  # type: ignore[no-untyped-def]
    """Add the fees of the step to the operator's balance, post data, and subtract all costs of the step."""
    costs, accounts, settled = path.costs, path.accounts, path.settled
    fees = SubmissionFees(path.l1.base_fee[k], path.l1.blob_base_fee[k], _value_at(path.l1.tip, k))
    accounts.step_bytes, accounts.step_cost = 0.0, 0.0
    if last or path.posting.kind == BY_DEADLINE or accounts.arrived - accounts.posted >= path.posting.need:
        _post(k, last, fees, path, day)
    spent = accounts.step_cost
    if costs.finalizes:
        spent += _finalize(k, last, fees, path, day)
    proving = costs.proving_per_gas * settled.gas_used
    proving += costs.proving_per_byte * settled.arrived_bytes
    spent += proving + costs.overhead
    day.proving += proving
    day.overhead += costs.overhead
    paid = settled.data_fees + settled.execution_fees + settled.operator_fees
    accounts.balance = accounts.balance + paid - spent
    accounts.peak = max(accounts.peak, accounts.balance)
    accounts.drawdown = max(accounts.drawdown, accounts.peak - accounts.balance)
    settled.posted_bytes, settled.posted_cost = accounts.step_bytes, accounts.step_cost
    settled.end_balance = settled.seen_balance = accounts.balance
    if path.balances.size > 1:  # step k has ended: count the lag from the start of step k + 1
        settled.seen_balance = path.balances[(k + 2) % path.balances.size]


@cached_njit(nogil=True, error_model="numpy", forceinline=True)
def _record(k, per_byte, lost, day, path):  # type: ignore[no-untyped-def]
    """Add the results of a step to the totals of the day and, if the path is recorded, to the series of the path."""
    settled, accounts, series = path.settled, path.accounts, path.found.series
    day.data_fees += settled.data_fees
    day.execution_fees += settled.execution_fees
    day.operator_fees += settled.operator_fees
    day.transactions += settled.transactions
    day.bytes += settled.arrived_bytes
    day.price_sum += per_byte
    day.last_price = per_byte
    day.min_balance = min(day.min_balance, accounts.balance)
    day.steps += 1.0
    if lost > 0.0:
        day.lost_transactions += lost
        day.lost_fees += lost * path.demand.reference_fee
    if series.size > 0:
        now = series[k]
        now.price, now.balance, now.transactions_in_step = per_byte, accounts.balance, settled.transactions
        now.backlog, now.data_fees_in_step = accounts.arrived - accounts.posted, settled.data_fees


@cached_njit(nogil=True, error_model="numpy", forceinline=True)
def _flow(k, number, path):  # type: ignore[no-untyped-def]
    """Let `number` mean transactions pay."""
    demand, settled = path.demand, path.settled
    settled.transactions, settled.gas_used = number, number * demand.gas_per_transaction
    settled.arrived_bytes = number * demand.bytes_per_transaction
    path.seen.calldata = number * demand.calldata_per_transaction  # the policy observes the calldata in the next step
    settled.data_fees = settled.arrived_bytes * path.found.prices[k]
    settled.execution_fees = settled.gas_used * path.price.per_gas
    settled.operator_fees = number * path.price.per_transaction


@cached_njit(nogil=True, error_model="numpy")
def _charge(k, per_byte, path):  # type: ignore[no-untyped-def]
    """Let each real transaction of a step pay for its own size and gas; return whether all fees are in range."""
    arrivals, rounding, price, settled = path.arrivals, path.rounding, path.price, path.settled
    first, end = arrivals.ends[k - 1] if k > 0 else 0, arrivals.ends[k]
    announced, fixed_part = np.int64(0), np.int64(0)
    if rounding.whole and rounding.margin > 0.0:
        announced = np.int64(np.rint(per_byte / rounding.margin))
        fixed_part = np.int64(rounding.margin * rounding.fixed_cost)
    size, gas, calldata, data_fees, execution_fees, proven = 0, 0, 0, 0.0, 0.0, True
    for i in range(first, end):
        kind = arrivals.kind[i]
        size += arrivals.size[kind]
        gas += arrivals.gas[kind]
        calldata += arrivals.calldata[kind]
        if rounding.whole:
            used = arrivals.gas[kind]
            fee, in_range = fee_per_gas(arrivals.size[kind], used, announced, rounding.fixed_cost, rounding.margin)
            proven = proven and in_range
            data_fees += np.float64(fee - fixed_part) * used
            execution_fees += np.float64(rounding.base_fee + fixed_part) * used
    settled.transactions, settled.gas_used = np.float64(end - first), np.float64(gas)
    settled.arrived_bytes = path.posting.stream_ratio * size
    path.seen.calldata = np.float64(calldata)
    settled.data_fees, settled.execution_fees = data_fees, execution_fees
    if not rounding.whole:
        settled.data_fees, settled.execution_fees = size * per_byte, gas * price.per_gas
    settled.operator_fees = settled.transactions * price.per_transaction
    if not proven:
        path.accounts.refused = k + 1
    return proven


@cached_njit(nogil=True, error_model="numpy", forceinline=True)
def _advance(k, lost, path):  # type: ignore[no-untyped-def]
    """Run parts (4) to (6) of a step."""
    clock, accounts = path.clock, path.accounts
    accounts.arrived += path.settled.arrived_bytes
    path.found.arrived[k] = accounts.arrived
    if accounts.steps_left_in_day == 0:
        accounts.day, accounts.steps_left_in_day = accounts.day + 1, clock.day_steps
    accounts.steps_left_in_day -= 1
    day = path.found.days[accounts.day]
    _pay(k, k == path.found.prices.size - 1, day, path)
    _record(k, path.found.prices[k], lost, day, path)


@cached_njit(nogil=True, error_model="numpy", locals={"pointer": numba.types.voidptr})
def _view(array):  # type: ignore[no-untyped-def]
    """Return an array with the same memory, to which numba counts no references."""
    address = array.ctypes
    pointer = address  # an assignment of its own, so that numba releases `address`
    return numba.carray(pointer, array.shape, array.dtype)  # type: ignore[attr-defined]


@cached_njit(inline="always", nogil=True, error_model="numpy")
def uncounted(path):  # type: ignore[no-untyped-def]
    """Return a path with views of its arrays. Counting references to arrays takes longer than a step."""
    base_fee, blob_base_fee, tip, used_ratio, blob_used_ratio = path.l1
    ends, kind, size, gas, calldata = path.arrivals
    caps, found = path.caps, path.found
    return Path(
        L1(_view(base_fee), _view(blob_base_fee), _view(tip), _view(used_ratio), _view(blob_used_ratio)),
        _view(path.activity),
        path.clock,
        path.policy,
        path.demand,
        Arrivals(_view(ends), _view(kind), _view(size), _view(gas), _view(calldata)),
        path.rounding,
        path.posting,
        path.costs,
        Caps(_view(caps.base_fee_percentile), _view(caps.blob_base_fee_percentile), _view(caps.hours)),
        _view(path.balances),
        _view(path.charges),
        path.seen,
        path.price,
        path.settled,
        path.accounts,
        Found(_view(found.prices), _view(found.arrived), _view(found.days), _view(found.waits), _view(found.series)),
    )


@cached_njit(inline="always", nogil=True, error_model="numpy")
def run_loop(announce, settle, state, path, rng):  # type: ignore[no-untyped-def]
    """Simulate one path. The results are written to `path.found` and `path.accounts`.

    Parameters
    ----------
    announce, settle : compiled functions of the policy.
    state : initial state of the policy.
    path : inputs of the path, and arrays for its results.
    rng : random stream of the demand.
    """
    seen, price, settled = path.seen, path.price, path.settled
    for k in range(path.found.prices.size):
        _observe(k, path)
        announce(state, seen, price)
        if not _accepted(k, path):
            return
        lost = 0.0
        if path.arrivals.ends.size == 0:
            at_reference, mean = _mean_transactions(k, path)
            _flow(k, float(rng.poisson(mean)) if path.demand.poisson else mean, path)
            lost = at_reference - mean
        elif not _charge(k, path.found.prices[k], path):
            return
        _advance(k, lost, path)
        settle(state, settled)


_types: dict[Any, Any] = {}


@typeof_impl.register(Path)
def _type_of_path(path: Path, context: Any) -> Any:
    """Return the cached numba type of a path; without the cache, numba would inspect every field in every call."""
    layout = _layout(path)
    if layout not in _types:
        _types[layout] = typeof_impl.dispatch(tuple)(path, context)
    return _types[layout]


def _layout(value: Any) -> Any:
    """Return a cache key: the properties of a value that determine its numba type."""
    if isinstance(value, tuple):
        return tuple(map(_layout, value))
    if isinstance(value, np.ndarray):
        return value.dtype, value.flags.c_contiguous, value.flags.writeable
    return getattr(value, "dtype", type(value))
