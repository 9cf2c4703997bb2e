"""Gas estimates on both engines, compared with one execution, which is the minimum; all calls differ."""

from collections.abc import Callable, Iterator

from benchmarks import interleaved, per_item, ratio
from feemodel.errors import ExecutionFailed
from feemodel.ethereum._hashes import keccak256
from feemodel.execution import Account, CallState, estimate_gas
from feemodel.execution._engines import Engine, engine_named
from feemodel.execution._message import Message

SENDER, TOKEN, STORES, REVERTS, STRANGER = (number.to_bytes(20, "big") for number in range(0x1001, 0x1006))
SLOTS = 50
CALLS, REFERENCE_CALLS = 200, 2

# A token transfer without checks: moves a balance, in slots keccak(account ‖ 0), from caller to recipient; emits a log.
TRANSFER = "335f525f60205260405f208054602435900390556004355f5260405f2080546024350190556024355f52600435335f60205fa300"


def call_state() -> CallState:
    """Return a state with a token, a contract that writes 50 new slots, one that reverts, and a funded sender."""
    stores = b"".join(bytes.fromhex("5f3560") + bytes([slot, 0x55]) for slot in range(1, SLOTS + 1))
    balance = int.from_bytes(keccak256(SENDER.rjust(32, b"\0") + bytes(32)), "big")
    return CallState(
        accounts={
            SENDER: Account(balance=10**18),
            TOKEN: Account(nonce=1, code=bytes.fromhex(TRANSFER), storage={balance: 10**30}),
            STORES: Account(nonce=1, code=stores),
            REVERTS: Account(nonce=1, code=bytes.fromhex("60205ffd")),
        }
    )


def calls(kind: str) -> Iterator[dict[str, object]]:
    """Yield calls of one kind with different recipients, amounts or words."""
    number = 0
    while True:
        number += 1
        transfer = "0xa9059cbb" + f"{number:064x}" + f"{number + 5:064x}"
        yield {
            "transfer": {"to": (2**64 + number).to_bytes(20, "big"), "value": number},
            "token": {"to": TOKEN, "data": transfer},
            "stores": {"to": STORES, "data": f"0x{number:064x}"},
            "reverts": {"to": REVERTS, "data": f"0x{number:064x}"},
        }[kind] | {"from": SENDER}


def estimates(kind: str, engine: Engine, count: int, *, tolerance: float, funded: bool = False) -> Callable[[], None]:
    """Run one estimate after the other; if `funded`, each has its own state override."""
    state, source = call_state(), calls(kind)

    def run() -> None:
        for number in range(count):
            overrides = {STRANGER: {"balance": 10**18 + number}} if funded else None
            call = next(source) | ({"from": STRANGER} if funded else {})
            try:
                estimate_gas(call, state, overrides=overrides, tolerance=tolerance, engine=engine)
            except ExecutionFailed:
                assert kind == "reverts"

    return run


def executions(kind: str, engine: Engine) -> Callable[[], None]:
    """Execute each call once, at a sufficient gas limit: the minimum for an estimate."""
    state, source = call_state(), calls(kind)

    def run() -> None:
        for _ in range(CALLS):
            call = next(source)
            data = bytes.fromhex(str(call.get("data", "0x"))[2:])
            message = Message(sender=SENDER, to=call["to"], data=data, value=call.get("value", 0))
            engine.execute(state, message, 2_000_000)

    return run


def main() -> None:
    native, reference = engine_named("native"), engine_named("reference")
    for kind in ("transfer", "token", "stores", "reverts"):
        runs = {"one execution": executions(kind, native)}
        runs["1.5 %"] = estimates(kind, native, CALLS, tolerance=0.015)
        runs["1.5 %, override"] = estimates(kind, native, CALLS, tolerance=0.015, funded=True)
        runs["exact"] = estimates(kind, native, CALLS, tolerance=0.0)
        runs["reference, 1.5 %"] = estimates(kind, reference, REFERENCE_CALLS, tolerance=0.015)
        seconds = interleaved(runs, rounds=5)
        seconds["reference, 1.5 %"] = [time * CALLS / REFERENCE_CALLS for time in seconds["reference, 1.5 %"]]
        print(f"  {kind}: estimates, every call different")
        for name in runs:
            each, times = per_item(seconds[name], CALLS), ratio(seconds, name, "one execution")
            print(f"    {name:<18} {each:>16} each, {times} executions")


if __name__ == "__main__":
    main()
