"""Generate realistic transactions for tests of compression, without data of real users.

The module `_calldata` defines the layouts of calldata. Lengths, words, addresses and gas are drawn from the
distributions in `linea.json`, which `scripts/fit-corpus` fitted to Linea mainnet transactions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from feemodel.checks import check_limit, choice, mapping, real_scalar, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum._call import Call
from feemodel.ethereum._transaction import DYNAMIC_FEE, LEGACY, LINEA_CHAIN_ID, Transaction, intrinsic_gas
from feemodel.simulation.corpus._calldata import SHAPES, Pools, Shape, draw_amounts, draw_calldata
from feemodel.simulation.corpus._fitted import LINEA, Fitted, Indices, ShapeFit, Shares, draw_between_strata, draw_keys
from feemodel.simulation.scenarios import Rng, generator_of

CHUNK = 8_192  # number of transactions drawn from one random stream
MAX_COUNT = 10_000_000  # maximum number of transactions, which need about 10 GB of memory

_KINDS = np.array([shape.kind for shape in SHAPES])
_SEEN = np.array([LINEA.shapes[shape.name].seen for shape in SHAPES])

LINEA_MIX: Mapping[str, float] = MappingProxyType(
    {str(kind): float(_SEEN[kind == _KINDS].sum() / _SEEN.sum()) for kind in dict.fromkeys(_KINDS)}
)  #: share of each kind in the real transactions


@dataclass(frozen=True, eq=False)
class Corpus:
    """Generated transactions, in random order as on a chain.

    Parameters
    ----------
    payloads : bytes whose compressed size determines the fee, for each transaction: sender ‖ unsigned transaction.
    calldata : calldata of each transaction.
    kinds : kind of each transaction, a key of `LINEA_MIX`, of shape (n,).
    gas : gas used by each transaction, of shape (n,) [gas].
    """

    payloads: list[bytes]
    calldata: list[bytes]
    kinds: NDArray[np.str_]
    gas: Indices

    def __len__(self) -> int:
        return len(self.payloads)


def corpus(
    count: int,
    *,
    rng: Rng = 0,
    mix: Mapping[str, float] = LINEA_MIX,
) -> Corpus:
    """Generate transactions.

    Parameters
    ----------
    count : number of transactions.
    rng : seed, `SeedSequence` or `Generator`; equal seeds give equal transactions.
    mix : mapping from kinds of transactions, which are keys of `LINEA_MIX`, to relative weights.

    Returns
    -------
    Transactions.

    Raises
    ------
    InvalidInput : a negative count, an unknown kind, a negative or infinite weight, or weights that are all zero.
    LimitExceeded : more than 10,000,000 transactions.

    Notes
    -----
    The kinds of transactions are `plain_transfer` (ether), `erc20_transfer`, `approval`, `nft_transfer`, `swap`
    (routers, aggregators and multicalls of exchanges), `bridge_message`, `account_abstraction` (bundles of ERC-4337),
    `contract_call` and `deployment`. A `contract_call` calls a function that none of the kinds before it calls: its
    calldata is a selector and words drawn from the fitted mixture. The calldata of a `deployment` consists only of
    words drawn from the fitted mixture. Contracts and users are drawn by Zipf's law from two pools of addresses, so
    addresses and selectors repeat as often as in real transactions. The sizes of both pools are those of the real data,
    for any `count`.

    >>> made = corpus(1000, mix={"erc20_transfer": 1})
    >>> made.calldata[0][:4].hex(), len(made.calldata[0])
    ('a9059cbb', 68)
    """
    count = whole_scalar("count", count)
    check_limit(count, "generated transactions", MAX_COUNT, ": draw several corpora")
    weights = _weights(mix)
    generator = generator_of(rng)
    pools = Pools.draw(LINEA, generator)
    sizes = [min(CHUNK, count - start) for start in range(0, count, CHUNK)]
    seeds = generator.integers(0, 2**63, (len(sizes), 2)).tolist()  # seeds of each chunk's random stream
    parts = [_draw(size, weights, pools, np.random.default_rng(seed)) for size, seed in zip(sizes, seeds, strict=True)]
    return Corpus(
        payloads=[payload for part in parts for payload in part.payloads],
        calldata=[data for part in parts for data in part.calldata],
        kinds=np.concatenate([_KINDS[:0], *(part.kinds for part in parts)]),
        gas=np.concatenate([np.empty(0, dtype=np.int64), *(part.gas for part in parts)]),
    )


def _draw(count: int, weights: NDArray[np.float64], pools: Pools, rng: np.random.Generator) -> Corpus:
    shape_of = rng.choice(len(SHAPES), count, p=weights)
    payloads, calldata, gas = [b""] * count, [b""] * count, np.zeros(count, dtype=np.int64)
    for number, shape in enumerate(SHAPES):
        indices = np.flatnonzero(shape_of == number)
        drawn = draw_transactions(shape, len(indices), LINEA, pools, rng)
        for index, payload, data, used in zip(indices.tolist(), *drawn, strict=True):
            payloads[index], calldata[index], gas[index] = payload, data, used
    return Corpus(payloads, calldata, _KINDS[shape_of], gas)


def _weights(mix: Mapping[str, float]) -> NDArray[np.float64]:
    """Return the share of each shape among the transactions to generate.

    The share of a shape is the share of its kind in `mix`, times the share of the shape among the real transactions of
    this kind.
    """
    for kind, weight in mapping("mix", mix).items():
        real_scalar(f"mix[{choice('mix', kind, LINEA_MIX)!r}]", weight)
    weights = _SEEN * np.array([mix.get(kind, 0) / LINEA_MIX[kind] for kind in _KINDS.tolist()])
    if not weights.any():
        raise InvalidInput("mix", "expected a weight above zero", dict(mix))
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


GAS_LIMIT_MARGIN = 0.5  # maximum of (gas limit / gas used) − 1


def draw_transactions(
    shape: Shape, count: int, fitted: Fitted, pools: Pools, rng: np.random.Generator
) -> tuple[list[bytes], list[bytes], list[int]]:
    """Draw transactions of one shape. Return payloads (sender ‖ unsigned transaction), calldata, and gas used [gas].

    `feemodel.simulation.corpus.corpus` calls `draw_transactions` for each shape:

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
            gas_price=high,  # a transaction contains only the price fields of its type
            max_priority_fee=low,
            max_fee=high,
            gas_limit=limit,
            to=to,
            value=int.from_bytes(value.tobytes(), "big"),
            data=data,
        )


def _integers(shares: Shares, count: int, rng: np.random.Generator) -> Indices:
    """Draw integers with random numbers of bytes; the first byte is not zero."""
    lengths = draw_keys(shares, rng, count)
    lowest = np.where(lengths > 0, 256.0 ** (lengths - 1), 0)
    return (lowest + rng.random(count) * (256.0**lengths - lowest)).astype(np.int64)
