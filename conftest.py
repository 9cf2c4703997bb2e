"""Which modules pytest leaves out where what they import is not installed."""

from feemodel._extras import has_native

collect_ignore = [] if has_native() else ["feemodel/execution/native.py"]
