"""Which modules pytest leaves out where what they import is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("feemodel_native") else ["feemodel/execution/native.py"]
