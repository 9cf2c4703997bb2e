"""Attacks: the cost of denying blob space or a rollup's block space, in published models and by protocol rules.

`saturation` fills L1's blob space, `denial` fills a rollup's blocks, `surge` raises Arbitrum's gas prices.
Linea's protection against full blocks, calldata pressure, is in `feemodel.simulation.demand`.
"""
