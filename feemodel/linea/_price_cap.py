"""Price cap of Linea's L1 submissions, which rises while data waits to be submitted.

    multiplier = 1 + adjustment · time_of_day · (elapsed / target_delay)²
    base fee cap = p10 of the base fee over 7 days · multiplier
    tip cap = 0.1 gwei · multiplier
    blob fee cap = max(p10 of the blob base fee, 0.1 gwei) · (the multiplier without time_of_day)

p10 is the 10th percentile of a fee over the last 7 days. A transaction is sent as soon as the caps, multiplied by 0.9,
cover the current fees. The fee fields of the transaction contain the full caps. The paid tip is min(tip cap, max fee −
base fee).

Source: Consensys/linea-monorepo at cb180134 (2026-06-12), coordinator/ethereum/gas-pricing/dynamic-cap and
docker/config/coordinator; the hourly factors: docker/config/common/gas-price-cap-time-of-day-multipliers.toml.
"""

import math

from feemodel._compiled import cached_njit

ADJUSTMENT = 25.0  # increase of the multiplier at the target delay [1]
TARGET_DELAY = 57_600.0  # target delay of submissions [s]: 16 h as documented; the local configuration has 32 h
PERCENTILE = 0.1  # percentile of the fees in the window, as a fraction [1]
WINDOW = 7 * 86_400.0  # length of the window of past fees [s]
TIP = 100_000_000.0  # tip cap before the multiplier, a constant [wei / gas]
MIN_BLOB_FEE = 100_000_000.0  # minimum of the 10 % quantile of the blob base fee [wei / gas]
COEFFICIENT = 0.9  # current fees may be at most this share of the caps
MAX_FEE, MAX_TIP, MAX_BLOB_FEE = 100e9, 20e9, 100e9  # maximum of each cap of a blob transaction [wei / gas]
MAX_FINALIZATION_FEE, MAX_FINALIZATION_TIP = 200e9, 40e9  # [wei / gas]

#: Factor of each hour of the week, from Monday 00:00 UTC [1].
TIME_OF_DAY_MULTIPLIERS = (
    # monday
    1.5381562278760164, 1.5423761828433993, 1.539015963719092, 1.487676153648977,
    1.430973985132037, 1.4656765439056292, 1.4484298622828233, 1.4459076216659752,
    1.4899061835032241, 1.5249733712852067, 1.511367489481033, 1.4225695658047797,
    1.2887291896624584, 1.1460926897291355, 1.0004897955233254, 0.8694664537368378,
    0.8270273375962802, 0.7868289022833883, 0.7780303121746551, 0.7756215256634205,
    0.7984895728860915, 0.8918589268832423, 0.9967716668541272, 1.0973334887144106,
    # tuesday
    1.2233064209957951, 1.3238883432855082, 1.3874518307497257, 1.463621147171298,
    1.4975989065490154, 1.481679186141442, 1.452778387763161, 1.3414858185569951,
    1.2869454637983988, 1.249347290389873, 1.196488297386161, 1.1136140507034202,
    0.9867528660797885, 0.8018989158195754, 0.6173048748109258, 0.46718586671750373,
    0.4103633833041902, 0.4871260756989506, 0.5667378483016126, 0.6464203510900723,
    0.7780268325299871, 0.8995921101255763, 1.0077600114996088, 1.1109769960680498,
    # wednesday
    1.2097668746150059, 1.2631002319009361, 1.2912775191940549, 1.3229785939630059,
    1.3428607301494424, 1.3750788517823973, 1.3752344527256497, 1.3505490078766218,
    1.2598503219367945, 1.2051668977452374, 1.0320896222195326, 0.8900138031631949,
    0.6341155208698448, 0.48337590254714624, 0.2903189399226416, 0.25,
    0.25711039485046006, 0.37307641907591793, 0.45280799454961196, 0.5631397823847637,
    0.6285005244224133, 0.6671897537279405, 0.7268406397452634, 0.8068904097486369,
    # thursday
    0.9021601102971811, 1.023741688964238, 1.1340689935096755, 1.2530130345819006,
    1.3163421664973542, 1.3536343767230727, 1.3432290485306728, 1.2864983218982178,
    1.2320488534113174, 1.1984530721079034, 1.0877338251341975, 0.9999324929016475,
    0.87536726762619, 0.6560822412167919, 0.44836474861432074, 0.36145134935025247,
    0.2695997829759713, 0.2898426312618241, 0.3970093434340387, 0.5193273246848977,
    0.6426415257034419, 0.800685718218497, 0.9215516833839711, 1.053701659160912,
    # friday
    1.149649788723893, 1.2046315447861193, 1.2724031281576726, 1.3525693456352732,
    1.3746126314960814, 1.3744591862592468, 1.3297812543035683, 1.2762064429631657,
    1.235662409263294, 1.2171558028785991, 1.182722399785398, 1.137345538963285,
    0.9999308422620752, 0.8055000309055653, 0.5667135273493851, 0.4081529603000651,
    0.3987031354907009, 0.5030075499003412, 0.6518159532641841, 0.8733483414970974,
    1.0496224913080463, 1.1820684558591705, 1.2561688567574458, 1.3204704912328773,
    # saturday
    1.3832230236620218, 1.4632908341022142, 1.5019230781315296, 1.5437332506007084,
    1.5934153179751855, 1.6245578072557723, 1.6294919789890665, 1.6027665451672717,
    1.6068061069158674, 1.624257927970777, 1.5996112411089, 1.5659672993092648,
    1.5333537902522736, 1.445292929996356, 1.2966021477035259, 1.250999408961155,
    1.2535364828163025, 1.2736456128871074, 1.3348268054897328, 1.4571388900094875,
    1.5073787902995706, 1.5605139580010123, 1.5885303316932382, 1.6169891066719597,
    # sunday
    1.7489178377946066, 1.7494632175198737, 1.75, 1.733166295438555,
    1.6993775444542885, 1.6350086618091364, 1.5627740860151331, 1.4831149222064164,
    1.4101476768256929, 1.370085278922007, 1.3516015544068651, 1.3482404546676368,
    1.3580905751578942, 1.3775497419563296, 1.3700255667542938, 1.2642948506461285,
    1.2794806131912935, 1.2750892256476676, 1.2919720208955585, 1.317984990098603,
    1.4433501639513178, 1.4705921238901998, 1.515043370430801, 1.5556742617266397,
)  # fmt: skip


@cached_njit(nogil=True, error_model="numpy")
def cap_multiplier(elapsed, target_delay, adjustment, time_of_day):  # type: ignore[no-untyped-def]
    """Factor by which the fee caps are multiplied after a given waiting time.

    Parameters
    ----------
    elapsed, target_delay : waiting time and target delay, both truncated to whole seconds [s].
    adjustment : increase of the multiplier at the target delay [1].
    time_of_day : factor by which `adjustment` is multiplied at this hour of the week [1].

    Returns
    -------
    float [1].

    After half of the target delay, at an adjustment of 25, the multiplier is 1 + 25 · (1 / 2)²:

    >>> cap_multiplier(28_800.0, 57_600.0, 25.0, 1.0)
    7.25
    """
    share = math.floor(elapsed) / math.floor(target_delay)
    return 1.0 + adjustment * time_of_day * share * share


@cached_njit(nogil=True, error_model="numpy")
def tip_within_caps(  # type: ignore[no-untyped-def]
    base_fee, blob_base_fee, base_cap, tip_cap, blob_cap, coefficient, max_fee, max_tip, max_blob
):
    """Tip that a transaction pays, or -1 if the caps are too low for the transaction to be sent.

    Parameters
    ----------
    base_fee, blob_base_fee : current fees of L1; the blob base fee is 0 for a transaction without blobs [wei / gas].
    base_cap, tip_cap, blob_cap : caps, not yet limited to their maxima [wei / gas].
    coefficient : the current fees may be at most this share of the caps [1].
    max_fee, max_tip, max_blob : maxima of the caps; the maxima do not depend on the waiting time [wei / gas].

    Returns
    -------
    float [wei / gas].

    0.9 · (100 + 20) = 108 is less than a base fee of 110, but covers a base fee of 105. With a base fee of 105, the tip
    is 120 − 105 = 15:

    >>> tip_within_caps(110.0, 0.0, 100.0, 20.0, 1.0, 0.9, 1e9, 1e9, 1e9)
    -1.0
    >>> tip_within_caps(105.0, 0.0, 100.0, 20.0, 1.0, 0.9, 1e9, 1e9, 1e9)
    15.0
    """
    tip = min(math.floor(coefficient * math.floor(tip_cap)), max_tip)
    fee = min(math.floor(coefficient * math.floor(base_cap)) + tip, max_fee)
    blob = min(max(math.floor(coefficient * math.floor(blob_cap)), 1.0), max_blob)
    if fee < base_fee or blob < blob_base_fee:
        return -1.0
    sent_tip = min(math.floor(tip_cap), max_tip)
    sent_fee = min(math.floor(base_cap) + sent_tip, max_fee)
    return min(sent_tip, sent_fee - base_fee)
