"""Run all benchmarks or those named: `python -m benchmarks [NAME … [OPTIONS]]`; options are for the last one."""

import importlib
import pkgutil
import sys
import time

import benchmarks
from feemodel.errors import FeeModelError


def main(arguments: list[str]) -> int:
    begin = next((place for place, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    names, options = arguments[:begin], arguments[begin:]
    known = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")]
    if unknown := set(names) - set(known):
        print(f"no benchmark {', '.join(sorted(unknown))}: there are {', '.join(known)}", file=sys.stderr)
        return 2
    if options and (not names or not hasattr(importlib.import_module(f"benchmarks.{names[-1]}"), "parser")):
        print(f"expected a benchmark that takes options before {options[0]}", file=sys.stderr)
        return 2
    missed = 0
    print(f"Python {sys.version}\n", flush=True)  # builds of the same release differ in speed by up to 20 %
    for place, name in enumerate(names or known, 1):
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"== {name}: {(module.__doc__ or '').splitlines()[0]}", flush=True)
        started = time.perf_counter()
        try:
            module.main(options) if options and place == len(names) else module.main()
        except FeeModelError as error:  # for example, a tool is not installed
            print(f"   not measured: {error}\n", flush=True)
            missed = 1
            continue
        print(f"   ({time.perf_counter() - started:.0f} s)\n", flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
