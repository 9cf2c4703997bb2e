// Answers of Mantle's op-geth: a formula and its arguments on each line of standard input, the value on each line of
// standard output. Numbers are decimal, bytes hexadecimal.
//
//	fastlz BYTES
//	l1_gas FASTLZ_SIZE
//	before_arsia L1_GAS OVERHEAD L1_BASE_FEE SCALAR TOKEN_RATIO
//	arsia FASTLZ_SIZE L1_BASE_FEE BLOB_BASE_FEE BASE_FEE_SCALAR BLOB_BASE_FEE_SCALAR TOKEN_RATIO
package main

import (
	"math/big"

	"feemodel/nodes/lines"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// ratio is the storage of the gas price oracle, of which only the token's ratio is read.
type ratio common.Hash

func (r ratio) GetState(common.Address, common.Hash) common.Hash { return common.Hash(r) }

func sized(fastlz string) types.RollupCostData {
	return types.RollupCostData{FastLzSize: lines.Small(fastlz)}
}

func beforeArsia(words []string) string {
	return types.L1Cost(
		lines.Small(words[0]), lines.Whole(words[2]), lines.Whole(words[1]), lines.Whole(words[3]), lines.Whole(words[4]),
	).String()
}

func arsia(words []string) string {
	state := ratio(common.BigToHash(lines.Whole(words[5])))
	cost := types.NewL1CostFuncArsia(
		lines.Whole(words[1]), lines.Whole(words[2]), lines.Whole(words[3]), lines.Whole(words[4]), state, 0,
	)
	fee, _ := cost(sized(words[0]))
	return fee.String()
}

func l1Gas(words []string) string {
	nothing := new(big.Int)
	_, gas := types.NewL1CostFuncFjord(nothing, nothing, nothing, nothing)(sized(words[0]))
	return gas.String()
}

func fastlz(words []string) string {
	return new(big.Int).SetUint64(types.NewRollupCostData(lines.Bytes(words[0])).FastLzSize).String()
}

func main() {
	lines.Answer(map[string]func([]string) string{
		"fastlz": fastlz, "l1_gas": l1Gas, "before_arsia": beforeArsia, "arsia": arsia,
	})
}
