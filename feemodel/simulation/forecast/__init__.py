"""Forecasts of L1 fees: quantiles and sample paths ahead, their calibration and their scores.

feemodel.forecast : quantiles at horizons, and joint sample paths; in `distribution`
methods : the named baselines and `auto`, from rolling origins
scores : pinball loss, CRPS, interval score, the test of Diebold and Mariano, the operator's loss
"""
