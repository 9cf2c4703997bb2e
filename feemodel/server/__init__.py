"""Server for JSON-RPC over HTTP, run by uvicorn.

Settings, load_settings : settings from a file, the environment and flags
serve : run the server until a signal stops it

>>> from feemodel import server
>>> server.Settings().port
8545
"""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.server.settings import Settings as Settings
    from feemodel.server.settings import load_settings as load_settings
    from feemodel.server.workers import serve as serve

__getattr__, __dir__ = lazy_names(__name__)
