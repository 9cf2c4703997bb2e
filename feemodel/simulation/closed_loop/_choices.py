"""Short names of the policies and postings of the baseline, in a module that is quick to import."""

from feemodel.simulation.policies import POLICIES

PRICINGS = tuple(POLICIES)
POSTINGS = ("fill", "deadline", "price-cap", "forecast", "clairvoyant")
WITH_SLA = ("deadline", "price-cap", "forecast", "clairvoyant")  # postings with a target delay or a maximum wait
WITH_DELAY_COST = ("forecast", "clairvoyant")
