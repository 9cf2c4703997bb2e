"""Times of production LZSS: real transactions, against zstd and without the native package; adversarial payloads."""

import time
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from benchmarks import per_item, ratio
from benchmarks.codecs import SHARED, transactions
from feemodel.ethereum._transaction import parse_transaction
from feemodel.sizes._codecs import Zstd
from feemodel.sizes._lzss import RESERVED, Lzss
from feemodel.sizes._lzss_plain import PlainLzss

DICTIONARY = SHARED / "data" / "linea-dict-2025-04-21.bin"
ADVERSARIAL_LENGTHS = (120_000, 262_144)  # bytes: about the maximum of a transaction, and the compressor's limit


def main() -> None:
    signed = transactions("linea_mainnet_transactions", "raw")
    payloads = transactions("linea_blob_24288348_24288678", "sender_and_unsigned_transaction")
    payloads += [parse_transaction(raw).measured("sender_unsigned") for raw in signed]
    codec = Lzss(DICTIONARY.read_bytes())
    real_transactions(payloads, codec)
    without_native(payloads, codec)
    for length in ADVERSARIAL_LENGTHS:
        adversaries(length, codec)


def processor_seconds(runs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Return this thread's processor seconds of every run. The runs alternate."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(1 + rounds):
        for name, run in runs.items():
            started = time.thread_time()
            run()
            if number > 0:  # the first round is a warm-up
                seconds[name].append(time.thread_time() - started)
    return seconds


def real_transactions(payloads: list[bytes], codec: Lzss) -> None:
    runs = {"zstd": lambda: Zstd().sizes(payloads), "lzss": lambda: codec.sizes(payloads)}
    seconds = processor_seconds(runs, 15)
    rates = len(payloads) / np.array(seconds["lzss"])
    mean = sum(map(len, payloads)) / len(payloads)
    print(f"  sizes of {len(payloads):,} real transactions of {mean:.0f} bytes on average, one call, 1 core's time")
    for name, times in seconds.items():
        print(f"    {name:<30} {per_item(times, len(payloads))} a transaction")
    print(f"    lzss, transactions a second    {np.median(rates):,.0f} ({rates.min():,.0f} to {rates.max():,.0f})")
    print(f"    time of lzss / time of zstd    {ratio(seconds, 'lzss', 'zstd')}")


def without_native(payloads: list[bytes], codec: Lzss) -> None:
    plain = PlainLzss(codec.dictionary + RESERVED)
    times = np.array(processor_seconds({"plain": lambda: plain.sizes(payloads)}, 3)["plain"])
    rates = sum(map(len, payloads)) / times / 1e6
    print(f"  the same without the native package: {per_item(times, len(payloads)).strip()} a transaction, "
          f"{np.median(rates):.1f} MB a second")  # fmt: skip


def adversaries(length: int, codec: Lzss) -> None:
    payloads = adversarial(length, codec.dictionary)
    seconds = processor_seconds({name: partial(codec.size, payload) for name, payload in payloads.items()}, 3)
    print(f"  payloads of {length:,} bytes, slowest first")
    for name in sorted(seconds, key=lambda name: -np.median(seconds[name])):
        times = np.array(seconds[name]) * 1e3
        print(f"    {name:<30} {np.median(times):.1f} ms ({times.min():.1f} to {times.max():.1f})")


def adversarial(length: int, dictionary: bytes) -> dict[str, bytes]:
    """Return payloads with very many matches, or very many near matches."""
    rng = np.random.default_rng(1)

    def values(*choices: int) -> bytes:
        return bytes(rng.choice(np.array(choices, dtype=np.uint8), length))

    def with_noise(unit: bytes, every: int) -> bytes:
        data = np.resize(np.frombuffer(unit, dtype=np.uint8), length).copy()
        data[rng.integers(0, length, length // every)] ^= np.uint8(1)
        return data.tobytes()

    words = b"".join(bytes(28) + rng.bytes(4) for _ in range(length // 32 + 1))
    return {
        "random, 2 values": values(0, 1),
        "random, 3 values": values(0, 1, 2),
        "random, 4 values": values(0, 1, 2, 3),
        "random, 16 values": values(*range(16)),
        "random, all values": values(*range(256)),
        "random, 0xfe and 0xff": values(0xFE, 0xFF),
        "random, 0x00, 0xfd to 0xff": values(0, 0xFD, 0xFE, 0xFF),
        "period 2, noise 1/30": with_noise(b"\x01\x02", 30),
        "period 7, noise 1/300": with_noise(rng.bytes(7), 300),
        "period 32, noise 1/30": with_noise(rng.bytes(32), 30),
        "period 300, noise 1/30": with_noise(rng.bytes(300), 30),
        "period 300, noise 1/300": with_noise(rng.bytes(300), 300),
        "the dictionary, noise 1/8": with_noise(dictionary, 8),
        "words of 28 zeros": words[:length],
        "one byte": bytes(length),
    }


if __name__ == "__main__":
    main()
