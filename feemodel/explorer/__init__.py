"""The fee explorer: a static page, and the JSON-RPC methods that compute all of its numbers.

explorer_methods, Explorer : the methods by name, and the class that implements them
STATIC, POLICY : folder with the files of the page, and a content security policy that allows only these files

>>> from feemodel import explorer
>>> "feemodel_fee" in explorer.explorer_methods()
True
"""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.explorer.methods import POLICY as POLICY
    from feemodel.explorer.methods import STATIC as STATIC
    from feemodel.explorer.methods import Explorer as Explorer
    from feemodel.explorer.methods import explorer_methods as explorer_methods

__getattr__, __dir__ = lazy_names(__name__)
