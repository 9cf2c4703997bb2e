"""Time to import the package, compared with starting the interpreter and with importing NumPy."""

import subprocess
import sys

from benchmarks import interleaved, ratio

FEE = ["feemodel", "fee", "--size", "128", "--gas", "21000"]


def main() -> None:
    def start(program: str) -> None:
        subprocess.run([sys.executable, "-c", program], stdout=subprocess.DEVNULL, check=True)

    seconds = interleaved(
        {
            "interpreter": lambda: start("pass"),
            "import feemodel": lambda: start("import feemodel"),
            "first fee": lambda: start("import feemodel; feemodel.priority_fee(128, 21_000, variable_cost=10**9)"),
            "feemodel fee": lambda: start(f"import sys; sys.argv = {FEE}; from feemodel.cli import main; main()"),
            "import numpy": lambda: start("import numpy"),
        },
        rounds=9,
    )
    for name, runs in seconds.items():
        milliseconds = [1000 * run for run in runs]
        print(
            f"   {name:16} {sorted(milliseconds)[len(runs) // 2]:6.0f} ms, {ratio(seconds, name, 'interpreter')} starts"
        )


if __name__ == "__main__":
    main()
