module feemodel/nodes/mantle

go 1.24

require (
	feemodel/nodes/lines v0.0.0
	github.com/ethereum/go-ethereum v1.17.2
)

replace github.com/ethereum/go-ethereum => github.com/mantlenetworkio/op-geth v1.5.4

replace feemodel/nodes/lines => ../lines
