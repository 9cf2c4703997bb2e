"""Exceptions of the package, all derived from `FeeModelError`."""

from typing import Any


class FeeModelError(Exception):
    """Base class of the exceptions of this package."""


class InvalidInput(FeeModelError, ValueError):
    """An argument that is not valid.

    Parameters
    ----------
    name : name of the argument, as used by the caller.
    reason : description of valid values.
    value : the value that is not valid; for an array, the first element that is not valid.
    index : index of the element in an array, `None` for a scalar.
    """

    def __init__(self, name: str, reason: str, value: Any = None, index: tuple[int, ...] | None = None) -> None:
        super().__init__(name, reason, value, index)  # pickle passes `args`, all arguments, to the constructor
        self.name, self.reason, self.value, self.index = name, reason, value, index

    def __str__(self) -> str:
        where = "" if self.index is None else f"[{', '.join(map(str, self.index))}]"
        return f"{self.name}{where}: {self.reason}, got {_shown(self.value)}"


class Int64Overflow(InvalidInput, OverflowError):
    """A product or sum that would wrap modulo 2**64 in a node, or a result that does not fit an int64 array."""


class UnknownParameter(InvalidInput):
    """Parameters of a chain that are unknown at the requested time.

    Parameters
    ----------
    reason : the unknown parameters, the date since which their values are unknown, and the last known values.
    chain : name of the chain.
    parameters : names of the unknown parameters.
    since : date from which the parameters are unknown, ISO 8601, or "unknown".
    """

    def __init__(self, reason: str, chain: str, parameters: tuple[str, ...], since: str) -> None:
        super().__init__(chain, reason)
        self.args = (reason, chain, parameters, since)  # pickle passes `args` to the constructor
        self.chain, self.parameters, self.since = chain, parameters, since

    @property
    def brief(self) -> str:
        """Short text for a row of a table: the names of the unknown parameters, and since when they are unknown."""
        since = "" if self.since == "unknown" else f" since {self.since}"
        return f"unknown{since}: {', '.join(self.parameters)}"

    def __str__(self) -> str:
        example = ", ".join(f'"{name}": …' for name in self.parameters)
        return f"{self.chain}: {self.reason}; to give them: parameters={{{example}}}"


class ExecutionFailed(FeeModelError):
    """A call that failed in the virtual machine, or that a node would not execute.

    Parameters
    ----------
    message : the error message of a node.
    code : code of the JSON-RPC error.
    data : revert data in hexadecimal; `None` if the call did not revert.
    """

    def __init__(self, message: str, code: int = -32_000, data: str | None = None) -> None:
        super().__init__(message, code, data)  # pickle passes `args`, all arguments, to the constructor
        self.message, self.code, self.data = message, code, data

    def __str__(self) -> str:
        return self.message


class LimitExceeded(FeeModelError):
    """A limit of size, time or number was exceeded; the message names the limit and its value."""


class EngineFailed(FeeModelError):
    """A fault of the native engine, such as a panic; the call has no result, and its state is discarded."""


class NotFinalized(FeeModelError):
    """A block that is unknown, or not yet final on L1."""


class InvalidProof(FeeModelError, ValueError):
    """A Merkle proof that is not valid; the message names the step of the proof that failed."""


class UpstreamError(FeeModelError):
    """A node that could not be reached, or whose response is an error or not valid."""


class UnreadableFile(FeeModelError, ValueError):
    """A file that is missing, truncated or in another format; the message names the file and the position in it."""


class MissingExtra(FeeModelError, ModuleNotFoundError):
    """A name that needs a package that is not installed; the message contains the command that installs it.

    Parameters
    ----------
    needed_by : the requested name, which needs the package.
    package : the missing top-level package.
    command : the shell command that installs the extra with this package.
    """

    def __init__(self, needed_by: str, package: str, command: str) -> None:
        super().__init__(f"{needed_by} needs the package {package}: {command}", name=package)
        self.needed_by, self.package, self.command = needed_by, package, command

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.needed_by, self.package, self.command), vars(self)


class LedgerDamaged(UnreadableFile):
    """A corrupted ledger file: its contents do not match their hashes, or SQLite cannot read it."""


def unreadable(path: object, error: OSError) -> UnreadableFile:
    """Return the error for a file that the operating system cannot open or read.

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
    # A value may be a megabyte of calldata, so only its beginning and its length are shown.
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # `repr` fails for deep nesting and for very long integers
        text = hex(value) if isinstance(value, int) else f"a {type(value).__name__}"
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"
