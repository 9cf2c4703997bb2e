"""A command is a Python function whose annotated parameters are its options; `verb` adds those of every command."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from cyclopts import App, Parameter

from feemodel.cli.output import FIGURES, Answer, new_file, write_table
from feemodel.cli.parameters import flag, text
from feemodel.errors import InvalidInput, UnknownParameter

COMMON = {
    "json": (Annotated[bool, flag("print one JSON object")], False),
    "debug": (Annotated[bool, flag("show the traceback of an unexpected error")], False),
}
OVERWRITE = (Annotated[bool, flag("replace an existing file")], False)


class Verb(NamedTuple):
    """A command: its function, and the files that it can write."""

    function: Callable[..., Answer | int]
    out: Sequence[str] | None  #: suffixes of `--out`: any if empty; no such option if `None`
    figure: bool
    what: str
    required: bool  #: whether `--out` is required
    expand: Callable[[Sequence[str]], list[str]]  #: adds the words of a file of options

    @property
    def signature(self) -> inspect.Signature:
        """The parameters of the function, except `file`, `picture` and `as_json`, and the options of every command."""
        own = [
            parameter
            for name, parameter in inspect.signature(self.function).parameters.items()
            if name not in ("file", "picture", "as_json", "overwrite")
        ]
        added: dict[str, tuple[Any, Any]] = dict(COMMON)
        if self.out is not None:
            words = f"write {self.what}" + (f" to {' or '.join(self.out)}" if self.out else "")
            kind, default = (str, inspect.Parameter.empty) if self.required else (str | None, None)
            added["out"] = (Annotated[kind, text(words, "FILE")], default)
        if self.figure:
            added["figure"] = (Annotated[str | None, text(f"draw a figure to {' or '.join(FIGURES)}", "FILE")], None)
        if self.out is not None or self.figure:
            added["overwrite"] = OVERWRITE
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
            for name, (annotation, default) in added.items()
        ]
        return inspect.Signature([*own, *shared])

    def run(self, *arguments: Any, **options: Any) -> int:
        """Run the command with the values of its options, write its files, print its result; return the exit code."""
        as_json, overwrite = options.pop("json", False), options.pop("overwrite", False)
        options.pop("debug", None)
        written = None if self.out is None else options.pop("out", None)
        file = new_file("--out", written, self.out or (), overwrite=overwrite)
        picture = new_file("--figure", options.pop("figure", None), FIGURES, overwrite=overwrite)
        known = {"file": file, "picture": picture, "as_json": as_json, "overwrite": overwrite}
        names = inspect.signature(self.function).parameters
        answer = self.function(*arguments, **options, **{name: known[name] for name in known if name in names})
        if isinstance(answer, int):
            return answer
        if file is not None and answer.file is not None:
            write_table(answer.file, file, overwrite=overwrite)
        if picture is not None and answer.figure is not None:
            from matplotlib.figure import Figure
            from matplotlib.style import context

            with context("feemodel.plots.style"):
                figure = Figure(figsize=answer.size, layout="constrained")
                answer.figure(figure)
                figure.savefig(picture)
        answer.print(as_json=as_json)
        if answer.error is not None:
            raise answer.error
        return answer.code

    def app(self, name: str, epilogue: str = "") -> App:
        """Return the parser of the command."""

        def command(*arguments: Any, **options: Any) -> int:
            return self.run(*arguments, **options)

        command.__signature__ = self.signature  # type: ignore[attr-defined]
        command.__doc__ = self.function.__doc__
        app = App(
            name=f"feemodel {name}", version_flags=(), help_format="plaintext", help_epilogue=epilogue,
            default_parameter=Parameter(negative=()), result_action="return_value",
        )  # fmt: skip
        app.default(command)
        return app


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
    """
    return lambda function: Verb(function, out, figure, what, required, expand)


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
