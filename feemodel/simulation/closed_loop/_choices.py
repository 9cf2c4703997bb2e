"""Short names of the baseline's policies and postings, apart from what simulates them, which takes long to import."""

from feemodel.simulation.policies import POLICIES

PRICINGS = tuple(POLICIES)
POSTINGS = ("fill", "deadline", "price-cap", "forecast", "clairvoyant")
WITH_SLA = ("deadline", "price-cap", "forecast", "clairvoyant")  # postings with a target delay or a longest wait
WITH_DELAY_COST = ("forecast", "clairvoyant")
