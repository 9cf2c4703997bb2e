"""`python -m feemodel`: the command line."""

import sys

from feemodel.cli import main

sys.exit(main())
