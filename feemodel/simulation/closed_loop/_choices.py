"""Short names of the baseline's pricing and posting policies. This module imports quickly."""

from feemodel.simulation.policies import POLICIES

PRICINGS = tuple(POLICIES)
POSTINGS = ("fill", "deadline", "price-cap", "forecast", "clairvoyant")
WITH_SLA = ("deadline", "price-cap", "forecast", "clairvoyant")  # postings with a target delay or a maximum wait
WITH_DELAY_COST = ("forecast", "clairvoyant")
