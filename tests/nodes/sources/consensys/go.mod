module feemodel/nodes/consensys

go 1.24

require (
	feemodel/nodes/lines v0.0.0
	github.com/consensys/compress v0.2.5
	github.com/consensys/gnark-crypto v0.22.0
)

replace feemodel/nodes/lines => ../lines
