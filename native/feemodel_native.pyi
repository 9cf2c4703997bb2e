"""Types of the compiled package; its words are those of `native/src`. Numbers of more than 64 bits are 32 bytes."""

from collections.abc import Sequence

# ending, gas used, refund, floor, output, why it did not succeed
_Outcome = tuple[str, int, int, int, bytes, str]
# address, balance, nonce, code, slots with their values, whether those replace all others
_Account = tuple[bytes, bytes, int, "Code", Sequence[tuple[bytes, bytes]], bool]

class MissingHash(Exception): ...
class Exceeded(Exception): ...
class SpentGas(Exception): ...
class SpentTime(Exception): ...
class Unproven(Exception): ...
class BalanceOverflow(Exception): ...
class NativeError(Exception): ...

class Code:
    def __new__(cls, code: bytes) -> Code: ...

class State:
    def __new__(cls, fork: str, accounts: Sequence[_Account], hashes: Sequence[tuple[int, bytes]]) -> State: ...
    def overridden(self, accounts: Sequence[_Account]) -> State: ...

class Block:
    def __new__(
        cls,
        *,
        fork: str,
        chain_id: int,
        number: int,
        timestamp: int,
        gas_limit: int,
        coinbase: bytes,
        prev_randao: bytes,
        difficulty: bytes,
        blob_price: int,
    ) -> Block: ...

class Message:
    def __new__(
        cls,
        *,
        sender: bytes,
        to: bytes | None,
        value: bytes,
        data: bytes,
        gas_price: int,
        base_fee: int,
        access_list: Sequence[tuple[bytes, Sequence[bytes]]],
        authorizations: Sequence[tuple[bytes, bytes, int, int, bytes, bytes]],
        blob_hashes: Sequence[bytes],
        pays: bool,
    ) -> Message: ...

class Hash:
    def __new__(cls, name: str) -> Hash: ...
    def digests(self, data: bytes, size: int) -> bytes | None: ...

class Lzss:
    def __new__(cls, dictionary: bytes) -> Lzss: ...
    def sizes(self, payloads: Sequence[bytes], patience: int = 8) -> list[int]: ...

class Stop:
    def __new__(cls) -> Stop: ...
    def set(self) -> None: ...

def trace(
    state: State,
    block: Block,
    message: Message,
    gas_limit: int,
    *,
    seconds: float | None = None,
    frames: bool = False,
    inline_gas: int | None = None,
    stop: Stop | None = None,
) -> tuple[_Outcome, int, int, bool, list[tuple[int, bytes, str, bytes, str]]]: ...
def search(
    state: State,
    block: Block,
    message: Message,
    *,
    rules: str,
    upper: int,
    most: int,
    tolerance: float,
    transfer: bool,
    total_gas: int,
    seconds: float | None = None,
    left: float | None = None,
    inline_gas: int | None = None,
    stop: Stop | None = None,
) -> tuple[int | None, _Outcome | None, int, int, tuple[str, tuple[int, bytes, str] | None] | None]: ...
def version() -> tuple[str, list[str]]: ...
