"""Black-box tests of `feemodel serve`: attacks, faults, load and unmodified clients.

They know the server's command line, its address and its process tree, and import nothing of the server itself.
All of them have the mark `system`; `scripts/test -m system tests/system` runs them.
"""
