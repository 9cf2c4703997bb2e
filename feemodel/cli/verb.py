"""A command is a Python function whose annotated parameters are its options; `verb` adds those of every command."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from cyclopts import App, Parameter

from feemodel.cli import NO
from feemodel.cli.output import FIGURES, Answer, new_file
from feemodel.cli.parameters import flag, text
from feemodel.errors import InvalidInput, UnknownParameter

COMMON = {
    "json": (Annotated[bool, flag("print one JSON object")], False),
    "debug": (Annotated[bool, flag("show the traceback of an unexpected error")], False),
}
#: Parameters of a command's function that are no options of their own.
GIVEN = ("file", "picture", "as_json", "overwrite")
OVERWRITE = (Annotated[bool, flag("replace an existing file")], False)


class Verb(NamedTuple):
    """A command: its function, the parameters that are its options, and the parser of the command line."""

    function: Callable[..., Answer | int]
    signature: inspect.Signature
    app: App
    expand: Callable[[Sequence[str]], list[str]]  #: adds the words of a file of options


def verb(
    *,
    out: Sequence[str] | None = None,
    figure: bool = False,
    what: str = "the table",
    required: bool = False,
    expand: Callable[[Sequence[str]], list[str]] = list,
) -> Callable[[Callable[..., Answer | int]], Verb]:
    """Make a function a command, with `--json`, and with `--out` and `--figure` where it has a table or a figure.

    The function takes the checked file of `--out` as `file`, and that of `--figure` as `picture`, if it has parameters
    of these names.

    Parameters
    ----------
    out : suffixes of `--out`: any if empty; no such option if `None`.
    figure : whether the command can draw a figure.
    what : what `--out` writes.
    required : whether `--out` is required.
    expand : function that adds the words of a file of options to the words of the command line.
    """
    added: dict[str, tuple[Any, Any]] = dict(COMMON)
    if out is not None:
        words = f"write {what}" + (f" to {' or '.join(out)}" if out else "")
        kind, default = (str, inspect.Parameter.empty) if required else (str | None, None)
        added["out"] = (Annotated[kind, text(words, "FILE")], default)
    if figure:
        added["figure"] = (Annotated[str | None, text(f"draw a figure to {' or '.join(FIGURES)}", "FILE")], None)
    if out is not None or figure:
        added["overwrite"] = OVERWRITE
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
        for name, (annotation, default) in added.items()
    ]

    def made(function: Callable[..., Answer | int]) -> Verb:
        names = inspect.signature(function).parameters

        def command(*arguments: Any, **options: Any) -> int:
            as_json, overwrite = options.pop("json", False), options.pop("overwrite", False)
            options.pop("debug", None)
            written = None if out is None else options.pop("out", None)
            file = new_file("--out", written, out or (), overwrite=overwrite)
            picture = new_file("--figure", options.pop("figure", None), FIGURES, overwrite=overwrite)
            known = {"file": file, "picture": picture, "as_json": as_json, "overwrite": overwrite}
            answer = function(*arguments, **options, **{name: known[name] for name in known if name in names})
            return answer if isinstance(answer, int) else answer.end(file, picture, as_json, overwrite)

        own = [parameter for name, parameter in names.items() if name not in GIVEN]
        signature = inspect.Signature([*own, *shared])
        command.__signature__ = signature  # type: ignore[attr-defined]
        command.__doc__ = function.__doc__
        module = function.__module__.rpartition(".")[2]
        name = (module if function.__name__ == "command" else function.__name__).replace("_", "-")
        no = f"; 1 {NO[name]}" if name in NO else ""
        codes = f"Exit codes: 0 success{no}; 2 invalid input; 3 a file cannot be read or written; 4 a node failed; "
        app = App(
            name=f"feemodel {name}", version_flags=(), help_format="plaintext",
            help_epilogue=f"{codes}70 unexpected error.", default_parameter=Parameter(negative=()),
            result_action="return_value",
        )  # fmt: skip
        app.default(command)
        return Verb(function, signature, app, expand)

    return made


def typed_values(bound: inspect.BoundArguments) -> dict[str, tuple[str, Any]]:
    """Return the option and the value of each parameter; the fields of a dataclass are parameters of their own."""
    found: dict[str, tuple[str, Any]] = {}
    kinds = {name: parameter.kind for name, parameter in bound.signature.parameters.items()}
    for name, value in bound.arguments.items():
        values: Mapping[str, Any] = (
            {field.name: getattr(value, field.name) for field in fields(value)}
            if is_dataclass(value)
            else {name: value}
        )
        for own, given in values.items():
            if given is not None:
                is_option = kinds[name] is not inspect.Parameter.POSITIONAL_ONLY
                found[own] = (f"--{own.replace('_', '-')}" if is_option else own, given)
    return found


def naming_the_option(error: Exception, said: str, typed: Mapping[str, tuple[str, Any]]) -> str:
    """Return the message of an error; name the option that set the argument or the file, if an option did."""
    if isinstance(error, UnknownParameter):
        chain = "" if "chain" in typed else f"{error.chain}."
        example = " ".join(f"--set {chain}{name}=VALUE" for name in error.parameters[:2])
        return f"{error.chain}: {error.reason}; to give them: {example}{' …' * (len(error.parameters) > 2)}"
    if isinstance(error, InvalidInput):
        name = error.name.partition("[")[0]
        option = typed.get(OPTION_OF.get(name, name)) or typed.get(name)
        return said if option is None else str(type(error)(option[0], error.reason, error.value))
    for named, value in typed.values():
        files = {value, str(Path(value))} if isinstance(value, str) else ()
        if named.startswith("--") and any(said.startswith((f"{file}:", f"{file},", f"{file}/")) for file in files):
            return f"{named} {said}"
    return said


#: Argument of the Python API → parameter of the command, where the two differ.
OPTION_OF = {
    "extra_data": "record", "gas_limit": "gas", "horizons": "horizon", "max_priority_fee": "priority_fee",
    "parameter": "set", "rate": "arrival_rate", "rng": "seed", "rule": "only", "storageKeys": "slot", "url": "node",
    "window_blocks": "window",
}  # fmt: skip
