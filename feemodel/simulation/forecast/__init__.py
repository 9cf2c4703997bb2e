"""Forecasts of L1 fees: quantiles, sample paths, and scores.

distribution : the function `feemodel.forecast`, which returns quantiles and joint sample paths
methods : forecasting methods at rolling origins: two baselines and "auto"
paths : joint sample paths of both fees
recommend : the function `feemodel.recommend`, which computes the fee parameters of a chain
"""
