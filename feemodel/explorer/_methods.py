"""JSON-RPC methods of the explorer: fees, curves, fee histories, explanations of transactions, fees on other rollups.

The page at `GET /` uses these methods; other clients may call them too. Integers of wei and gas are hexadecimal
quantities; negative integers (margin below 1) have a minus sign. Bytes and ratios are plain numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from feemodel.ethereum._transaction import LINEA_CHAIN_ID
from feemodel.explorer._fee import curve as along
from feemodel.explorer._fee import fee, fee_history
from feemodel.explorer._inputs import FORMS
from feemodel.explorer._month import simulate_month
from feemodel.explorer._presets import presets
from feemodel.explorer._subject import AskNode, Estimate, Subjects
from feemodel.linea.parameters import DEFAULT_PRESET, LineaPreset, linea_preset
from feemodel.linea.pricing_forms import Form, form_of
from feemodel.sizes import Codec, get_codec


def explorer_methods(
    *,
    estimate: Estimate | None = None,
    form: Callable[[], Form] | None = None,
    preset: LineaPreset | None = None,
    codec: str | Codec = "zstd",
    measured: str = "sender_unsigned",
    packed: bool = False,
    chain_id: Callable[[], int] = lambda: LINEA_CHAIN_ID,
    ask_node: AskNode | None = None,
) -> dict[str, Callable[..., Any]]:
    """Return the explorer's methods by their JSON-RPC names.

    Parameters
    ----------
    estimate : function that takes a call object and overrides (or `None`), and returns a gas estimate [gas]. If
        `estimate` is `None`, a call that executes code must have a `gas` field.
    form : function that returns the server's current pricing form; `None` uses the cost-per-byte form of the preset.
    preset : preset of the margins, and of the costs that `form` lacks; `None` uses the newest preset of Linea mainnet.
    codec, measured, packed : options for measuring sizes, as in `feemodel.fee_size`.
    chain_id : function that returns the chain id for calls without a chain id.
    ask_node : function that takes a JSON-RPC method and its parameters, and returns the result of a node. Transaction
        hashes are looked up with this function.

    Returns
    -------
    dict : JSON-RPC name → function.

    Raises
    ------
    InvalidInput : the codec or the form of measurement is unknown.

    >>> sorted(explorer_methods())
    ['feemodel_compare', 'feemodel_curve', 'feemodel_explain', 'feemodel_fee', 'feemodel_feeHistory', \
'feemodel_presets', 'feemodel_simulateMonth']
    """
    chosen = preset or linea_preset(DEFAULT_PRESET)
    own = form or (lambda: form_of(FORMS[0], chosen))
    explorer = Explorer(own, chosen, chain_id)
    subjects = Subjects(own, chosen, estimate, get_codec(codec), measured, packed, chain_id, ask_node)
    return {
        "feemodel_presets": explorer.presets,
        "feemodel_fee": explorer.fee,
        "feemodel_curve": explorer.curve,
        "feemodel_feeHistory": explorer.history,
        "feemodel_simulateMonth": simulate_month,
        "feemodel_explain": subjects.explain,
        "feemodel_compare": subjects.compare,
    }


@dataclass(frozen=True, eq=False)
class Explorer:
    """JSON-RPC methods whose inputs are numbers only, with the server's pricing of the moment."""

    form: Callable[[], Form]
    preset: LineaPreset
    chain_id: Callable[[], int]

    def presets(self) -> dict[str, Any]:
        """Presets of chains and days, the server's own pricing, and examples of transactions."""
        return presets(form=self.form(), preset=self.preset, chain_id=self.chain_id())

    def fee(self, point: Any) -> dict[str, Any]:
        """Compute a fee: parts and total, and recovery of the L1 cost, see `feemodel.explorer._fee.fee`."""
        return fee(point, form=self.form(), preset=self.preset)

    def curve(self, curve: Any) -> dict[str, Any]:
        """Compute the fee along one input, see `feemodel.explorer._fee.curve`."""
        return along(curve, form=self.form(), preset=self.preset)

    def history(self, point: Any) -> dict[str, Any]:
        """Compute the fee over a month of L1 fees, see `feemodel.explorer._fee.fee_history`."""
        return fee_history(point, form=self.form(), preset=self.preset)
