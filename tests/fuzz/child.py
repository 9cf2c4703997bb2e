"""The process that fuzzes one target: python -m tests.fuzz.child TARGET, then options and folders of libFuzzer."""

import sys
from importlib.util import find_spec
from pathlib import Path
from random import Random

from tests.fuzz.targets import PLACES


def unwatched(watched: tuple[str, ...]) -> list[str]:
    """The modules of this package that are not watched: atheris takes a package as a whole, compiled kernels too."""
    spec = find_spec("feemodel")
    (package,) = spec.submodule_search_locations if spec and spec.submodule_search_locations else ("",)
    files = (path.relative_to(Path(package).parent).with_suffix("") for path in Path(package).rglob("*.py"))
    names = (".".join(path.parts).removesuffix(".__init__") for path in files)
    return [name for name in names if not any(name == one or name.startswith(f"{one}.") for one in watched)]


def main(arguments: list[str]) -> None:
    import atheris  # which few need: this module can be read without it

    name, *rest = arguments
    watched = PLACES[name][1]
    packages = sorted({module.partition(".")[0] for module in watched})
    with atheris.instrument_imports(include=packages, exclude=unwatched(watched)):
        from tests.fuzz.target import accepts
        from tests.fuzz.targets import load

        target = load(name)
        for seed in target.seeds():  # what is imported late is imported now
            accepts(target, seed)

    def attempt(data: bytes) -> None:
        accepts(target, data)

    options = {}
    mutated = target.mutated
    if mutated is not None:

        def mutate(data: bytes, max_size: int, seed: int) -> bytes:
            return mutated(data, Random(seed), lambda part: atheris.Mutate(part, len(part) + 64))[:max_size]

        options["custom_mutator"] = mutate
    atheris.Setup([sys.argv[0], *rest], attempt, **options)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
