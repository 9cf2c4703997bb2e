"""Forecasts of L1 fees: quantiles, sample paths, and scores.

distribution : quantiles at horizons and joint sample paths (`feemodel.forecast`)
methods : forecasting methods at rolling origins: four baselines and "auto"
scores : pinball loss, CRPS, interval score, Diebold-Mariano test, and losses of the operator
"""
