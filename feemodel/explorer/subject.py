"""Explain a transaction or call (the *subject* of a request), and compute the fee of the subject on other rollups."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np

from feemodel.checks import INT64_MAX, known_fields, whole_scalar
from feemodel.errors import FeeModelError, InvalidInput, LimitExceeded, UnknownParameter, UpstreamError
from feemodel.estimates.json_types import Uint64, parse
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
from feemodel.ethereum._transaction import SET_CODE, check_no_blobs
from feemodel.explorer.fee import price, priced_form, recovery_of
from feemodel.explorer.inputs import (
    L1_FEES,
    ChainParameters,
    Ratio,
    StarknetGas,
    expect_none,
    naming,
    read_parameters,
    read_point,
)
from feemodel.io.shipped import typical_l1_fees
from feemodel.linea import explain, node_checks
from feemodel.linea.parameters import LineaPreset
from feemodel.linea.pricing_forms import Form
from feemodel.rollups.chains import CHAINS, timestamp
from feemodel.rollups.rules import PUBDATA, rules_at
from feemodel.sizes import Codec

if TYPE_CHECKING:
    from feemodel.rollups.factors import Rule

MAX_BYTES = 131_072  # largest transaction that geth's pool accepts [byte]
INLINE_BYTES = 8_192  # calldata up to this length is measured without a thread
IN_BYTES = ("compressedSize", "measuredBytes")  # fields whose unit is bytes; other integers are in wei or gas
HASH = re.compile("0x[0-9a-fA-F]{64}")

AskNode: TypeAlias = Callable[[str, list[Any]], Awaitable[Any]]
Estimate: TypeAlias = Callable[[Transaction, Mapping[str, Any] | None], Awaitable[int]]


class Options(msgspec.Struct, rename="camel"):
    """Options of an explanation, in addition to the inputs of the fee."""

    gas_used: Uint64 | None = None  #: [gas]
    pool_margin: Ratio | None = None
    selection_margin: Ratio | None = None
    nonce: Uint64 = 0  #: nonce that is used for a call without a nonce
    overrides: dict[str, Any] | None = None


class Moment(msgspec.Struct, rename="camel"):
    """Options of a comparison: L1 fees or a day, gas, state overrides, and values for other chains."""

    l1_base_fee: Uint64 | None = None  #: [wei / gas]
    blob_base_fee: Uint64 | None = None  #: [wei / gas]
    gas: Uint64 | None = None  #: [gas]
    overrides: dict[str, Any] | None = None
    at: str | None = None  #: a day
    parameters: ChainParameters = {}
    starknet: StarknetGas | None = None

    def l1_fees(self) -> tuple[int, int]:
        """Return the L1 base fee and blob base fee; a missing fee is replaced by its median on the day `at`."""
        given = dict(zip(L1_FEES, (self.l1_base_fee, self.blob_base_fee), strict=True))
        missing = [name for name, fee in given.items() if fee is None]
        if missing and self.at is None:
            raise InvalidInput(f"moment.{missing[0]}", "expected a quantity", None)
        if missing:
            day = typical_l1_fees("moment.at", timestamp("moment.at", self.at or ""))
            given |= {name: fee for name, fee in zip(L1_FEES, day, strict=True) if name in missing}
        base_fee, blob_base_fee = given.values()
        return base_fee or 0, blob_base_fee or 0


NAMES = {kind: tuple(field.encode_name for field in msgspec.structs.fields(kind)) for kind in (Options, Moment)}


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
        options : the inputs of `feemodel_fee` without `compressedSize`, and the following fields. `gas`: an estimate
            that is used instead of executing the call [gas]. `gasUsed` [gas]. `poolMargin` and `selectionMargin` [1].
            `nonce`: nonce for a call without a nonce. `overrides`: changes to the state on which a call is executed.

        Returns
        -------
        dict : the explanation, with integers of wei and gas as hexadecimal quantities.

        Raises
        ------
        InvalidInput : the subject or an option is not valid, the gas of a call that executes code is not known, or no
            node is available to find a transaction by its hash, or the node does not have this transaction.
        LimitExceeded : the subject has more than 131,072 bytes.
        """
        options = {} if options is None else options
        expect_none(options, ("compressedSize",), "options")
        own = parse("options", {name: options[name] for name in NAMES[Options] if name in options}, Options)
        point = read_point(options, "options", form=self.form, preset=self.preset, without=NAMES[Options])
        margins = {"pool_margin": own.pool_margin, "selection_margin": own.selection_margin}
        preset = replace(
            self.preset, estimate_margin=point.margin,
            **{name: margin for name, margin in margins.items() if margin is not None},
        )  # fmt: skip
        read, used = await self._found(subject)
        gas = await self._gas(read, point.gas, own.overrides, "options")
        if own.gas_used is not None:
            used = whole_scalar("options.gasUsed", own.gas_used, minimum=1)
        if used is not None:
            gas["used"] = used
        with naming("options"):
            explained = partial(
                explain, read, gas, form=priced_form(point), checks=node_checks(preset), codec=self.codec,
                measured=self.measured, packed=self.packed, nonce=own.nonce, chain_id=self.chain_id(),
            )  # fmt: skip
            # Compress large data in a thread: codecs release the global interpreter lock.
            answer = await asyncio.to_thread(explained) if len(read.data) > INLINE_BYTES else explained()
            point = msgspec.structs.replace(point, compressed_size=answer["compressedSize"], gas=gas["estimated"])
            recovery = recovery_of(point, price(point))
        return {
            **_on_wire(answer),
            "recovery": recovery,
            "decoded": _decoded(read, gas["estimated"], own.nonce, self.chain_id()),
        }

    async def compare(self, subject: Any, moment: Any) -> dict[str, Any]:
        """Compute the fee of a transaction or call under each rollup's rule at given L1 fees.

        Parameters
        ----------
        subject : a signed transaction (0x…), a call object, or the hash of a transaction that the node has.
        moment : an object with any of the following fields. `l1BaseFee` and `blobBaseFee`: fees of L1 [wei / gas].
            `gas`: an estimate that is used instead of executing the call [gas]. `overrides`: changes to the state on
            which a call is executed. `at`: a day whose rules and median L1 fees are used. `parameters`: values, as
            numbers or text, that replace parameters of chains: chain → parameter name → value. `starknet`: an object
            with the amounts `l1DataGas` and `l2Gas` that the action of the subject uses on Starknet [gas].

        Returns
        -------
        dict : a row for each rule, and the reference rule of the ratios.

        Raises
        ------
        InvalidInput : the subject or an option is not valid.
        LimitExceeded : the subject has more than 131,072 bytes.
        """
        own: Moment = parse("moment", known_fields("moment", moment, NAMES[Moment]), Moment)
        if own.at is not None:
            timestamp("moment.at", own.at)
        base_fee, blob_base_fee = own.l1_fees()
        parameters = read_parameters(own.parameters, "moment.parameters")
        starknet_gas = {} if own.starknet is None else own.starknet.columns("moment.starknet")
        read, _ = await self._found(subject)
        rules, without = rules_at(own.at, parameters=parameters)
        gas = (await self._gas(read, own.gas, own.overrides, "moment"))["estimated"]
        signed = self._signed(read, gas)
        # Use a thread, because the first comparison imports many modules.
        rows, reference = await asyncio.to_thread(
            compared, signed, gas, rules, base_fee, blob_base_fee, self.codec, starknet_gas
        )
        unknown = [
            {"rule": name, "token": CHAINS[name].token, "date": one.since, "source": one.reason, "error": one.brief}
            for name, one in without.items()
            if isinstance(one, UnknownParameter)
        ]
        return {
            **({} if own.at is None else {"at": own.at}),
            "without": {name: str(error) for name, error in without.items()},
            "gas": to_quantity(gas),
            "signedBytes": len(signed.signed()),
            "l1BaseFee": to_quantity(base_fee),
            "blobBaseFee": to_quantity(blob_base_fee),
            "pubdata": PUBDATA,
            "reference": reference,
            "rules": rows + unknown,
        }

    def _signed(self, read: Transaction, gas: int) -> Transaction:
        """Return the subject signed; a call gets a placeholder signature, and the zero address as missing sender."""
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

    async def _gas(
        self, read: Transaction, given: int | None, overrides: Mapping[str, Any] | None, path: str
    ) -> dict[str, int]:
        """Return the gas estimate, and the gas limit of the transaction or call if it has one [gas]."""
        limit = read.gas_limit
        estimated = limit if given is None else given
        if estimated is None:
            if self.estimate is not None:
                estimated = await self.estimate(read, overrides)
            elif read.to is not None and not read.data:
                estimated = intrinsic_gas(read)
            else:
                raise InvalidInput(f"{path}.gas", "expected the gas of this call, which is not executed here", None)
        if not 1 <= estimated <= INT64_MAX:
            raise InvalidInput(f"{path}.gas", "expected 1 to 2**63 - 1", estimated)
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


def compared(
    signed: Transaction,
    gas: int,
    rules: "Iterable[Rule]",
    base_fee: int,
    blob_base_fee: int,
    codec: Codec,
    starknet_gas: Mapping[str, int],
) -> tuple[list[dict[str, Any]], str]:
    """Return a row per rule, and the reference rule of the ratios."""
    from feemodel.rollups import comparison, measured_sizes

    table = measured_sizes([signed], gas=[gas], linea_codec=codec)
    table |= {name: np.array([amount]) for name, amount in starknet_gas.items()}
    by_name = {one.name: one for one in rules}
    # Prefer a reference rule that has a fee for this transaction.
    priced = {name: one for name, one in by_name.items() if signed.type != SET_CODE or one.no_set_code is None}
    reference = priced.get("linea") or next(iter((priced or by_name).values()))

    def row(one: "Rule") -> dict[str, Any]:
        """Return the row of one rule: the fee and its ratio to the reference, or the reason why there is no fee."""
        known = {
            "rule": one.name, "token": one.token, "source": one.parameters.source, "date": one.parameters.since,
            "remarks": list(one.remarks),
        }  # fmt: skip
        try:
            both = list({each.name: each for each in (reference, one)}.values())
            found = comparison(table, base_fee=base_fee, blob_base_fee=blob_base_fee, rules=both)[-1]
        except FeeModelError as error:
            return {**known, "error": str(error)}
        fees = {
            "l1Fee": found.l1_fee, "l2Fee": found.l2_fee, "total": found.total, "totalEth": found.total_eth,
            "dataFee": found.l1_fee, "executionFee": found.l2_fee, "priorityFee": 0,
        }  # fmt: skip
        quantities = {name: None if fee is None else to_quantity(fee) for name, fee in fees.items()}
        return {**known, **quantities, "perByte": found.per_byte, "ratio": found.ratio}

    return [row(one) for one in by_name.values()], reference.name


def _on_wire(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _on_wire(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_on_wire(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool) and name not in IN_BYTES:
        return hex(value)
    return value


def _decoded(read: Transaction, gas: int, nonce: int, chain_id: int) -> dict[str, Any]:
    """Return the fields of the transaction, or of the transaction that a call would send."""
    transaction = read
    if read.type is None:
        sent = replace(read, from_address=read.from_address or bytes(20))
        transaction = fill(sent, gas=gas, nonce=nonce, chain_id=chain_id)
    return {
        "type": transaction.type,
        "chainId": None if transaction.chain_id is None else to_quantity(transaction.chain_id),
        "nonce": to_quantity(transaction.nonce or 0),
        "from": to_hex(transaction.sender()),
        "to": None if transaction.to is None else to_hex(transaction.to),
        "value": to_quantity(transaction.value),
        "gasLimit": to_quantity(transaction.gas_limit or 0),
        "dataBytes": len(transaction.data),
    }
