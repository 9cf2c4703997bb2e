// Fee rules of nodes whose Go modules cannot be built here, or that are written in another language: each function
// follows the node's own step by step, in the node's types (unsigned 64-bit numbers that wrap around or saturate,
// big.Int, big.Float, doubles). A formula and its arguments on each line of standard input, the value on each line of
// standard output.
//
// Sources:
//   - arbitrum_*: OffchainLabs/nitro at 6dce8d1, arbos/l2pricing/{model, multi_gas_constraint, l2pricing}.go,
//     util/arbmath/{math, bips}.go, arbos/{tx_processor, internal_tx}.go, arbos/arbostypes/incomingmessage.go;
//     arbos/l1pricing/l1pricing.go at 001ae31;
//   - scroll_*: Chaintable/go-ethereum-scrl at 5f34f2a, rollup/fees/rollup_fee.go, consensus/misc/eip1559.go;
//   - starknet_*: starkware-libs/sequencer at 60161ba, crates/apollo_consensus_orchestrator/src/fee_market/mod.rs,
//     dynamic_gas_price/mod.rs, utils.rs;
//   - taiko_*: taikoxyz/alethia-reth, crates/consensus/src/eip4396.rs;
//   - zksync_*: matter-labs/zksync-era at 3e29e4a, core/lib/types/src/fee_model.rs,
//     core/lib/multivm/src/versions/vm_latest/utils/fee.rs,
//     core/node/fee_model/src/l1_gas_price/blob_base_fee_predictor.rs;
//   - zksync_os_*: matter-labs/zksync-os-server at a8ebf6b, lib/sequencer/src/execution/fee_provider.rs.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"

	"feemodel/nodes/lines"
)

func double(text string) float64 {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		log.Fatal(err)
	}
	return number
}

func unsigned(number uint64) *big.Int { return new(big.Int).SetUint64(number) }

func sum(a, b *big.Int) *big.Int     { return new(big.Int).Add(a, b) }
func less(a, b *big.Int) *big.Int    { return new(big.Int).Sub(a, b) }
func times(a, b *big.Int) *big.Int   { return new(big.Int).Mul(a, b) }
func divided(a, b *big.Int) *big.Int { return new(big.Int).Div(a, b) }

func lower(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

const wraps = "wraps"

// Arbitrum

func saturatingProduct(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high != 0 {
		return math.MaxUint64
	}
	return low
}

func saturatingSum(a, b uint64) uint64 {
	total, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return total
}

func saturatingDifference(a, b uint64) uint64 {
	if b > a {
		return 0
	}
	return a - b
}

func signed(value uint64) int64 { return int64(min(value, math.MaxInt64)) }

// bips is a number in basis points, saturating.
func bips(natural int64) int64 {
	high, low := bits.Mul64(uint64(natural), 10_000)
	if high != 0 {
		return math.MaxInt64
	}
	return signed(low)
}

func approxExp(value int64) int64 {
	x := uint64(value)
	result := 10_000 + x/4
	for i := uint64(3); i >= 1; i-- {
		result = 10_000 + saturatingProduct(result, x)/(i*10_000)
	}
	return signed(result)
}

func scaled(minimum *big.Int, exponent int64) *big.Int {
	if exponent <= 0 {
		return minimum
	}
	return divided(times(minimum, big.NewInt(approxExp(exponent))), big.NewInt(10_000))
}

func arbitrumLegacy(words []string) string {
	backlog, limit, inertia, tolerance := lines.Small(words[0]), lines.Small(words[2]), lines.Small(words[3]), lines.Small(words[4])
	if backlog <= tolerance*limit {
		return words[1]
	}
	excess := signed(backlog - tolerance*limit)
	return scaled(lines.Whole(words[1]), bips(excess)/signed(saturatingProduct(inertia, limit))).String()
}

type constraint struct {
	Target  uint64         `json:"target"`
	Window  uint64         `json:"window"`
	Backlog uint64         `json:"backlog"`
	Weights map[int]uint64 `json:"weights"`
}

const (
	kinds     = 9
	singleDim = 6
)

type block struct {
	Constraints []constraint   `json:"constraints"`
	Seconds     uint64         `json:"seconds"`
	Minimum     string         `json:"min_base_fee"`
	Used        map[int]uint64 `json:"used"`
	GasUsed     uint64         `json:"gas_used"`
	Header      string         `json:"header_base_fee"`
}

func blockOf(text string) block {
	var found block
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		log.Fatal(err)
	}
	return found
}

func (b block) payOff() {
	for i := range b.Constraints {
		one := &b.Constraints[i]
		one.Backlog = saturatingDifference(one.Backlog, saturatingProduct(b.Seconds, one.Target))
	}
}

func (b block) backlogs() string {
	texts := []string{}
	for _, one := range b.Constraints {
		texts = append(texts, strconv.FormatUint(one.Backlog, 10))
	}
	return strings.Join(texts, " ")
}

// The base fee for the next header, and the backlogs.
func arbitrumConstraints(words []string) string {
	b, total := blockOf(words[0]), int64(0)
	b.payOff()
	for _, one := range b.Constraints {
		if one.Backlog > 0 {
			exponent := bips(signed(one.Backlog)) / signed(saturatingProduct(one.Window, one.Target))
			total = signed(saturatingSum(uint64(total), uint64(exponent)))
		}
	}
	return scaled(lines.Whole(b.Minimum), total).String() + " " + b.backlogs()
}

// The base fee for the next header, the fee of each kind, the backlogs, the refund.
func arbitrumMultiGas(words []string) string {
	b := blockOf(words[0])
	b.payOff()
	var exponents [kinds]int64
	for _, one := range b.Constraints {
		largest := uint64(0)
		for _, weight := range one.Weights {
			largest = max(largest, weight)
		}
		divisor := signed(saturatingProduct(one.Window, saturatingProduct(one.Target, largest)))
		for kind, weight := range one.Weights {
			if one.Backlog > 0 && weight > 0 && kind != singleDim {
				term := bips(signed(saturatingProduct(one.Backlog, weight))) / divisor
				exponents[kind] = signed(saturatingSum(uint64(exponents[kind]), uint64(term)))
			}
		}
	}
	minimum := lines.Whole(b.Minimum)
	stored, fees, texts := minimum, [kinds]*big.Int{}, []string{}
	for kind, exponent := range exponents {
		fees[kind] = scaled(minimum, exponent)
		texts = append(texts, fees[kind].String())
		if fees[kind].Cmp(stored) > 0 {
			stored = fees[kind]
		}
	}
	cost := new(big.Int)
	for kind, amount := range b.Used {
		fee := fees[kind]
		if kind == singleDim || fee.Sign() == 0 {
			fee = stored
		}
		cost = sum(cost, times(unsigned(amount), fee))
	}
	refund := less(times(lines.Whole(b.Header), unsigned(b.GasUsed)), cost)
	if refund.Sign() < 0 {
		refund = new(big.Int)
	}
	return strings.Join(append(append([]string{stored.String()}, texts...), b.backlogs(), refund.String()), " ")
}

// A backlog after what a transaction used; the last word is "shrink" or "grow".
func arbitrumBacklog(words []string) string {
	b := blockOf(words[0])
	one := b.Constraints[0]
	for kind := range kinds {
		product := saturatingProduct(b.Used[kind], one.Weights[kind])
		if words[1] == "shrink" {
			one.Backlog = saturatingDifference(one.Backlog, product)
		} else {
			one.Backlog = saturatingSum(one.Backlog, product)
		}
	}
	return strconv.FormatUint(one.Backlog, 10)
}

// The controller of the L1 price after a batch report: price, units, fees, due to posters, due for rewards, surplus.
func arbitrumReport(words []string) string {
	price, units, fees, posters := lines.Whole(words[0]), lines.Small(words[1]), lines.Whole(words[2]), lines.Whole(words[3])
	rewards, lastSurplus, last := lines.Whole(words[4]), lines.Whole(words[5]), lines.Small(words[6])
	updated, now, spent, l1BaseFee := lines.Small(words[7]), lines.Small(words[8]), lines.Whole(words[9]), lines.Whole(words[10])
	capBips, perUnit, equilibration, inertia := lines.Small(words[11]), unsigned(lines.Small(words[12])), lines.Whole(words[13]), lines.Whole(words[14])
	if last == 0 && updated > 0 {
		last = updated - 1
	}
	part, all := updated-last, now-last
	if all == 0 {
		part, all = 1, 1
	}
	allocated := saturatingProduct(units, part) / all
	units -= allocated
	share := unsigned(allocated)
	if capBips != 0 {
		most := divided(times(times(l1BaseFee, share), big.NewInt(signed(capBips))), big.NewInt(10_000))
		spent = lower(spent, most)
	}
	posters, rewards = sum(posters, spent), sum(rewards, times(share, perUnit))
	paid := lower(times(perUnit, share), fees)
	rewards, fees = less(rewards, paid), less(fees, paid)
	paid = lower(posters, fees)
	posters, fees = less(posters, paid), less(fees, paid)
	if allocated > 0 {
		surplus := less(fees, sum(posters, rewards))
		desired := divided(new(big.Int).Neg(surplus), equilibration)
		actual := divided(less(surplus, lastSurplus), share)
		weight := sum(divided(equilibration, inertia), share)
		price = sum(price, divided(times(less(desired, actual), share), weight))
		if price.Sign() < 0 {
			price = new(big.Int)
		}
		lastSurplus = surplus
	}
	return fmt.Sprint(price, units, fees, posters, rewards, lastSurplus)
}

func gasFor(cost, price *big.Int) string {
	if gas := divided(cost, price); gas.IsUint64() {
		return gas.String()
	}
	return strconv.FormatUint(math.MaxUint64, 10)
}

// The gas for the bytes of a transaction: compressed size, price per unit, gas price.
func arbitrumPoster(words []string) string {
	return gasFor(times(lines.Whole(words[1]), unsigned(lines.Small(words[0])*16)), lines.Whole(words[2]))
}

// The same of an estimate; words as before, and the minimum base fee.
func arbitrumEstimate(words []string) string {
	units := (lines.Small(words[0])*16 + 16*16) * 10_100 / 10_000
	cost := divided(times(times(lines.Whole(words[1]), unsigned(units)), big.NewInt(11_000)), big.NewInt(10_000))
	price := divided(times(lines.Whole(words[2]), big.NewInt(7)), big.NewInt(8))
	if least := lines.Whole(words[3]); price.Cmp(least) < 0 {
		price = least
	}
	return gasFor(cost, price)
}

// Scroll

var nano = big.NewInt(1_000_000_000)

func capped(fee *big.Int) string { return lower(fee, unsigned(math.MaxUint64)).String() }

func scrollPreCurie(words []string) string {
	gas := unsigned(4*lines.Small(words[0]) + 16*(lines.Small(words[1])+4))
	return capped(divided(times(times(sum(gas, lines.Whole(words[3])), lines.Whole(words[2])), lines.Whole(words[4])), nano))
}

func scrollCurie(words []string) string {
	commitment := times(lines.Whole(words[3]), lines.Whole(words[1]))
	blob := times(times(lines.Whole(words[0]), lines.Whole(words[2])), lines.Whole(words[4]))
	return capped(divided(sum(commitment, blob), nano))
}

func scrollPerByte(words []string) *big.Int {
	return sum(times(lines.Whole(words[2]), lines.Whole(words[0])), times(lines.Whole(words[3]), lines.Whole(words[1])))
}

// length, calldata length, compressed calldata length; then prices, scalars, threshold, factor
func scrollFeynman(words []string) string {
	plain, compressed := lines.Whole(words[1]), lines.Whole(words[2])
	ratio := less(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	if plain.Sign() > 0 {
		ratio = nano
		if compressed.Cmp(plain) < 0 {
			ratio = divided(times(plain, nano), compressed)
		}
	}
	penalty := nano
	if ratio.Cmp(lines.Whole(words[7])) < 0 {
		penalty = lines.Whole(words[8])
	}
	fee := times(times(scrollPerByte(words[3:7]), lines.Whole(words[0])), penalty)
	return capped(divided(divided(fee, nano), nano))
}

func scrollGalileo(words []string) string {
	size, factor := lines.Whole(words[0]), lines.Whole(words[5])
	if factor.Sign() == 0 {
		factor = big.NewInt(1)
	}
	base := times(scrollPerByte(words[1:5]), size)
	return capped(divided(sum(base, divided(times(base, size), factor)), nano))
}

func eip1559(fee *big.Int, used, limit, elasticity, denominator uint64) *big.Int {
	target := limit / elasticity
	if used == target {
		return fee
	}
	distance := unsigned(max(used, target) - min(used, target))
	step := divided(divided(times(fee, distance), unsigned(target)), unsigned(denominator))
	if used < target {
		return higher(less(fee, step), new(big.Int))
	}
	return sum(fee, higher(step, big.NewInt(1)))
}

var scrollMost = big.NewInt(10_000_000_000)

// L1 base fee, scalar, overhead.
func scrollL2Curie(words []string) string {
	fee := sum(divided(times(lines.Whole(words[0]), lines.Whole(words[1])), times(nano, nano)), lines.Whole(words[2]))
	return lower(fee, scrollMost).String()
}

// Base fee, gas used, gas limit, overhead.
func scrollL2Feynman(words []string) string {
	overhead := lines.Whole(words[3])
	market := higher(less(lines.Whole(words[0]), overhead), new(big.Int))
	fee := sum(eip1559(market, lines.Small(words[1]), lines.Small(words[2]), 2, 8), overhead)
	return lower(fee, scrollMost).String()
}

// Starknet

// Price, gas used, gas target, minimum.
func starknetPrice(words []string) string {
	price, used, target, least := lines.Whole(words[0]), lines.Small(words[1]), lines.Small(words[2]), lines.Whole(words[3])
	most := less(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))
	if price.Cmp(least) < 0 {
		return lower(sum(price, divided(price, big.NewInt(333))), least).String()
	}
	distance := unsigned(max(used, target) - min(used, target))
	change := divided(times(price, distance), times(unsigned(target), big.NewInt(48)))
	if used > target {
		return lower(higher(sum(price, change), least), most).String()
	}
	return higher(less(price, change), least).String()
}

// The fee target of a rate, and the proposal next to a median: rate, median.
func starknetProposal(words []string) string {
	rate, median, thousand := lines.Whole(words[0]), lines.Whole(words[1]), big.NewInt(1_000)
	if rate.Sign() == 0 {
		return "None " + median.String()
	}
	most := less(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))
	target := lower(divided(times(big.NewInt(880_000_000), times(nano, nano)), rate), most)
	lowest := divided(times(median, thousand), big.NewInt(1_002))
	highest := divided(times(median, big.NewInt(1_002)), thousand)
	return target.String() + " " + higher(lowest, lower(target, highest)).String()
}

// The prices of L1 gas and data gas from mean fees of L1.
func starknetL1(words []string) string {
	trillion := times(nano, big.NewInt(1_000))
	gas := higher(nano, lower(sum(lines.Whole(words[0]), nano), trillion))
	data := divided(times(lines.Whole(words[1]), big.NewInt(135)), big.NewInt(1_000))
	return gas.String() + " " + higher(big.NewInt(1), lower(data, trillion)).String()
}

// Taiko

func taikoBaseFee(words []string) string {
	fee, used, limit, seconds := lines.Whole(words[0]), lines.Small(words[1]), lines.Small(words[2]), lines.Small(words[3])
	target := limit / 2
	adjusted := min(target*seconds/2, limit*95/100)
	if used != adjusted {
		distance := max(used, adjusted) - min(used, adjusted)
		step := divided(divided(times(fee, unsigned(distance)), unsigned(target)), big.NewInt(8))
		if used < adjusted {
			fee = less(fee, step)
		} else if step.Sign() == 0 {
			fee = sum(fee, big.NewInt(1))
		} else {
			fee = sum(fee, step)
		}
	}
	if least := lines.Whole(words[4]); fee.Cmp(least) < 0 {
		fee = least
	}
	return lower(fee, big.NewInt(1_000_000_000)).String()
}

// ZKsync Era

func ceiling(a, b *big.Int) *big.Int { return divided(less(sum(a, b), big.NewInt(1)), b) }

// The prices of a batch, and of them its base fee and gas per pubdata.
func zksyncBatch(words []string) string {
	gasPrice := uint64(float64(lines.Small(words[0])) * double(words[6]))
	pubdataPrice := uint64(float64(lines.Small(words[1])) * double(words[7]))
	overhead := times(unsigned(gasPrice), lines.Whole(words[3]))
	fairGas := lines.Small(words[2]) + uint64(float64(ceiling(overhead, lines.Whole(words[4])).Uint64())*double(words[8]))
	fairPubdata := pubdataPrice + uint64(float64(ceiling(overhead, lines.Whole(words[5])).Uint64())*double(words[9]))
	fairGas, fairPubdata = min(fairGas, 10_000_000_000_000), min(fairPubdata, 1_000_000_000_000_000)
	base := max(fairGas, (fairPubdata+49_999)/50_000)
	return fmt.Sprint(gasPrice, fairGas, fairPubdata, base, (fairPubdata+base-1)/base)
}

const (
	fraction = 3_338_477
	blobGas  = 131_072
)

// blobFee is e to the power of excess / fraction, by the series of EIP-4844 in 128 bits.
func blobFee(excess uint64) *big.Int {
	output, term, i := new(big.Int), big.NewInt(fraction), uint64(1)
	for term.Sign() > 0 {
		output = sum(output, term)
		term = divided(times(term, unsigned(excess)), times(big.NewInt(fraction), unsigned(i)))
		i++
	}
	return divided(output, big.NewInt(fraction))
}

// The blob base fee that is expected: the fee, pending blobs, L1 blocks. Nothing where 64 bits do not hold it.
func zksyncPredicted(words []string) string {
	fee, blobs, blocks := lines.Whole(words[0]), lines.Small(words[1]), max(lines.Small(words[2]), 1)
	if blobs == 0 {
		return fee.String()
	}
	low, high := uint64(0), uint64(1)
	for blobFee(high).Cmp(fee) < 0 {
		high *= 2
	}
	for fee.Cmp(big.NewInt(1)) > 0 && low < high {
		if middle := low + (high-low)/2; blobFee(middle).Cmp(fee) < 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	excess := saturatingSum(low, saturatingDifference(saturatingProduct(blobGas, blobs), saturatingProduct(6*blobGas, blocks)))
	if excess > 60*fraction {
		return wraps
	}
	predicted := divided(times(blobFee(excess), big.NewInt(11_000)), big.NewInt(10_000))
	if !predicted.IsUint64() {
		return wraps
	}
	return predicted.String()
}

// ZKsync OS

type osPrices struct {
	NativeUSD [2]string `json:"native_price_usd"`
	TokenUSD  [2]string `json:"base_token_usd"`
	LayerUSD  [2]string `json:"settlement_token_usd"`
	PerGas    string    `json:"native_per_gas"`
	Pubdata   string    `json:"pubdata_price"`
	Blobs     bool      `json:"blobs"`
	Fill      [2]string `json:"fill_ratio"`
	BeforeOne string    `json:"previous_native_price"`
	BeforeTwo string    `json:"previous_pubdata_price"`
	Cap       string    `json:"pubdata_price_cap"`
}

func ratio(words [2]string) *big.Rat {
	return new(big.Rat).SetFrac(lines.Whole(words[0]), lines.Whole(words[1]))
}

func roundedUp(number *big.Rat) *big.Int { return ceiling(number.Num(), number.Denom()) }

func higher(a, b *big.Int) *big.Int {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

func zksyncOS(words []string) string {
	var asked osPrices
	if err := json.Unmarshal([]byte(words[0]), &asked); err != nil {
		log.Fatal(err)
	}
	one, token := big.NewInt(1), ratio(asked.TokenUSD)
	native := roundedUp(new(big.Rat).Quo(ratio(asked.NativeUSD), token))
	if asked.BeforeOne != "" {
		before := lines.Whole(asked.BeforeOne)
		step := divided(before, big.NewInt(8))
		native = lower(higher(native, less(before, step)), sum(before, higher(step, one)))
	}
	base := times(native, lines.Whole(asked.PerGas))
	exchange := new(big.Rat).Quo(ratio(asked.LayerUSD), token)
	price := roundedUp(new(big.Rat).Mul(new(big.Rat).SetInt(lines.Whole(asked.Pubdata)), exchange))
	if asked.Blobs {
		price = sum(price, times(native, big.NewInt(50_000_000/(4_095*31))))
		price = divided(times(price, lines.Whole(asked.Fill[1])), lines.Whole(asked.Fill[0]))
	}
	if asked.BeforeTwo != "" {
		before := lines.Whole(asked.BeforeTwo)
		price = lower(price, sum(before, higher(divided(before, big.NewInt(2)), one)))
	}
	if asked.Cap != "" {
		price = lower(price, lines.Whole(asked.Cap))
	}
	most := less(new(big.Int).Lsh(one, 256), one)
	return fmt.Sprint(lower(base, most), lower(native, most), lower(price, most))
}

func main() {
	lines.Answer(map[string]func([]string) string{
		"arbitrum_legacy":      arbitrumLegacy,
		"arbitrum_constraints": arbitrumConstraints,
		"arbitrum_multi_gas":   arbitrumMultiGas,
		"arbitrum_backlog":     arbitrumBacklog,
		"arbitrum_report":      arbitrumReport,
		"arbitrum_poster":      arbitrumPoster,
		"arbitrum_estimate":    arbitrumEstimate,
		"scroll_pre_curie":     scrollPreCurie,
		"scroll_curie":         scrollCurie,
		"scroll_feynman":       scrollFeynman,
		"scroll_galileo":       scrollGalileo,
		"scroll_l2_curie":      scrollL2Curie,
		"scroll_l2_feynman":    scrollL2Feynman,
		"starknet_price":       starknetPrice,
		"starknet_proposal":    starknetProposal,
		"starknet_l1":          starknetL1,
		"taiko_base_fee":       taikoBaseFee,
		"zksync_batch":         zksyncBatch,
		"zksync_predicted":     zksyncPredicted,
		"zksync_os_prices":     zksyncOS,
	})
}
