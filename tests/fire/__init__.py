"""The server under fire: load, cost bombs, faults. `scripts/load`, `scripts/bombs` and `scripts/faults` run them.

`tests/test_under_fire.py` has their short forms.
"""
