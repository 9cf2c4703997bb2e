"""The exceptions of the package: one tree, so that a caller can catch as much or as little as wanted."""

from typing import Any


class FeeModelError(Exception):
    """Root of everything that this package raises on purpose."""


class InvalidInput(FeeModelError, ValueError):
    """An argument that no answer exists for.

    Parameters
    ----------
    name : the argument, as the caller spelled it.
    reason : what was expected.
    value : the offending value; for an array the first offending element.
    index : its index in an array, `None` for a scalar.
    """

    def __init__(self, name: str, reason: str, value: Any = None, index: tuple[int, ...] | None = None) -> None:
        super().__init__(name, reason, value, index)  # its arguments, so that it can be pickled
        self.name, self.reason, self.value, self.index = name, reason, value, index

    def __str__(self) -> str:
        where = "" if self.index is None else f"[{', '.join(map(str, self.index))}]"
        return f"{self.name}{where}: {self.reason}, got {_shown(self.value)}"


class Int64Overflow(InvalidInput, OverflowError):
    """A product or sum that a node would wrap modulo 2**64, or a result that an int64 array cannot hold."""


class UnknownParameter(InvalidInput):
    """Parameters of a chain that no source gives for the time asked.

    Parameters
    ----------
    reason : which parameters, since when they are unknown, and the last known values.
    chain : its name.
    parameters : their names.
    since : ISO 8601, from when on they are unknown; "unknown" where that is not known either.
    """

    def __init__(self, reason: str, chain: str, parameters: tuple[str, ...], since: str) -> None:
        super().__init__(chain, reason)
        self.args = (reason, chain, parameters, since)  # so that it can be pickled
        self.chain, self.parameters, self.since = chain, parameters, since

    @property
    def brief(self) -> str:
        """A few words for a row of a table."""
        since = "" if self.since == "unknown" else f" since {self.since}"
        return f"unknown{since}: {', '.join(self.parameters)}"

    def __str__(self) -> str:
        example = ", ".join(f'"{name}": …' for name in self.parameters)
        return f"{self.chain}: {self.reason}; to give them: parameters={{{example}}}"


class ExecutionFailed(FeeModelError):
    """A call that did not succeed in the virtual machine, or that a node would not execute.

    Parameters
    ----------
    message : in a node's words.
    code : of a JSON-RPC error.
    data : what the call reverted with, as hexadecimal data; `None` where it did not revert.
    """

    def __init__(self, message: str, code: int = -32_000, data: str | None = None) -> None:
        super().__init__(message, code, data)  # its arguments, so that it can be pickled
        self.message, self.code, self.data = message, code, data

    def __str__(self) -> str:
        return self.message


class LimitExceeded(FeeModelError):
    """A stated limit of size, time or number was reached; the message names the limit and its value."""


class EngineFailed(FeeModelError):
    """A fault of the native engine, such as a panic: no answer to the call, and nothing of its state is used again."""


class NotFinalized(FeeModelError):
    """A block that is unknown, or not yet final on L1."""


class InvalidProof(FeeModelError, ValueError):
    """A Merkle proof that does not hold; the message names the step."""


class UpstreamError(FeeModelError):
    """A node that could not be reached, or answered with an error or with nonsense."""


class UnreadableFile(FeeModelError, ValueError):
    """A file that is missing, truncated or not of the stated format; the message names the file and the place."""


class MissingExtra(FeeModelError, ModuleNotFoundError):
    """A name that needs a package which is not installed; the message has the command that installs it.

    Parameters
    ----------
    needed_by : the name that was asked for.
    package : the missing top-level package.
    command : the shell command that installs the extra which has it.
    """

    def __init__(self, needed_by: str, package: str, command: str) -> None:
        super().__init__(f"{needed_by} needs the package {package}: {command}", name=package)
        self.needed_by, self.package, self.command = needed_by, package, command

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.needed_by, self.package, self.command)


class LedgerDamaged(UnreadableFile):
    """A ledger whose file is damaged: what it holds contradicts its own hashes, or SQLite cannot read it."""


def unreadable(path: object, error: OSError) -> UnreadableFile:
    """The error for a file that the system does not give, worded alike for every kind of file.

    >>> str(unreadable("fees.csv", FileNotFoundError()))
    'fees.csv: no such file'
    """
    known = {
        FileNotFoundError: "no such file",
        IsADirectoryError: "a folder, not a file; read its files one by one",
        PermissionError: "no permission to read it",
    }
    reason = known.get(type(error)) or (str(error) if error.strerror is None else error.strerror.lower())
    return UnreadableFile(f"{path}: {reason}")


def _shown(value: Any, limit: int = 120) -> str:
    # A value may be a megabyte of calldata: its beginning and its length say enough.
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply; an integer of more digits than Python writes
        text = hex(value) if isinstance(value, int) else f"a {type(value).__name__}"
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"
