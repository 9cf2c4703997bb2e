"""Plot results on Matplotlib `Axes`."""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.plots._figures import plot_comparison as plot_comparison
    from feemodel.plots._figures import plot_recovery as plot_recovery
    from feemodel.plots._simulation import plot_charges as plot_charges
    from feemodel.plots._simulation import plot_fee_fan as plot_fee_fan
    from feemodel.plots._simulation import plot_margins as plot_margins
    from feemodel.plots._simulation import plot_path as plot_path
    from feemodel.plots._simulation import plot_recovery_over_time as plot_recovery_over_time
    from feemodel.plots._simulation import plot_tornado as plot_tornado

__getattr__, __dir__ = lazy_names(__name__)
