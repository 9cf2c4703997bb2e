"""Read a large JSON document one value at a time."""

import json
from collections.abc import Iterator
from typing import Any, NoReturn, TextIO

from feemodel.errors import InvalidInput
from feemodel.io._bounds import max_json_bytes, raised_by
from feemodel.io._documents import unique_names

PART = 1 << 20  # number of characters read at a time; more if a single value is longer
BLANK = " \t\n\r"
_DECODER = json.JSONDecoder(object_pairs_hook=unique_names)


class JsonText:
    """JSON text that is read in parts; one value may have at most `max_json_bytes()` characters.

    Raises `InvalidInput` with the position of the first character that is not valid JSON.

    >>> from io import StringIO
    >>> text = JsonText(StringIO('{"config": {}, "alloc": {"0x01": 5}}'))
    >>> [(name, text.value()) for name in text.members()]
    [('config', {}), ('alloc', {'0x01': 5})]
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._part, self._position, self._before = "", 0, 0
        self._is_whole = False  # whether the whole file was read
        self._maximum = max_json_bytes()  # maximum number of characters of one value

    def members(self) -> Iterator[str]:
        """Yield the member names of the next object.

        After each name, the caller must read the value before requesting the next name.
        """
        if self._next() != "{":
            raise InvalidInput("JSON", "expected an object", self._part[self._position : self._position + 40])
        self._position += 1
        if self._next() == "}":
            self._position += 1
            return
        while True:
            if self._next() != '"':
                self._refuse("expected a name")
            name: str = self.value()
            self._take(":")
            yield name
            if self._next() == "}":
                self._position += 1
                return
            self._take(",")

    def value(self) -> Any:
        """Return the next value."""
        self._next()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._part, self._position)
            except InvalidInput:
                raise
            except (ValueError, RecursionError) as error:
                if not self._more():
                    self._refuse(str(error))
            else:
                if end < len(self._part) or self._is_whole:
                    self._position = end
                    return value
                self._more()  # a number at the end of this part may continue in the next part

    def end(self) -> None:
        """Raise `InvalidInput` unless the end of the text has been reached."""
        if self._next():
            self._refuse("extra data")

    def _take(self, character: str) -> None:
        if self._next() != character:
            self._refuse(f"expected {character}")
        self._position += 1

    def _next(self) -> str:
        """Return the next character that is not white space, or "" at the end."""
        while True:
            while self._position < len(self._part):
                if (character := self._part[self._position]) not in BLANK:
                    return character
                self._position += 1
            if not self._more():
                return ""

    def _more(self) -> bool:
        """Read the next part of the text. Return false at the end of the text."""
        if self._is_whole:
            return False
        kept = self._part[self._position :]
        if len(kept) > self._maximum:
            position = f"the value at character {self._before + self._position:,}"
            raise InvalidInput(position, f"expected at most {self._maximum:,} characters; {raised_by()}", kept[:40])
        try:
            read = self._file.read(max(PART, len(kept)))
        except ValueError as error:
            self._refuse(f"not UTF-8: {error}")
        self._is_whole = not read
        self._before += self._position
        self._part, self._position = kept + read, 0
        return bool(read)

    def _refuse(self, reason: str) -> NoReturn:
        position = self._before + self._position
        shown = self._part[self._position : self._position + 40]
        raise InvalidInput("the document", f"not JSON at character {position:,} ({reason})", shown) from None
