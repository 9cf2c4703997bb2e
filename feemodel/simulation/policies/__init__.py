"""Pricing policies for `feemodel.simulate`. A module contains the class of a policy and its compiled functions.

Importing this package does not import its modules.
"""

#: Short name → `module:function`. The function creates the policy with the parameters of the baseline.
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
