"""A crash made small: bytes left out, as long as the same defect shows."""

from collections.abc import Callable

from tests.fuzz.target import Target, accepts


def defect(target: Target, data: bytes) -> tuple[str, str] | None:
    """What goes wrong with an input: the exception and where it was raised; `None` where nothing does."""
    try:
        accepts(target, data)
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        code = trace.tb_frame.f_code if trace is not None else None
        # A violation is raised in one place: what tells one from another is the beginning of its words.
        words = str(error).partition(":")[0] if isinstance(error, AssertionError) else ""
        return type(error).__name__, f"{words}{code.co_filename}:{code.co_name}" if code else words
    return None


def minimal(target: Target, data: bytes) -> bytes:
    """A smaller input with the same defect as `data`; `data` itself where it shows none in this process."""
    wanted = defect(target, data)
    return data if wanted is None else _smaller(data, lambda candidate: defect(target, candidate) == wanted)


def _smaller(data: bytes, still: Callable[[bytes], bool]) -> bytes:
    size = max(len(data) // 2, 1)
    while True:
        start, shrunk = 0, False
        while start < len(data):
            candidate = data[:start] + data[start + size :]
            if still(candidate):
                data, shrunk = candidate, True
            else:
                start += size
        if size == 1 and not shrunk:
            return data
        size = max(size // 2, 1)
