import sys

from feemodel.cli import main

sys.exit(main())
