"""The production LZSS, rule by rule in plain Python: slow, for small inputs, the judge of the compiled one.

Source of the rules: Consensys/compress v0.2.5, lzss.
"""

NEAR_BITS, FAR_BITS, LITERAL_BITS = 30, 37, 8
WINDOW = 2**14
LONGEST = 256
LONG_RUN = 160
RESERVED = (0xFE, 0xFF)


def compressed_length(data: bytes, dictionary: bytes) -> int:
    """Bytes of the compressed form: three of header, then the symbols."""
    if not all(byte in dictionary for byte in RESERVED):
        dictionary += bytes(RESERVED)
    bits = i = 0
    while i < len(data):
        cost, length = symbols_at(data, dictionary, i)
        bits += cost
        i += length
    return 3 + (bits + 7) // 8


def symbols_at(data: bytes, dictionary: bytes, i: int) -> tuple[int, int]:
    """What is written at a place: its bits, and the number of bytes it stands for."""
    run = 1
    while run < LONGEST and data[i + run : i + run + 1] == data[i : i + 1]:
        run += 1
    if run >= LONG_RUN:
        if i > 0 and data[i - 1] == data[i]:
            return NEAR_BITS, run
        first = FAR_BITS if data[i] in RESERVED else LITERAL_BITS
        return first + NEAR_BITS, run

    cost, length = best_reference(data, dictionary, i)
    if data[i] in RESERVED:
        return cost, length
    if length == 0:
        return LITERAL_BITS, 1
    savings = 8 * length - cost
    if savings_at(data, dictionary, i + 1) > savings + 1:
        return LITERAL_BITS, 1
    if savings_at(data, dictionary, i + 2) > savings + 2 and data[i + 1] not in RESERVED:
        return 2 * LITERAL_BITS, 2
    return cost, length


def savings_at(data: bytes, dictionary: bytes, i: int) -> float:
    """Bits that the best reference saves against literals."""
    if i >= len(data):
        return float("-inf")
    cost, length = best_reference(data, dictionary, i)
    return 8 * length - cost if length else float("-inf")


def best_reference(data: bytes, dictionary: bytes, i: int) -> tuple[int, int]:
    """Bits and length of the reference that saves most; length 0 if there is none."""
    at_least = {NEAR_BITS: 1, FAR_BITS: 1} if data[i] in RESERVED else {NEAR_BITS: 4, FAR_BITS: 5}
    near = longest_before(data, i, max(0, i - WINDOW))
    far = max(longest_before(data, i, 0), longest_within(dictionary, data, i))
    if near < at_least[NEAR_BITS]:
        near = 0
    if far < at_least[FAR_BITS]:
        far = 0
    if near and (not far or 8 * near - NEAR_BITS > 8 * far - FAR_BITS):
        return NEAR_BITS, near
    return FAR_BITS, far


def longest_before(data: bytes, i: int, first: int) -> int:
    """Length of the longest match that starts from `first` on and before `i`; it may reach beyond `i`."""
    length = 0
    while length < min(LONGEST, len(data) - i) and data.find(data[i : i + length + 1], first, i + length) >= 0:
        length += 1
    return length


def longest_within(dictionary: bytes, data: bytes, i: int) -> int:
    """Length of the longest match inside the dictionary."""
    length = 0
    while length < min(LONGEST, len(data) - i) and data[i : i + length + 1] in dictionary:
        length += 1
    return length
