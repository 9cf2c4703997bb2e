"""Cost of attacks that fill L1's blob space or a rollup's blocks, by published models and by the protocol's rules.

`saturation` simulates attacks that fill L1's blob space, `denial` attacks that fill a rollup's blocks, and `surge` the
rise of Arbitrum's gas price under high demand. Calldata pressure, Linea's protection against full blocks, is in
`feemodel.simulation.demand`.
"""
