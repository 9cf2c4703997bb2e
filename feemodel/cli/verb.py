"""A command is a Python function whose annotated parameters are its options; `verb` adds the common options."""

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from cyclopts import App, Parameter

from feemodel.cli import EXIT_CODES, VERBS
from feemodel.cli.output import FIGURES, Answer, new_file
from feemodel.cli.parameters import flag, text


def verb(
    *,
    out: Sequence[str] | None = None,
    figure: bool = False,
    what: str = "the table",
    required: bool = False,
    config: Callable[..., None] | None = None,
) -> Callable[[Callable[..., Answer | int]], App]:
    """Make a function a command, with `--json`, and with `--out` and `--figure` where it has a table or a figure.

    `out` lists suffixes for `--out` (if empty, any); the help says that it writes `what`. `config` is that of
    `cyclopts.App`. The function takes the checked file of `--out` as `file`, and that of `--figure` as `picture`, if it
    has such parameters. Its docstring follows the sentence of `VERBS` in the help.
    """
    added: dict[str, tuple[Any, Any]] = {  # name → annotation and default
        "json": (Annotated[bool, flag("print one JSON object")], False),
        "debug": (Annotated[bool, flag("show the traceback of an unexpected error")], False),
    }
    if out is not None:
        words = text(f"write {what}" + (f" to {' or '.join(out)}" if out else ""), "FILE")
        added["out"] = Annotated[str | None, words], inspect.Parameter.empty if required else None
    if figure:
        added["figure"] = Annotated[str | None, text(f"draw a figure to {' or '.join(FIGURES)}", "FILE")], None
    if out is not None or figure:
        added["overwrite"] = Annotated[bool, flag("replace an existing file")], False
    option = inspect.Parameter.KEYWORD_ONLY
    shared = [inspect.Parameter(name, option, annotation=a, default=d) for name, (a, d) in added.items()]

    def made(function: Callable[..., Answer | int]) -> App:
        names = inspect.signature(function).parameters

        def command(*arguments: Any, **options: Any) -> int:
            given = {name: options.pop(name, None) for name in added}
            overwrite = bool(given.get("overwrite"))
            known: dict[str, Any] = {
                "file": new_file("--out", given.get("out"), out or (), overwrite=overwrite),
                "picture": new_file("--figure", given.get("figure"), FIGURES, overwrite=overwrite),
                "as_json": bool(given["json"]),
            }
            answer = function(*arguments, **options, **{name: known[name] for name in known if name in names})
            return answer if isinstance(answer, int) else answer.end(**known, overwrite=overwrite)

        own = [parameter for name, parameter in names.items() if name not in ("file", "picture", "as_json")]
        command.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
        module = function.__module__.rpartition(".")[2]
        name = (module if function.__name__ == "command" else function.__name__).replace("_", "-")
        summary = VERBS.get(name, name)
        command.__doc__ = f"{summary[0].upper()}{summary[1:]}.\n\n{inspect.getdoc(function) or ''}"
        app = App(
            name=f"feemodel {name}", version_flags=(), help_format="plaintext", help_epilogue=EXIT_CODES,
            default_parameter=Parameter(negative=()), group_commands="Parameters", result_action="return_value",
            config=config or (),
        )  # fmt: skip
        app.default(command)
        return app

    return made
