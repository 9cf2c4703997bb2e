"""Read reports of development tools: broadcast transactions, and gas used by functions and deployments.

A report is `broadcast/**/run-latest.json` of Foundry, the output of `forge test --gas-report --json`, or the JSON file
of hardhat-gas-reporter.

Gas reports contain function signatures but no calldata; `feemodel.ethereum._abi.example_calldata` generates calldata
from a signature. The init code of a deployment is read from the project's artifacts, without constructor arguments.

Source: foundry-rs/foundry 1.7.1 (2026), cgewecke/hardhat-gas-reporter 2.3.0 (2025).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import mean, median_high
from typing import Any, NamedTuple

from feemodel.checks import choice, sequence, text, whole_scalar
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ethereum._abi import example_calldata
from feemodel.ethereum._call import as_integer, parse_call
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import from_hex
from feemodel.ethereum._transaction import Transaction, fill, intrinsic_gas
from feemodel.io.files import PathLike, contents, parse_json, reading

STATISTICS: Mapping[str, Callable[[list[int]], float]] = {"min": min, "mean": mean, "median": median_high, "max": max}
CHAIN_ID = 1  # chain id for reports that name no chain
EXAMPLE_SENDER, EXAMPLE_TO = keccak256(b"sender")[:20], keccak256(b"contract")[:20]


class Use(NamedTuple):
    """Transaction, function or deployment of a project."""

    kind: str  #: "transaction", "function" or "deployment"
    name: str  #: such as "Counter.increment()"
    transaction: Transaction  #: with a placeholder signature
    gas_used: int  #: [gas]
    source: str  #: path of the file


class Measured(NamedTuple):
    """Gas of a function, or of a deployment, in a gas report."""

    contract: str
    file: str  #: source file of the contract; empty if the report has none
    signature: str  #: of the function; empty for the deployment
    gas: int  #: [gas]


class Project(NamedTuple):
    """Transactions, functions and deployments of a project; `said` contains notes on assumptions and omissions."""

    uses: list[Use]
    said: list[str]


def read_project(path: PathLike, *, statistic: str = "median", artifacts: PathLike | None = None) -> Project:
    """Read a broadcast, a gas report, or all `run-latest.json` files of a Foundry project.

    Parameters
    ----------
    path : a file, or the folder of a project.
    statistic : statistic of the gas used over all calls of a function: "min", "mean", "median" or "max".
    artifacts : folder with the compiled contracts; `None` uses the folder `out` or `artifacts` next to the file.

    Raises
    ------
    UnreadableFile : the file is neither a broadcast nor a gas report, or the folder contains no broadcast.
    InvalidInput : an unknown statistic.
    """
    choice("statistic", statistic, STATISTICS)
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
        gas = None
        if isinstance(document, list):
            gas = _forge_gas(document, statistic)
        elif fields.get("namespace") == "HardhatGasReporter":
            gas = _hardhat_gas(fields, statistic)
        if gas is not None:
            compiled = folder.parent  # reports are written to a project's top folder
            compiled = next((compiled / name for name in ("out", "artifacts") if (compiled / name).is_dir()), compiled)
            return Project([*_examples(gas, Path(artifacts or compiled), source, said)], said)
    expected = "expected a broadcast of Foundry, the JSON of `forge test --gas-report` or of hardhat-gas-reporter"
    raise UnreadableFile(f"{path}: {expected}")


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
        yield Use("transaction", _transaction_name(entry), one, used, source)
    if without:
        said.append(f"assumed: {source}: gas limits in place of gas used, {without:,} transactions have no receipt")


def _receipts_by_nonce(run: Mapping[str, Any], sent: list[dict[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the receipt of each transaction; an empty object for a transaction without a receipt.

    `forge script` without `--slow` may write the hash of one transaction beside another. A chain includes the
    transactions of a sender in the order of their nonces, so this order joins them, and not the hash.
    """
    waiting: dict[str, list[tuple[int, int, Mapping[str, Any]]]] = {}
    for index, one in enumerate(sequence("receipts", run.get("receipts", []))):
        receipt = _object(f"receipts[{index}]", one)
        place = (
            as_integer(f"receipts[{index}].{name}", receipt.get(name)) for name in ("blockNumber", "transactionIndex")
        )
        block, position = place
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


def _forge_gas(document: list[Any], statistic: str) -> Iterator[Measured]:
    """Yield the functions and the deployments of `forge test --gas-report --json`."""
    for index, one in enumerate(document):
        entry = _object(f"item {index + 1}", one)
        file, _, contract = text("contract", entry.get("contract")).rpartition(":")
        deployment = _object("deployment", entry.get("deployment"))
        if gas := whole_scalar(f"{contract}: deployment.gas", deployment.get("gas")):
            yield Measured(contract, file, "", gas)
        for signature, row in _object("functions", entry.get("functions")).items():
            gas = whole_scalar(f"{contract}.{signature}: {statistic}", _object(signature, row).get(statistic))
            yield Measured(contract, file, signature, gas)


def _hardhat_gas(document: Mapping[str, Any], statistic: str) -> Iterator[Measured]:
    """Yield the methods and the deployments of hardhat-gas-reporter that were called."""
    data = _object("data", document.get("data"))
    rows = [("deployments", one) for one in sequence("deployments", data.get("deployments"))]
    for key, one in [*rows, *_object("methods", data.get("methods")).items()]:
        row, is_method = _object(key, one), key != "deployments"
        contract = text("contract", row.get("contract")) if is_method else text("name", row.get("name"))
        signature = text("fnSig", row.get("fnSig")) if is_method else ""
        name = f"{key if is_method else contract}: gasData"
        if not row.get("isCall") and (
            amounts := [whole_scalar(name, value) for value in sequence(name, row.get("gasData"))]
        ):
            yield Measured(contract, "", signature, round(STATISTICS[statistic](amounts)))


def _examples(measured: Iterable[Measured], artifacts: Path, source: str, said: list[str]) -> Iterator[Use]:
    """Yield a transaction with example arguments for each function, and with the init code for each deployment."""
    for contract, file, signature, gas in measured:
        name = f"{contract}.{signature}" if signature else f"deploy {contract}"
        try:
            call = Transaction(  # of type 2, with fields of usual lengths
                type=None, from_address=EXAMPLE_SENDER, nonce=100, chain_id=CHAIN_ID, max_fee=1_500_000_000,
                max_priority_fee=100_000_000, to=EXAMPLE_TO if signature else None,
                data=example_calldata(signature) if signature else init_code(artifacts, contract, file),
            )  # fmt: skip
        except InvalidInput as error:
            said.append(f"left out: {name}: {error if signature else error.reason}")
            continue
        one = fill(call, gas=max(gas, 1), chain_id=CHAIN_ID).with_placeholder_signature()
        if gas < intrinsic_gas(one):
            too_little = f"{gas:,} gas is less than any transaction needs; probably an internal call"
            said.append(f"left out: {name}: {too_little}")
            continue
        yield Use("function" if signature else "deployment", name, one, gas, source)


def init_code(artifacts: Path, contract: str, file: str = "") -> bytes:
    """Return a contract's init code without constructor arguments, from the artifacts of forge or Hardhat.

    Raises `InvalidInput` if the artifact is missing, or if its libraries are not linked.
    """
    name = f"{Path(file).name}/{contract}.json" if file else f"{contract}.json"
    for path in sorted(artifacts.rglob(f"{contract}.json")):
        if not path.as_posix().endswith(f"/{name}"):
            continue
        with reading(path):
            bytecode = _object("the artifact", parse_json(contents(path), "the file")).get("bytecode")
            code = bytecode.get("object") if isinstance(bytecode, Mapping) else bytecode
            if isinstance(code, str) and len(code) > 2 and "_" not in code:  # "_" marks unlinked libraries
                return from_hex(code if code.startswith("0x") else f"0x{code}", "bytecode")
    raise InvalidInput("artifacts", f"no init code in {artifacts}; --artifacts names the folder", str(artifacts))


def _object(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(name, "expected an object", value)
    return value
