"""Bad input: targets for coverage-guided fuzzing, their seeds, and every input that once found a defect.

`scripts/fuzz` runs them; `tests/fuzz/test_fuzz.py` replays seeds and kept crashes, and mutates the seeds a little.
"""
