"""A command is a Python function whose annotated parameters are its options; `verb` adds those of every command."""

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

from cyclopts import App, Parameter

from feemodel.cli import NO
from feemodel.cli.output import FIGURES, Answer, new_file
from feemodel.cli.parameters import flag, text

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
    spec: bool  #: whether the keys of a TOML file are options


def verb(
    *,
    out: Sequence[str] | None = None,
    figure: bool = False,
    what: str = "the table",
    required: bool = False,
    spec: bool = False,
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
    spec : whether the keys of a TOML file, the first argument, are options.
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
        return Verb(function, signature, app, spec)

    return made
