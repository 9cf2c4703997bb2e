import sys
from pathlib import Path

from tests.helpers.inputs import inputs
from tests.vectors import files_of, run_file


def main(files: list[str]) -> int:
    passed = failed = 0
    for file in files or files_of(inputs()):
        cases = run_file(Path(file))
        wrong = [case for case in cases if not case.passed]
        passed, failed = passed + len(cases) - len(wrong), failed + len(wrong)
        print(f"{file}: {len(cases) - len(wrong)} of {len(cases)}")
        for case in wrong:
            print(f"  FAILED {case.name}: {case.detail}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
