"""The 32-byte pricing record that a rollup's blocks carry in `extraData`.

    byte 0        version, 1
    bytes 1–4     fixed cost      [kwei / gas], unsigned, big endian
    bytes 5–8     variable cost   [kwei / byte]
    bytes 9–12    legacy gas price, for wallets that set no dynamic fees [kwei / gas]
    bytes 13–31   zero

Source: Consensys/linea-monorepo at cb180134 (2026-06-12), MinerExtraDataV1.
"""

from __future__ import annotations  # so that `help` shows the names of quantities

from dataclasses import dataclass
from typing import Self

import numpy as np

from feemodel.arguments import check_of
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_KWEI
from feemodel.exact import minimum, truncated
from feemodel.formula import formula
from feemodel.quantities import RealWei, RealWeiPerByte, Wei, WeiPerByte

VERSION = 1
LENGTH = 32  # bytes
CLIQUE_SEAL = 65  # size of the seal that followed the record in the proof-of-authority era [byte]
MAX_KWEI = 2**32 - 1
HIGHEST_COST = MAX_KWEI * WEI_PER_KWEI  # maximum cost in a record [wei]
_FIELDS_END = 13


@dataclass(frozen=True, slots=True)
class PricingRecord:
    """The three costs in a block's pricing record.

    Costs read from a header are ints; costs computed by the coordinator are doubles.

    >>> record = PricingRecord(fixed_cost=30_000_000, variable_cost=1_000_000_000, eth_gas_price=41_904_761.9)
    >>> record.to_bytes()[:13].hex()
    '0100007530000f42400000a3b0'
    >>> PricingRecord.from_bytes(record.to_bytes()).eth_gas_price
    41904000
    """

    fixed_cost: int | float  #: [wei / gas]
    variable_cost: int | float  #: [wei / byte]
    eth_gas_price: int | float  #: [wei / gas]

    def __post_init__(self) -> None:
        for name in ("fixed_cost", "variable_cost", "eth_gas_price"):
            value = getattr(self, name)
            kind = RealWei if isinstance(value, (float, np.floating)) else Wei
            object.__setattr__(self, name, check_of(kind)(name, value))

    def to_bytes(self) -> bytes:
        """Encode the record as 32 bytes; costs are truncated to whole kwei and limited to 2**32 - 1 kwei."""
        costs = (self.fixed_cost, self.variable_cost, self.eth_gas_price)
        fields = b"".join((recorded_cost.core(cost) // WEI_PER_KWEI).to_bytes(4, "big") for cost in costs)
        return bytes([VERSION]) + fields.ljust(LENGTH - 1, b"\0")

    @classmethod
    def from_bytes(cls, data: bytes, *, strict: bool = True) -> Self:
        """Decode the costs in a header's `extraData`.

        Parameters
        ----------
        data : 32 bytes, or 97 bytes with the seal of the proof-of-authority era.
        strict : if `False`, the version and the length are not checked, as in the reader of Linea's SDK.

        Returns
        -------
        PricingRecord : fixed cost [wei / gas], variable cost [wei / byte] and gas price [wei / gas], as ints.

        Raises
        ------
        InvalidInput : not bytes, a length that is not valid, or an unknown version.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise InvalidInput("extra_data", "expected bytes", data)
        data = bytes(data)
        if len(data) < _FIELDS_END or (strict and len(data) not in (LENGTH, LENGTH + CLIQUE_SEAL)):
            raise InvalidInput("extra_data", f"expected {LENGTH} bytes, counted {len(data)}", "0x" + data.hex())
        if strict and data[0] != VERSION:
            raise InvalidInput("extra_data", f"expected version {VERSION} in the first byte", "0x" + data.hex())
        costs = (int.from_bytes(data[at : at + 4], "big") * WEI_PER_KWEI for at in (1, 5, 9))
        return cls(*costs)


def latest_variable_cost(extra_data: bytes) -> float:
    """Variable cost in a header, as the coordinator reads it.

    Parameters
    ----------
    extra_data : `extraData` of the header.

    Returns
    -------
    float [wei / byte]; 0 if the header has no pricing record.

    0x2710 = 10,000 kwei:

    >>> latest_variable_cost(bytes.fromhex("01000003e80000271000002ee0").ljust(32, bytes(1)))
    10000000.0
    """
    try:
        return float(PricingRecord.from_bytes(extra_data).variable_cost)
    except InvalidInput:
        return 0.0


@formula
def recorded_cost(cost: RealWeiPerByte) -> WeiPerByte:
    """Cost as the pricing record stores it: truncated to whole kwei, at most 2**32 - 1 kwei.

    The coordinator divides the cost (a double) by 1,000 and truncates the quotient. Truncation gives the correct kwei,
    because doubles represent every whole wei up to the maximum cost, and no quotient with a fraction is rounded up to a
    whole number.

    >>> recorded_cost(41_904_761.9), recorded_cost(1e14)
    (41904000, 4294967295000)
    """
    return truncated("cost", minimum(cost, HIGHEST_COST) / WEI_PER_KWEI) * WEI_PER_KWEI
