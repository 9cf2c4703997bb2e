"""Names of the pricing and posting policies that the baseline compares."""

from feemodel.simulation.policies import POLICIES

PRICINGS = tuple(POLICIES)
POSTINGS = ("fill", "deadline", "price-cap", "clairvoyant")
WITH_SLA = ("deadline", "price-cap", "clairvoyant")  # policies that need a target delay or a maximum wait
