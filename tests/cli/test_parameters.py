"""One declaration for each parameter: commands, settings of the server, and files of experiments share it."""

import inspect
import re
from collections import defaultdict
from dataclasses import fields, is_dataclass
from typing import Annotated, get_args, get_origin, get_type_hints

from cyclopts import Parameter

from feemodel.cli import VERBS, verb_of
from feemodel.server.settings import DEFAULTS, HELP

#: Names that mean several things, with the number of meanings. No name may be added.
SEVERAL = {
    "base_fee": 2, "block": 2, "blocks": 2, "chain": 2, "chains": 2, "gas": 2,
    "margin": 2, "paths": 2, "pricing": 2, "size": 2, "transactions": 2,
    "workers": 2,
}  # fmt: skip


def declared(annotation, name):
    """Yield the name and the words of each option of an annotation; the fields of a dataclass are options."""
    kind = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    if is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            yield from declared(hints[field.name], field.name)
        return
    for part in (annotation, *get_args(annotation)):
        for one in getattr(part, "__metadata__", ()):
            if isinstance(one, Parameter) and one.help:
                yield name, one.help


def meaning(words):
    """Return what words of help say beside the default, the choices and the unit."""
    return re.split(r" \(default|: | \[|;| that no | to answer | to prove |, ", words)[0]


def test_a_parameter_is_declared_once():
    words = defaultdict(set)
    for name in VERBS:
        for option, parameter in inspect.signature(verb_of(name).default_command).parameters.items():
            for own, said in declared(parameter.annotation, option):
                if own != "out" and name != "serve":  # what --out writes differs
                    words[own].add(meaning(said))
    for name, said in HELP.items():
        words[name].add(meaning(said))
    assert {name: len(said) for name, said in words.items() if len(said) > 1} == SEVERAL


def test_every_setting_is_an_option_of_serve():
    options = {name for one in verb_of("serve").assemble_argument_collection() for name in one.names}
    assert {f"--{name.replace('_', '-')}" for name in DEFAULTS} <= options
