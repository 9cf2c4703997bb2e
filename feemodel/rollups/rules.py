"""The rules of every chain by name or by date, in the common form of `feemodel.rollups.factors`.

| column                      | meaning                                         | used by                             |
|-----------------------------|-------------------------------------------------|-------------------------------------|
| gas                         | gas used on L2 [gas]                            | all chains except Starknet          |
| zero_bytes, nonzero_bytes   | number of zero and of non-zero bytes [byte]     | early OP Stack and Scroll           |
| length                      | length [byte]                                   | Scroll at Curie and Feynman         |
| fastlz_size                 | FastLZ length [byte]                            | OP Stack since Fjord                |
| brotli_size                 | brotli length (level 1, window 22) [byte]       | Arbitrum                            |
| zstd_size                   | Scroll's zstd length, at most `length` [byte]   | Scroll since Galileo                |
| data_length, zstd_data_size | calldata before and after Scroll's zstd [byte]  | Scroll at Feynman                   |
| linea_size                  | sender and unsigned encoding, compressed [byte] | Linea                               |
| pubdata                     | bytes of state published on L1 [byte]           | zkSync, ZKsync OS                   |
| l1_data_gas, l2_gas         | gas of a Starknet transaction [gas]             | Starknet                            |

Sizes are measured on the signed encoding, unless the table says otherwise. For transactions of type 4 (EIP-7702), the
encoding includes the authorization list.

The column `transaction_type` is optional. If a table has `transaction_type`, all rules reject blob transactions (type
3). A rule with a text in `no_set_code` also rejects transactions of type 4.
"""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from feemodel.checks import EMPTY, choice, instance, sequence
from feemodel.errors import InvalidInput, UnknownParameter
from feemodel.rollups.arbitrum_l1_pricing import arbitrum_rule
from feemodel.rollups.arbitrum_l2_pricing import arbitrum_bound
from feemodel.rollups.chains import CHAINS, Chain, Parameters, When, timestamp
from feemodel.rollups.factors import Rule
from feemodel.rollups.linea import linea_bound, linea_rule
from feemodel.rollups.mantle import mantle_bound, mantle_rule
from feemodel.rollups.optimism import op_stack_bound, op_stack_rule
from feemodel.rollups.scroll import scroll_bound, scroll_rule
from feemodel.rollups.starknet import starknet_bound, starknet_rule
from feemodel.rollups.taiko import taiko_bound, taiko_rule
from feemodel.rollups.zksync import zksync_rule
from feemodel.rollups.zksync_os import zksync_os_bound, zksync_os_rule


class Family(NamedTuple):
    """A family of chains with the same rule."""

    rule: Callable[[Parameters], Rule]
    #: function of (parameters, base fee, number of blocks): the largest base fee after that number of blocks
    bound: Callable[[Parameters, int, int], int] | None = None
    #: how the data fee is charged: separately, as additional gas, or as a part of the gas price
    data_fee: Literal["apart", "as gas", "in gas price"] = "apart"
    assumed: Mapping[str, Any] = EMPTY  #: values for parameters that a chain's file does not set
    sends_value: bool = True  #: whether the chains use Ethereum's transactions, which can send a value


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "linea": Family(linea_rule, linea_bound, "in gas price"),
        "op-stack": Family(op_stack_rule, op_stack_bound, assumed={"l2_gas_price": 1_000_000}),
        "arbitrum": Family(arbitrum_rule, arbitrum_bound, "as gas"),
        "scroll": Family(scroll_rule, scroll_bound),
        "zksync": Family(zksync_rule, None, "in gas price"),
        "zksync-os": Family(zksync_os_rule, zksync_os_bound, "in gas price"),
        "taiko": Family(taiko_rule, taiko_bound, "in gas price"),
        "mantle": Family(mantle_rule, mantle_bound),
        "starknet": Family(starknet_rule, starknet_bound, sends_value=False),
    }
)
# Assumed pubdata of a zkSync transaction, in bytes. The amount of pubdata cannot be computed from the calldata.
PUBDATA = 200
#: Chains at the top of a comparison, in this order; the other chains follow in alphabetical order.
FIRST = ("linea", "op-mainnet", "base", "arbitrum-one", "scroll", "zksync-era", "zksync-os", "taiko")


def rule(name: str | Chain, *, at: When | None = None, parameters: Mapping[str, Any] = EMPTY) -> Rule:
    """Return the rule of a chain at a date or at an upgrade.

    Parameters
    ----------
    name : name of a chain (`feemodel chains` lists them), or a `Chain` (see `feemodel.rollups.read_chains`). A
        name of the form CHAIN/UPGRADE selects the parameters that applied at the end of the upgrade.
    at : date of the rule: ISO 8601, Unix seconds, `datetime` or `numpy.datetime64`; `None`: the newest. If `name` has
        the form CHAIN/UPGRADE, `at` must be `None`.
    parameters : values that replace the chain's own values, by parameter name.

    Returns
    -------
    Rule : the rule, whose method `fees` computes fees.

    Raises
    ------
    UnknownParameter : the rule needs a parameter whose value at the date is not known and is not in `parameters`.
    InvalidInput : an unknown name, a date together with an upgrade, or a date before the chain's start.

    >>> rule("scroll/galileo").columns
    ('gas', 'zstd_size')
    >>> then = rule("op-mainnet", at="2024-06-14")
    >>> then.name, then.parameters["base_fee_scalar"], then.parameters["blob_base_fee_scalar"]
    ('op-mainnet/ecotone', 1368, 810949)
    >>> rule("mode", parameters={"base_fee_scalar": 20_000, "blob_base_fee_scalar": 611_590,
    ...                          "operator_fee_scalar": 0, "operator_fee_constant": 0, "min_base_fee": 0}).name
    'mode/karst'
    """
    found = parameters_of(name, at=at, parameters=parameters)
    return FAMILIES[found.chain.family].rule(found)


def parameters_of(name: str | Chain, *, at: When | None = None, parameters: Mapping[str, Any] = EMPTY) -> Parameters:
    """Return the parameters of a rule.

    The value of a parameter is the value in `parameters`, else the chain's own value, else the value that is assumed
    for the family.

    >>> parameters_of("base", at="2026-01-01")["da_footprint_gas_scalar"]
    325
    """
    if isinstance(name, Chain):
        chain, when = name, at
    else:
        own, _, upgrade = name.partition("/") if isinstance(name, str) else ("", "", "")
        if own not in CHAINS:
            near = get_close_matches(own, CHAINS, 1)
            expected = "expected CHAIN or CHAIN/UPGRADE" + (f" (did you mean {near[0]}?)" if near else "")
            expected += f", where CHAIN is one of {', '.join(CHAINS)}"
            raise InvalidInput("rule", expected, name)
        if upgrade and at is not None:
            expected = f"not valid with the rule of an upgrade, {name}; expected the name of a chain"
            raise InvalidInput("at", expected, at)
        chain = CHAINS[own]
        when = chain.end_of(upgrade) if upgrade else at
    family = FAMILIES[choice("family", chain.family, FAMILIES)]
    return chain.at(when).given(parameters, family.assumed)


def rules_at(
    at: When | None = None,
    *,
    only: Sequence[str | Rule] | None = None,
    chains: Mapping[str, Chain] = CHAINS,
    parameters: Mapping[str, Mapping[str, Any]] = EMPTY,
) -> tuple[tuple[Rule, ...], dict[str, InvalidInput]]:
    """Return the rules of chains at a date, and an error for each chain that has no rule at this date.

    Parameters
    ----------
    at : date: ISO 8601, Unix seconds, `datetime` or `numpy.datetime64`; `None`: the newest rules.
    only : names of chains, names of the form CHAIN/UPGRADE, or `Rule` objects; `None`: all chains.
    chains : chains by name: the chains of the package, or the result of `feemodel.rollups.read_chains`.
    parameters : values that replace a chain's own values: chain name → parameter name → value.

    Returns
    -------
    tuple of Rule, dict : the rules; and, by chain name, the errors that state why chains have no rule.

    Raises
    ------
    InvalidInput : the date or `parameters` is not valid, `parameters` or `only` names an unknown chain, `only` has a
        rule twice, or none of its chains has a rule.

    >>> found, without = rules_at("2024-06-14")
    >>> [one.name for one in found][:3], without["scroll"].since
    (['op-mainnet/ecotone', 'base/ecotone', 'arbitrum-one'], '2023-10-10T06:00:00')
    """
    if at is not None:
        timestamp("at", at)
    names = instance("chains", chains, Mapping)
    for name in instance("parameters", parameters, Mapping):
        choice("parameters", name, names)
    every = tuple(dict.fromkeys((*(one for one in FIRST if one in names), *names)))
    found: list[Rule] = []
    without: dict[str, InvalidInput] = {}
    for one in every if only is None else sequence("rules", only):
        if isinstance(one, Rule):
            found.append(one)
            continue
        name, _, upgrade = one.partition("/") if isinstance(one, str) else ("", "", "")
        try:
            own = instance("chains", chains[name], Chain) if name in chains and not upgrade else one
            found.append(rule(own, at=at, parameters=parameters.get(name, EMPTY)))
        except InvalidInput as error:
            unknown = isinstance(error, UnknownParameter) or (error.name == "at" and not upgrade)
            if only is not None and (name not in chains or not unknown):
                raise
            without[one] = error
    if only is not None:
        given = [*(one.name for one in found), *without]
        if not given or len(set(given)) != len(given):
            raise InvalidInput("rules", "expected at least one rule, and each rule only once", given)
        if not found:
            raise next(iter(without.values()))
    return tuple(found), without
