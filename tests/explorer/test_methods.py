"""The explorer's methods: they say what the formulas say, refuse by name, and write integers as quantities."""

import asyncio
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import feemodel
from feemodel import rollups
from feemodel.errors import FeeModelError, InvalidInput, LimitExceeded, UpstreamError
from feemodel.estimates.rollup import Gas
from feemodel.ethereum._call import parse_call
from feemodel.ethereum._quantities import to_hex
from feemodel.ethereum._transaction import Transaction
from feemodel.explorer.inputs import FORMS, IN_BYTES, POINTS, RATIOS, names_of
from feemodel.explorer.methods import STATIC, explorer_methods
from feemodel.explorer.subject import MAX_BYTES
from feemodel.linea._explanation import explain
from feemodel.linea._node import node_checks
from feemodel.linea.parameters import LINEA_PRESETS, linea_preset
from feemodel.linea.pricing_forms import CostPerByte, form_of
from feemodel.rollups import tables

METHODS = explorer_methods()
PRESET = linea_preset()
L1 = {"l1BaseFee": hex(106_400_000), "blobBaseFee": hex(6_161_000)}
TRANSFER = {"compressedSize": 128, "gas": "0x5208"}
CALL = {"to": "0x" + "11" * 20, "value": "0x1"}
SIGNED = Transaction(gas_limit=21_000, gas_price=38_000_000, to=bytes(20), data=b"pay").with_placeholder_signature()
RAW = to_hex(SIGNED.signed())


def fee(**point):
    return METHODS["feemodel_fee"]({**TRANSFER, **point})


def wei(quantities):
    return {name: int(value, 16) for name, value in quantities.items()}


def explained(subject, options=None, methods=METHODS):
    return asyncio.run(methods["feemodel_explain"](subject, options))


def compared(subject, moment=L1, methods=METHODS):
    return asyncio.run(methods["feemodel_compare"](subject, moment))


def test_a_fee_in_the_cost_per_byte_form():
    answer = fee(**L1)
    parts = form_of("cost-per-byte", PRESET).parts(128, 21_000, 1.2)
    per_byte = ((106_400_000 + 100_000_000) * 65_250 + 6_161_000 * 131_072) / 130_048
    cost = 128 * per_byte

    each = {"base": 7, **parts._asdict()}
    assert wei(answer["feePerGas"]) == {**each, "priority": 43_314_285, "total": 43_314_292}
    assert wei(answer["feeWei"]) == {**{name: part * 21_000 for name, part in each.items()}, "total": 909_600_132_000}
    assert sum(answer["shares"].values()) == pytest.approx(1)
    recovered = answer["recovery"]
    assert (recovered["basis"], recovered["costPerByte"]) == ("blob submission at these L1 fees", per_byte)
    assert int(recovered["cost"], 16) == round(cost)
    assert recovered["totalRecovery"] == 909_600_132_000 / cost
    assert recovered["recovery"] == (43_314_285 - 36_000_000) * 21_000 / cost  # 36,000,000: without any size


def test_a_fee_in_the_verification_cost_form():
    answer = fee(pricing="verification-cost", minGasPrice=hex(100_000_000), l1BaseFee=hex(10**9))
    recovered = answer["recovery"]

    assert wei(answer["feePerGas"])["priority"] == 146_285_714
    assert recovered["costPerByte"] == pytest.approx((10**9 + 10**8) * 1_200_000 / 90_000)
    assert fee(pricing="verification-cost")["recovery"] is None


def test_nothing_is_said_of_recovery_without_l1_fees_or_size():
    assert fee()["recovery"] is None
    nothing = fee(compressedSize=0, **L1)["recovery"]
    assert (nothing["recovery"], nothing["totalRecovery"], nothing["cost"]) == (None, None, "0x0")


def test_what_is_left_out_comes_from_the_servers_pricing_of_the_moment():
    costs = iter([CostPerByte(1_000), CostPerByte(2_000_000_000, 5, 9)])
    methods = explorer_methods(own_form=lambda: next(costs), preset=replace(PRESET, estimate_margin=1.5))
    first, second = (methods["feemodel_fee"](TRANSFER) for _ in range(2))

    assert (first["inputs"]["variableCost"], second["inputs"]["variableCost"]) == ("0x3e8", hex(2_000_000_000))
    assert {"fixedCost": "0x5", "baseFee": "0x9", "margin": 1.5}.items() <= second["inputs"].items()


axes = st.sampled_from([(pricing, name) for pricing, kind in POINTS.items() for name in names_of(kind)])


@given(axes, st.floats(0.1, 5), st.integers(1, 10_000))
def test_a_curve_is_the_fee_at_each_of_its_points(axis, margin, size):
    pricing, name = axis
    ends = [1, 9_999] if name in IN_BYTES else [0.1, 3.0] if name in RATIOS else ["0x5208", "0xffffff"]
    point = {**TRANSFER, **L1, "pricing": pricing, "margin": margin, "compressedSize": size}
    curve = METHODS["feemodel_fee"](point, name, ends)

    assert curve["values"] == ends
    for place, value in enumerate(ends):
        alone = METHODS["feemodel_fee"]({**point, name: value})
        assert {part: column[place] for part, column in curve["feePerGas"].items()} == {
            part: quantity for part, quantity in alone["feePerGas"].items() if part != "total"
        }
        assert curve["feeWei"][place] == alone["feeWei"]["total"]
        along, here = curve["recovery"], alone["recovery"]
        assert along["cost"][place] == here["cost"]
        assert along["recovery"][place] == pytest.approx(here["recovery"], rel=1e-12)
        assert along["totalRecovery"][place] == pytest.approx(here["totalRecovery"], rel=1e-12)


def test_the_page_works_while_the_server_has_no_prices():
    """What the page gives is priced; what it would take from the server is refused with the server's reason."""

    def missing():
        raise UpstreamError("the node: no answer")

    methods = explorer_methods(own_form=missing)
    presets = methods["feemodel_presets"]()
    costs = {name: presets["chains"][0][name] for name in ("variableCost", "fixedCost", "baseFee", "margin")}

    assert (presets["server"], presets["reason"]) == (None, "the node: no answer")
    assert methods["feemodel_fee"]({**TRANSFER, "pricing": "cost-per-byte", **costs}) == fee()
    with pytest.raises(UpstreamError, match="no answer"):
        methods["feemodel_fee"](TRANSFER)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ([[]], "point: expected an object, got []"),
        ([{"compressedSize": 128}], "point.gas: expected a value, got None"),
        ([{"gas": "0x5208"}], "point.compressedSize: expected a value, got None"),
        ([{**TRANSFER, "gas": "21000"}], 'point.gas: expected a quantity such as "0x5208"'),
        ([{**TRANSFER, "gas": "0x0"}], "point.gas: expected whole gas of at least 1, got 0"),
        ([{**TRANSFER, "gas": hex(2**64)}], "point.gas: expected "),
        ([{**TRANSFER, "compressedSize": 1.5}], "point.compressedSize: expected `int | null`"),
        ([{**TRANSFER, "margin": -1}], "point.margin: expected `float` >= 0.0, got -1"),
        ([{**TRANSFER, "margin": "0x1"}], "point.margin: expected `float`, got '0x1'"),
        ([{**TRANSFER, "gass": "0x1"}], "point.gass: expected one of baseFee, blobBaseFee, "),
        ([{**TRANSFER, "pricing": "free"}], "point.pricing: expected one of cost-per-byte, veri"),
        ([{**TRANSFER, "minGasPrice": "0x1"}], "point.minGasPrice: expected one of baseFee, "),
        (
            [{**TRANSFER, "pricing": "verification-cost", "minGasPrice": "0x6"}],
            "point.minGasPrice: expected at least the base fee, got 6",
        ),
        (
            [{**TRANSFER, "variableCost": hex(2**62)}],
            "point: variable_cost · compressed_size: expected at most 2**63 - 1, because larger integers would wrap",
        ),
        ([{**TRANSFER, "margin": 1e308}], "point: fee: expected a finite result, got inf"),
        ([TRANSFER, ["gas"], []], "axis: expected one of compressedSize, gas, "),
        ([TRANSFER, "minGasPrice", []], "axis: expected one of compressedSize, gas, "),
        ([TRANSFER, "gas", 5], "values: expected a list, got 5"),
        ([TRANSFER, "gas", ["0x1", "1"]], "values[1]: expected a quantity"),
        ([TRANSFER, "gas", []], "values: expected 1 to 500 values, got 0"),
        ([TRANSFER, "gas", ["0x1"] * 501], "values: expected 1 to 500 values, got 501"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_path(parameters, message):
    with pytest.raises((InvalidInput, LimitExceeded)) as error:
        METHODS["feemodel_fee"](*parameters)
    assert str(error.value).startswith(message)


def test_a_signed_transaction_is_explained_as_by_the_command_line():
    answer = explained(RAW, {"gasUsed": "0x5000"})
    gas = {"estimated": 21_000, "limit": 21_000, "used": 0x5000}
    expected = explain(SIGNED, gas, form=form_of("cost-per-byte", PRESET), checks=node_checks(PRESET))

    assert answer["compressedSize"] == expected["compressedSize"]
    assert wei(answer["feePerGas"]) == expected["feePerGas"]
    assert wei(answer["gas"]) == gas
    assert int(answer["totalWei"], 16) == expected["totalWei"]
    assert int(answer["offeredPricePerGas"], 16) == 38_000_000
    assert [(one["outcome"], int(one["requiredPricePerGas"], 16), one["margin"]) for one in answer["stages"]] == [
        (one["outcome"], one["requiredPricePerGas"], one["margin"]) for one in expected["stages"]
    ]
    assert answer["decoded"] == {"chainId": None, "to": "0x" + "00" * 20, "dataBytes": 3}


def test_an_explanation_follows_the_options():
    answer = explained(RAW, {"pricing": "verification-cost", "margin": 2, "gas": "0x6000"})

    assert (answer["pricing"], answer["gas"]) == ("verification-cost", {"estimated": "0x6000", "limit": "0x5208"})
    assert answer["stages"][0]["margin"] == 2
    alone = fee(pricing="verification-cost", margin=2, compressedSize=answer["compressedSize"], gas="0x6000")
    assert answer["recovery"] == alone["recovery"]


def test_a_call_is_estimated_by_the_server():
    asked = []

    class Source:
        async def gas(self, call, options):
            asked.append(call)
            return Gas(limit=45_000, nonce=0, chain_id=1337)

    methods = explorer_methods(source=Source(), chain_id=lambda: 1337)
    call = {**CALL, "data": "0xdeadbeef"}
    answer = explained(call, {}, methods)
    compared(call, L1, methods)
    expected = explain(
        parse_call(call), {"estimated": 45_000, "limit": 45_000}, form=form_of("cost-per-byte", PRESET),
        checks=node_checks(PRESET), chain_id=1337,
    )  # fmt: skip

    assert asked == [parse_call(call)] * 2
    assert (answer["gas"]["estimated"], answer["compressedSize"]) == (hex(45_000), expected["compressedSize"])
    for subject, options in ((call, {"gas": "0xffff"}), ({**call, "gas": "0xffff"}, {}), (RAW, {})):
        explained(subject, options, methods)
    assert len(asked) == 2


def test_without_an_estimate_only_a_transfer_needs_no_gas():
    assert explained(CALL)["gas"] == {"estimated": "0x5208", "limit": "0x5208"}
    with pytest.raises(InvalidInput, match=r"options\.gas: expected the gas of this call, which is not executed here"):
        explained({**CALL, "data": "0x00"})
    with pytest.raises(InvalidInput, match=r"moment\.gas: expected the gas of this call, which is not executed here"):
        compared({"data": "0x00"})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: explained(RAW, {"gas": "5"}), "options.gas: expected a quantity"),
        (lambda: explained(RAW, {"compressedSize": 5}), "options.compressedSize: expected "),
        (lambda: explained(RAW, {"gasUsed": "0x0"}), "options.gasUsed: expected "),
        (lambda: explained(RAW, {"nonce": "0x1"}), "options.nonce: expected one of baseFee, "),
        (lambda: explained(RAW, []), "options: expected an object"),
        (lambda: explained(5), "subject: expected a signed transaction (0x…), a hash or a call object, got 5"),
        (lambda: explained("0x02f8"), "transaction: expected RLP"),
        (lambda: explained({"to": "0x12"}), "call.to: expected an address of 20 bytes"),
        (lambda: explained("0x" + "00" * (MAX_BYTES + 1)), "subject: at most 131,072 bytes, got 131,073"),
        (lambda: explained({"input": "0x" + "00" * (MAX_BYTES + 1)}), "subject: at most 131,072 bytes"),
        (lambda: compared(RAW, []), "moment: expected `object`, got []"),
        (lambda: compared(RAW, {"l1BaseFee": "0x1"}), "moment: object missing required field `blobBaseFee`"),
        (lambda: compared(RAW, {**L1, "tip": "0x1"}), "moment: object contains unknown field `tip`"),
        (lambda: compared(RAW, {**L1, "at": 5}), "moment.at: expected `str | null`, got 5"),
        (lambda: compared(RAW, {**L1, "at": "June"}), "moment.at: expected a time such as 2024-06-14"),
    ],
)
def test_what_is_wrong_with_a_subject_is_said(call, message):
    with pytest.raises(FeeModelError) as error:
        call()
    assert str(error.value).startswith(message)


def test_a_day_has_its_own_rules():
    answer = compared(RAW, {**L1, "at": "2026-02-01"})
    rules, without = rollups.rules_at("2026-02-01")
    expected = tables.comparison(
        tables.measured_sizes([SIGNED]), base_fee=106_400_000, blob_base_fee=6_161_000, rules=rules
    )  # fmt: skip
    priced = [one for one in answer["rules"] if "error" not in one]

    assert answer["at"] == "2026-02-01"
    assert (answer["gas"], wei({name: answer[name] for name in L1})) == ("0x5208", wei(L1))
    assert [one["rule"] for one in priced] == [one.name for one in rules]
    assert "op-mainnet/jovian" in [one["rule"] for one in priced], "Karst came later"
    assert [int(one["total"], 16) for one in priced] == [row.total for row in expected]
    assert {one["rule"] for one in answer["rules"] if "error" in one} == set(without)
    then = {one["rule"]: one.get("error") for one in compared(RAW, {**L1, "at": "2024-03-20"})["rules"]}
    assert {"linea", "scroll", "zksync-os", "mode"} <= {name for name, error in then.items() if error}
    assert then["mode"] == "unknown since 2024-03-14T00:00:01: base_fee_scalar, blob_base_fee_scalar"


def test_the_fee_is_named_as_rip_7759_names_it():
    """R1: a fee is the sum of execution, data and priority fee; R2: none is below 0; O1: one may be 0."""
    for one in (row for row in compared(RAW)["rules"] if "error" not in row):
        parts = wei({name: one[name] for name in ("executionFee", "dataFee", "priorityFee")})
        assert sum(parts.values()) == int(one["total"], 16)
        assert min(parts.values()) == 0 == parts["priorityFee"]
        assert (one["dataFee"], one["executionFee"]) == (one["l1Fee"], one["l2Fee"])


@pytest.mark.parametrize("pricing", FORMS)
@pytest.mark.parametrize("gas_price", [1, 38_000_000, 50_000_000_000])
def test_an_explanation_names_the_parts_as_rip_7759_does(pricing, gas_price):
    """R1, R2, O1; R9: the L2 gas and price of the execution fee are shown; R6: the size behind the data fee is."""
    subject = replace(SIGNED, gas_price=gas_price)
    answer = explained(to_hex(subject.signed()), {"pricing": pricing})
    parts = wei(answer["transactionFee"])
    suggested = int(answer["totalWei"], 16)

    assert parts["executionFee"] + parts["dataFee"] + parts["priorityFee"] == parts["total"]
    assert min(parts.values()) >= 0
    assert parts["priorityFee"] == max(0, gas_price * 21_000 - suggested)
    assert parts["executionFee"] + parts["dataFee"] == suggested
    assert (parts["dataFee"] > 0) == (pricing == "cost-per-byte"), "O1: so small a size is below the other form's floor"
    assert int(answer["gas"]["estimated"], 16) == 21_000
    assert (answer["compressedSize"] > 0, "base" in answer["feePerGas"]) == (True, True)
    without = explained(to_hex(subject.signed()), {"pricing": pricing, "margin": 0.5})["transactionFee"]
    assert min(wei(without).values()) >= 0, "a margin below 1 takes away of every part"


def test_the_presets_are_real():
    presets = METHODS["feemodel_presets"]()
    assert (presets["chain"], presets["version"]) == ("linea", feemodel.__version__)
    for chain in presets["chains"]:
        real = LINEA_PRESETS[chain["name"]]
        assert (int(chain["variableCost"], 16), int(chain["fixedCost"], 16)) == (real.variable_cost, real.fixed_cost)
        assert (chain["source"], chain["date"]) == (real.source, str(real.date))
    assert len(presets["chains"]) == len(LINEA_PRESETS)

    days = {day["name"]: (day["date"], wei({name: day[name] for name in L1})) for day in presets["days"]}
    assert days == {  # means of the month that ships, rounded to four digits
        "calm-day": ("2026-01-10", {"l1BaseFee": 33_140_000, "blobBaseFee": 1_893_000}),
        "median-day": ("2026-01-28", {"l1BaseFee": 106_400_000, "blobBaseFee": 6_161_000}),
        "most-expensive-day": ("2026-02-05", {"l1BaseFee": 2_754_000_000, "blobBaseFee": 153_600_000}),
    }


def test_every_input_has_a_default_that_can_be_sent():
    presets = METHODS["feemodel_presets"]()
    day = presets["days"][0]
    usual = {field["name"]: field["default"] for field in presets["fields"]} | {name: day[name] for name in L1}
    for pricing, kind in POINTS.items():
        assert names_of(kind).keys() <= {*usual}
        point = {name: usual[name] for name in names_of(kind) if name in usual}
        answer = METHODS["feemodel_fee"]({"pricing": pricing, **point})
        assert {"pricing": pricing, **point}.items() <= answer["inputs"].items()


@pytest.mark.parametrize("pricing", FORMS)
def test_the_formula_on_the_page_names_every_input_that_it_reads(pricing):
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    labels = dict(re.findall(r'class="control" data-name="(\w+)".*>(.+)</div>', page))
    text = re.search(rf'<dl class="formula" data-pricing="{pricing}">(.*?)</dl>', page, re.DOTALL)[1].lower()
    words = {"gasPriceRatio": "ratio", "submissionBytes": "bytes of a submission", "executionGas": "execution gas",
             "blobGas": "blob gas", "baseFee": "base fee"}  # fmt: skip
    unread = {"blobBaseFee"} if pricing == "verification-cost" else set()
    for name in names_of(POINTS[pricing]):
        if name not in unread:
            assert words.get(name, labels[name].lower()) in text
