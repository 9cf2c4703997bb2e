// Answers of op-geth's own functions: a formula and its arguments on each line of standard input, the value on each line
// of standard output. Numbers are decimal, bytes hexadecimal; the names of upgrades are those of the OP Stack.
//
//	fastlz BYTES
//	l1_fee UPGRADE ZERO_BYTES NONZERO_BYTES FASTLZ_SIZE L1_BASE_FEE BLOB_BASE_FEE BASE_FEE_SCALAR BLOB_BASE_FEE_SCALAR OVERHEAD SCALAR
//	l1_gas FASTLZ_SIZE
//	l1_fee_of_transaction UPGRADE TRANSACTION L1_BASE_FEE BLOB_BASE_FEE BASE_FEE_SCALAR BLOB_BASE_FEE_SCALAR OVERHEAD SCALAR
//	estimated_size TRANSACTION
//	operator_fee UPGRADE GAS SCALAR CONSTANT
//	da_footprint GAS_SCALAR TRANSACTION...
//	base_fee UPGRADE BASE_FEE GAS_USED GAS_LIMIT ELASTICITY DENOMINATOR FOOTPRINT MIN_BASE_FEE
//	blob_base_fee TIMESTAMP EXCESS                   of Ethereum, as the next; op-geth knows its schedule
//	excess_blob_gas TIMESTAMP EXCESS USED BASE_FEE
package main

import (
	"fmt"
	"log"
	"math/big"
	"slices"
	"strconv"

	"feemodel/nodes/lines"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
)

var upgrades = []string{
	"bedrock", "regolith", "canyon", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian", "karst",
}

const time = 1_000 // of the block; every upgrade that is on began at 0

// chain is a configuration in which the upgrades up to this one are on.
func chain(upgrade string) *params.ChainConfig {
	last := slices.Index(upgrades, upgrade)
	if last < 0 {
		log.Fatalf("no such upgrade: %s", upgrade)
	}
	began := func(name string) *uint64 {
		if slices.Index(upgrades, name) > last {
			return nil
		}
		return new(uint64)
	}
	config := *params.OptimismTestConfig
	canyon := uint64(250)
	config.Optimism = &params.OptimismConfig{EIP1559Elasticity: 6, EIP1559Denominator: 50, EIP1559DenominatorCanyon: &canyon}
	config.BedrockBlock = new(big.Int)
	config.RegolithTime = began("regolith")
	config.CanyonTime = began("canyon")
	config.ShanghaiTime = began("canyon")
	config.EcotoneTime = began("ecotone")
	config.CancunTime = began("ecotone")
	config.FjordTime = began("fjord")
	config.GraniteTime = began("granite")
	config.HoloceneTime = began("holocene")
	config.IsthmusTime = began("isthmus")
	config.PragueTime = began("isthmus")
	config.JovianTime = began("jovian")
	config.KarstTime = began("karst")
	return &config
}

// slots is the storage of the L1Block predeploy, as the L1 attributes transaction fills it.
type slots map[common.Hash]common.Hash

func (s slots) GetState(_ common.Address, slot common.Hash) common.Hash { return s[slot] }

// cost is the L1 fee of data: upgrade, L1 base fee, blob base fee, the two scalars of Ecotone, overhead, scalar.
func cost(upgrade string, data types.RollupCostData, words []string) string {
	var scalars common.Hash // the two scalars of Ecotone lie side by side in one slot
	lines.Whole(words[2]).FillBytes(scalars[16:20])
	lines.Whole(words[3]).FillBytes(scalars[20:24])
	state := slots{
		types.L1BaseFeeSlot:     common.BigToHash(lines.Whole(words[0])),
		types.L1BlobBaseFeeSlot: common.BigToHash(lines.Whole(words[1])),
		types.L1FeeScalarsSlot:  scalars,
		types.OverheadSlot:      common.BigToHash(lines.Whole(words[4])),
		types.ScalarSlot:        common.BigToHash(lines.Whole(words[5])),
	}
	return types.NewL1CostFunc(chain(upgrade), state)(data, time).String()
}

func l1Fee(words []string) string {
	data := types.RollupCostData{Zeroes: lines.Small(words[1]), Ones: lines.Small(words[2]), FastLzSize: lines.Small(words[3])}
	return cost(words[0], data, words[4:])
}

func l1FeeOfTransaction(words []string) string {
	return cost(words[0], decoded(words[1]).RollupCostData(), words[2:])
}

func decoded(raw string) *types.Transaction {
	transaction := new(types.Transaction)
	if err := transaction.UnmarshalBinary(lines.Bytes(raw)); err != nil {
		log.Fatal(err)
	}
	return transaction
}

func l1Gas(arguments []string) string {
	nothing := new(big.Int)
	size := types.RollupCostData{FastLzSize: lines.Small(arguments[0])}
	_, gas := types.NewL1CostFuncFjord(nothing, nothing, nothing, nothing)(size)
	return gas.String()
}

func operatorFee(arguments []string) string {
	config := chain(arguments[0])
	var parameters common.Hash
	lines.Whole(arguments[2]).FillBytes(parameters[20:24])
	lines.Whole(arguments[3]).FillBytes(parameters[24:32])
	state := slots{types.OperatorFeeParamsSlot: parameters}
	return types.NewOperatorCostFunc(config, state)(lines.Small(arguments[1]), time).Dec()
}

func daFootprint(arguments []string) string {
	attributes := make([]byte, types.JovianL1AttributesLen)
	copy(attributes, types.JovianL1AttributesSelector)
	lines.Whole(arguments[0]).FillBytes(attributes[types.JovianL1AttributesLen-2:])
	block := []*types.Transaction{types.NewTx(&types.DepositTx{Data: attributes})}
	for _, raw := range arguments[1:] {
		block = append(block, decoded(raw))
	}
	footprint, err := types.CalcDAFootprint(block)
	if err != nil {
		log.Fatal(err)
	}
	return strconv.FormatUint(footprint, 10)
}

func baseFee(arguments []string) string {
	config := chain(arguments[0])
	elasticity, denominator, floor := lines.Small(arguments[4]), lines.Small(arguments[5]), lines.Small(arguments[7])
	config.Optimism.EIP1559Elasticity = elasticity
	config.Optimism.EIP1559Denominator = denominator
	config.Optimism.EIP1559DenominatorCanyon = &denominator
	footprint := lines.Small(arguments[6])
	parent := &types.Header{
		Number: big.NewInt(1), Time: time, BaseFee: lines.Whole(arguments[1]), GasUsed: lines.Small(arguments[2]),
		GasLimit: lines.Small(arguments[3]), BlobGasUsed: &footprint,
	}
	if config.IsOptimismHolocene(time) {
		var least *uint64
		if config.IsJovian(time) {
			least = &floor
		}
		parent.Extra = eip1559.EncodeOptimismExtraData(config, time, denominator, elasticity, least)
	}
	return eip1559.CalcBaseFee(config, parent, time+2).String()
}

func blobBaseFee(words []string) string {
	excess := lines.Small(words[1])
	header := &types.Header{Number: big.NewInt(20_000_000), Time: lines.Small(words[0]), ExcessBlobGas: &excess}
	return eip4844.CalcBlobFee(params.MainnetChainConfig, header).String()
}

func excessBlobGas(words []string) string {
	excess, used := lines.Small(words[1]), lines.Small(words[2])
	parent := &types.Header{
		Number: big.NewInt(20_000_000), ExcessBlobGas: &excess, BlobGasUsed: &used, BaseFee: lines.Whole(words[3]),
	}
	return strconv.FormatUint(eip4844.CalcExcessBlobGas(params.MainnetChainConfig, parent, lines.Small(words[0])), 10)
}

func main() {
	lines.Answer(map[string]func([]string) string{
		"fastlz": func(arguments []string) string { return fmt.Sprint(types.FlzCompressLen(lines.Bytes(arguments[0]))) },
		"l1_fee": l1Fee,
		"l1_gas": l1Gas,
		"estimated_size": func(words []string) string {
			return decoded(words[0]).RollupCostData().EstimatedDASize().String()
		},
		"l1_fee_of_transaction": l1FeeOfTransaction,
		"blob_base_fee":         blobBaseFee,
		"excess_blob_gas":       excessBlobGas,
		"operator_fee":          operatorFee,
		"da_footprint":          daFootprint,
		"base_fee":              baseFee,
	})
}
