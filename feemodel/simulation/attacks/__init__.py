"""Cost of attacks that fill L1's blob space or a rollup's blocks, by published models and by the protocol's rules.

`saturation` simulates attacks that fill L1's blob space, and `denial` simulates attacks that fill a rollup's blocks.
`surge` simulates the rise of Arbitrum's gas price under high demand. Linea's calldata pressure, which makes attacks
with calldata expensive, is in `feemodel.simulation.demand`.
"""
