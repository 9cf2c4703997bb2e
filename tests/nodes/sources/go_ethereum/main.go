// Answers of go-ethereum's own functions: a formula and its arguments on each line of standard input, the value on each
// line of standard output. Numbers are decimal, bytes hexadecimal.
//
//	base_fee BASE_FEE GAS_USED GAS_LIMIT
//	blob_base_fee TIMESTAMP EXCESS
//	excess_blob_gas TIMESTAMP EXCESS USED BASE_FEE
//	intrinsic_gas FORK CREATES DATA ADDRESSES SLOTS AUTHORIZATIONS
//	floor_gas FORK DATA
//	estimate CALL
//
// TIMESTAMP is one of Ethereum's mainnet; CALL is an object of JSON, see `request`.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"feemodel/nodes/lines"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/consensus"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/eth/gasestimator"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

const errorRatio = 0.015 // of internal/ethapi

var forks = []string{"paris", "shanghai", "cancun", "prague", "osaka", "bpo1", "bpo2"}

// rules is a configuration in which the upgrades up to this one are on.
func rules(fork string) *params.ChainConfig {
	last := slices.Index(forks, fork)
	if last < 0 {
		log.Fatalf("no such fork: %s", fork)
	}
	began := func(name string) *uint64 {
		if slices.Index(forks, name) > last {
			return nil
		}
		return new(uint64)
	}
	config := *params.MergedTestChainConfig
	config.ChainID = big.NewInt(1337)
	config.ShanghaiTime, config.CancunTime, config.PragueTime = began("shanghai"), began("cancun"), began("prague")
	config.OsakaTime, config.BPO1Time, config.BPO2Time = began("osaka"), began("bpo1"), began("bpo2")
	config.BPO3Time, config.BPO4Time, config.BPO5Time, config.AmsterdamTime = nil, nil, nil, nil
	config.BlobScheduleConfig = params.MainnetChainConfig.BlobScheduleConfig
	return &config
}

func baseFee(arguments []string) string {
	parent := &types.Header{
		Number: big.NewInt(20_000_000), BaseFee: lines.Whole(arguments[0]), GasUsed: lines.Small(arguments[1]),
		GasLimit: lines.Small(arguments[2]),
	}
	return eip1559.CalcBaseFee(params.MainnetChainConfig, parent).String()
}

func blobBaseFee(arguments []string) string {
	excess := lines.Small(arguments[1])
	header := &types.Header{Number: big.NewInt(20_000_000), Time: lines.Small(arguments[0]), ExcessBlobGas: &excess}
	return eip4844.CalcBlobFee(params.MainnetChainConfig, header).String()
}

func excessBlobGas(arguments []string) string {
	excess, used := lines.Small(arguments[1]), lines.Small(arguments[2])
	parent := &types.Header{
		Number: big.NewInt(20_000_000), ExcessBlobGas: &excess, BlobGasUsed: &used, BaseFee: lines.Whole(arguments[3]),
	}
	return strconv.FormatUint(eip4844.CalcExcessBlobGas(params.MainnetChainConfig, parent, lines.Small(arguments[0])), 10)
}

func intrinsicGas(arguments []string) string {
	to := &common.Address{1}
	if arguments[1] == "1" {
		to = nil
	}
	var listed types.AccessList
	addresses, slots := lines.Small(arguments[3]), lines.Small(arguments[4])
	for place := range addresses {
		tuple := types.AccessTuple{}
		if place == 0 {
			tuple.StorageKeys = make([]common.Hash, slots)
		}
		listed = append(listed, tuple)
	}
	signed := make([]types.SetCodeAuthorization, lines.Small(arguments[5]))
	if len(signed) == 0 {
		signed = nil
	}
	config := rules(arguments[0]).Rules(big.NewInt(1), true, 1)
	gas, err := core.IntrinsicGas(lines.Bytes(arguments[2]), listed, signed, common.Address{}, to, new(uint256.Int), config)
	if err != nil {
		log.Fatal(err)
	}
	return strconv.FormatUint(gas, 10)
}

func floorGas(arguments []string) string {
	config := rules(arguments[0]).Rules(big.NewInt(1), true, 1)
	to := &common.Address{1}
	gas, err := core.FloorDataGas(config, common.Address{}, to, new(uint256.Int), lines.Bytes(arguments[1]), nil)
	if err != nil {
		log.Fatal(err)
	}
	return strconv.FormatUint(gas, 10)
}

type account struct {
	Balance *hexutil.Big            `json:"balance"`
	Nonce   hexutil.Uint64          `json:"nonce"`
	Code    hexutil.Bytes           `json:"code"`
	Storage map[string]*hexutil.Big `json:"storage"`
}

// request is a call, the state and the block that it runs on, and the most gas of an execution.
type request struct {
	Fork       string                     `json:"fork"`
	Accounts   map[common.Address]account `json:"accounts"`
	Coinbase   common.Address             `json:"coinbase"`
	Number     uint64                     `json:"number"`
	Timestamp  uint64                     `json:"timestamp"`
	GasLimit   uint64                     `json:"gasLimit"`
	GasCap     uint64                     `json:"gasCap"`
	BaseFee    *hexutil.Big               `json:"baseFee"`
	Excess     uint64                     `json:"excessBlobGas"`
	From       common.Address             `json:"from"`
	To         *common.Address            `json:"to"`
	Value      *hexutil.Big               `json:"value"`
	Data       hexutil.Bytes              `json:"data"`
	Gas        uint64                     `json:"gas"`
	GasPrice   *hexutil.Big               `json:"gasPrice"`
	AccessList types.AccessList           `json:"accessList"`
}

// ancestors is a chain whose block n has the hash n.
type ancestors struct {
	config *params.ChainConfig
	engine consensus.Engine
}

func numbered(number uint64) common.Hash { return common.BigToHash(new(big.Int).SetUint64(number)) }

func (a ancestors) Config() *params.ChainConfig  { return a.config }
func (a ancestors) Engine() consensus.Engine     { return a.engine }
func (a ancestors) CurrentHeader() *types.Header { return nil }
func (a ancestors) GetHeader(_ common.Hash, number uint64) *types.Header {
	return &types.Header{Number: new(big.Int).SetUint64(number), ParentHash: numbered(number - 1)}
}
func (a ancestors) GetHeaderByNumber(number uint64) *types.Header {
	return a.GetHeader(common.Hash{}, number)
}
func (a ancestors) GetHeaderByHash(common.Hash) *types.Header { return nil }

var engine = beacon.New(ethash.NewFaker())

func estimate(text string) string {
	var asked request
	if err := json.Unmarshal([]byte(text), &asked); err != nil {
		log.Fatal(err)
	}
	config := rules(asked.Fork)
	world, err := state.New(types.EmptyRootHash, state.NewDatabaseForTesting())
	if err != nil {
		log.Fatal(err)
	}
	for address, held := range asked.Accounts {
		world.SetBalance(address, uint256.MustFromBig(held.Balance.ToInt()), tracing.BalanceChangeUnspecified)
		world.SetNonce(address, uint64(held.Nonce), tracing.NonceChangeUnspecified)
		if len(held.Code) > 0 {
			world.SetCode(address, held.Code, tracing.CodeChangeUnspecified)
		}
		for slot, value := range held.Storage {
			world.SetState(address, common.BigToHash(lines.Whole(slot)), common.BigToHash(value.ToInt()))
		}
	}
	root, err := world.Commit(config.Rules(new(big.Int), true, 0), asked.Number-1)
	if err != nil {
		log.Fatal(err)
	}
	if world, err = state.New(root, world.Database()); err != nil {
		log.Fatal(err)
	}
	header := &types.Header{
		Number: new(big.Int).SetUint64(asked.Number), Time: asked.Timestamp, GasLimit: asked.GasLimit,
		Coinbase: asked.Coinbase, BaseFee: asked.BaseFee.ToInt(), Difficulty: new(big.Int),
		ParentHash: numbered(asked.Number - 1),
	}
	if config.IsCancun(header.Number, header.Time) {
		header.ExcessBlobGas = &asked.Excess
	}
	price := uint256.MustFromBig(asked.GasPrice.ToInt())
	call := &core.Message{
		From: asked.From, To: asked.To, Value: uint256.MustFromBig(asked.Value.ToInt()), GasLimit: asked.Gas,
		GasPrice: price, GasFeeCap: price, GasTipCap: price, Data: asked.Data, AccessList: asked.AccessList,
	}
	call.SkipNonceCheck().SkipEOACheck().SkipGasLimitCapCheck()
	options := &gasestimator.Options{
		Config: config, Chain: ancestors{config, engine}, Header: header, State: world, ErrorRatio: errorRatio,
	}
	gas, revert, err := gasestimator.Estimate(context.Background(), call, options, asked.GasCap)
	switch {
	case errors.Is(err, vm.ErrExecutionReverted):
		return "reverted 0x" + hex.EncodeToString(revert)
	case err != nil:
		return "failed"
	}
	return strconv.FormatUint(gas, 10)
}

func main() {
	lines.Answer(map[string]func([]string) string{
		"base_fee":        baseFee,
		"blob_base_fee":   blobBaseFee,
		"excess_blob_gas": excessBlobGas,
		"intrinsic_gas":   intrinsicGas,
		"floor_gas":       floorGas,
		"estimate":        func(arguments []string) string { return estimate(strings.Join(arguments, " ")) },
	})
}
