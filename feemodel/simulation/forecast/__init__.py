"""Forecasts of L1 fees: quantiles, sample paths, and scores.

distribution : quantiles at horizons and joint sample paths (`feemodel.forecast`)
methods : forecasting methods with rolling origins: baselines and `auto`
scores : pinball loss, CRPS, interval score, Diebold-Mariano test, loss of the operator
"""
