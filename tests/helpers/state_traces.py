"""Traces of a production state manager: does every step of a trace lead from one sub root to the next?

A step is a Merkle path with the leaf before and after it. An insertion has three: its left neighbour, the new leaf, its
right neighbour; each path is of the tree as the step before left it.
"""

from typing import Any

from feemodel.ethereum._quantities import from_hex
from feemodel.ledger.rows import Leaf
from feemodel.ledger.scheme import ACCOUNT_SIZE, NOTHING, Scheme, account_hashes

READ, READ_ZERO, INSERTION, UPDATE, DELETION = range(5)
Step = tuple[dict[str, Any], bytes, bytes]  # the path, the hash of the leaf before and after


def trace_holds(scheme: Scheme, trace: dict[str, Any]) -> bool:
    """Whether the paths fit; a 32-byte key is a slot, or hashed raw in the traces of a bare tree."""
    return any(_steps_hold(scheme, trace, _steps(scheme, trace, raw)) for raw in (False, True))


def _steps_hold(scheme: Scheme, trace: dict[str, Any], steps: list[Step]) -> bool:
    read = trace["type"] in (READ, READ_ZERO)
    root = from_hex(trace["subRoot" if read else "oldSubRoot"])
    for path, before, after in steps:
        if _climb(scheme, path, before) != root:
            return False
        root = _climb(scheme, path, after)
    return root == from_hex(trace["subRoot" if read else "newSubRoot"])


def _climb(scheme: Scheme, path: dict[str, Any], digest: bytes) -> bytes:
    return scheme.path_roots(digest, b"".join(map(from_hex, path["siblings"])), [path["leafIndex"]])


def _steps(scheme: Scheme, trace: dict[str, Any], raw: bool) -> list[Step]:
    def leaf(fields: dict[str, Any], **changes: Any) -> bytes:
        fields = fields | changes
        hkey, hval = (from_hex(text) if isinstance(text, str) else text for text in (fields["hkey"], fields["hval"]))
        return scheme.digest(scheme.leaf(Leaf(hkey, fields["prevLeaf"], fields["nextLeaf"], hval, b"")))

    hkey = _key_hash(scheme, from_hex(trace["key"]), raw)
    match trace["type"]:
        case 0:  # read
            shown = leaf(trace["leaf"], hkey=hkey, hval=_value_hash(scheme, from_hex(trace["value"]), raw))
            return [(trace["proof"], shown, shown)]
        case 1:  # read zero
            if not from_hex(trace["leftLeaf"]["hkey"]) < hkey < from_hex(trace["rightLeaf"]["hkey"]):
                return []
            left, right = leaf(trace["leftLeaf"]), leaf(trace["rightLeaf"])
            return [(trace["leftProof"], left, left), (trace["rightProof"], right, right)]
        case 3:  # update
            old, new = (_value_hash(scheme, from_hex(trace[name]), raw) for name in ("oldValue", "newValue"))
            prior = trace["priorUpdatedLeaf"]
            return [(trace["proof"], leaf(prior, hkey=hkey, hval=old), leaf(prior, hval=new))]
    left, right = trace["leftProof"], trace["rightProof"]
    prior_left, prior_right = trace["priorLeftLeaf"], trace["priorRightLeaf"]
    if trace["type"] == INSERTION:
        middle, index = trace["newProof"], trace["newProof"]["leafIndex"]
        links = {"prevLeaf": left["leafIndex"], "nextLeaf": right["leafIndex"]}
        hval = _value_hash(scheme, from_hex(trace["value"]), raw)
        change, links_after = (NOTHING, leaf(links, hkey=hkey, hval=hval)), (index, index)
    else:
        middle = trace["deletedProof"]
        hval = _value_hash(scheme, from_hex(trace["deletedValue"]), raw)
        change = leaf(trace["priorDeletedLeaf"], hkey=hkey, hval=hval), NOTHING
        links_after = right["leafIndex"], left["leafIndex"]
    return [
        (left, leaf(prior_left), leaf(prior_left, nextLeaf=links_after[0])),
        (middle, *change),
        (right, leaf(prior_right), leaf(prior_right, prevLeaf=links_after[1])),
    ]


def _key_hash(scheme: Scheme, key: bytes, raw: bool) -> bytes:
    if len(key) == 20:
        return scheme.account_key(key)
    return scheme.digest(key) if raw else scheme.word_hash(key)


def _value_hash(scheme: Scheme, value: bytes, raw: bool) -> bytes:
    if len(value) == ACCOUNT_SIZE:
        return account_hashes(scheme, [value])[0]
    return scheme.digest(value) if raw else scheme.word_hash(value)
