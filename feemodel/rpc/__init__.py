"""The server: JSON-RPC over HTTP, thin.

serve : run it with some settings until a signal stops it
Settings, load_settings : its settings, from a file, the environment and options
Service, App : the methods of one process, and their HTTP

>>> from feemodel import rpc
>>> rpc.Settings().port
8545
"""

from typing import TYPE_CHECKING

from feemodel.lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.rpc.app import App as App
    from feemodel.rpc.server import serve as serve
    from feemodel.rpc.service import Service as Service
    from feemodel.rpc.settings import Settings as Settings
    from feemodel.rpc.settings import load_settings as load_settings

__getattr__, __dir__ = lazy_names(__name__)
