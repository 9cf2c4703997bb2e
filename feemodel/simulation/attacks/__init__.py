"""Attack lab: what it costs to deny blob space or a rollup's block space, as published and by the protocol's rules.

`saturation` fills L1's blob space, `denial` fills a rollup's blocks, `surge` drives Arbitrum's two gas prices. Linea's
rule against full blocks, calldata pressure, is in `feemodel.simulation.demand`.
"""
