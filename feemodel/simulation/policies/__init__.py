"""Pricing policies for `feemodel.simulate`. Each module contains the class and the compiled functions of a policy.

Importing this package does not import the modules of the policies.
"""

#: Short name of a policy → `module:function`, the function that creates the policy with the parameters of the baseline.
POLICIES = {
    "fixed": "fixed:baseline",
    "linea": "linea:baseline",
    "linea-unbounded": "linea:unbounded",
    "op-stack": "op_stack:baseline",
    "arbitrum": "arbitrum:baseline",
    "vault-p": "vault:proportional",
    "vault-pi": "vault:proportional_integral",
    "feed-forward": "vault:feed_forward",
    "vault-eip1559": "vault_eip1559:baseline",
}
PRICINGS = tuple(POLICIES)
POSTINGS = ("fill", "deadline", "price-cap", "clairvoyant")
WITH_SLA = ("deadline", "price-cap", "clairvoyant")  # policies that need a target delay or a maximum wait
