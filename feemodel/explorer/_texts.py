"""Texts that the explorer shows: formulas, assumptions, and example calls and transactions."""

from collections.abc import Mapping
from typing import Any

from feemodel.ethereum._transaction import LINEA_CHAIN_ID
from feemodel.linea.pricing_forms import CostPerByte, VerificationCost

FORMULAS: Mapping[str, tuple[tuple[str, str], ...]] = {
    CostPerByte.name: (
        ("priority fee", "trunc(margin · ((variable cost · compressed size) div gas + fixed cost))"),
        (
            "variable cost from L1",
            "min(max(((L1 base fee + L1 tip) · execution gas + blob base fee · blob gas) · margin on L1 cost"
            " / bytes of a submission, lower bound), upper bound), in whole kwei",
        ),
        ("fee", "(base fee + priority fee) · gas"),
        (
            "L1 cost",
            "compressed size · ((L1 base fee + L1 tip) · execution gas + blob base fee · blob gas)"
            " / bytes of a submission",
        ),
        ("recovery", "fee / L1 cost; size part alone: the part of the fee for the size / L1 cost"),
    ),
    VerificationCost.name: (
        (
            "priority fee",
            "max(trunc((ratio · verification cost · compressed size · minimum gas price / (gas · capacity)"
            " + adjustment) · margin), minimum gas price − base fee)",
        ),
        ("fee", "(base fee + priority fee) · gas"),
        (
            "L1 cost",
            "compressed size · L1 price · verification cost / capacity; the L1 price is ratio · minimum gas price"
            " as the form assumes it, and L1 base fee + L1 tip as L1 charges it",
        ),
        ("recovery", "fee / L1 cost; size part alone: the part of the fee for the size / L1 cost"),
    ),
}

ASSUMPTIONS = (
    "Fees per gas are computed as a node does: integer division, then operations in double precision, in its order.",
    "A transaction pays for its own compressed size; posted data is compressed together and therefore smaller.",
    "Each blob carries “bytes of a submission” bytes; by default blobs are full.",
    "The L1 cost is that of posting (verification in its form), without proving, finalization and machines.",
    "L1 fees of a day are means over every tenth block of Ethereum mainnet; the series has no tips.",
    "Other rollups are in a steady state: their controllers have settled at the chosen L1 fees.",
)

DEVELOPMENT = 1337  # chain id of the development genesis
#: Chain id → address of a token: USDC from public token lists, or the token ALD of the development genesis.
TOKENS: Mapping[int, str] = {
    1: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
    10: "0x0b2c639c533813f4aa9d7837caf62653d097ff85",
    8453: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",
    42161: "0xaf88d065e77c8cc2239327c5edb3a432268e5831",
    534352: "0x06efdbff2a14a7c8e15944d1f4a48f9f95f663a4",
    LINEA_CHAIN_ID: "0x176211869ca2b568f2a7d4ee941e073a821ee1ff",
    DEVELOPMENT: "0xaaaa2a3e812a24562cd3f7b309273796b2c3aaaa",
}
#: Chain id → signed token transfer. Linea: a real transfer. Development chain: a transfer by the first account.
SIGNED: Mapping[int, str] = {
    LINEA_CHAIN_ID: (
        "0x02f8b182e70807840243d5808402625a0082f23094176211869ca2b568f2a7d4ee941e073a821ee1ff80b844a9059cbb00000000000000"
        "000000000070997970c51812dc3a010c7d01b50e0d17dc79c800000000000000000000000000000000000000000000000000000000017d78"
        "40c001a0cfc4819c5a24229ae056d3e39e99c1ca7ee8e9331dc6340d775b35628637658ca01eff7450d45b5e85bad1844323877be0df7b90"
        "14765e2349b68c68be66749e23"
    ),
    DEVELOPMENT: (
        "0x02f8b1820539808402aea5408402faf08082ea6094aaaa2a3e812a24562cd3f7b309273796b2c3aaaa80b844a9059cbb00000000000000"
        "000000000070997970c51812dc3a010c7d01b50e0d17dc79c80000000000000000000000000000000000000000000000015af1d78b58c400"
        "00c001a07c19de3208d4623fc707a89b12a74fdd1e30ef92e61ec08e86f46c2017ad7553a01008bc741afb0c843aa6df2b806a6480b2605a"
        "585aebb0b838712428d1484d3e"
    ),
}
_SENDER, _RECEIVER = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", "70997970c51812dc3a010c7d01b50e0d17dc79c8"


def example_subjects(chain_id: int) -> list[dict[str, Any]]:
    """Return example calls and transactions for a chain: a transfer, and a token call if a token is known.

    On the development chain the sender has ether and tokens. On other chains, the sender's balances are not known,
    so the examples send no ether and approve tokens instead of transferring tokens.

    >>> [(one["name"], one["label"]) for one in example_subjects(10)]
    [('transfer', 'a transfer'), ('token', 'a token approval, as a call')]
    """
    funded = chain_id == DEVELOPMENT
    call = {"from": _SENDER, "to": f"0x{_RECEIVER}", "value": "0xde0b6b3a7640000" if funded else "0x0"}
    found: list[dict[str, Any]] = [{"name": "transfer", "label": "a transfer", "subject": call}]
    if (token := TOKENS.get(chain_id)) is not None:
        selector, verb = ("a9059cbb", "transfer") if funded else ("095ea7b3", "approval")
        data = f"0x{selector}{_RECEIVER:0>64}{25_000_000:064x}"
        subject = {"from": _SENDER, "to": token, "data": data}
        found.append({"name": "token", "label": f"a token {verb}, as a call", "subject": subject})
    if chain_id in SIGNED:
        found.append({"name": "signed", "label": "a token transfer, signed", "subject": SIGNED[chain_id]})
    return found
