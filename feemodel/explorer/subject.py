"""Explain a transaction or call (the *subject* of a request), and compute the fee of the subject on other rollups."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import msgspec

from feemodel.checks import INT64_MAX, require
from feemodel.errors import InvalidInput, LimitExceeded, UnknownParameter, UpstreamError
from feemodel.estimates.json_types import Uint64, parse
from feemodel.estimates.rollup import NOTHING, GasSource, Measuring
from feemodel.ethereum import (
    Transaction,
    fill,
    from_hex,
    from_quantity,
    intrinsic_gas,
    keccak256,
    parse_call,
    parse_transaction,
    to_hex,
    to_quantity,
)
from feemodel.ethereum._transaction import LINEA_CHAIN_ID, check_no_blobs
from feemodel.explorer.fee import price, priced_form, recovery_of
from feemodel.explorer.inputs import naming, read_point
from feemodel.linea import explain, node_checks
from feemodel.linea.parameters import LineaPreset, linea_preset
from feemodel.linea.pricing_forms import CostPerByte, Form, form_of
from feemodel.rollups.chains import CHAINS, timestamp
from feemodel.rollups.rules import PUBDATA
from feemodel.sizes import Codec

MAX_BYTES = 131_072  # largest transaction that geth's pool accepts [byte]
INLINE_BYTES = 8_192  # calldata up to this length is measured without a thread
IN_BYTES = ("compressedSize", "measuredBytes")  # fields whose unit is bytes; other integers are in wei or gas
HASH = re.compile("0x[0-9a-fA-F]{64}")


class Moment(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Options of a comparison: L1 fees, gas, and the day of the rules."""

    l1_base_fee: Uint64  #: [wei / gas]
    blob_base_fee: Uint64  #: [wei / gas]
    gas: Uint64 | None = None  #: [gas]
    at: str | None = None  #: a day


@dataclass(frozen=True, eq=False, kw_only=True)
class Subjects:
    """JSON-RPC methods whose subject is a transaction or a call."""

    preset: LineaPreset = field(default_factory=linea_preset)  #: margins, and the costs that `form` lacks
    own_form: Callable[[], Form] | None = None  #: the server's current pricing form; `None`: the preset's
    source: GasSource | None = None  #: `None`: a call that executes code must have a `gas` field
    measuring: Measuring = field(default_factory=Measuring)  #: codec, and encoding to measure
    chain_id: Callable[[], int] = lambda: LINEA_CHAIN_ID  #: chain id for calls without a chain id
    ask_node: Callable[[str, list[Any]], Awaitable[Any]] | None = None  #: asks a node by method and parameters
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  #: held by one comparison at a time

    def form(self) -> Form:
        """Return the pricing form of the moment."""
        return form_of(CostPerByte.name, self.preset) if self.own_form is None else self.own_form()

    async def explain(self, subject: Any, options: Any = None) -> dict[str, Any]:
        """Explain a transaction or call: size, gas, parts of the fee, fees set by wallets, and a node's checks.

        Parameters
        ----------
        subject : a signed transaction (0x…), a call object, or the hash of a transaction that the node has. For a hash,
            the gas used is taken from the transaction's receipt.
        options : the inputs of `feemodel_fee` without `compressedSize`, and the following fields. `gas`: an estimate
            that is used instead of executing the call [gas]. `gasUsed` [gas].

        Returns
        -------
        dict : the explanation, with integers of wei and gas as hexadecimal quantities.

        Raises
        ------
        InvalidInput : the subject or an option is not valid; the gas of a call that executes code is not known; no
            node is available to find a transaction by its hash; or the node does not have this transaction.
        LimitExceeded : the subject has more than 131,072 bytes.
        """
        options = {} if options is None else options
        point = read_point(options, "options", form=self.form, preset=self.preset, without=("gasUsed",))
        if point.compressed_size is not None:
            raise InvalidInput("options.compressedSize", "expected none: it is measured", point.compressed_size)
        preset = replace(self.preset, estimate_margin=point.margin)
        read, used = await self._found(subject)
        gas = await self._gas(read, point.gas, "options")
        if options.get("gasUsed") is not None:
            used = parse("options.gasUsed", options["gasUsed"], Uint64)
            require("options.gasUsed", "expected at least 1", used, used > 0)
        if used is not None:
            gas["used"] = used
        with naming("options"):
            explained = partial(
                explain, read, gas, form=priced_form(point), checks=node_checks(preset), codec=self.measuring.codec,
                measured=self.measuring.form, packed=self.measuring.packed, chain_id=self.chain_id(),
            )  # fmt: skip
            # Compress large data in a thread: codecs release the global interpreter lock.
            answer = await asyncio.to_thread(explained) if len(read.data) > INLINE_BYTES else explained()
            point = msgspec.structs.replace(point, compressed_size=answer["compressedSize"], gas=gas["estimated"])
            recovered = recovery_of(point, price(point))
        return {
            **_on_wire(answer), "recovery": recovered, "decoded": _decoded(read, gas["estimated"], self.chain_id()),
        }  # fmt: skip

    async def compare(self, subject: Any, moment: Any) -> dict[str, Any]:
        """Compute the fee of a transaction or call under each rollup's rule at given L1 fees.

        Parameters
        ----------
        subject : a signed transaction (0x…), a call object, or the hash of a transaction that the node has.
        moment : an object. `l1BaseFee` and `blobBaseFee`: fees of L1 [wei / gas]. Optional: `gas`, an estimate that is
            used instead of executing the call [gas]; and `at`, a day whose rules are used.

        Returns
        -------
        dict : a row for each rule, and the reference rule of the ratios.

        Raises
        ------
        InvalidInput : the subject or an option is not valid.
        LimitExceeded : the subject has more than 131,072 bytes.
        """
        own: Moment = parse("moment", moment, Moment)
        if own.at is not None:
            timestamp("moment.at", own.at)
        read, _ = await self._found(subject)
        gas = (await self._gas(read, own.gas, "moment"))["estimated"]
        signed = self._signed(read, gas)
        # Use a thread, because the first comparison imports many modules.
        async with self.turn:
            rows = await asyncio.to_thread(compared, signed, gas, own, self.measuring.codec)
        return {
            **({} if own.at is None else {"at": own.at}),
            "gas": to_quantity(gas),
            "signedBytes": len(signed.signed()),
            "l1BaseFee": to_quantity(own.l1_base_fee),
            "blobBaseFee": to_quantity(own.blob_base_fee),
            "pubdata": PUBDATA,
            "rules": rows,
        }

    def _signed(self, read: Transaction, gas: int) -> Transaction:
        """Return the subject signed; a call gets a placeholder signature and, if senderless, address zero."""
        if read.type is not None:
            return read
        check_no_blobs(read)
        sent = replace(read, from_address=read.from_address or bytes(20))
        return fill(sent, gas=gas, chain_id=self.chain_id(), set_code=True).with_placeholder_signature()

    async def _found(self, subject: Any) -> tuple[Transaction, int | None]:
        """Return the subject and the gas used [gas]; for a hash, the subject is the transaction with this hash."""
        if not isinstance(subject, str) or not HASH.fullmatch(subject):
            return read_subject(subject), None
        if self.ask_node is None:
            raise InvalidInput("subject", "expected no hash, because there is no node", subject)
        sent = await self.ask_node("eth_getTransactionByHash", [subject])
        if sent is None:
            raise InvalidInput("subject", "expected the hash of a transaction that the node knows", subject)
        call = parse_call(sent)
        if call.sent_type is None or call.gas_limit is None:
            raise UpstreamError(f"the node: expected the transaction {subject}, got a different object")
        read = fill(call, gas=call.gas_limit, chain_id=self.chain_id(), set_code=True)
        if read.signature is None or keccak256(read.signed()) != from_hex(subject):
            raise UpstreamError(f"the node: expected the transaction {subject}, got a transaction with another hash")
        receipt = await self.ask_node("eth_getTransactionReceipt", [subject])
        used = receipt.get("gasUsed") if isinstance(receipt, Mapping) else None
        return read, None if used is None else from_quantity(used, "the node's gasUsed")

    async def _gas(self, read: Transaction, given: int | None, path: str) -> dict[str, int]:
        """Return the gas estimate, and the gas limit of the transaction or call if it has one [gas]."""
        limit = read.gas_limit
        estimated = limit if given is None else given
        if estimated is None:
            if self.source is not None:
                estimated = (await self.source.gas(read, NOTHING)).limit
            elif read.to is not None and not read.data:
                estimated = intrinsic_gas(read)
            else:
                raise InvalidInput(f"{path}.gas", "expected the gas of this call, which is not executed here", None)
        require(f"{path}.gas", "expected 1 to 2**63 - 1", estimated, 1 <= estimated <= INT64_MAX)
        return {"estimated": estimated, "limit": estimated if limit is None else limit}


def read_subject(subject: Any) -> Transaction:
    """Parse a signed transaction given as hexadecimal text, or a call object.

    >>> read_subject({"to": "0x" + "11" * 20, "gas": "0x5208"}).gas_limit
    21000
    """
    data = (subject.get("data") or subject.get("input")) if isinstance(subject, Mapping) else subject
    if isinstance(data, str) and len(data) > 2 + 2 * MAX_BYTES:
        raise LimitExceeded(f"subject: at most {MAX_BYTES:,} bytes, got {len(data) // 2 - 1:,}")
    if isinstance(subject, Mapping):
        return parse_call(subject)
    if not isinstance(subject, str):
        raise InvalidInput("subject", "expected a signed transaction (0x…), a hash or a call object", subject)
    return parse_transaction(subject)


def compared(signed: Transaction, gas: int, moment: Moment, codec: Codec) -> list[dict[str, Any]]:
    """Return a row for each chain: the fee under its rule, or the reason why there is no fee."""
    from feemodel.rollups.rules import rules_at
    from feemodel.rollups.tables import comparison, measured_sizes, with_columns

    table = measured_sizes([signed], gas=[gas], linea_codec=codec)
    found, without = rules_at(moment.at)
    priced, lacking = with_columns(found, table)
    rules, rows = {one.name: one for one in priced}, []
    l1_fees: dict[str, Any] = {"base_fee": moment.l1_base_fee, "blob_base_fee": moment.blob_base_fee}
    for fee in comparison(table, **l1_fees, rules=priced):
        one = rules[fee.rule]
        fees = {"l1Fee": fee.l1_fee, "l2Fee": fee.l2_fee, "total": fee.total, "totalEth": fee.total_eth,
                "dataFee": fee.l1_fee, "executionFee": fee.l2_fee, "priorityFee": 0}  # fmt: skip
        rows.append({
            "rule": one.name, "token": fee.token, "source": one.parameters.source, "date": one.parameters.since,
            "remarks": list(one.remarks), "ratio": fee.ratio,
            **{name: None if amount is None else to_quantity(amount) for name, amount in fees.items()},
        })  # fmt: skip
    return rows + [
        {"rule": name, "token": CHAINS[name.partition("/")[0]].token, "source": error.reason,
         "date": error.since if isinstance(error, UnknownParameter) else "",
         "error": error.brief if isinstance(error, UnknownParameter) else error.reason}
        for name, error in (lacking | without).items()
    ]  # fmt: skip


def _on_wire(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _on_wire(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_on_wire(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool) and name not in IN_BYTES:
        return hex(value)
    return value


def _decoded(read: Transaction, gas: int, chain_id: int) -> dict[str, Any]:
    """Return the chain id, receiver and data size of a transaction, or of the transaction that a call would send."""
    sent = fill(replace(read, from_address=bytes(20)), gas=gas, chain_id=chain_id) if read.type is None else read
    return {
        "chainId": None if sent.chain_id is None else to_quantity(sent.chain_id),
        "to": None if sent.to is None else to_hex(sent.to),
        "dataBytes": len(sent.data),
    }
