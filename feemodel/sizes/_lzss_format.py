"""Constants of the production LZSS format.

A compressed payload is a header of three bytes and then symbols. A symbol is a literal byte or a reference to equal
bytes. A near reference reaches the last 2**14 bytes of the data; a far reference reaches all earlier data and the
dictionary. Two byte values mark references and cannot be written as literals. Where these values occur in the data, a
reference is written, even for a single byte.

Source: Consensys/compress v0.2.5 (2024), lzss; v0.2.4 and v0.3.0 give the same sizes.
"""

HEADER_BYTES = 3  # version, and whether the payload is compressed
LITERAL_BITS = 8
NEAR_BITS = 8 + 8 + 14  # mark, length, distance
FAR_BITS = 8 + 8 + 21
FIRST_RESERVED = 0xFE  # 0xFE marks a near reference, 0xFF a far one
RESERVED = bytes((0xFE, 0xFF))  # appended to a dictionary that lacks either
WINDOW = 2**14  # bytes: maximum distance of a near reference
LONGEST = 256  # bytes: maximum length of a reference
LONG_RUN = 160  # length from which a run is encoded as a reference to the byte before, without a search
SHORTEST_NEAR, SHORTEST_FAR = 4, 5  # minimum length of a reference [byte]; 1 at a reserved byte
LONGEST_INPUT = 2**18  # bytes
LONGEST_DICTIONARY = 2**21 - LONGEST_INPUT  # bytes, so that a far reference reaches all of it from the end of any input
