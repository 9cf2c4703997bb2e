"""Mutation testing, by `scripts/mutate`; `survivors.md` explains mutants that no test can tell from the original."""
