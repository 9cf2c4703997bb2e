"""Explain a transaction or call (the *subject* of a request), and compute the fee of the subject on other rollups."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from feemodel.checks import known_fields, real_scalar, whole_scalar
from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum._call import Call, parse_call
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import from_hex, from_quantity, to_hex, to_quantity
from feemodel.ethereum._transaction import Transaction, fill, intrinsic_gas, parse_transaction
from feemodel.explorer._fee import naming, price, priced_form, recoveries
from feemodel.explorer._fields import FIELDS, L1_FEES, TRANSACTION, check_subject_size, read_point, read_value
from feemodel.explorer._rollups import (
    compared,
    read_at,
    read_l1_fees,
    read_parameters,
    read_rules,
    read_starknet_gas,
    unknown_rows,
)
from feemodel.linea._explanation import explain
from feemodel.linea._node import node_checks
from feemodel.linea.parameters import LineaPreset
from feemodel.linea.pricing_forms import Form
from feemodel.rollups.rules import PUBDATA
from feemodel.sizes._codecs import Codec

INLINE_BYTES = 8_192  # calldata up to this length is measured without a thread
OPTIONS = ("gas", "gasUsed", "nonce", "overrides", "poolMargin", "selectionMargin")
MOMENT = (*L1_FEES, "gas", "overrides", "pubdata", "rules", "at", "parameters", "starknet")
IN_BYTES = ("compressedSize", "measuredBytes")  # fields of an explanation in bytes; other integers are wei or gas

HASH = re.compile("0x[0-9a-fA-F]{64}")

AskNode: TypeAlias = Callable[[str, list[Any]], Awaitable[Any]]
Estimate: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any] | None], Awaitable[int]]
Subject: TypeAlias = Call | Transaction


@dataclass(frozen=True, eq=False)
class Subjects:
    """JSON-RPC methods whose subject is a transaction or a call."""

    form: Callable[[], Form]
    preset: LineaPreset
    estimate: Estimate | None
    codec: Codec
    measured: str
    packed: bool
    chain_id: Callable[[], int]
    ask_node: AskNode | None

    async def explain(self, subject: Any, options: Any = None) -> dict[str, Any]:
        """Explain a transaction or call: size, gas, parts of the fee, fees set by wallets, and a node's checks.

        Parameters
        ----------
        subject : a signed transaction (0x…), a call object, or the hash of a transaction that the node has. For a hash,
            the gas used is taken from the transaction's receipt.
        options : the fields of `feemodel_fee` without `compressedSize`, and the following fields. `gas`: an estimate
            that is used instead of executing the call [gas]. `gasUsed` [gas]. `poolMargin` and `selectionMargin` [1].
            `nonce`: nonce of a call that has no nonce. `overrides`: changes to the state on which a call is executed.

        Returns
        -------
        dict : the explanation, with integers of wei and gas as hexadecimal quantities.

        Raises
        ------
        InvalidInput : the subject or an option is not valid; or the gas of a call that executes code is not known; or
            the subject is a hash, and there is no node or the node does not have the transaction.
        LimitExceeded : the subject has more than 131,072 bytes.
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
            # Compress large data in a thread: codecs release the global interpreter lock.
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
        """Compute the fee of a transaction or call under each rollup's rule at given L1 fees.

        Parameters
        ----------
        subject : a signed transaction (0x…), a call object, or the hash of a transaction that the node has.
        moment : an object with any of the following fields. `l1BaseFee` and `blobBaseFee` [wei / gas]. `gas`: an
            estimate that is used instead of executing the call [gas]. `overrides`: changes to the state on which a call
            is executed. `pubdata`: the assumed number of bytes published on zkSync [byte]. `rules`: a list of names, or
            "all". `at`: a day whose rules and median L1 fees are used; `rules` are then names of chains. `parameters`:
            chain → values, as numbers or text, that replace parameters of the chain. `starknet`: an object with
            `l1DataGas` and `l2Gas` of the same action on Starknet [gas].

        Returns
        -------
        dict : a row for each rule, and the reference rule of the ratios.

        Raises
        ------
        InvalidInput : the subject or an option is not valid, or a rule is unknown.
        LimitExceeded : the subject has more than 131,072 bytes.
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
        # Use a thread, because the first comparison imports many modules.
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
        """Return the subject, or the transaction of a hash; and the gas used, if it is already in a block [gas]."""
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
        """Return the estimated gas, and the subject's own gas limit [gas]."""
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
    """Parse a signed transaction given as hexadecimal text, or a call object.

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
    """Return the fields of the transaction, or of the transaction that a call would send."""
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
