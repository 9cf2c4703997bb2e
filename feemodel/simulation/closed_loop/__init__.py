"""Closed-loop simulation of a rollup, where prices, demand, posting and the operator's balance affect each other."""
