"""The numbers of the production LZSS format.

A compressed form is a header of three bytes, then symbols: a byte as it is, or a reference to equal bytes. A near
reference reaches the last 2**14 bytes of the data; a far one all of them, and the dictionary. The two byte values that
open a reference cannot be written as themselves: where they occur in the data a reference is written, however short.

Source: Consensys/compress v0.2.5 (2024), lzss; v0.2.4 and v0.3.0 give the same sizes.
"""

HEADER_BYTES = 3  # version, and whether anything is compressed
LITERAL_BITS = 8
NEAR_BITS = 8 + 8 + 14  # mark, length, distance
FAR_BITS = 8 + 8 + 21
FIRST_RESERVED = 0xFE  # 0xFE marks a near reference, 0xFF a far one
RESERVED = bytes((0xFE, 0xFF))  # appended to a dictionary that lacks either
WINDOW = 2**14  # bytes back that a near reference reaches
LONGEST = 256  # bytes that one reference replaces
LONG_RUN = 160  # equal bytes from which on no match is searched, but the byte before referred to
SHORTEST_NEAR, SHORTEST_FAR = 4, 5  # bytes; at a reserved byte 1
LONGEST_INPUT = 2**18  # bytes
LONGEST_DICTIONARY = 2**21 - LONGEST_INPUT  # bytes: all within reach of a far reference from the end of any input
