"""Runs the files of published state-tree vectors: hashes, keys, accounts, scenarios, genesis, proofs, traces, trie log.

A file is recognised by what it holds. Each runner yields (name, passed, detail).
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from feemodel.errors import FeeModelError
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import from_hex, to_hex
from feemodel.ledger import plain_hashes
from feemodel.ledger.blocks import import_genesis
from feemodel.ledger.files import parse_trie_log
from feemodel.ledger.proof import KeyProof, check_proof
from feemodel.ledger.scheme import DEPTH, MIMC, POSEIDON2, SCHEMES, AccountLeaf, Scheme, account_hashes, scheme_of
from feemodel.ledger.store import Store
from feemodel.ledger.tree import Tree
from tests.helpers.ledger_blocks import allocated
from tests.helpers.state_traces import trace_holds
from tests.helpers.trees import empty_tree, put, remove

Case = tuple[str, bool, str]
PUBLISHED_NAMES = {"poseidon2_koalabear": "poseidon2", "mimc_bls12_377": "mimc"}


def is_state_file(data: Any) -> bool:
    """Whether a file of vectors is one of the shapes that are run here."""
    if not isinstance(data, dict):
        return False
    rows = data.get("vectors")
    if rows is None:
        return any(field in data for field in RUNNERS)
    return isinstance(rows, list) and all(isinstance(row, dict) and row.keys() & {"hkey", "out"} for row in rows)


def run_state_file(data: dict[str, Any], filename: str) -> Iterator[Case]:
    """Every check that a file of vectors holds."""
    runner = next((run for field, run in RUNNERS.items() if field in data), None)
    if runner is None:
        yield filename, False, f"expected one of the fields {', '.join(RUNNERS)}"
        return
    try:
        yield from runner(data)
    except (FeeModelError, KeyError, TypeError, ValueError) as error:
        yield filename, False, f"{type(error).__name__}: {error}"


def _equal(name: str, actual: Any, expected: Any) -> Case:
    return name, actual == expected, "" if actual == expected else f"expected {expected!r}, got {actual!r}"


def _scheme(data: dict[str, Any]) -> Scheme:
    return scheme_of(PUBLISHED_NAMES[data["scheme"]])


def _vectors(data: dict[str, Any]) -> Iterator[Case]:
    digest = MIMC.digest if data.get("hash", "").startswith("MiMC") else POSEIDON2.digest
    for place, vector in enumerate(data["vectors"]):
        if "address" in vector:
            hkey = SCHEMES["poseidon2"].account_key(from_hex(vector["address"]))
            yield _equal(f"hkey {vector['address']}", to_hex(hkey), vector["hkey"])
        else:
            yield _equal(f"hash {place}", to_hex(digest(from_hex(vector["in"]))), vector["out"])


def _constants(data: dict[str, Any]) -> Iterator[Case]:
    published = data["poseidon2_koalabear"]
    yield _equal("Poseidon2 field", POSEIDON2.order, published["p"])
    yield _equal("Poseidon2 seed", plain_hashes.POSEIDON2_SEED.decode(), published["seed"])
    yield _equal("Poseidon2 round keys", plain_hashes.round_keys(), published["roundKeys"])
    published = data["mimc_bls12_377"]
    yield _equal("MiMC field", MIMC.order, int(published["r"]))
    yield _equal("MiMC constants", plain_hashes.round_constants(), [int(value) for value in published["constants"]])


def _schemes(data: dict[str, Any]) -> Iterator[Case]:
    for name, expected in data["schemes"].items():
        scheme = scheme_of(PUBLISHED_NAMES[name])
        yield _equal(f"{name} zero hashes", [to_hex(zero) for zero in scheme.zeros], expected["zeroHashByHeight"])
        yield _equal(f"{name} tail", to_hex(scheme.tail_key), expected["tailHkey"])
        yield _equal(f"{name} empty sub root", to_hex(scheme.empty_sub_root), expected["emptySubRoot"])
        yield _equal(f"{name} empty root", to_hex(scheme.empty_root), expected["emptyTopRoot"])
        yield _equal(f"{name} empty code hash", to_hex(scheme.empty_code_hash), expected["emptyCodeHash"])
        nothing = scheme.digest(scheme.top(0, scheme.zeros[DEPTH]))
        yield _equal(f"{name} root without leaves", to_hex(nothing), expected["topRootNothingInserted_nextFree0"])


def _account_value(scheme: Scheme, fields: dict[str, Any], trees: dict[str, Tree]) -> bytes:
    root = fields["storageRoot"]
    if root == "EMPTY_TREE":
        storage_root = scheme.empty_root
    elif root.startswith("TREE:"):
        storage_root = trees[root.removeprefix("TREE:")].root
    else:
        storage_root = from_hex(root)
    if "code" in fields:
        code = from_hex(fields["code"])
        code_hash, keccak = scheme.code_hash(code), keccak256(code)
    else:
        code_hash = scheme.empty_code_hash if fields["codeHash"] == "EMPTY_CODE" else from_hex(fields["codeHash"])
        keccak = from_hex(fields["keccakCodeHash"])
    return AccountLeaf(
        fields["nonce"], fields["balance"], storage_root, code_hash, keccak, fields["codeSize"]
    ).to_bytes()


def _account_hashes(data: dict[str, Any]) -> Iterator[Case]:
    for name in SCHEMES.keys() & data.keys():
        scheme = scheme_of(name)
        for place, vector in enumerate(data[name]):
            value = _account_value(scheme, vector, {})
            yield _equal(f"{name} account {place}", to_hex(account_hashes(scheme, [value])[0]), vector["hash"])


def _grow(scheme: Scheme, trees: dict[str, Tree], operation: dict[str, Any]) -> None:
    """One operation of a scenario on its trees: "" is the account tree, or the tree of raw keys."""
    raw, word = scheme.digest, scheme.word_hash
    tree = trees.setdefault(operation.get("tree", ""), empty_tree(scheme.name))
    match operation["op"]:
        case "put_raw":
            value = from_hex(operation["value"])
            put(tree, raw(from_hex(operation["key"])), raw(value), value)
        case "remove_raw":
            remove(tree, raw(from_hex(operation["key"])))
        case "put_account":
            value = _account_value(scheme, operation, trees)
            put(tree, scheme.account_key(from_hex(operation["address"])), account_hashes(scheme, [value])[0], value)
        case "remove_account":
            remove(tree, scheme.account_key(from_hex(operation["address"])))
        case "put_slot":
            value = from_hex(operation["value"])
            put(tree, word(from_hex(operation["slot"])), word(value), value)
        case "remove_slot":
            remove(tree, word(from_hex(operation["slot"])))
        case unknown:
            raise ValueError(f"no operation {unknown}")


def scenario_trees(scheme: Scheme, operations: list[dict[str, Any]]) -> dict[str, Tree]:
    """The trees that the operations of a scenario lead to."""
    trees = {"": empty_tree(scheme.name)}
    for operation in operations:
        if operation["op"] != "expect":
            _grow(scheme, trees, operation)
    return trees


def _scenarios(data: dict[str, Any]) -> Iterator[Case]:
    scheme = _scheme(data)
    for scenario in data["scenarios"]:
        trees = {"": empty_tree(scheme.name)}
        for place, operation in enumerate(scenario["ops"]):
            if operation["op"] != "expect":
                _grow(scheme, trees, operation)
                continue
            tree = trees[""]
            actual = {
                "topRoot": to_hex(tree.root),
                "subRoot": to_hex(tree.version.sub_root),
                "nextFreeNode": tree.next_free,
            }
            for field in actual.keys() & operation.keys():
                yield _equal(f"{scenario['name']}, step {place}, {field}", actual[field], operation[field])


def _genesis(data: dict[str, Any]) -> Iterator[Case]:
    accounts = [
        allocated(
            from_hex(account["address"]),
            account["nonce"],
            int(account["balance"]),
            from_hex(account.get("code", "0x")),
            {from_hex(slot): int(value, 16) for slot, value in account.get("storage", {}).items()},
        )
        for account in data["accounts"]
    ]
    for name, root in (data.get("topRoot") or data["computedOnly"]).items():
        scheme = scheme_of(PUBLISHED_NAMES[name])
        with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "ledger", hashing=scheme.name) as store:
            yield _equal(f"{name} root", to_hex(import_genesis(store, accounts).root), root)
            tree = store.accounts(0)
            for address, index in data.get("leafIndex", {}).get(name, {}).items():
                [[leaf]] = tree.prove([scheme.account_key(from_hex(address))])
                yield _equal(f"{name} {address}", leaf.leaf_index, index)


def _raw_proof(data: dict[str, Any]) -> Iterator[Case]:
    scheme, key = _scheme(data), from_hex(data["rawKey"])
    tree = scenario_trees(scheme, data["ops"])[""]
    (found,) = tree.prove([scheme.digest(key)])
    proof = KeyProof("accountProof", key, found).as_json()
    yield _equal("proof, as JSON text", json.dumps(proof), json.dumps(data["proof"]))


def _results(data: dict[str, Any]) -> Iterator[Case]:
    scheme = _scheme(data)
    for name, result in data.get("results", {"result": data.get("result")}).items():
        root = data.get("topRoot")
        if root is None:  # not recorded: the path must still lead to the top node that the proof shows
            root = scheme.digest(from_hex(_leaf_proofs(result["accountProof"])[0]["proofRelatedNodes"][0]))
        try:
            proven = check_proof(result, root=root)
        except FeeModelError as error:
            yield f"{name} holds", False, str(error)
            continue
        yield f"{name} holds", True, ""
        yield _equal(f"{name}, slots", list(proven.storage), [entry["key"] for entry in result["storageProofs"]])
    if "expect" in data:
        yield from _expected_hashes(scheme, data["result"], data["expect"])


def _leaf_proofs(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry["proof"]] if "proof" in entry else [entry["leftProof"], entry["rightProof"]]


def _expected_hashes(scheme: Scheme, result: dict[str, Any], expect: dict[str, str]) -> Iterator[Case]:
    account, slot = result["accountProof"], result["storageProofs"][0]
    value = from_hex(account["proof"]["value"])
    actual = {
        "hkey": scheme.account_key(from_hex(account["key"])),
        "hval": account_hashes(scheme, [value])[0],
        "storageRoot": AccountLeaf.from_bytes(value).storage_root,
        "slotHkey": scheme.word_hash(from_hex(slot["key"])),
        "slotHval": scheme.word_hash(from_hex(slot["proof"]["value"])),
    }
    for field, expected in expect.items():
        yield _equal(field, to_hex(actual[field]), expected)


def _traces(data: dict[str, Any]) -> Iterator[Case]:
    scheme = _scheme(data)
    for name, traces in data["traces"].items():
        for place, trace in enumerate(traces):
            holds = trace_holds(scheme, trace)
            yield f"{name} {place}", holds, "" if holds else "a Merkle path does not lead from sub root to sub root"


def _trie_log(data: dict[str, Any]) -> Iterator[Case]:
    block = parse_trie_log(from_hex(data["trieLog"]))
    address = int(data["account"], 16).to_bytes(20)
    fields = next(change.after for change in block.accounts if change.address == address)
    yield _equal("nonce", fields and fields.nonce, data["expect"]["nonce"])
    yield _equal("balance", fields and hex(fields.balance), data["expect"]["balance"])


RUNNERS: dict[str, Callable[[dict[str, Any]], Iterator[Case]]] = {
    "vectors": _vectors,
    "mimc_bls12_377": _constants,
    "schemes": _schemes,
    "mimc": _account_hashes,
    "poseidon2": _account_hashes,
    "scenarios": _scenarios,
    "accounts": _genesis,
    "rawKey": _raw_proof,
    "result": _results,
    "results": _results,
    "traces": _traces,
    "trieLog": _trie_log,
}
