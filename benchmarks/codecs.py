"""Sizes of a million payloads compared with a bare zstd loop, and the time of FastLZ."""

import gzip
import json
import os
from pathlib import Path

import zstandard

from benchmarks import interleaved, per_item, ratio
from feemodel.sizes._codecs import FastLz, compressed_sizes

SHARED = Path(os.environ.get("FEEMODEL_SHARED", "../shared"))
BARE_CHUNK = 16_384  # payloads per call; smaller chunks are slower in the bare loop, larger ones are not faster


def main() -> None:
    million_payloads()
    fastlz_of_real_transactions()


def million_payloads(count: int = 1_000_000, threads: int = os.cpu_count() or 1) -> None:
    """Compare `compressed_sizes` with a bare `multi_compress_to_buffer`, which checks nothing and reads no result."""
    some = transactions("linea_blob_24288348_24288678", "sender_and_unsigned_transaction")
    payloads = [bytes(bytearray(some[n % len(some)])) for n in range(count)]  # separate objects, as in a real call
    parameters = zstandard.ZstdCompressionParameters(
        compression_level=3, format=zstandard.FORMAT_ZSTD1_MAGICLESS, write_content_size=False
    )

    def bare() -> None:
        compressor = zstandard.ZstdCompressor(compression_params=parameters)
        for start in range(0, count, BARE_CHUNK):
            compressor.multi_compress_to_buffer(payloads[start : start + BARE_CHUNK], threads=threads)

    runs = {"bare loop": bare, "compressed_sizes": lambda: compressed_sizes(payloads, threads=threads)}
    seconds = interleaved(runs, rounds=5, warm_up=0)
    print(f"  zstd sizes of {count:,} real payloads, {threads} threads")
    for name, times in seconds.items():
        print(f"    {name:<18} {per_item(times, count)} a payload")
    print(f"    share of the bare loop's speed: {ratio(seconds, 'bare loop', 'compressed_sizes')}")


def fastlz_of_real_transactions() -> None:
    raws = transactions("op_mainnet_channel_2024-06-14", "raw")
    seconds = interleaved({"FastLz": lambda: FastLz().sizes(raws)}, rounds=5)
    print(f"  FastLZ lengths of {len(raws):,} real transactions, 1 thread")
    for name, times in seconds.items():
        print(f"    {name:<18} {per_item(times, len(raws))} a transaction")


def transactions(name: str, field: str) -> list[bytes]:
    """Return the real payloads of the full data, in the folder of FEEMODEL_SHARED."""
    with gzip.open(SHARED / "data" / f"{name}.jsonl.gz") as lines:
        return [bytes.fromhex(json.loads(line)[field][2:]) for line in lines]


if __name__ == "__main__":
    main()
