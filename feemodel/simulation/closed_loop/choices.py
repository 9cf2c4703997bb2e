"""Short names of the baseline's policies and postings, apart from what simulates them, which takes long to import."""

PRICINGS = ("fixed", "linea", "linea-unbounded", "op-stack", "arbitrum", "vault-p", "vault-pi", "feed-forward",
            "vault-eip1559")  # fmt: skip
POSTINGS = ("fill", "deadline", "price-cap", "clairvoyant")
WITH_SLA = ("deadline", "price-cap", "clairvoyant")  # postings with a target delay or a longest wait
