"""A file of transactions, in any format that `feemodel.io.read_transactions` takes, for the verbs that take one."""

from typing import Any, NamedTuple

from feemodel.cli.options import whole_number
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ethereum.transaction import LINEA_CHAIN_ID
from feemodel.ethereum.transaction_table import Sent, assumptions, known_column, transactions_of, without_unpriced

FILE_HELP = "transactions: JSON Lines, JSON, raw hex, CSV or Parquet of cryo, ethereum-etl, Dune or your own"


class TransactionFile(NamedTuple):
    """The transactions of a file."""

    table: Any  #: of `feemodel.io.read_transactions`, without the transactions that no fee is published for
    sent: list[Sent]
    rows: list[int]  #: of each in the file, from 0
    said: list[str]  #: what was assumed or left out

    def payloads(self, form: str) -> list[bytes]:
        """Their bytes in one of the forms that are measured."""
        return [one.measured(form) for one in self.sent]

    def with_gas_used(self) -> "TransactionFile":
        """Without the transactions for which the file does not say the gas used; as it is where it says none."""
        from feemodel.ethereum.transaction_table import is_known

        known = is_known(self.table, "gas_used")
        if all(known) or not any(known):
            return self
        text = f"left out: {known.count(False):,} of {len(known):,} transactions without gas used"
        kept = [place for place, is_there in enumerate(known) if is_there]
        sent, rows = [self.sent[place] for place in kept], [self.rows[place] for place in kept]
        return TransactionFile(self.table.iloc[kept], sent, rows, [*self.said, text])

    def gas_used(self) -> list[int] | None:
        """What each used, `None` where the file does not say it [gas]."""
        return known_column(self.table, "gas_used")


def add_columns(parser: Any, of: str = "the file") -> None:
    """How the columns of a file are named."""
    parser.add_argument("--columns", action="append", default=[], metavar="OURS=THEIRS[:gwei]",
                        help=f"a column of {of} by its name there, and its unit; may be repeated")  # fmt: skip


def add_transaction_file(parser: Any) -> None:
    """Options of a verb that reads a file of transactions."""
    add_columns(parser)
    parser.add_argument("--chain-id", type=whole_number, default=LINEA_CHAIN_ID, help="of transactions for which the"
                        " file has none (%(default)s)")  # fmt: skip


def read_columns(texts: list[str]) -> dict[str, str] | None:
    """The columns that options name: our names → theirs.

    >>> read_columns(["base_fee=fee:gwei,time=t"])
    {'base_fee': 'fee:gwei', 'time': 't'}
    """
    columns: dict[str, str] = {}
    for text in (part for option in texts for part in option.split(",")):
        ours, equals, theirs = text.partition("=")
        if not (ours and equals and theirs) or ours in columns:
            raise InvalidInput("--columns", "expected OURS=THEIRS, each of ours once", text)
        columns[ours] = theirs
    return columns or None


def read_transaction_file(path: str, columns: list[str], chain_id: int) -> TransactionFile:
    """The transactions of a file; one that cannot be read is named by its row."""
    from feemodel.io import read_transactions

    table, left_out = without_unpriced(read_transactions(path, columns=read_columns(columns)))
    try:
        sent = transactions_of(table, chain_id=chain_id)
    except InvalidInput as error:
        raise UnreadableFile(f"{path}: {error}") from None
    said = [f"assumed: {text}" for text in assumptions(table, sent, chain_id=chain_id)]
    if left_out:
        said.append(f"left out: {left_out:,} transactions of type 3 or 4, for which no fee is published")
    if not sent:
        raise UnreadableFile(f"{path}: expected transactions, found none{': ' + said[-1] if left_out else ''}")
    return TransactionFile(table, sent, table.index.tolist(), said)
