"""Parameters of the models in a wrong unit are refused with a hint at the unit."""

from dataclasses import replace

import pytest

from feemodel.errors import InvalidInput
from models.denial import PUBLISHED, finality_delay, published_finality_delay
from models.pressure import Attack, attack_cost, pressure_path
from models.saturation import L1State, published_saturation, saturate
from models.surge import Surge, sustained_use

SLIPS = {
    "gwei of an attack": (lambda: L1State(tip=2), "tip: .*in wei"),
    "gwei of an attacked base fee": (lambda: L1State(base_fee=30), "base_fee: .*in wei"),
    "gwei of a victim": (lambda: replace(PUBLISHED[0], gas_price=0.039), "gas_price: .*in wei"),
    "ETH of a budget": (lambda: saturate(10), "budget: .*in wei; 1 ETH are"),
    "ETH of a published budget": (lambda: published_saturation(10.0), "budget: .*in wei; 1 ETH are"),
    "ETH of a delay": (lambda: finality_delay(PUBLISHED[0], 10), "budget: .*in wei; 1 ETH are"),
    "ETH of a published delay": (lambda: published_finality_delay(PUBLISHED[0], 10.0), "budget: .*in wei"),
    "per cent of growth": (lambda: published_saturation(1e18, growth=115.0), "growth: .*15 % more = 1.15"),
    "millions of a surge": (lambda: Surge(demand=200), "demand: .*in gas per second; 7 Mgas ="),
    "millions of sustained use": (lambda: sustained_use(120.0, 0.5, min_base_fee=10**7), "gas_per_second: .*in gas"),
    "gwei of calldata pressure": (lambda: pressure_path([1], variable_cost=0.1), "variable_cost: .*in wei"),
    "gwei of an attack's L1": (
        lambda: attack_cost(
            Attack(),
            hours=0.5,
            variable_cost=1e9,
            fixed_cost=30_000_000,
            margin=1.0,
            l1_base_fee=0.07,
            l1_blob_base_fee=4e6,
        ),
        "l1_base_fee: .*in wei",
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_parameter_in_another_unit_is_refused_with_the_unit(slip):
    make, message = SLIPS[slip]

    with pytest.raises(InvalidInput, match=message):
        make()
