"""Types of the compiled package; its words are those of `native/src`. Numbers of more than 64 bits are 32 bytes."""

from collections.abc import Sequence

# ending, gas used, refund, floor, output, detail, what a precompile says of its input
_Outcome = tuple[int, int, int, int, bytes, int, str]

class MissingHash(Exception): ...
class Exceeded(Exception): ...
class TooLarge(Exception): ...
class SpentGas(Exception): ...
class SpentTime(Exception): ...
class Unproven(Exception): ...
class BalanceOverflow(Exception): ...
class NativeError(Exception): ...

class Code:
    def __new__(cls, code: bytes) -> Code: ...

class State:
    def __new__(cls, fork: str, accounts: bytes, slots: bytes, codes: Sequence[Code], hashes: bytes) -> State: ...
    def overridden(self, accounts: bytes, slots: bytes, codes: Sequence[Code], replaced: Sequence[bool]) -> State: ...

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
        blob_price: bytes,
    ) -> Block: ...

class Message:
    def __new__(
        cls,
        *,
        sender: bytes,
        to: bytes | None,
        value: bytes,
        data: bytes,
        gas_price: bytes,
        base_fee: bytes,
        access_list: Sequence[tuple[bytes, Sequence[bytes]]],
        authorizations: Sequence[tuple[bytes, bytes, int, int, bytes, bytes]],
        blob_hashes: Sequence[bytes],
        pays: bool,
        blob_cost: bytes,
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
    seconds: float | None = None,
    *,
    frames: bool = False,
    stop: Stop | None = None,
) -> tuple[_Outcome, int, int, bool, list[tuple[int, bytes, int, bytes, int]]]: ...
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
    proves: bool,
    total_gas: int,
    seconds: float | None = None,
    left: float | None = None,
    inline_gas: int | None = None,
    sender_acts: bool = False,
    stop: Stop | None = None,
) -> tuple[int | None, _Outcome | None, int, int, int, tuple[bool, tuple[int, bytes, int] | None, bool] | None]: ...
def version() -> tuple[str, list[str]]: ...
