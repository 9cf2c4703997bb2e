"""Forecasts of L1 fees: quantiles, sample paths, and scores.

distribution : the function `feemodel.forecast`, which returns quantiles and joint sample paths
methods : forecasting methods at rolling origins: four baselines and "auto"
scores : pinball loss, CRPS, interval score, Diebold-Mariano test, and losses of the operator
"""
