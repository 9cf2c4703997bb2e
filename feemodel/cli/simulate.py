"""`feemodel simulate`: simulate a rollup in a closed loop with L1, users and operator. Defaults are the baseline's."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts.config import Dict

from feemodel.cli.output import HOUR, Answer, result
from feemodel.cli.parameters import FLAT, ArrivalRate, Scenario, Seed, SpecFile, Workers, default_of, flag, one_of, real
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput
from feemodel.io.files import read_toml
from feemodel.simulation._l1_columns import RATIOS
from feemodel.simulation.closed_loop.baseline import PRICINGS, baseline_pricing, break_even, fitted
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.simulator import simulate
from feemodel.simulation.posting import Posting, PriceCap

if TYPE_CHECKING:
    import xarray
    from cyclopts import App, ArgumentCollection
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Policies:
    """Policies of the operator, and the demand of the users."""

    pricing: Annotated[Any, one_of("pricing policy", PRICINGS)] = "linea"
    fit: Annotated[bool, flag("set the level of the price so that it breaks even at elasticity 0")] = False
    elasticity: Annotated[float, real("price elasticity of demand", least=0)] = Demand().elasticity
    arrival_rate: ArrivalRate = Demand().rate
    posting: Annotated[str, one_of("posting policy", ("fill", "deadline", "price-cap"))] = "fill"
    sla: Annotated[float | None, real("target of price-cap, or the deadline (default: 16)", "h", above=0)] = None

    def read(self, history: "xarray.Dataset", step: float) -> dict[str, Any]:
        """Return the arguments of `simulate` by name."""
        if self.sla is not None and self.posting == "fill":
            raise InvalidInput("sla", "expected only with --posting deadline or price-cap", self.sla)
        sla = (self.sla or 16.0) * HOUR
        posting = Posting(deadline=sla if self.posting == "deadline" else None)
        if self.posting == "price-cap":
            posting = Posting(kind="price-cap", cap=PriceCap(target_delay=sla))
        demand = Demand(rate=self.arrival_rate)
        even = break_even(history, Posting(), demand, step=step)
        reference = even.price * demand.bytes_per_transaction
        demand = replace(demand, elasticity=self.elasticity, reference_fee=reference)
        pricing = baseline_pricing(self.pricing, even, step=step)
        if self.fit:
            pricing = fitted(history, pricing, posting, demand, step=step)
        return {"pricing": pricing, "posting": posting, "demand": demand}


def options_of_file(app: "App", commands: tuple[str, ...], arguments: "ArgumentCollection") -> None:
    """Take the keys of SPEC.toml as options; those on the command line take precedence."""
    for token in arguments["SPEC"].tokens:
        Dict(read_toml(token.value), source=token.value, use_commands_as_keys=False)(app, commands, arguments)


@verb(out=(".nc",), figure=True, what="all results", config=options_of_file)
def command(
    spec: SpecFile | None = None,
    /,
    *,
    policies: Annotated[Policies, FLAT] = Policies(),
    scenario: Annotated[Scenario, FLAT] = Scenario(),
    step: Annotated[float, real("length of a step", "s", above=0)] = default_of(simulate, "step"),
    seed: Seed = default_of(simulate, "rng"),
    workers: Workers = None,
    picture: Path | None = None,
) -> Answer:
    """SPEC.toml has options as keys; options on the command line take precedence.

    More than one path is drawn by a block bootstrap. Users pay only for data.
    The defaults are the baseline: 1.45 transactions of 119.42 bytes per second, without randomness.
    A submission has one blob of 130,048 bytes, 65,250 gas and a tip of 0.1 gwei, and is posted when the blob is full.
    """
    history = scenario.read().drop_vars(RATIOS, errors="ignore")  # all blocks have the same weight
    made = policies.read(history, step)
    fees = scenario.l1_fees(history, seed)
    found = simulate(fees, **made, step=step, record=int(picture is not None), rng=seed, workers=workers, progress=True)
    if policies.pricing == "fixed":
        said = f"fitted: {made['pricing'].price:,.6g} wei / byte, at which this history breaks even at elasticity 0"
        found = found.assign_attrs(price=said)
    data = {"pricing": policies.pricing, "posting": policies.posting, "elasticity": policies.elasticity,
            "level": float(getattr(made["pricing"], "level", 1.0)), "paths": found.sizes["path"],
            "days": float(found["covered"].sum())}  # fmt: skip
    head = "{pricing}, {posting}, elasticity {elasticity:g}, level {level:.6g}, paths: {paths:,}, days: {days:,.2f}"

    def draw(figure: "Figure") -> None:
        from feemodel.plots import plot_path

        plot_path(found, figure.subplots(4, 1, sharex=True))
        drawn = " (first path)" * (len(found.recovery) > 1)
        figure.suptitle(f"Data fees are {found.recovery[0].item():.2f} times the cost of posting{drawn}")

    return result(found, head.format(**data), data, file=found, figure=draw, size=(9, 9))
