"""Flip bits of a ledger and ask it: `python -m tests.helpers.flip_bits [TRIALS]`, see `scripts/flip-bits`.

Every answer must be the one of the undamaged ledger, or a `LedgerDamaged` or `UnreadableFile`. Whenever a question
meets damage, the verification must find some.
"""

import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from feemodel.errors import LedgerDamaged, UnreadableFile
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, check_proof, get_proof, import_block, import_genesis
from feemodel.ledger.blocks import GenesisAccount
from feemodel.ledger.maintenance import verify
from tests.helpers.ledger_blocks import CODE, address, block, change, fields, slot, touch

ACCOUNTS, BLOCKS = 60, 6
CONTRACTS = (7, 8)
MAX_BITS = 4  # flipped in one trial

Question = Callable[[Store], Any]


def build(path: Path, hashing: str) -> None:
    """A ledger of some blocks, with code, storage, and accounts that come and go."""
    contracts = [GenesisAccount(address(n), 1, 0, CODE, {slot(s): s for s in range(1, 20)}) for n in CONTRACTS]
    plain = [GenesisAccount(address(n), 0, n) for n in range(20, ACCOUNTS)]
    with Store(path, hashing=hashing) as store:
        import_genesis(store, [*contracts, *plain])
        for number in range(1, BLOCKS):
            import_block(store, block(
                number,
                touch(CONTRACTS[0], (number, number, 0), (100 + number, 0, number)),
                change(20 + number, fields(0, 20 + number), None),
                change(200 + number, None, fields(0, number)),
            ))  # fmt: skip
        store.set_finality("depth 1")
        store.set_chain_id(1337)
        store.finalize(BLOCKS - 2)
        store.checkpoint()


def questions() -> dict[str, Question]:
    """What is asked of every ledger: proofs of what is there and what is not, at blocks by number."""
    asked: dict[str, Question] = {}
    slots = [to_hex(slot(number)) for number in (1, 5, 19, 102, 999)]
    for number in (*CONTRACTS, 21, 30, 201, 5_000):
        for tag in ("earliest", "0x2", "0x4"):
            asked[f"proof of {number} at {tag}"] = _proof(to_hex(address(number)), slots, tag)
    return asked


def _proof(asked: str, slots: list[str], tag: str) -> Question:
    return lambda store: get_proof(store, asked, slots if int(asked, 16) in CONTRACTS else [], tag)


def flipped(data: bytes, choice: random.Random) -> bytes:
    """The file with one to four bits changed."""
    damaged = bytearray(data)
    for _ in range(choice.randint(1, MAX_BITS)):
        damaged[choice.randrange(len(data))] ^= 1 << choice.randrange(8)
    return bytes(damaged)


def answers(path: Path, asked: dict[str, Question]) -> Iterator[tuple[str, Any]]:
    """What a ledger answers to each question: the answer, or the error."""
    try:
        with Store(path, read_only=True) as store:
            for name, question in asked.items():
                try:
                    yield name, question(store)
                except Exception as error:
                    yield name, error
            yield "verification", verify(store).findings
    except Exception as error:
        yield "opening", error


def run(trials: int, folder: Path, *, hashing: str = "poseidon2", seed: int = 1) -> tuple[Counter[str], list[str]]:
    """How often what came out, and what must not."""
    path, choice, asked = folder / "ledger.db", random.Random(seed), questions()
    build(path, hashing)
    data, right = path.read_bytes(), dict(answers(path, asked))
    _check_right(path, right)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for trial in range(trials):
        damaged = folder / f"damaged-{trial}.db"
        damaged.write_bytes(flipped(data, choice))
        met = False
        for name, answer in answers(damaged, asked):
            outcome = _outcome(name, answer, right)
            met = met or outcome == "named error"
            if name == "verification":
                outcome = "found by the verification" if answer else "nothing for the verification to find"
                if met and not answer:
                    outcome = "missed by the verification"
            counts[outcome] += 1
            if outcome in ("another answer", "unforeseen error", "missed by the verification"):
                wrong.append(f"trial {trial}, {name}: {outcome}, {answer!r:.200}")
        for file in folder.glob(f"{damaged.name}*"):
            file.unlink()
    return counts, wrong


def _outcome(name: str, answer: Any, right: dict[str, Any]) -> str:
    if isinstance(answer, (LedgerDamaged, UnreadableFile)):
        return "named error"
    if isinstance(answer, Exception):
        return "unforeseen error"
    return "right answer" if answer == right.get(name) else "another answer"


def _check_right(path: Path, right: dict[str, Any]) -> None:
    """The undamaged ledger answers everything, with proofs that hold."""
    assert not [answer for answer in right.values() if isinstance(answer, Exception)], right
    assert right["verification"] == [], right["verification"]
    with Store(path, read_only=True) as store:
        for name, answer in right.items():
            if name.startswith("proof"):
                tag = name.rpartition(" ")[2]
                number = {"earliest": 0, "0x2": 2, "0x4": 4}[tag]
                check_proof(json.loads(json.dumps(answer)), root=store.block(number).root)


def main(trials: int) -> int:
    failed = False
    for hashing in ("poseidon2", "mimc"):
        with tempfile.TemporaryDirectory() as folder:
            share = trials if hashing == "poseidon2" else max(trials // 20, 1)
            counts, wrong = run(share, Path(folder), hashing=hashing)
        listed = ", ".join(f"{name}: {count:,}" for name, count in sorted(counts.items()))
        print(f"{hashing}: {share:,} trials: {listed}")
        print(*wrong[:20], sep="\n", end="\n" if wrong else "")
        failed = failed or bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000))
