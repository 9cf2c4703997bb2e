"""Padding factors by chain: (current fee · factor) is enough for inclusion some blocks later.

Two factors are computed: an upper bound, and a 99 % quantile. The bound is enough even if all blocks of the chain and
of L1 are full. The quantile is computed from the fee changes in a history of L1 fees, at a constant base fee of the
chain. The history has ten-minute means, so it does not show fee spikes of less than ten minutes. For blocks that
together take less than ten minutes, the quantile uses min(fee change over ten minutes, bound).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from feemodel._extras import need
from feemodel.checks import EMPTY, above_zero, check_table, instance, mapping, sequence, whole, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import LOWEST_BASE_FEE, MAINNET, BlobRules, Schedule
from feemodel.rollups import _balance as balance
from feemodel.rollups._sending import Now, _l1_blocks_until, _max_base_fee
from feemodel.rollups._what_if import blobs_at
from feemodel.rollups.chains import CHAINS, Chain, When
from feemodel.rollups.factors import Fees, Rule
from feemodel.rollups.rules import PUBDATA, rules_at

if TYPE_CHECKING:
    import pandas as pd

BLOCKS = (1, 5, 20, 100)
WALLETS = (1.1, 1.2, 1.25, 1.7)  # constant factors that wallets use: +10 %, +20 %, +25 %, 1.7 ×
QUANTILE = 0.99
SAMPLE_MILLISECONDS = 600_000
#: Gas and sizes of a transfer with a placeholder signature.
TRANSFER: Mapping[str, int] = {
    "gas": 21_000, "length": 110, "zero_bytes": 6, "nonzero_bytes": 104, "fastlz_size": 110, "brotli_size": 110,
    "zstd_size": 110, "data_length": 0, "zstd_data_size": 1, "linea_size": 110, "pubdata": PUBDATA,
    "l1_data_gas": 256, "l2_gas": 1_100_000,
}  # fmt: skip


def padding_table(
    l1_fees: "Mapping[str, Any] | pd.DataFrame", *, blocks: Sequence[int] = BLOCKS, wallets: Sequence[float] = WALLETS,
    transaction: Mapping[str, int] | None = None, at: When | None = None, chains: Mapping[str, Chain] = CHAINS,
    parameters: Mapping[str, Mapping[str, Any]] = EMPTY, schedule: Schedule = MAINNET,
) -> "pd.DataFrame":  # fmt: skip
    """Compute the padding factors of each chain whose parameters are known, for each number of blocks.

    Parameters
    ----------
    l1_fees : table with `base_fee` and `blob_base_fee`, one row per ten minutes, in order of time [wei / gas].
    blocks : numbers of blocks until inclusion; the table has one row for each number and chain.
    wallets : constant factors of wallets, which are compared with the factors that the samples require [1].
    transaction : values of the columns that the rules use; `None`: a transfer.
    at : date of the rules: ISO 8601, Unix seconds, `datetime` or `numpy.datetime64`; `None`: the newest rules.
    chains : chains by name, by default the chains of the package.
    parameters : values that replace a chain's own values: chain name → parameter name → value.
    schedule : blob schedule of Ethereum, which bounds the blob base fee; see `feemodel.rollups.read_rules`.

    Returns
    -------
    DataFrame : one row per chain and number of blocks. The columns are `chain`, `rule`, `blocks`, `seconds` (duration
        of the blocks; NaN if the block time is not known), `bound` (maximum over the samples; NaN if no bound is
        published) and `quantile` (99 %). For each wallet factor F, `fails_F` is the share of samples whose required
        factor is above F, and `excess_F` is the mean of max(0, F − required factor) [1].

    Raises
    ------
    InvalidInput : the history has fewer than two samples or is shorter than the blocks take, a column is missing, or an
        argument is out of range.
    MissingExtra : pandas is not installed.

    >>> fees = {"base_fee": [10**9, 2 * 10**9, 10**9], "blob_base_fee": [1, 1, 1]}
    >>> found = padding_table(fees, blocks=[1]).set_index("chain")
    >>> found.loc["taiko", ["bound", "quantile", "fails_1.1"]].tolist()
    [1.25, 1.0, 0.0]
    """
    need("padding_table", "pandas")
    import pandas as pd

    transaction = TRANSFER if transaction is None else transaction
    check_table("l1_fees", l1_fees, ("base_fee", "blob_base_fee"))
    fees = {name: np.atleast_1d(whole(name, l1_fees[name])) for name in ("base_fee", "blob_base_fee")}
    shapes = {name: column.shape for name, column in fees.items()}
    if len({*shapes.values()}) != 1 or len(shapes["base_fee"]) != 1:
        raise InvalidInput("l1_fees", "expected columns of equal length", shapes)
    row = {name: whole_scalar(f"transaction.{name}", one) for name, one in mapping("transaction", transaction).items()}
    tried = [above_zero("wallets", factor) for factor in sequence("wallets", wallets, "numbers")]
    ahead = [balance.check_blocks("blocks", number, minimum=1) for number in sequence("blocks", blocks, "numbers")]
    if len(fees["base_fee"]) < 2:
        raise InvalidInput("l1_fees", "expected at least two samples", len(fees["base_fee"]))
    blobs, rows = blobs_at(instance("schedule", schedule, Schedule), at), []
    excess = [balance.largest_excess(fee, blobs) for fee in fees["blob_base_fee"].tolist()]
    for one in rules_at(at, chains=chains, parameters=parameters)[0]:
        if missing := [name for name in one.columns if name not in row]:
            raise InvalidInput("transaction", f"expected the columns {', '.join(missing)}", [*row])
        rows += [_row(one, number, fees, row, tried, blobs, excess) for number in ahead]
    return pd.DataFrame(rows)


def _row(
    rule: Rule, blocks: int, fees: Mapping[str, Any], transaction: Mapping[str, int], wallets: Sequence[float],
    blobs: BlobRules, excess: Sequence[int],
) -> dict[str, Any]:  # fmt: skip
    milliseconds = rule.parameters.get("block_milliseconds")
    step = 1 if milliseconds is None else max(1, -(-blocks * milliseconds // SAMPLE_MILLISECONDS))
    if step >= len(fees["base_fee"]):
        reason = f"expected more than {step:,} samples, for {blocks:,} blocks"
        raise InvalidInput("l1_fees", reason, len(fees["base_fee"]))
    total = _total(rule.fees_of_checked(transaction, fees["base_fee"], fees["blob_base_fee"]), fees)
    if not total.all():
        raise InvalidInput("transaction", f"expected a fee above 0 on {rule.chain}", dict(transaction))
    highest = _highest(rule, blocks, fees, transaction, blobs, excess)
    bound = None if highest is None else highest / total
    ratio = total[step:] / total[:-step]
    ratio = ratio if bound is None else np.minimum(ratio, bound[:-step])
    found: dict[str, Any] = {
        "chain": rule.chain, "rule": rule.name, "blocks": blocks,
        "seconds": np.nan if milliseconds is None else blocks * milliseconds / 1000,
        "bound": np.nan if bound is None else float(bound.max()), "quantile": float(np.quantile(ratio, QUANTILE)),
    }  # fmt: skip
    for factor in wallets:
        found[f"fails_{factor:g}"] = float((ratio > factor).mean())
        found[f"excess_{factor:g}"] = float(np.maximum(factor - ratio, 0).mean())
    return found


def _highest(
    rule: Rule,
    blocks: int,
    fees: Mapping[str, Any],
    transaction: Mapping[str, int],
    blobs: BlobRules,
    excess: Sequence[int],
) -> NDArray[np.float64] | None:
    """Return the largest possible fee `blocks` blocks after each sample, or `None` if the chain has no published bound.

    The bound for Starknet ignores that validators accept L1 prices up to 10 % above their own L1 prices.
    """
    price = rule.factors_of_checked(transaction, fees["base_fee"], fees["blob_base_fee"]).gas_price
    own = LOWEST_BASE_FEE if rule.chain == "linea" else int(np.max(price))  # all but Linea's base fee is constant
    try:
        rise = _max_base_fee(rule.parameters, Now(base_fee=own), blocks) - own
    except InvalidInput:
        return None
    count = _l1_blocks_until(rule.parameters, blocks)
    bounds = [
        (balance.l1_base_fee_bound(fee, count), balance.blob_base_fee_bound(behind, count, blobs))
        for fee, behind in zip(fees["base_fee"].tolist(), excess, strict=True)
    ]
    try:
        base_fee, blob_base_fee = np.array(bounds, dtype=np.int64).T
        later = _total(rule.fees_of_checked(transaction, base_fee, blob_base_fee), fees)
    except OverflowError:  # after many L1 blocks, bounds exceed 64 bits, so use Python ints
        paid = [rule.fees_of_checked(transaction, base, blob) for base, blob in bounds]
        later = np.array([float(one.l1 + one.l2) for one in paid])
    gas = transaction["l2_gas" if "l2_gas" in rule.columns else "gas"]
    return later + float(gas * rise)


def _total(paid: Fees, fees: Mapping[str, Any]) -> NDArray[np.float64]:
    total = np.asarray(paid.l1, float) + np.asarray(paid.l2, float)
    return np.array(np.broadcast_to(total, fees["base_fee"].shape))
