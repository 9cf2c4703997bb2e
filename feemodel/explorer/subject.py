"""A transaction or a call, explained and priced under the other rollups: what the explorer says of a pasted subject."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from feemodel.checks import known_fields, real_scalar, whole_scalar
from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum.call import Call, parse_call
from feemodel.ethereum.hashes import keccak256
from feemodel.ethereum.quantities import from_hex, from_quantity, to_hex, to_quantity
from feemodel.ethereum.transaction import Transaction, fill, intrinsic_gas, parse_transaction
from feemodel.explorer.fee import naming, price, priced_form, recoveries
from feemodel.explorer.fields import FIELDS, L1_FEES, TRANSACTION, check_subject_size, read_point, read_value
from feemodel.explorer.rollups import (
    compared,
    read_at,
    read_l1_fees,
    read_parameters,
    read_rules,
    read_starknet_gas,
    unknown_rows,
)
from feemodel.linea.explanation import explain
from feemodel.linea.node import node_checks
from feemodel.linea.parameters import LineaPreset
from feemodel.linea.pricing_forms import Form
from feemodel.rollups.rules import PUBDATA
from feemodel.sizes.codecs import Codec

INLINE_BYTES = 8_192  # of calldata that are measured at once
OPTIONS = ("gas", "gasUsed", "nonce", "overrides", "poolMargin", "selectionMargin")
MOMENT = (*L1_FEES, "gas", "overrides", "pubdata", "rules", "at", "parameters", "starknet")
IN_BYTES = ("compressedSize", "measuredBytes")  # of an explanation; its other integers are wei or gas

HASH = re.compile("0x[0-9a-fA-F]{64}")

AskNode: TypeAlias = Callable[[str, list[Any]], Awaitable[Any]]
Estimate: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any] | None], Awaitable[int]]
Subject: TypeAlias = Call | Transaction


@dataclass(frozen=True, eq=False)
class Subjects:
    """The methods that read a transaction or a call."""

    form: Callable[[], Form]
    preset: LineaPreset
    estimate: Estimate | None
    codec: Codec
    measured: str
    packed: bool
    chain_id: Callable[[], int]
    ask_node: AskNode | None

    async def explain(self, subject: Any, options: Any = None) -> dict[str, Any]:
        """Size, gas, every part of the fee, what wallets set, and what each of a node's checks says.

        Parameters
        ----------
        subject : a signed transaction (0x…), a call object, or the hash of a transaction that the node knows, whose
            receipt says the gas used.
        options : fields as of `feemodel_fee`, without its size; `gas`, the estimate, where a call should not be run;
            `gasUsed`; `poolMargin`, `selectionMargin`; `nonce` of a call that names none; `overrides` of the state
            that a call is run on.

        Raises
        ------
        InvalidInput : a subject or an option that cannot be read; a call that runs code, where no gas is known; a hash
            that the node does not know, or where there is no node.
        LimitExceeded : a subject of more than 131,072 bytes.
        """
        options = {} if options is None else options
        own = self.form()
        point = read_point(options, "options", form=own, preset=self.preset, without=TRANSACTION, also=OPTIONS)
        read, used = await self._found(subject)
        checks = node_checks(self._preset(options, point["margin"]))
        gas = await self._gas(subject, read, options, "options")
        if used is not None:
            gas["used"] = used
        if "gasUsed" in options:
            gas["used"] = _gas_of(options, "gasUsed", "options")
        nonce = from_quantity(options["nonce"], "options.nonce") if "nonce" in options else 0
        with naming("options"):
            explained = partial(
                explain, read, gas, form=priced_form(point), checks=checks, codec=self.codec, measured=self.measured,
                packed=self.packed, nonce=nonce, chain_id=self.chain_id(),
            )  # fmt: skip
            # Much data takes a codec long, but not the interpreter's lock.
            answer = await asyncio.to_thread(explained) if len(read.data) > INLINE_BYTES else explained()
            sized = {"compressedSize": answer["compressedSize"], "gas": gas["estimated"]}
            full = replace(point, values={**point.values, **sized})
            found = [{**one, "cost": to_quantity(one["cost"])} for one in recoveries(full, price(full))]
        return {
            **_on_wire(answer),
            "recovery": found,
            "decoded": _decoded(read, gas["estimated"], nonce, self.chain_id()),
        }

    async def compare(self, subject: Any, moment: Any) -> dict[str, Any]:
        """What the subject pays under each rollup's rule at one sample of L1 fees.

        Parameters
        ----------
        subject : as `feemodel_explain`.
        moment : `l1BaseFee` and `blobBaseFee`; `gas` where a call should not be run, and `overrides` where it is;
            `pubdata` [byte], what the transaction publishes on zkSync, an assumption; `rules`, names or "all"; `at`, a
            day whose rules hold (then `rules` are names of chains), and whose median L1 fees where they ship;
            `parameters`, chain → values in place of its own, a number as such or as text; `starknet`, `l1DataGas` and
            `l2Gas` of the same action there.

        Raises
        ------
        InvalidInput, LimitExceeded : as `feemodel_explain`; an unknown rule.
        """
        known_fields("moment", moment, MOMENT)
        at = read_at(moment, "moment")
        base_fee, blob_base_fee = read_l1_fees(moment, at)
        read, _ = await self._found(subject)
        parameters = read_parameters(moment.get("parameters"), "moment.parameters")
        starknet_gas = read_starknet_gas(moment.get("starknet"))
        rules, without = read_rules(moment.get("rules"), at, parameters)
        gas = (await self._gas(subject, read, moment, "moment"))["estimated"]
        pubdata = whole_scalar("moment.pubdata", moment.get("pubdata", PUBDATA), unit="bytes")
        # In a thread: the first time much has to be loaded.
        rows, signed_bytes, reference = await asyncio.to_thread(
            compared, read, gas, rules, base_fee, blob_base_fee, pubdata, self.codec, self.chain_id(), starknet_gas
        )
        return {
            **({} if at is None else {"at": at, "without": {name: str(error) for name, error in without.items()}}),
            "gas": to_quantity(gas),
            "signedBytes": signed_bytes,
            "l1BaseFee": to_quantity(base_fee),
            "blobBaseFee": to_quantity(blob_base_fee),
            "pubdata": pubdata,
            "reference": reference,
            "rules": rows + unknown_rows(without),
        }

    async def _found(self, subject: Any) -> tuple[Subject, int | None]:
        """What was pasted; for a hash, its transaction, and the gas that it used once it is in a block [gas]."""
        if not isinstance(subject, str) or not HASH.fullmatch(subject):
            return read_subject(subject), None
        if self.ask_node is None:
            raise InvalidInput("subject", "expected no hash: there is no node to ask for its transaction", subject)
        sent = await self.ask_node("eth_getTransactionByHash", [subject])
        if sent is None:
            raise InvalidInput("subject", "expected the hash of a transaction that the node knows", subject)
        call = parse_call(sent)
        if not call.sent or call.gas is None:
            raise UpstreamError(f"the node: expected the transaction {subject}, it answered with something else")
        read = fill(call, gas=call.gas, chain_id=self.chain_id(), set_code=True)
        if read.signature is None or keccak256(read.signed()) != from_hex(subject):
            raise UpstreamError(f"the node: its transaction {subject} has another hash")
        receipt = await self.ask_node("eth_getTransactionReceipt", [subject])
        used = receipt.get("gasUsed") if isinstance(receipt, Mapping) else None
        return read, None if used is None else from_quantity(used, "the node's gasUsed")

    def _preset(self, options: Mapping[str, Any], margin: float) -> LineaPreset:
        given: dict[str, Any] = {
            own: real_scalar(f"options.{name}", options[name])
            for name, own in (("poolMargin", "pool_margin"), ("selectionMargin", "selection_margin"))
            if name in options
        }
        return replace(self.preset, estimate_margin=margin, **given)

    async def _gas(self, subject: Any, read: Subject, options: Mapping[str, Any], path: str) -> dict[str, int]:
        """The gas that is estimated, and the limit that the subject carries."""
        limit = read.gas_limit if isinstance(read, Transaction) else read.gas
        if "gas" in options:
            estimated = _gas_of(options, "gas", path)
        elif limit is not None:
            estimated = limit
        elif self.estimate is not None:
            estimated = await self.estimate(subject, options.get("overrides"))
        elif read.to is not None and not read.data:
            estimated = intrinsic_gas(read)
        else:
            raise InvalidInput(f"{path}.gas", "expected the gas of this call, which is not executed here", None)
        return {"estimated": estimated, "limit": estimated if limit is None else limit}


def read_subject(subject: Any) -> Subject:
    """A signed transaction of its hexadecimal text, or a call of its object.

    >>> read_subject({"to": "0x" + "11" * 20, "gas": "0x5208"}).gas
    21000
    """
    if isinstance(check_subject_size(subject), Mapping):
        return parse_call(subject)
    if not isinstance(subject, str):
        raise InvalidInput("subject", "expected a signed transaction (0x…), a hash or a call object", subject)
    return parse_transaction(subject)


def _gas_of(options: Mapping[str, Any], name: str, path: str) -> int:
    return int(read_value(FIELDS["gas"], options[name], f"{path}.{name}"))


def _on_wire(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _on_wire(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_on_wire(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool) and name not in IN_BYTES:
        return hex(value)
    return value


def _decoded(read: Subject, gas: int, nonce: int, chain_id: int) -> dict[str, Any]:
    """The fields of the transaction, or of the one that a call would send."""
    if isinstance(read, Transaction):
        transaction, sender = read, read.sender()
    else:
        transaction = fill(read, gas=gas, nonce=nonce, chain_id=chain_id)
        sender = read.sender or bytes(20)
    return {
        "type": transaction.type,
        "chainId": None if transaction.chain_id is None else to_quantity(transaction.chain_id),
        "nonce": to_quantity(transaction.nonce),
        "from": to_hex(sender),
        "to": None if transaction.to is None else to_hex(transaction.to),
        "value": to_quantity(transaction.value),
        "gasLimit": to_quantity(transaction.gas_limit),
        "dataBytes": len(transaction.data),
    }
