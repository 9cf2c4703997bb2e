"""Random and extreme values of everything that the native engine is given: an answer, or a named error.

python -m tests.helpers.native_door 100000 --seed 7        # that many executions

A panic that reached Python, an error without a name or a process that ended would be a fault.
"""

import argparse
import math
import random
import resource
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from feemodel.errors import EngineFailed, FeeModelError
from feemodel.ethereum._hashes import Authorization
from feemodel.execution._forks import Fork, fork_named
from feemodel.execution._message import Message
from feemodel.execution._state import Account, Block, CallState
from feemodel.execution.native import Native

MEMORY = 6 * 2**30  # of the process; an allocation beyond it fails
NUMBERS = [0, 1, 20_999, 21_000, 53_000, 10**6, 10**9, 2**31, 2**32, 2**32 + 1, 2**63, 2**64 - 1, 2**64, 2**255,
           2**256 - 1, 2**256, -1, -(2**64), 1.5, math.nan, math.inf, None, True, "1", b"1"]  # fmt: skip
SECONDS = [0, 1e-9, 0.01, 0.05, 1, 1e9, 1.1e9, 1.8e19, 1e308, -1, -0.0, math.nan, math.inf, -math.inf, None, "1", 2**70]
SIZES = [0, 1, 8, 19, 20, 21, 31, 32, 33, 64, 68, 1_000]
SENDER, TARGET = b"\x5e" * 20, b"\xc0" * 20
LARGE = "7f" + "ff" * 32
CODES = [
    "", "00", "fe", "5f5ffd", "5b5f56",  # nothing, a stop, an invalid instruction, a revert, a loop
    "80", "90", "50", "5f" * 1_025,  # stack
    LARGE + "51", LARGE + "52", "67ffffffffffffffff51", "6501000000000051", "63ffffffff51", "6301000000515f5260205ff3",
    LARGE + LARGE + "20", LARGE + "5f5f37", LARGE + "5f5f3c", "6401000000005f5ff0", LARGE + "5f5ff0", LARGE + "5fa0",
    "5b5a5f555f56", "5b5a80555f56", "5b5a805d5f56", "5b5a31505f56", "5b5a54505f56", "5b5f5fa05f56",  # fills the state
    "5b5f5f5f5f5f305af1505f56", "5b60205f5f5f30f4505f56", "5b5f5f5ff0505f56",  # calls itself, creates
    "6201000051620100005f5f5f5f60045af1505b",  # memory as input of the identity
    "30ff", "33ff", "40", "600143034050", "4950", "5f35ff",
]  # fmt: skip


def number(rng: random.Random) -> Any:
    return rng.choice([rng.choice(NUMBERS), rng.randrange(2**32), rng.randrange(2**256)])


def octets(rng: random.Random, size: int = 20) -> Any:
    """Mostly of the right size."""
    if rng.random() < 0.9:
        return rng.choice([rng.randbytes(size), bytes(size), b"\xff" * size])
    return rng.choice([rng.randbytes(rng.choice(SIZES)), None, "0x", bytearray(size), 7])


def code(rng: random.Random) -> bytes:
    return bytes.fromhex(rng.choice(CODES)) if rng.random() < 0.8 else rng.randbytes(rng.choice([1, 4, 40]))


def execution(rng: random.Random) -> None:
    """An execution of a state and a message, of which any field may be replaced."""

    def sometimes(value: Any, other: Callable[[], Any]) -> Any:
        return other() if rng.random() < 0.06 else value

    fork: Fork = fork_named(rng.choice(["osaka", "prague", "cancun", "london"]))
    account = Account(
        balance=sometimes(10**30, lambda: number(rng)), nonce=sometimes(1, lambda: number(rng)),
        code=sometimes(code(rng), lambda: octets(rng)), storage=sometimes({0: 1}, lambda: {number(rng): number(rng)}),
    )  # fmt: skip
    block = Block(
        number=sometimes(5, lambda: number(rng)), timestamp=sometimes(5, lambda: number(rng)),
        gas_limit=sometimes(10**7, lambda: number(rng)), coinbase=sometimes(bytes(20), lambda: octets(rng)),
        prev_randao=sometimes(bytes(32), lambda: octets(rng, 32)), difficulty=sometimes(0, lambda: number(rng)),
        excess_blob_gas=sometimes(0, lambda: number(rng)),
        hashes=sometimes({}, lambda: {number(rng): octets(rng, 32)}),
    )  # fmt: skip
    accounts: Any = {
        SENDER: Account(balance=10**30),
        sometimes(TARGET, lambda: rng.randbytes(rng.choice(SIZES))): account,
    }
    call_state = CallState(accounts=accounts, block=block, chain_id=sometimes(1, lambda: number(rng)), fork=fork)
    entry = Authorization(*(sometimes(0, lambda: number(rng)) if name != "address" else octets(rng)
                            for name in Authorization._fields))  # fmt: skip
    message = Message(
        sender=sometimes(SENDER, lambda: octets(rng)),
        to=sometimes(TARGET, lambda: rng.choice([None, octets(rng), rng.randrange(20).to_bytes(20)])),
        value=sometimes(0, lambda: number(rng)), data=sometimes(b"", lambda: octets(rng)),
        gas_price=sometimes(0, lambda: number(rng)), base_fee=sometimes(0, lambda: number(rng)),
        access_list=sometimes((), lambda: ((octets(rng), (octets(rng, 32),)),)),
        authorizations=sometimes((), lambda: (entry,)), blob_hashes=sometimes((), lambda: (octets(rng, 32),)),
        pays=sometimes(True, lambda: rng.choice([False, None, 1])),
    )  # fmt: skip
    gas_limit = sometimes(10**6, lambda: number(rng))
    engine = Native(sometimes(0.05, lambda: rng.choice(SECONDS)))
    rng.choice([engine.execute, engine.trace])(call_state, message, gas_limit)


def main() -> None:
    """Give the engine values until one of them is a fault, which ends this with a traceback."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    ends: Counter[str] = Counter()
    for place in range(given.count):
        rng = random.Random(f"{given.seed} {place}")
        try:
            execution(rng)
            ends["answered"] += 1
        except EngineFailed:
            raise
        except FeeModelError as error:
            ends[type(error).__name__] += 1
        except BaseException:
            print(f"execution {place} of seed {given.seed}", file=sys.stderr)
            raise
    print(dict(ends.most_common()))


if __name__ == "__main__":
    main()
