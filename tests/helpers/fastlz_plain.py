"""FastLZ level 1 in plain Python: the twin of the compiled kernel, and the stream itself with its decoder."""

from collections.abc import Iterator

LARGEST_OFFSET = 8191


def fastlz_matches(data: bytes) -> list[tuple[int, int, int]]:
    """The matches of a payload: where each begins, where its copy lies, how many bytes it covers."""
    table = [0] * 8192  # by the upper 13 of the lower 32 bits of the product
    matches = []
    # The measure advances before it tests for the end of the input, and discards a match found 14 bytes before it.
    last_start, compare_end = len(data) - 14, len(data) - 4
    position = 2
    while position < last_start:
        three = data[position : position + 3]
        key = int.from_bytes(three, "little") * 2654435769 >> 19 & 8191
        copy, table[key] = table[key], position
        if position - copy > LARGEST_OFFSET or data[copy : copy + 3] != three:
            position += 1
            continue
        behind, ahead = copy + 3, position + 3
        while ahead < compare_end and data[behind] == data[ahead]:
            behind, ahead = behind + 1, ahead + 1
        # The original steps past the byte that differs before it looks; at the end of the data there is none, and the
        # match comes out one byte short.
        covered = ahead - position - (ahead == compare_end)
        matches.append((position, copy, covered))
        position += covered
        for entered in (position - 2, position - 1):
            table[int.from_bytes(data[entered : entered + 3], "little") * 2654435769 >> 19 & 8191] = entered
    return matches


def fastlz_length(data: bytes) -> int:
    """The length of the stream, without making it."""
    length = end = 0
    for position, _, covered in fastlz_matches(data):
        full, rest = divmod(covered - 3, 262)
        length += literal_length(position - end) + 3 * full + (3 if rest >= 6 else 2)
        end = position + covered
    return length + literal_length(len(data) - end)


def literal_length(run: int) -> int:
    full, rest = divmod(run, 32)
    return 33 * full + (rest + 1 if rest else 0)


def fastlz_stream(data: bytes) -> bytes:
    """The stream: literal runs `len-1 | bytes`, matches `len-2 << 5 | offset` with a third byte from length 9 on."""
    stream, end = bytearray(), 0
    for position, copy, covered in fastlz_matches(data):
        stream += b"".join(literal_tokens(data[end:position]))
        high, low = divmod(position - copy - 1, 256)
        remaining = covered - 2
        while remaining > 262:
            stream += bytes([7 << 5 | high, 262 - 7 - 2, low])
            remaining -= 262
        stream += bytes([remaining << 5 | high, low]) if remaining < 7 else bytes([7 << 5 | high, remaining - 7, low])
        end = position + covered
    return bytes(stream + b"".join(literal_tokens(data[end:])))


def literal_tokens(literals: bytes) -> Iterator[bytes]:
    for start in range(0, len(literals), 32):
        run = literals[start : start + 32]
        yield bytes([len(run) - 1]) + run


def fastlz_decoded(stream: bytes) -> bytes:
    """The payload of a stream, by the format alone."""
    data, at = bytearray(), 0
    while at < len(stream):
        control = stream[at]
        at += 1
        if control < 32:
            data += stream[at : at + control + 1]
            at += control + 1
            continue
        length = control >> 5
        if length == 7:
            length += stream[at]
            at += 1
        offset = ((control & 31) << 8 | stream[at]) + 1
        at += 1
        for _ in range(length + 2):
            data.append(data[-offset])
    return bytes(data)
