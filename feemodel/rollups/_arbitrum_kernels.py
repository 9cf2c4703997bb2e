"""Compiled kernel of `feemodel.rollups.arbitrum_l2_pricing.base_fees` for the simulator; a test compares the two."""

import numpy as np

from feemodel._compiled import cached_njit

BIPS = 10_000
INT64_MAX = 2**63 - 1


@cached_njit(nogil=True)
def base_fees(gas_used, seconds, targets, scales, backlogs, min_base_fee, base_fee, fees):  # type: ignore[no-untyped-def]
    """Fill `fees` with the base fee in the header of each block, and `backlogs` with the backlogs after the last block.

    Returns the index of the first block at which a result exceeds 64 bits (-1 if there is no such block), and the base
    fee of the block that follows the last block.
    """
    stored = base_fee
    for block in range(gas_used.size):
        fees[block] = stored  # a header has the base fee that was stored before its block was counted
        exponent = 0
        for c in range(targets.size):
            backlog = backlogs[c]
            if backlog > 0:
                if seconds[block] > backlog // targets[c]:  # a product could exceed 64 bits
                    backlog = 0
                else:
                    backlog -= seconds[block] * targets[c]
                scaled = backlog * BIPS if backlog <= INT64_MAX // BIPS else INT64_MAX
                term = scaled // scales[c]
                exponent = exponent + term if term <= INT64_MAX - exponent else INT64_MAX
            if gas_used[block] > INT64_MAX - backlog:
                return block, stored
            backlogs[c] = backlog + gas_used[block]
        if exponent == 0:
            stored = min_base_fee
            continue
        factor = _approx_exp(exponent)
        if factor < 0 or (min_base_fee > 0 and factor // BIPS + 1 > INT64_MAX // min_base_fee):
            return block, stored
        # Compute min_base_fee · factor // BIPS so that no intermediate product exceeds the fee.
        stored = min_base_fee * (factor // BIPS) + _part(min_base_fee, factor % BIPS)
    return -1, stored


@cached_njit(nogil=True)
def _part(fee, bips):  # type: ignore[no-untyped-def]
    """Return fee · bips // BIPS without overflow, for `bips` below BIPS."""
    return fee // BIPS * bips + fee % BIPS * bips // BIPS


@cached_njit(nogil=True)
def _approx_exp(bips):  # type: ignore[no-untyped-def]
    """Return e**x from four terms of its Taylor series, with x in basis points; -1 if a product exceeds 64 bits."""
    value = BIPS + bips // 4
    for i in range(3, 0, -1):
        if value > INT64_MAX // bips:
            return np.int64(-1)
        value = BIPS + value * bips // (i * BIPS)
    return value
