"""Transactions of one shape: calldata, and around it a sender, a receiver, prices, a gas limit, ether."""

from collections.abc import Iterator

import numpy as np

from feemodel.ethereum.call import Call
from feemodel.ethereum.transaction import DYNAMIC_FEE, LEGACY, LINEA_CHAIN_ID, Transaction, intrinsic_gas
from feemodel.simulation.corpus.calldata import Pools, Shape, draw_amounts, draw_calldata
from feemodel.simulation.corpus.fitted import Fitted, Indices, ShapeFit, Shares, draw_between_strata, draw_keys

GAS_LIMIT_MARGIN = 0.5  # a wallet asks for up to this share more gas than the call will use


def draw_transactions(
    shape: Shape, count: int, fitted: Fitted, pools: Pools, rng: np.random.Generator
) -> tuple[list[bytes], list[bytes], list[int]]:
    """Payloads (sender ‖ unsigned transaction), calldata, and gas used [gas] of transactions of one shape.

    Called by `feemodel.simulation.corpus.corpus`, shape by shape:

    >>> from feemodel.simulation.corpus import corpus
    >>> drawn = corpus(20, rng=1)
    >>> len(drawn), all(gas >= 21_000 for gas in drawn.gas.tolist())
    (20, True)
    """
    fit = fitted.shapes[shape.name]
    senders = pools.users[fitted.users.draw(rng, count)]
    called = fitted.contracts.draw(rng, count)
    calldata = draw_calldata(shape, fitted, pools, senders, called, rng)
    receivers: list[bytes | None]
    if shape.kind == "deployment":
        receivers = [None] * count
    elif shape.kind == "plain_transfer":
        receivers = [user.tobytes() for user in pools.users[fitted.users.draw(rng, count)]]
    else:
        receivers = [contract.tobytes() for contract in pools.contracts[called]]
    execution = draw_between_strata(fit.execution_gas, rng, count).tolist()
    gas = [
        intrinsic_gas(Call(to=receiver, data=data)) + used
        for receiver, data, used in zip(receivers, calldata, execution, strict=True)
    ]
    transactions = _transactions(fit, fitted, receivers, calldata, gas, rng)
    payloads = [sender.tobytes() + one.unsigned() for sender, one in zip(senders, transactions, strict=True)]
    return payloads, calldata, gas


def _transactions(
    fit: ShapeFit,
    fitted: Fitted,
    receivers: list[bytes | None],
    calldata: list[bytes],
    gas: list[int],
    rng: np.random.Generator,
) -> Iterator[Transaction]:
    count = len(gas)
    nonces = _integers(fitted.nonce_bytes, count, rng)
    prices = np.sort([_integers(fitted.price_bytes, count, rng), _integers(fitted.price_bytes, count, rng)], axis=0)
    limits = np.array(gas, dtype=np.int64) * (1 + GAS_LIMIT_MARGIN * rng.random(count))
    values = draw_amounts(fitted.value_bytes, fitted.words, rng, count) * (rng.random(count) < fit.with_value)[:, None]
    dynamic_fee = rng.random(count) < fit.dynamic_fee
    numbers = (column.tolist() for column in (nonces, *prices, limits.astype(np.int64), dynamic_fee))
    for to, data, value, nonce, low, high, limit, dynamic in zip(receivers, calldata, values, *numbers, strict=True):
        yield Transaction(
            type=DYNAMIC_FEE if dynamic else LEGACY,
            chain_id=LINEA_CHAIN_ID,
            nonce=nonce,
            gas_price=high,  # each type writes its own prices only
            max_priority_fee=low,
            max_fee=high,
            gas_limit=limit,
            to=to,
            value=int.from_bytes(value.tobytes(), "big"),
            data=data,
        )


def _integers(shares: Shares, count: int, rng: np.random.Generator) -> Indices:
    """Integers of a drawn number of bytes, the first of them not zero."""
    lengths = draw_keys(shares, rng, count)
    lowest = np.where(lengths > 0, 256.0 ** (lengths - 1), 0)
    return (lowest + rng.random(count) * (256.0**lengths - lowest)).astype(np.int64)
