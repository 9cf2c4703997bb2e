"""Constants of the production LZSS format.

A compressed payload is a header of three bytes, followed by symbols. A symbol is a literal byte or a reference to equal
bytes. A near reference points to one of the last 2**14 bytes of the data; a far reference can point to any earlier byte
of the data and of the dictionary. Two byte values are reserved: they mark references and cannot be literals. A reserved
byte in the data is always encoded by a reference, even if the reference replaces only this byte.

Source: Consensys/compress v0.2.5 (2024), lzss; v0.2.4 and v0.3.0 give the same sizes.
"""

HEADER_BYTES = 3  # the header contains the version, and whether the payload is compressed
LITERAL_BITS = 8
NEAR_BITS = 8 + 8 + 14  # mark, length, distance
FAR_BITS = 8 + 8 + 21
FIRST_RESERVED = 0xFE  # 0xFE marks a near reference, and 0xFF marks a far reference
RESERVED = bytes((0xFE, 0xFF))  # both bytes are appended to a dictionary that lacks 0xFE or 0xFF
WINDOW = 2**14  # maximum distance of a near reference [byte]
LONGEST = 256  # maximum length of a reference [byte]
LONG_RUN = 160  # runs of at least this length are encoded by a reference to the previous byte [byte]
SHORTEST_NEAR, SHORTEST_FAR = 4, 5  # minimum length of a reference [byte]; 1 if the data is a reserved byte
LONGEST_INPUT = 2**18  # bytes
LONGEST_DICTIONARY = 2**21 - LONGEST_INPUT  # maximum size of a dictionary, in the range of far references [byte]
