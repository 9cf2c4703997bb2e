module feemodel/nodes/ports

go 1.24

require feemodel/nodes/lines v0.0.0

replace feemodel/nodes/lines => ../lines
