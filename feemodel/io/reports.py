"""Read the transactions of a project: `broadcast/**/run-latest.json`, which `forge script` writes.

Source: foundry-rs/foundry 1.7.1 (2026).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from feemodel.checks import sequence
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ethereum._call import as_integer, parse_call
from feemodel.ethereum._transaction import Transaction, fill
from feemodel.io.files import PathLike, contents, parse_json, reading

CHAIN_ID = 1  # chain id for broadcasts that name no chain


class Use(NamedTuple):
    """Transaction of a project."""

    name: str  #: such as "Counter.increment()"
    transaction: Transaction  #: with a placeholder signature
    gas_used: int  #: [gas]
    source: str  #: path of the file


class Project(NamedTuple):
    """Transactions of a project; `said` contains notes on assumptions and omissions."""

    uses: list[Use]
    said: list[str]


def read_project(path: PathLike) -> Project:
    """Read a broadcast, or all `run-latest.json` files of a Foundry project.

    Parameters
    ----------
    path : a file, or the folder of a project.

    Raises
    ------
    UnreadableFile : the file is not a broadcast, or the folder contains no broadcast.
    """
    folder, source = Path(path), str(path)
    if folder.is_dir():
        files = sorted(one for one in folder.glob("broadcast/**/run-latest.json") if "dry-run" not in one.parts)
        if not files:
            raise UnreadableFile(f"{path}: expected broadcast/**/run-latest.json in this folder, found none")
        read = [read_project(one) for one in files]
        return Project([use for one in read for use in one.uses], [said for one in read for said in one.said])
    said: list[str] = []
    with reading(path):
        document = parse_json(contents(path), "the file")
        fields = document if isinstance(document, Mapping) else {}
        if "transactions" in fields or "deployments" in fields:
            runs = sequence("deployments", fields["deployments"]) if "deployments" in fields else (fields,)
            return Project([use for run in runs for use in _broadcast(_object("deployments", run), source, said)], said)
    raise UnreadableFile(f"{path}: expected a broadcast of Foundry, run-latest.json")


def _broadcast(run: Mapping[str, Any], source: str, said: list[str]) -> Iterator[Use]:
    """Yield the transactions of one run of `forge script`, with their gas used.

    If a transaction has no receipt, the reader assumes that the transaction used its whole gas limit. If the file has
    no fees for a transaction of type 2, the maximum fee and the priority fee are both set to the effective gas price in
    the receipt.
    """
    entries, sent = [], []
    for index, one in enumerate(sequence("transactions", run.get("transactions"))):
        entries.append(_object(f"transactions[{index}]", one))
        sent.append(dict(_object(f"transactions[{index}].transaction", entries[-1].get("transaction"))))
    receipts = _receipts_by_nonce(run, sent)
    without = 0
    for index, (entry, fields, receipt) in enumerate(zip(entries, sent, receipts, strict=True)):
        name = f"transactions[{index}]"
        if receipt and fields.get("to") is None and receipt.get("contractAddress") is None:
            said.append(f"warning: {source}: {_transaction_name(entry)}: its receipt has no contract")
        if receipt.get("type") == "0x2" and not fields.keys() & {"maxFeePerGas", "gasPrice"}:
            price = receipt.get("effectiveGasPrice")
            fields |= {"maxFeePerGas": price, "maxPriorityFeePerGas": price}
        call = parse_call(fields)
        if call.max_fee_per_blob_gas is not None or fields.get("blobVersionedHashes"):
            said.append(f"left out: {source}, {name}, a transaction of type 3, for which no fee is published")
            continue
        if call.gas_limit is None:
            raise InvalidInput(f"{name}.transaction.gas", "expected the gas limit", None)
        used = call.gas_limit if not receipt else as_integer(f"{name}: gasUsed", receipt.get("gasUsed"))
        without += not receipt
        chain_id = call.chain_id if call.chain_id is not None else as_integer("chain", run.get("chain", CHAIN_ID))
        sent_by = replace(call, from_address=call.from_address or bytes(20))
        one = fill(sent_by, gas=call.gas_limit, chain_id=chain_id, set_code=True).with_placeholder_signature()
        yield Use(_transaction_name(entry), one, used, source)
    if without:
        said.append(f"assumed: {source}: gas limits in place of gas used; transactions without a receipt: {without:,}")


def _receipts_by_nonce(run: Mapping[str, Any], sent: list[dict[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the receipt of each transaction; an empty object for a transaction without a receipt.

    `forge script` without `--slow` may write the hash of one transaction beside another. A chain includes a sender's
    transactions in the order of their nonces, so receipts are matched by nonce, not by hash.
    """
    waiting: dict[str, list[tuple[int, int, Mapping[str, Any]]]] = {}
    for index, one in enumerate(sequence("receipts", run.get("receipts", []))):
        receipt = _object(f"receipts[{index}]", one)
        block = as_integer(f"receipts[{index}].blockNumber", receipt.get("blockNumber"))
        position = as_integer(f"receipts[{index}].transactionIndex", receipt.get("transactionIndex"))
        waiting.setdefault(_address(receipt, "from"), []).append((block, position, receipt))
    for queue in waiting.values():
        queue.sort(key=lambda row: row[:2])
    found: list[Mapping[str, Any]] = [{}] * len(sent)
    nonces = [as_integer(f"transactions[{index}].nonce", one.get("nonce", index)) for index, one in enumerate(sent)]
    for index in sorted(range(len(sent)), key=nonces.__getitem__):
        queue = waiting.get(_address(sent[index], "from"), [])
        if queue and _address(queue[0][2], "to") == _address(sent[index], "to"):
            found[index] = queue.pop(0)[2]
    if unused := sum(map(len, waiting.values())):
        raise InvalidInput("receipts", "expected the receipts of the transactions, by sender and nonce", unused)
    return found


def _address(fields: Mapping[str, Any], name: str) -> str:
    return str(fields.get(name) or "").lower()


def _transaction_name(entry: Mapping[str, Any]) -> str:
    contract = entry.get("contractName") or "?"
    if str(entry.get("transactionType", "")).startswith("CREATE"):
        return f"deploy {contract}"
    return f"{contract}.{entry.get('function') or '?'}"


def _object(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(name, "expected an object", value)
    return value
