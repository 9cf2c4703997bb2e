module feemodel/nodes/zstd

go 1.24

require (
	feemodel/nodes/lines v0.0.0
	github.com/DataDog/zstd v1.5.7
)

replace feemodel/nodes/lines => ../lines
