module feemodel/nodes/op_geth

go 1.24

require (
	feemodel/nodes/lines v0.0.0
	github.com/ethereum/go-ethereum v1.17.2
	github.com/holiman/uint256 v1.3.2
)

replace github.com/ethereum/go-ethereum => github.com/ethereum-optimism/op-geth v1.101702.3

replace feemodel/nodes/lines => ../lines
