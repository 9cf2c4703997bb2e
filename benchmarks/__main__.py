"""`python -m benchmarks [NAME …]`: all benchmarks, or those named."""

import importlib
import pkgutil
import sys
import time

import benchmarks
from feemodel.errors import FeeModelError


def main(names: list[str]) -> int:
    known = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")]
    if unknown := set(names) - set(known):
        print(f"no benchmark {', '.join(sorted(unknown))}: there are {', '.join(known)}", file=sys.stderr)
        return 2
    missed = 0
    print(f"Python {sys.version}\n", flush=True)  # of one release, builds differ by a fifth in speed
    for name in names or known:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"== {name}: {(module.__doc__ or '').splitlines()[0]}", flush=True)
        started = time.perf_counter()
        try:
            module.main()
        except FeeModelError as error:  # such as a tool that is not installed
            print(f"   not measured: {error}\n", flush=True)
            missed = 1
            continue
        print(f"   ({time.perf_counter() - started:.0f} s)\n", flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
