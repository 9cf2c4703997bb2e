module feemodel/nodes/go_ethereum

go 1.24

require (
	feemodel/nodes/lines v0.0.0
	github.com/ethereum/go-ethereum v1.17.10
	github.com/holiman/uint256 v1.3.2
)

replace feemodel/nodes/lines => ../lines
