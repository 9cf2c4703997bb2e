"""Pricing policies of a closed loop: one module each, with the class, its compiled `announce` and `settle`.

Importing this package imports none of them.
"""

#: Short name → the function that makes the policy at the baseline's parameters, as `module:function`.
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
