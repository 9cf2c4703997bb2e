"""Calls on the development chain as they are written on the wire."""

from feemodel.ethereum._quantities import to_hex
from tests.helpers.development import ALDER, HOLDERS, POOL, RECORDS, encoded

ANNA, BERT, TOKEN, SWAP, LIST = (to_hex(address) for address in (*HOLDERS[:2], ALDER, POOL, RECORDS))
NOBODY, OTHER = "0x" + "77" * 20, "0x" + "78" * 20
EMPTY = "0x" + "00" * 32
BLOB = "0x01" + "00" * 31


def data(signature: str, *arguments: int | bytes) -> str:
    """Calldata of a function whose arguments are numbers and addresses."""
    return to_hex(encoded(signature, *arguments))


def word(value: int) -> str:
    """A number as 32 bytes."""
    return f"0x{value:064x}"


TRANSFER = {"from": ANNA, "to": BERT, "value": "0x1"}
TOKENS = {"from": ANNA, "to": TOKEN, "data": data("transfer(address,uint256)", HOLDERS[1], 5)}
AUTHORIZATION = {"chainId": "0x539", "address": TOKEN, "nonce": "0x0", "yParity": "0x0", "r": "0x1", "s": "0x1"}
LOOP = {NOBODY: {"code": "0x5b5f56"}}
