"""Pricing policies for `feemodel.simulate`. Each module contains the class and the compiled functions of a policy."""
